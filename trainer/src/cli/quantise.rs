//! `quantise`: a network file becomes one in 8 bits.

use std::path::PathBuf;

use clap::Args;
use engine::eval::{Network, Session};

use crate::export::QuantisationQuality;
use crate::export::Quantiser;
use crate::export::quantise::compare;
use crate::export::quantise::{gate, positions};
use crate::train::checkpoint;

/// How often the speed is measured.
const REPEATS: usize = 9;

/// How many layers are named if the network is refused.
const WORST: usize = 5;

/// Quantise a network to 8 bits (int8), which is two to three times as fast on CPUs with VNNI
#[derive(Args, Debug)]
#[command(after_help = "Example: philidor-trainer quantise nets/mine.onnx --games data/*.h5\n\
    Writes nets/mine.int8.onnx and prints what it costs and brings, on positions of held-out games. Refuses, and\n\
    names the worst layers, if the policy's mean KL divergence is above 0.01 nat, the mean absolute error of win,\n\
    draw and loss above 0.01, or the share of the moves played that it prefers more than 0.5 points lower.")]
pub struct QuantiseArgs {
    /// The network file, as `export` wrote it
    net: PathBuf,
    /// Files of games: training games show what values occur, validation games what is lost
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    games: Vec<PathBuf>,
    /// The network file to write [default: NET with .int8.onnx]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Positions of training games to calibrate on, as many of each source
    #[arg(long, default_value_t = 1024)]
    positions: usize,
    /// Positions of validation games to judge by, as many of each source
    #[arg(long, default_value_t = 8192)]
    held_out: usize,
    /// Write the network even if it is refused
    #[arg(long)]
    force: bool,
}

impl QuantiseArgs {
    /// Quantises, prints the comparison, and loads the result as the engine does.
    ///
    /// # Errors
    ///
    /// One line: a file can't be read or written, ONNX Runtime fails, or the result isn't good enough.
    pub fn run(&self) -> Result<(), String> {
        Network::load(&self.net).map_err(|error| error.to_string())?;
        let bytes = std::fs::read(&self.net)
            .map_err(|error| format!("cannot read {}: {error}", self.net.display()))?;
        let positions = positions::read(&self.games, self.positions, self.held_out)?;
        log::info!("calibrating on {} positions", positions.calibration.len());
        let quantiser = Quantiser::new(&bytes, &positions.calibration)?;
        let int8 = quantiser.file()?;
        let held_out = &positions.held_out;
        log::info!("comparing on {} held-out positions", held_out.len());
        let open = |bytes: &[u8]| Session::open(bytes).map_err(|error| error.to_string());
        let (mut before, mut after) = (open(&bytes)?, open(&int8)?);
        let quality = compare::quality(&mut before, &mut after, held_out)?;
        log::info!("measuring the speed, {REPEATS} times each");
        let speeds = compare::speeds([&mut before, &mut after], held_out, REPEATS)?;
        print(&quality, [bytes.len(), int8.len()], speeds);
        let refusals = gate::refusals(&quality);
        if !refusals.is_empty() {
            println!("the worst layers, each alone in 8 bits:");
            for blame in gate::blame(&mut before, &quantiser, held_out)?.iter().take(WORST) {
                let QuantisationQuality { policy_kl, wdl_error, .. } = blame.quality;
                let wdl = wdl_error.map_or(String::new(), |error| format!("WDL error {error:.5}, "));
                println!("  policy KL      {policy_kl:.5} nat, {wdl}{}", blame.layer);
            }
        }
        if !refusals.is_empty() && !self.force {
            let why = refusals.join("; ");
            return Err(format!("not written: {why}; --force writes it all the same"));
        }
        let out = self.out.clone().unwrap_or_else(|| self.net.with_extension("int8.onnx"));
        checkpoint::write_file(&out, &int8)?;
        println!("{}", Network::load(&out).map_err(|error| error.to_string())?.describe());
        Ok(())
    }
}

fn print(quality: &QuantisationQuality, [before, after]: [usize; 2], [slow, fast]: [f64; 2]) {
    let q = quality;
    println!("{} held-out positions against fp32:", q.positions);
    println!("  policy KL      {:.5} nat, mean", q.policy_kl);
    if let Some(error) = q.wdl_error {
        println!("  WDL error      {error:.5}, mean absolute");
    }
    println!(
        "  top-1          {:.2} % instead of {:.2} % (difference {:+.2} ± {:.2} points, one standard error)",
        100.0 * q.top1_after,
        100.0 * q.top1_before,
        100.0 * (q.top1_after - q.top1_before),
        100.0 * q.top1_error
    );
    println!("  same best move {:.1} %", 100.0 * q.same_move);
    println!("  size           {:.2} MB instead of {:.2} MB", after as f64 / 1e6, before as f64 / 1e6);
    println!(
        "  speed          {:.2} times: {fast:.0} positions/s instead of {slow:.0} (batch {}, one thread, \
         median of {REPEATS})",
        fast / slow,
        compare::BATCH
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::quantise::positions::tests::games_file;
    use crate::export::quantise::tests::with_a_weak_layer;

    #[test]
    fn what_is_refused_is_not_written_unless_forced() {
        let folder = tempfile::tempdir().unwrap();
        let net = folder.path().join("net.onnx");
        std::fs::write(&net, with_a_weak_layer().0).unwrap();
        let games = vec![games_file(folder.path(), "games", 900)];
        let out = folder.path().join("out.int8.onnx");
        let args =
            QuantiseArgs { net, games, out: Some(out.clone()), positions: 64, held_out: 64, force: false };
        let refused = args.run().unwrap_err();
        assert!(refused.starts_with("not written: ") && refused.contains("--force"), "{refused}");
        assert!(!out.exists());
        assert_eq!(QuantiseArgs { force: true, ..args }.run(), Ok(()));
        assert!(out.exists());
    }
}
