use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use clap::Args;
use engine::base::words::counted;
use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::interrupt;
use super::out_args::{MAX_CHUNK_SIZE, count, file_stem};
use crate::base::files::{file_name, stem};
use crate::base::progress::{say_regularly, time_left};
use crate::config::bounds::MAX_THREADS;
use crate::data::dataset::{ChunkError, ChunkWriter};
use crate::data::import::{Filters, ReadEvent, ReadOptions, ReadReport, read_games};
use crate::data::record::{EvalCounts, EvalSide};

/// Import PGN or puzzles (plain, .gz, .zst, .bz2) or arrays into files of games (games/1, HDF5)
#[derive(Args, Debug)]
#[command(
    after_help = "Moves are read as python-chess and pgn-extract read them; a game with a word that is no move is \
    left out and named with its line, and so are the lines that a comment without its end brace hides. A \
    game may have 64 MiB. The status is 1 if a file is damaged, though what was read before is kept.\n\n\
    Examples:\n  philidor-trainer import games/*.pgn.zst --out data --min-elo 2400\n  \
    curl URL | philidor-trainer import - --name archive --evals after\n  \
    philidor-trainer import lichess_db_puzzle.csv.zst --name puzzles --min-elo 1000 --min-popularity 80"
)]
pub struct ImportArgs {
    /// PGN files; Lichess's puzzles (CSV); or a table of puzzles with columns rating, popularity, plays, fen (the
    /// solver to move) and moves. The first line names the columns in any order and so decides which. `-` is standard
    /// input. Also arrays: a game in NumPy's format (.npy, text of shape [moves, 2]: UCI and the FEN before it), or HDF5
    /// with positions in planes19/1 [n, 19, 8, 8] and n targets (indices of uci1968m/1, or moves in UCI)
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Folder for the files of games
    #[arg(long, default_value = "data")]
    out: PathBuf,
    /// Name of the files, before -00000.h5 [default: that of the first file]
    #[arg(long, value_parser = file_stem)]
    name: Option<String>,
    /// Approximate positions per file
    #[arg(long, default_value_t = 1_000_000, value_parser = count(1..=MAX_CHUNK_SIZE))]
    chunk_size: usize,
    /// Minimum rating of both players, or of a puzzle, where known
    #[arg(long, default_value_t = 0)]
    min_elo: u16,
    /// Maximum rating of both players, or of a puzzle, where known
    #[arg(long, default_value_t = u16::MAX)]
    max_elo: u16,
    /// Exclude games in which a rating is unknown
    #[arg(long)]
    rated_only: bool,
    /// Minimum plies
    #[arg(long, default_value_t = 1)]
    min_plies: usize,
    /// Maximum plies
    #[arg(long, default_value_t = 65_535)]
    max_plies: usize,
    /// Exclude draws
    #[arg(long)]
    decisive_only: bool,
    /// Keep games without a result; puzzles and arrays without one are always kept
    #[arg(long)]
    unknown_results: bool,
    /// Minimum popularity of a puzzle, -100 to 100
    #[arg(
        long,
        default_value_t = -100,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(i16).range(-100..=100)
    )]
    min_popularity: i16,
    /// Minimum number of plays of a puzzle
    #[arg(long, default_value_t = 0)]
    min_plays: u32,
    /// Stop after this many games
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    max_games: Option<u64>,
    /// The position that an [%eval] comment scores, and its point of view
    #[arg(long, value_enum, default_value_t = EvalSide::Auto)]
    evals: EvalSide,
    /// Threads that replay games [default: all processors]
    #[arg(long, value_parser = count(1..=MAX_THREADS))]
    threads: Option<usize>,
}

impl ImportArgs {
    /// Skips broken games. Keeps the games before a file's damage, but fails at the end.
    pub fn run(&self) -> anyhow::Result<()> {
        let stop = interrupt::flag().unwrap_or_else(|error| {
            log::warn!("{error:#}");
            Arc::default()
        });
        let (report, files) = self.import(&stop)?;
        let interrupted = stop.load(Ordering::Relaxed);
        if report.games > 0 || interrupted {
            print_report(&report, files);
        }
        ensure!(report.games > 0 || interrupted, "no games imported: {}", report.reasons());
        let damaged: Vec<String> =
            report.damaged_files.iter().map(|(path, _)| path.display().to_string()).collect();
        ensure!(
            damaged.is_empty(),
            "not read to the end: {}; what was read before is kept",
            damaged.join(", ")
        );
        Ok(())
    }

