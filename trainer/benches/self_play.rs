//! How much of a network's bare speed self-play keeps busy.
//!
//! `cargo bench -p trainer --bench self_play -- [NET [WORKERS]]`: the network (embedded.int8 unless said) evaluates
//! batches of random positions in a session of its own in each worker, and plays against itself with as large batches
//! and without a cache; in turn, several times, because machines change their speed.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::eval::{Network, Request};
use engine::position::Game;
use indicatif::ProgressBar;
use trainer::chunks::{OutArgs, Store};
use trainer::networks::network;
use trainer::selfplay::{Plan, Rules, Seats, play};

/// How long each is measured, each time.
const TIME: Duration = Duration::from_secs(4);
const TIMES: usize = 4;
/// Positions a batch, and games at once.
const BATCH: usize = 32;

/// Positions after random moves.
fn positions() -> Vec<Game> {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut games = Vec::new();
    while games.len() < 8 * BATCH {
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

/// Positions a second, encoded and evaluated.
fn bare(network: &Network, workers: usize) -> f64 {
    let work = || {
        let mut evaluator = network.evaluator(BATCH).expect("a session");
        let games = positions();
        let moves: Vec<_> = games.iter().map(Game::legal_moves).collect();
        let requests: Vec<Request<'_>> =
            games.iter().zip(&moves).map(|(game, moves)| Request { game, moves }).collect();
        let (begin, mut count) = (Instant::now(), 0);
        while begin.elapsed() < TIME {
            for batch in requests.chunks(BATCH) {
                count += evaluator.evaluate(batch).expect("answers").len();
            }
        }
        count as f64 / begin.elapsed().as_secs_f64()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a number")).sum()
    })
}

/// Evaluations a second in self-play.
fn playing(network: &Network, workers: usize) -> f64 {
    let folder = tempfile::tempdir().expect("a folder");
    let out = OutArgs { out: folder.path().into(), chunk_size: 1 << 20, save_every: 600, resume: false };
    let store = Store::open(&out, "bench", "a benchmark", serde_json::Value::Null).expect("a new folder");
    let rules = Rules { visits: 200, games: BATCH, workers, cache: 0, ..Rules::default() };
    let plan = Plan { rules, seed: 1, games: u64::MAX };
    let seats = Seats { network: Arc::new(network.clone()), other: None };
    let stop = AtomicBool::new(false);
    let session = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(TIME);
            stop.store(true, Ordering::Relaxed);
        });
        play(&plan, &seats, store, &ProgressBar::hidden(), &stop).expect("games")
    });
    session.evaluated as f64 / session.seconds
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let net = PathBuf::from(words.first().map_or("embedded.int8", String::as_str));
    let workers = words.get(1).map_or(1, |word| word.parse().expect("a number of workers"));
    let network = network(&net).expect("a network");
    println!("{}, {workers} workers, batches of {BATCH}", network.describe());
    let mut sums = [0.0; 2];
    for _ in 0..TIMES {
        let [raw, busy] = [bare(&network, workers), playing(&network, workers)];
        println!("bare {raw:.0}/s, self-play {busy:.0}/s: {:.3}", busy / raw);
        sums = [sums[0] + raw, sums[1] + busy];
    }
    println!("together: {:.3}", sums[1] / sums[0]);
}
