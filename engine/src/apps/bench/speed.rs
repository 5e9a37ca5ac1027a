//! Speed of a network's session and evaluator, and of searches.

use std::fmt;
use std::hint::black_box;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use shakmaty::{Move, MoveList};

use super::replay::{Recorder, Recording, Replayer, SharedRecording, lock};
use super::{POSITIONS, search};
use crate::chess::position::Game;
use crate::nets::eval::{EvalError, Evaluator, Precision, Request, SplitEvaluator};
use crate::nets::onnx::{NetError, Network, NetworkPair, OnnxSession};
use crate::nets::sparse::{SparseError, SparseEvaluator, SparseFile, SparseNetwork};
use crate::search::{Params, Pool};
use crate::setup::{LoadError, locate};

#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub struct SpeedConfig {
    /// Batch sizes
    #[arg(long, value_delimiter = ',', default_values_t = SpeedConfig::default().batches, value_parser = positive)]
    pub batches: Vec<usize>,
    /// Numbers of workers, each with its own session
    #[arg(long, value_delimiter = ',', default_values_t = SpeedConfig::default().workers, value_parser = positive)]
    pub workers: Vec<usize>,
    /// Repeats of each measurement; the median is reported
    #[arg(long, default_value_t = SpeedConfig::default().repeats, value_parser = positive)]
    pub repeats: usize,
    /// Minimum duration of each measurement, in milliseconds
    #[arg(long, default_value_t = SpeedConfig::default().time_ms)]
    pub time_ms: u64,
}

fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| "not a positive number".to_owned())
}

impl Default for SpeedConfig {
    fn default() -> SpeedConfig {
        SpeedConfig { batches: vec![1, 2, 4, 8, 16, 32, 64], workers: vec![1, 2], repeats: 5, time_ms: 200 }
    }
}

#[derive(Debug)]
pub enum SpeedError {
    Missing(LoadError),
    Network(NetError),
    Native(SparseError),
    Evaluation(EvalError),
    Search(String),
    Output(io::Error),
}

impl fmt::Display for SpeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpeedError::Missing(error) => write!(f, "{error}"),
            SpeedError::Network(error) => write!(f, "{error}"),
            SpeedError::Native(error) => write!(f, "{error}"),
            SpeedError::Evaluation(error) => write!(f, "{error}"),
            SpeedError::Search(error) => write!(f, "{error}"),
            SpeedError::Output(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for SpeedError {}

/// Rates are in positions per second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpeedRow {
    pub precision: String,
    pub workers: usize,
    pub batch: usize,
    /// The session alone, on encoded inputs.
    pub session: f64,
    /// Encoding, network and softmax.
    pub evaluator: f64,
    /// Evaluations in a search.
    pub search: f64,
}

/// A second or less per search, as in a fast game.
const SEARCH_VISITS: u64 = 3000;

pub const NATIVE_SEARCH_VISITS: u64 = 50_000;

/// Measures the embedded network unless `weights` names another, with our own kernels or ONNX Runtime.
pub fn print(
    weights: Option<&Path>,
    precision: Option<Precision>,
    config: &SpeedConfig,
    out: &mut impl Write,
) -> Result<(), SpeedError> {
    let found = weights.map(locate).transpose().map_err(SpeedError::Missing)?;
    let weights = found.as_deref();
    let native = match weights {
        None => Some(SparseNetwork::embedded()),
        Some(file) => match std::fs::read(file).ok().and_then(|bytes| SparseFile::recognise(&bytes)) {
            Some(sparse) => Some(sparse.network().map_err(SpeedError::Native)?),
            None => None,
        },
    };
    if let Some(network) = native {
        writeln!(out, "{}", network.describe()).map_err(SpeedError::Output)?;
        return native_table(&network, config, out);
    }
    let pair = NetworkPair::beside(weights.unwrap_or(Path::new(""))).map_err(SpeedError::Network)?;
    let networks = match precision {
        Some(precision) => pair.exactly(precision).map(|network| vec![network]),
        None => pair.all(),
    };
    let networks = networks.map_err(SpeedError::Network)?;
    for network in &networks {
        writeln!(out, "{}", network.describe()).map_err(SpeedError::Output)?;
    }
    table(&networks, config, out).map(drop)
}

