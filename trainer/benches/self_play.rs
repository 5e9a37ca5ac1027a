//! The share of a network's bare evaluation rate that self-play reaches.
//!
//! `cargo bench -p trainer --bench self_play -- [NET [WORKERS [BATCH]]]` alternates two measurements, because the
//! machine's speed varies: each worker evaluates batches (default 32) of random positions in its own session, then
//! plays games with batches of that size and no cache. A checkpoint NET.safetensors runs in libtorch, on a GPU if there
//! is one.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use engine::chess::position::Game;
use engine::nets::eval::Request;
use indicatif::ProgressBar;
use trainer::base::network::{Backend, load_network};
use trainer::cli::DeviceChoice;
use trainer::config::SelfPlayRules;
use trainer::data::dataset::{Store, StoreOptions};
use trainer::judge::export;
use trainer::learn::torch::Checkpoint;
use trainer::learn::torch::families::Torch;
use trainer::play::selfplay::{SelfPlayNetworks, SelfPlayPlan, play};

const TIME: Duration = Duration::from_secs(4);
const TIMES: usize = 4;
struct Setting {
    network: Arc<dyn Backend>,
    workers: usize,
    /// Positions per batch, and concurrent games.
    batch: usize,
}

/// After random moves.
fn positions(count: usize) -> Vec<Game> {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut games = Vec::new();
    while games.len() < count {
        let mut game = Game::new();
        for _ in 0..rng.usize(4..40) {
            let Some(m) = rng.choice(game.legal_moves()) else { break };
            game.play(m);
        }
        if !game.legal_moves().is_empty() {
            games.push(game);
        }
    }
    games
}

impl Setting {
    fn of(words: &[String]) -> Result<(Setting, String)> {
        let number = |index: usize, usual| words.get(index).map_or(Ok(usual), |word| word.parse());
        let (workers, batch) = (number(1, 1), number(2, 32));
        let wrong = "WORKERS and BATCH are numbers";
        let (workers, batch) = (workers.context(wrong)?, batch.context(wrong)?);
        let net = Path::new(words.first().map_or("embedded", String::as_str));
        let (network, named): (Arc<dyn Backend>, _) = if net.extension().is_some_and(|e| e == "safetensors") {
            let device = DeviceChoice::Auto.device()?;
            let checkpoint = Checkpoint::load(net)?;
            let (structure, weights) = export::network(&checkpoint, true, None)?;
            let named = format!("{} in libtorch, {device:?}", net.display());
            (Arc::new(Torch::new(&structure, weights, device)), named)
        } else {
            let network = load_network(net)?;
            let named = network.describe();
            (Arc::new(network), named)
        };
        Ok((Setting { network, workers, batch }, format!("{named}, {workers} workers, batches of {batch}")))
    }

    /// Positions encoded and evaluated per second.
    fn bare(&self) -> f64 {
        let work = || {
            let mut evaluator = self.network.evaluator(self.batch).expect("an evaluator");
            let games = positions(8 * self.batch);
            let moves: Vec<_> = games.iter().map(Game::legal_moves).collect();
            let requests: Vec<Request<'_>> =
                games.iter().zip(&moves).map(|(game, moves)| Request { game, moves }).collect();
            let (begin, mut count) = (Instant::now(), 0);
            for batch in requests.chunks(self.batch).cycle() {
                if begin.elapsed() >= TIME {
                    break;
                }
                count += evaluator.evaluate(batch).expect("answers").len();
            }
            count as f64 / begin.elapsed().as_secs_f64()
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.workers).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(|thread| thread.join().expect("a number")).sum()
        })
    }

    /// Evaluations per second in self-play.
    fn playing(&self) -> f64 {
        let folder = tempfile::tempdir().expect("a folder");
        let out = StoreOptions {
            folder: folder.path().into(),
            chunk_size: 1 << 20,
            save_every: std::time::Duration::from_secs(600),
            resume: false,
            numbers: 0..u64::MAX,
        };
        let store = Store::open(&out, "bench", "a benchmark", serde_json::Value::Null).expect("a new folder");
        let rules = SelfPlayRules {
            visits: 200,
            games: self.batch,
            workers: self.workers,
            cache: 0,
            ..SelfPlayRules::default()
        };
        let plan = SelfPlayPlan { rules, seed: 1, games: u64::MAX };
        let networks = SelfPlayNetworks { network: Arc::clone(&self.network), other: None };
        let stop = AtomicBool::new(false);
        let session = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(TIME);
                stop.store(true, Ordering::Relaxed);
            });
            play(&plan, &networks, store, &ProgressBar::hidden(), &stop).expect("games")
        });
        session.evaluated as f64 / session.seconds
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let (setting, named) = Setting::of(&words).expect("something to measure");
    println!("{named}");
    let mut sums = [0.0; 2];
    for _ in 0..TIMES {
        let [raw, busy] = [setting.bare(), setting.playing()];
        println!("bare {raw:.0}/s, self-play {busy:.0}/s: {:.3}", busy / raw);
        sums = [sums[0] + raw, sums[1] + busy];
    }
    println!("together: {:.3}", sums[1] / sums[0]);
}
