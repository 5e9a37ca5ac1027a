//! A match: games on paired openings, many at once, until enough are played or enough is proven.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crossbeam_channel::{Receiver, unbounded};
use engine::eval::{Evaluator, Network};
use engine::search::Params;
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};

use super::contender::Contender;
use super::duel::{Duel, Mind, Played, Ring};
use super::sprt::{Decision, Sprt};
use super::tally::Tally;
use crate::games::Game;
use crate::selfplay::{Ground, drive};

/// How the games of a match are played.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MatchRules {
    /// Positions to begin with (EPD, FEN or the ends of a PGN's games); empty for the initial position.
    pub book: String,
    /// Random moves from there. Searches leave nothing to chance: only openings make games differ.
    pub random_plies: u32,
    /// Most plies of a game: then it is a draw.
    pub max_plies: usize,
    /// Folders of Syzygy tables, which decide a game that comes to them; empty for none.
    pub syzygy: String,
    /// A side gives up below minus this expected result; 1 or more for never.
    pub resign_threshold: f32,
    /// So many of its positions in a row have to be lost.
    pub resign_moves: usize,
    /// Above 1 flattens the networks' policy.
    pub policy_temperature: f32,
    /// Games at once in each worker.
    pub games: usize,
    /// Threads; 0 for one a core.
    pub workers: usize,
}

impl Default for MatchRules {
    fn default() -> MatchRules {
        MatchRules {
            book: String::new(),
            random_plies: 6,
            max_plies: 400,
            syzygy: String::new(),
            resign_threshold: 1.0,
            resign_moves: 4,
            policy_temperature: Params::default().policy_temperature,
            games: 16,
            workers: 0,
        }
    }
}

impl MatchRules {
    /// Play as it is, but for what needs a clock.
    pub fn params(&self) -> Params {
        Params { policy_temperature: self.policy_temperature, reuse: false, batch: 1, ..Params::default() }
    }

    fn worker_count(&self) -> usize {
        if self.workers > 0 { self.workers } else { thread::available_parallelism().map_or(1, usize::from) }
    }
}

/// A match to be played.
#[derive(Clone, Debug, PartialEq)]
pub struct Contest {
    /// Most pairs of games.
    pub pairs: u64,
    /// What ends it earlier.
    pub sprt: Option<Sprt>,
    /// How the games are played.
    pub rules: MatchRules,
    /// Another seed, other openings.
    pub seed: u64,
}

/// What a match came to.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The first player's results.
    pub tally: Tally,
    /// The counted games in their order; an opening's first one is the first player's with White.
    pub games: Vec<Game>,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