/// Alternates between all combinations, so that changes of the machine's speed affect all alike. Prints medians.
pub fn table(
    networks: &[Network],
    config: &SpeedConfig,
    out: &mut impl Write,
) -> Result<Vec<SpeedRow>, SpeedError> {
    let benches: Result<Vec<SpeedBench>, SpeedError> =
        networks.iter().map(|network| SpeedBench::new(network, config)).collect();
    let mut benches = benches?;
    let mut rows: Vec<(usize, SpeedRow, [Vec<f64>; 3])> = Vec::new();
    for &workers in &config.workers {
        for &batch in &config.batches {
            for (index, network) in networks.iter().enumerate() {
                let precision = network.card().precision.clone();
                rows.push((
                    index,
                    SpeedRow { precision, workers, batch, ..SpeedRow::default() },
                    Default::default(),
                ));
            }
        }
    }
    for repeat in 1..=config.repeats {
        log::info!("backendbench: repeat {repeat} of {}", config.repeats);
        for (index, SpeedRow { workers, batch, .. }, samples) in &mut rows {
            let bench = &mut benches[*index];
            samples[0].push(bench.session(*workers, *batch)?);
            samples[1].push(bench.evaluator(*workers, *batch)?);
            samples[2].push(bench.search(*workers, *batch)?);
        }
    }
    let row = |(_, row, mut samples): (usize, SpeedRow, [Vec<f64>; 3])| {
        let [session, evaluator, search] = samples.each_mut().map(|sample| median(sample));
        SpeedRow { session, evaluator, search, ..row }
    };
    let rows: Vec<SpeedRow> = rows.into_iter().map(row).collect();
    print_rows(&rows, out).map_err(SpeedError::Output)?;
    Ok(rows)
}

fn print_rows(rows: &[SpeedRow], out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "| precision | workers | batch | session, positions/s | evaluator, positions/s | search, positions/s |"
    )?;
    writeln!(out, "|---|--:|--:|--:|--:|--:|")?;
    for SpeedRow { precision, workers, batch, session, evaluator, search } in rows {
        writeln!(out, "| {precision} | {workers} | {batch} | {session:.0} | {evaluator:.0} | {search:.0} |")?;
    }
    Ok(())
}

/// Alternates between the parts of a search with one worker and searches with each number of workers. Prints medians.
pub fn native_table(
    network: &SparseNetwork,
    config: &SpeedConfig,
    out: &mut impl Write,
) -> Result<(), SpeedError> {
    let mut parts = SearchParts::new(network);
    let wanted = Duration::from_millis(config.time_ms);
    let mut samples = vec![Vec::new(); PARTS.len() + config.workers.len()];
    let mut shares = Vec::new();
    for repeat in 1..=config.repeats {
        log::info!("backendbench: repeat {repeat} of {}", config.repeats);
        let (rates, asked) = parts.rates(NATIVE_SEARCH_VISITS, wanted)?;
        shares.push(asked);
        for (samples, rate) in samples.iter_mut().zip(rates) {
            samples.push(rate);
        }
        for (workers, samples) in config.workers.iter().zip(&mut samples[PARTS.len()..]) {
            let evaluators = (0..*workers).map(|_| Box::new(network.evaluator()) as Box<dyn Evaluator>);
            let mut pool = Pool::new(evaluators.collect(), Params::native(), NATIVE_MEMORY);
            samples.push(search_rate(&mut pool, NATIVE_SEARCH_VISITS, wanted)?);
        }
    }
    let medians: Vec<f64> = samples.iter_mut().map(|samples| median(samples)).collect();
    let asked = 100.0 * median(&mut shares);
    let write = |out: &mut dyn Write| -> io::Result<()> {
        writeln!(out, "| what | workers | positions/s |")?;
        writeln!(out, "|---|--:|--:|")?;
        for (what, rate) in PARTS.iter().zip(&medians) {
            writeln!(out, "| {what} | 1 | {rate:.0} |")?;
        }
        for (workers, rate) in config.workers.iter().zip(&medians[PARTS.len()..]) {
            writeln!(out, "| search, new positions | {workers} | {rate:.0} |")?;
        }
        writeln!(
            out,
            "The search asks {asked:.0} % of its new positions for their policy, and all for their value."
        )
    };
    write(out).map_err(SpeedError::Output)
}

/// Measured with one worker: the network alone, the search with recorded answers, the whole search.
const PARTS: [&str; 5] = [
    "value of the search's positions",
    "policy of all of them",
    "value and policy of all of them",
    "the search without the network",
    "the same search with it, new positions",
];

/// Per tree.
const NATIVE_MEMORY: usize = 256 << 20;

