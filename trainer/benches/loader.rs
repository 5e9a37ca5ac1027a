//! Samples per second of the loader, and its memory, with one thread and with two: `cargo bench -p trainer --bench
//! loader -- data/engine-*.h5`. `… -- --make 100000000 FOLDER` first writes files of random games with this many
//! positions.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use engine::chess::position::PackedMove;
use shakmaty::{Chess, Position};
use trainer::config::TrainConfig;
use trainer::data::dataset::ChunkWriter;
use trainer::data::record::GameRecord;
use trainer::learn::torch::Sources;

/// Per measurement.
const SECONDS: Duration = Duration::from_secs(5);

/// Writes games of at most a hundred random legal moves, with `positions` positions in all.
fn make(positions: usize, folder: &Path) {
    let mut writer = ChunkWriter::new(folder, "random", "random moves", 1_000_000).expect("a new folder");
    let mut rng = fastrand::Rng::with_seed(1);
    let mut made = 0;
    let mut reported = Instant::now();
    while made < positions {
        let mut board = Chess::default();
        let mut game = GameRecord::default();
        while game.moves.len() < 100 {
            let legal = board.legal_moves();
            if legal.is_empty() {
                break;
            }
            let m = legal[rng.usize(..legal.len())];
            game.moves.push(PackedMove::new(m));
            board.play_unchecked(m);
        }
        made += game.moves.len();
        writer.push(&game).expect("enough disk space");
        if reported.elapsed() > SECONDS {
            reported = Instant::now();
            eprintln!("{made} of {positions} positions");
        }
    }
    writer.finish().expect("enough disk space");
}

/// Peak memory of the process in MiB, if the system reports it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib / 1024)
}

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if words.first().is_some_and(|word| word == "--make") {
        let positions = words[1].parse().expect("a number of positions");
        let folder = PathBuf::from(&words[2]);
        make(positions, &folder);
        words = vec![folder.join("*.h5").display().to_string()];
    }
    let text = serde_json::json!({ "sources": [{ "name": "games", "paths": words }] }).to_string();
    let mut config = TrainConfig::parse(&text, &[]).expect("a sound configuration");
    let folder = tempfile::tempdir().expect("a folder");
    let start = Instant::now();
    let sources =
        Sources::load(&config.sources, config.validation_percent, folder.path()).expect("files of games");
    println!("an epoch of {} samples, loaded in {:.1} s", sources.epoch(), start.elapsed().as_secs_f64());
    for threads in [1, 2] {
        config.loader_threads = threads;
        let mut feed = sources.feed(&config, 0).expect("games");
        feed.next_batch().expect("sound games");
        let (start, mut batches) = (Instant::now(), 0);
        while start.elapsed() < SECONDS {
            feed.next_batch().expect("sound games");
            batches += 1;
        }
        let rate = (batches * config.batch) as f64 / start.elapsed().as_secs_f64();
        println!("{threads} threads: {rate:.0} samples/s, {:.0} per thread", rate / threads as f64);
    }
    if let Some(memory) = peak_memory() {
        println!("peak memory {memory} MiB");
    }
}