/// Plays `first` against `second`; `bar` counts games.
///
/// Pairs are counted in their order, up to the one that decides, so that it doesn't matter which end sooner. With one
/// worker the same contest has the same games.
///
/// # Errors
///
/// One line: a book or tables can't be read, or a network fails.
pub fn contest(
    [first, second]: [&Contender; 2],
    contest: &Contest,
    bar: &ProgressBar,
    stop: &AtomicBool,
) -> Result<Report, String> {
    let rules = &contest.rules;
    let Ground { starts, tables } =
        Ground::open(&rules.book, rules.random_plies, &rules.syzygy, contest.seed)?;
    let mut networks = Vec::new();
    let minds = [mind(first, &mut networks), mind(second, &mut networks)];
    let ring = Arc::new(Ring { minds, rules: rules.clone(), tables, seed: contest.seed });
    let (next, halt) = (AtomicU64::new(0), AtomicBool::new(false));
    let (report, reports) = unbounded();
    thread::scope(|scope| {
        let (ring, starts, networks, next, halt) = (&ring, &starts, &networks, &next, &halt);
        for number in 0..rules.worker_count() {
            let report = report.clone();
            let work = move || {
                let failed = Mutex::new(None);
                let mut deal = || {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= 2 * contest.pairs {
                        return None;
                    }
                    let start = starts.plain(number / 2);
                    let start = start.map_err(|why| *lock(&failed) = Some(why)).ok()?;
                    Some(Duel::new(Arc::clone(ring), number, start))
                };
                let mut done = |played| _ = report.send(Ok(played));
                let mut evaluators = match sessions(networks, rules.games) {
                    Ok(evaluators) => evaluators,
                    Err(why) => {
                        _ = report.send(Err(why));
                        return;
                    }
                };
                let driven =
                    drive(&mut evaluators, (rules.games, 1), &mut deal, &mut done, &mut |_| (), halt);
                let why = driven.err().map(|error| error.to_string()).or(lock(&failed).take());
                why.into_iter().for_each(|why| _ = report.send(Err(why)));
            };
            let worker = thread::Builder::new().name(format!("arena-{number}"));
            worker.spawn_scoped(scope, work).map_err(|error| format!("no thread to play on: {error}"))?;
        }
        drop(report);
        let counted = count(contest, &reports, bar, stop, halt);
        halt.store(true, Ordering::Relaxed);
        counted
    })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn mind(contender: &Contender, networks: &mut Vec<Network>) -> Mind {
    match contender {
        Contender::Classical { player, visits } => Mind::Classical(*player, *visits),
        Contender::Network { network, visits, .. } => {
            networks.push((**network).clone());
            Mind::Search(networks.len() - 1, *visits)
        }
    }
}

fn sessions(networks: &[Network], batch: usize) -> Result<Vec<Box<dyn Evaluator>>, String> {
    networks.iter().map(|network| network.evaluator(batch).map_err(|error| error.to_string())).collect()
}

fn count(
    contest: &Contest,
    reports: &Receiver<Result<Played, String>>,
    bar: &ProgressBar,
    stop: &AtomicBool,
    halt: &AtomicBool,
) -> Result<Report, String> {
    let mut report = Report::default();
    let mut early: BTreeMap<u64, Played> = BTreeMap::new();
    for played in reports {
        let played = played?;
        early.insert(played.number, played);
        bar.inc(1);
        let mut next = 2 * report.tally.count();
        while early.contains_key(&next) && early.contains_key(&(next + 1)) {
            let pair = [next, next + 1].map(|number| early.remove(&number).expect("both are there"));
            report.tally.add_pair([pair[0].halves(), pair[1].halves()]);
            report.games.extend(pair.map(|played| played.game));
            next += 2;
            let llr = contest.sprt.as_ref().map_or(String::new(), |sprt| {
                format!(", LLR {:.2} of {:.2}", sprt.llr(&report.tally), sprt.bounds().upper)
            });
            bar.set_message(format!("{:.1} %{llr}", 100.0 * report.tally.score()));
            let decided = |sprt: &Sprt| sprt.decision(&report.tally) != Decision::Open;
            if contest.sprt.as_ref().is_some_and(decided) || report.tally.count() == contest.pairs {
                return Ok(report);
            }
        }
        if stop.load(Ordering::Relaxed) {
            halt.store(true, Ordering::Relaxed);
        }
    }
    report.stopped = report.tally.count() < contest.pairs;
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(pairs: u64, seed: u64, sprt: Option<Sprt>) -> Report {
        let player = |name| Contender::named(name, 1).unwrap();
        let rules = MatchRules { games: 4, workers: 1, max_plies: 120, ..MatchRules::default() };
        let contest = Contest { pairs, sprt, rules, seed };
        super::contest(
            [&player("uct-value:40"), &player("random")],
            &contest,
            &ProgressBar::hidden(),
            &AtomicBool::new(false),
        )
        .unwrap()
    }

    #[test]
    fn the_same_seed_has_the_same_games_on_paired_openings() {
        let first = played(3, 7, None);
        assert_eq!((first.tally.count(), first.games.len()), (3, 6));
        assert_eq!(first.games, played(3, 7, None).games);
        assert_ne!(first.games, played(3, 8, None).games);
        for pair in first.games.chunks(2) {
            assert_eq!(pair[0].start, pair[1].start);
        }
        assert_ne!(first.games[0].start, first.games[2].start);
        assert!(first.tally.score() > 0.5, "{}", first.tally);
    }

    #[test]
    fn it_ends_when_enough_is_proven() {
        let sprt = Sprt { elo0: -200.0, elo1: 200.0, alpha: 0.1, beta: 0.1 };
        let report = played(200, 1, Some(sprt.clone()));
        assert!(report.tally.count() < 30 && !report.stopped, "{}", report.tally);
        assert_eq!(sprt.decision(&report.tally), Decision::Accepted);
    }
}