struct SearchParts {
    recording: SharedRecording,
    recorder: Pool,
    replayer: Pool,
    plain: Pool,
    evaluator: SparseEvaluator,
}

impl SearchParts {
    fn new(network: &SparseNetwork) -> SearchParts {
        let recording = SharedRecording::default();
        let pool =
            |evaluator: Box<dyn Evaluator>| Pool::new(vec![evaluator], Params::native(), NATIVE_MEMORY);
        SearchParts {
            recorder: pool(Box::new(Recorder {
                evaluator: network.evaluator(),
                recording: Arc::clone(&recording),
            })),
            replayer: pool(Box::new(Replayer::new(Arc::clone(&recording)))),
            plain: pool(Box::new(network.evaluator())),
            recording,
            evaluator: network.evaluator(),
        }
    }

    /// Returns the new positions per second of the [`PARTS`], and the share with evaluated policy. Searches with
    /// `visits` each until whole searches have taken `wanted`, after a warm-up.
    fn rates(&mut self, visits: u64, wanted: Duration) -> Result<([f64; PARTS.len()], f64), SpeedError> {
        let (mut evaluations, mut asked, mut taken) = (0, 0, [Duration::ZERO; PARTS.len()]);
        for (number, game) in games().iter().cycle().enumerate() {
            *lock(&self.recording) = Recording::default();
            let (recorded, _) = evaluations_of(&mut self.recorder, game, visits)?;
            let (positions, policies) = {
                let mut recording = lock(&self.recording);
                (std::mem::take(&mut recording.positions), recording.policies)
            };
            let (replayed, tree) = evaluations_of(&mut self.replayer, game, visits)?;
            let (searched, whole) = evaluations_of(&mut self.plain, game, visits)?;
            if [recorded, replayed, searched] != [positions.len() as u64; 3] {
                return Err(SpeedError::Search("a search and its repetition differ".to_owned()));
            }
            if number > 0 {
                (evaluations, asked) = (evaluations + searched, asked + policies);
                let [value, policy, both] = self.ask(&positions);
                for (taken, time) in taken.iter_mut().zip([value, policy, both, tree, whole]) {
                    *taken += time;
                }
                if taken[PARTS.len() - 1] >= wanted {
                    break;
                }
            }
        }
        let rate = |taken: Duration| evaluations as f64 / taken.as_secs_f64();
        Ok((taken.map(rate), asked as f64 / evaluations as f64))
    }

    fn ask(&mut self, positions: &[(Game, Vec<Move>)]) -> [Duration; 3] {
        let (evaluator, mut priors) = (&mut self.evaluator, [0.0; 256]);
        // Copied just before, because a search evaluates positions that it has just made.
        let mut fresh = vec![(Game::new(), Vec::new()); 64];
        [0, 1, 2].map(|question| {
            let mut taken = Duration::ZERO;
            for positions in positions.chunks(fresh.len()) {
                for ((game, moves), (recorded, legal)) in fresh.iter_mut().zip(positions) {
                    game.clone_from(recorded);
                    moves.clone_from(legal);
                }
                let start = Instant::now();
                for (game, moves) in &fresh[..positions.len()] {
                    let priors = &mut priors[..moves.len()];
                    match question {
                        0 => drop(black_box(evaluator.value(game))),
                        1 => evaluator.policy(game, moves, 1.0, priors),
                        _ => drop(black_box(evaluator.evaluate_into(game, moves, priors))),
                    }
                }
                taken += start.elapsed();
            }
            taken
        })
    }
}

fn evaluations_of(pool: &mut Pool, game: &Game, visits: u64) -> Result<(u64, Duration), SpeedError> {
    let (outcome, taken) = search(pool, game, visits);
    match outcome.error {
        Some(error) => Err(SpeedError::Search(error)),
        None => Ok((outcome.report.counters.evaluations, taken)),
    }
}

/// The lower of two middle samples.
fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

struct SpeedBench {
    time: Duration,
    games: Vec<Game>,
    sessions: Vec<OnnxSession>,
    evaluators: Vec<Box<dyn Evaluator>>,
    pools: Vec<(usize, Pool)>,
}

