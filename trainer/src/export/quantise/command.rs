//! `quantise`: a network file becomes one in 8 bits.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use engine::eval::{Network, Session};
use engine::position::{Game, PackedMove};

use super::compare::{self, Quality};
use super::quantised;
use crate::chunks;
use crate::games::{Split, split};
use crate::learn::checkpoint;
use crate::samples::Replay;

/// A mean divergence, in nats, beyond which something must have gone wrong.
const ABSURD: f64 = 0.1;

/// How often the speed is measured.
const REPEATS: usize = 9;

/// Quantise a network to 8 bits (int8), which is two to three times as fast on CPUs with VNNI
#[derive(Args, Debug)]
#[command(after_help = "Example: philidor-trainer quantise nets/mine.onnx --games data/*.h5\n\
    Writes nets/mine.int8.onnx and prints what it costs and brings, on positions of held-out games.")]
pub struct QuantiseArgs {
    /// The network file, as `export` wrote it
    net: PathBuf,
    /// Files of games: training games show what values occur, validation games what is lost
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    games: Vec<PathBuf>,
    /// The network file to write [default: NET with .int8.onnx]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Number of positions, of each kind of games
    #[arg(long, default_value_t = 1024)]
    positions: usize,
    /// Write the network even if it has little to do with the original
    #[arg(long)]
    force: bool,
}

impl QuantiseArgs {
    /// Quantises, prints the comparison, and loads the result as the engine does.
    pub fn run(&self) -> ExitCode {
        match self.quantise() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        }
    }

    fn quantise(&self) -> Result<(), String> {
        Network::load(&self.net).map_err(|error| error.to_string())?;
        let bytes = std::fs::read(&self.net)
            .map_err(|error| format!("cannot read {}: {error}", self.net.display()))?;
        let [calibration, held_out] = positions(&self.games, self.positions)?;
        log::info!("calibrating on {} positions", calibration.len());
        let int8 = quantised(&bytes, &calibration)?;
        log::info!("comparing on {} held-out positions", held_out.len());
        let open = |bytes: &[u8]| Session::open(bytes).map_err(|error| error.to_string());
        let (mut before, mut after) = (open(&bytes)?, open(&int8)?);
        let quality = compare::quality(&mut before, &mut after, &held_out)?;
        log::info!("measuring the speed, {REPEATS} times each");
        let speeds = compare::speeds([&mut before, &mut after], &held_out, REPEATS)?;
        print(&quality, [bytes.len(), int8.len()], speeds);
        // Not `>`: a number that isn't one must be refused too.
        let sane = quality.policy_kl <= ABSURD;
        if !sane && !self.force {
            return Err(format!(
                "not written: a divergence above {ABSURD} nat means another network, not a rounded one; \
                 --force writes it all the same"
            ));
        }
        let out = self.out.clone().unwrap_or_else(|| self.net.with_extension("int8.onnx"));
        checkpoint::write_file(&out, &int8)?;
        println!("{}", Network::load(&out).map_err(|error| error.to_string())?.describe());
        Ok(())
    }
}

fn print(quality: &Quality, [before, after]: [usize; 2], [slow, fast]: [f64; 2]) {
    let Quality { positions, policy_kl, wdl_error, top1 } = quality;
    println!("{positions} held-out positions against fp32:");
    println!("  policy KL      {policy_kl:.5} nat, mean");
    println!("  WDL error      {wdl_error:.5}, mean absolute");
    println!("  same top move  {:.1} %", top1 * 100.0);
    println!("  size           {:.2} MB instead of {:.2} MB", after as f64 / 1e6, before as f64 / 1e6);
    println!(
        "  speed          {:.2} times: {fast:.0} positions/s instead of {slow:.0} (batch {}, one thread, \
         median of {REPEATS})",
        fast / slow,
        compare::BATCH
    );
}

/// Up to `count` positions each of training and of validation games, spread over the files.
fn positions(files: &[PathBuf], count: usize) -> Result<[Vec<Game>; 2], String> {
    let mut parts = [Vec::new(), Vec::new()];
    let share = count.div_ceil(files.len().max(1));
    for file in files {
        log::info!("reading {}", file.display());
        let chunk = chunks::read(file).map_err(|error| error.to_string())?;
        let mut wanted = [share; 2];
        for index in 0..chunk.games() {
            let part = match split(chunk.identity(index)) {
                Split::Train => 0,
                Split::Validation => 1,
                Split::Test => continue,
            };
            if wanted[part] > 0
                && let Some(game) = position_of(chunk.replay(index), index, file)?
            {
                parts[part].push(game);
                wanted[part] -= 1;
            }
        }
    }
    match &parts {
        [train, validation] if train.is_empty() || validation.is_empty() => {
            Err("the files of games hold too few: one game in a hundred is held out to compare with".into())
        }
        _ => Ok(parts),
    }
}

/// A position of the `index`-th game of a file; none if the game is over there.
fn position_of(stored: Replay<'_>, index: usize, file: &Path) -> Result<Option<Game>, String> {
    if stored.moves.is_empty() {
        return Ok(None);
    }
    let mut game = stored.initial().map_err(|error| format!("{}: {error}", file.display()))?;
    // 31 has no factor in common with most lengths: openings and endings all get their turn.
    for packed in &stored.moves[..index * 31 % stored.moves.len()] {
        game.play(PackedMove(*packed).to_legal_move(game.position()));
    }
    Ok((!game.legal_moves().is_empty()).then_some(game))
}