    fn import(&self, stop: &AtomicBool) -> anyhow::Result<(ReadReport, usize)> {
        let bounds = [
            ("elo", "rated game", usize::from(self.min_elo), usize::from(self.max_elo)),
            ("plies", "game", self.min_plies, self.max_plies),
        ];
        for (what, games, least, most) in bounds {
            ensure!(
                least <= most,
                "--min-{what} {least} is above --max-{what} {most}: no {games} would be kept"
            );
        }
        let mut options = ReadOptions {
            evals: self.evals,
            filters: Filters {
                min_elo: self.min_elo,
                max_elo: self.max_elo,
                rated_only: self.rated_only,
                min_plies: self.min_plies,
                max_plies: self.max_plies,
                draws: !self.decisive_only,
                unknown_results: self.unknown_results,
                min_popularity: self.min_popularity,
                min_plays: self.min_plays,
            },
            max_games: self.max_games.unwrap_or(u64::MAX),
            ..ReadOptions::default()
        };
        options.threads = self.threads.unwrap_or(options.threads);
        let source: Vec<String> = self.files.iter().map(|path| file_name(path)).collect();
        let name =
            self.name.clone().unwrap_or_else(|| stem(&self.files[0]).trim_start_matches('-').to_owned());
        // That of the file `-`.
        let name = if name.is_empty() { "games".to_owned() } else { name };
        let mut writer = ChunkWriter::new(&self.out, &name, &source.join(", "), self.chunk_size)?;
        let mut meter = Meter::new(&self.files);
        let report = read_games::<ChunkError>(&self.files, &options, stop, |event| {
            match event {
                ReadEvent::Game(game) => {
                    meter.count(game.moves.len());
                    writer.push(&game)?;
                }
                ReadEvent::Broken(path, broken) => meter.broken(&format!(
                    "{}:{}: {} (game at {} {}), skipped",
                    if *path == *Path::new("-") { Path::new("stdin") } else { path }.display(),
                    broken.line,
                    broken.error,
                    broken.unit,
                    broken.game_line
                )),
                ReadEvent::Bytes(bytes) => meter.advance(bytes),
            }
            Ok(())
        })?;
        meter.finish();
        let files = writer.finish()?;
        Ok((report, files))
    }
}

/// Less time gives no rate.
const WORTH_SAYING: Duration = Duration::from_secs(1);

struct Meter {
    bar: ProgressBar,
    started: Instant,
    games: u64,
    positions: u64,
}

impl Meter {
    fn new(files: &[PathBuf]) -> Meter {
        // A stream does not tell its length.
        let length =
            |path: &PathBuf| std::fs::metadata(path).ok().filter(Metadata::is_file).map(|meta| meta.len());
        let total: Option<u64> = files.iter().map(length).sum();
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
        let template = match total {
            Some(_) => "{wide_bar} {bytes}/{total_bytes}, {msg}, {eta} left",
            None => "{spinner} {bytes}, {msg}",
        };
        bar.set_style(ProgressStyle::with_template(template).expect("a valid template"));
        say_regularly(&bar, |bar| {
            let read = HumanBytes(bar.position());
            match bar.length() {
                Some(total) => format!("{read} of {}, {}", HumanBytes(total), time_left(bar)),
                None => read.to_string(),
            }
        });
        Meter { bar, started: Instant::now(), games: 0, positions: 0 }
    }

    fn count(&mut self, plies: usize) {
        self.games += 1;
        self.positions += plies as u64;
    }

    fn broken(&self, line: &str) {
        self.bar.suspend(|| eprintln!("{line}"));
    }

    fn rate(&self) -> u64 {
        (self.positions as f64 / self.started.elapsed().as_secs_f64().max(1e-3)) as u64
    }

    fn advance(&self, bytes: u64) {
        self.bar.set_position(bytes);
        let (games, rate) = (HumanCount(self.games), HumanCount(self.rate()));
        self.bar.set_message(format!("{games} games, {rate} positions/s"));
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
        let time = self.started.elapsed();
        if time >= WORTH_SAYING {
            eprintln!("read in {}, {} positions/s", HumanDuration(time), HumanCount(self.rate()));
        }
    }
}

fn print_report(report: &ReadReport, files: usize) {
    let (games, positions) = (counted(report.games, "game"), counted(report.positions, "position"));
    say!("{games}, {positions} in {}", counted(files, "file"));
    if report.evals != EvalCounts::default() {
        say!("evaluations: {} (--evals says otherwise)", report.evals);
    }
    print_counts("left out", &report.excluded);
    print_counts("broken", &report.broken);
    for (path, why) in &report.damaged_files {
        say!("damaged: {}: {why}", path.display());
    }
    if report.stopped {
        say!("stopped before the end; the files are complete and valid");
    }
}

fn print_counts<K: Display>(what: &str, counts: &BTreeMap<K, u64>) {
    for (reason, count) in counts {
        say!("{what}: {count} ({reason})");
    }
}