impl SpeedBench {
    fn new(network: &Network, config: &SpeedConfig) -> Result<SpeedBench, SpeedError> {
        let most = config.workers.iter().copied().max().unwrap_or(1);
        let batch = config.batches.iter().copied().max().unwrap_or(1);
        let evaluators = |count: usize| -> Result<Vec<_>, NetError> {
            (0..count).map(|_| network.evaluator(batch)).collect()
        };
        let pool =
            |&workers: &usize| Ok((workers, Pool::new(evaluators(workers)?, Params::default(), 256 << 20)));
        let open = || -> Result<SpeedBench, NetError> {
            Ok(SpeedBench {
                time: Duration::from_millis(config.time_ms),
                games: games(),
                sessions: (0..most).map(|_| network.session()).collect::<Result<_, _>>()?,
                evaluators: evaluators(most)?,
                pools: config.workers.iter().map(pool).collect::<Result<_, NetError>>()?,
            })
        };
        open().map_err(SpeedError::Network)
    }

    fn session(&mut self, workers: usize, batch: usize) -> Result<f64, SpeedError> {
        let games: Vec<Game> = self.games.iter().cycle().take(batch).cloned().collect();
        let input = self.sessions[0].schemes().input.tensor(&games);
        let run = |session: &mut OnnxSession| session.run(&input, |_| ());
        rate(&mut self.sessions[..workers], self.time, batch, run)
    }

    fn evaluator(&mut self, workers: usize, batch: usize) -> Result<f64, SpeedError> {
        let games: Vec<(&Game, MoveList)> =
            self.games.iter().cycle().take(batch).map(|game| (game, game.legal_moves())).collect();
        let requests: Vec<Request<'_>> =
            games.iter().map(|(game, moves)| Request { game, moves: moves as &[Move] }).collect();
        let run = |evaluator: &mut Box<dyn Evaluator>| evaluator.evaluate(&requests).map(drop);
        rate(&mut self.evaluators[..workers], self.time, batch, run)
    }

    fn search(&mut self, workers: usize, batch: usize) -> Result<f64, SpeedError> {
        let (_, pool) =
            self.pools.iter_mut().find(|(count, _)| *count == workers).expect("a pool for each count");
        pool.set_params(Params { batch, ..Params::default() });
        search_rate(pool, SEARCH_VISITS, self.time)
    }
}

/// Returns evaluations per second. Searches with `visits` each for at least `wanted`, after a warm-up.
pub fn search_rate(pool: &mut Pool, visits: u64, wanted: Duration) -> Result<f64, SpeedError> {
    let (mut evaluations, mut taken) = (0, Duration::ZERO);
    for (number, game) in games().iter().cycle().enumerate() {
        let (new, time) = evaluations_of(pool, game, visits)?;
        if number > 0 {
            (evaluations, taken) = (evaluations + new, taken + time);
            if taken >= wanted {
                break;
            }
        }
    }
    Ok(evaluations as f64 / taken.as_secs_f64())
}

/// Returns the positions per second of all `owners` together, each on its own thread.
fn rate<T: Send>(
    owners: &mut [T],
    time: Duration,
    batch: usize,
    run: impl Fn(&mut T) -> Result<(), EvalError> + Sync,
) -> Result<f64, SpeedError> {
    let measure = |owner: &mut T| {
        run(owner)?;
        let start = Instant::now();
        let mut batches = 0_u32;
        while start.elapsed() < time {
            run(owner)?;
            batches += 1;
        }
        Ok(f64::from(batches) * batch as f64 / start.elapsed().as_secs_f64())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = owners.iter_mut().map(|owner| scope.spawn(|| measure(owner))).collect();
        let rates = threads.into_iter().map(|thread| thread.join().expect("measuring does not panic"));
        rates.sum::<Result<f64, EvalError>>().map_err(SpeedError::Evaluation)
    })
}

fn games() -> Vec<Game> {
    POSITIONS.iter().filter_map(|fen| Game::from_fen(fen).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.0);
        assert_eq!(median(&mut []), 0.0);
    }

    #[test]
    fn rates_add_up_over_the_workers_and_errors_end_them() {
        let run = |_: &mut ()| Ok(());
        assert!(rate(&mut [(), ()], Duration::ZERO, 8, run).is_ok_and(|rate| rate >= 0.0));
        let fail = |_: &mut ()| Err(EvalError("no".into()));
        assert!(rate(&mut [()], Duration::ZERO, 8, fail).is_err());
    }

    #[test]
    fn the_table_is_markdown() {
        let mut text = Vec::new();
        let precision = "fp32".to_owned();
        let row =
            SpeedRow { precision, workers: 2, batch: 8, session: 3400.4, evaluator: 3300.0, search: 3000.0 };
        print_rows(&[row], &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().last(), Some("| fp32 | 2 | 8 | 3400 | 3300 | 3000 |"));
    }
}
