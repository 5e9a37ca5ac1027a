//! A match: games on paired openings, many at once, until enough are played or enough is proven.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crossbeam_channel::{Receiver, unbounded};
use engine::eval::Evaluator;
use indicatif::ProgressBar;

use super::contender::Contender;
use super::duel::{Duel, Mind, Played, Ring};
use super::sprt::Decision;
use super::tally::Tally;
use crate::config::MatchRules;
use crate::config::Sprt;
use crate::config::worker_count;
use crate::gameplay::Backend;
use crate::gameplay::{Ground, drive};
use crate::record::GameRecord;

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
    /// The pairs that were counted before the match was interrupted: it goes on with the next.
    pub begun: Tally,
}

impl Contest {
    /// Whether enough is played or proven.
    fn is_decided(&self, tally: &Tally) -> bool {
        let proven = |sprt: &Sprt| sprt.decision(tally) != Decision::Open;
        tally.count() >= self.pairs || self.sprt.as_ref().is_some_and(proven)
    }
}

/// What a match came to.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The first player's results, also of pairs that were counted before.
    pub tally: Tally,
    /// The games that were counted now, in their order; an opening's first one is the first player's with White.
    pub games: Vec<GameRecord>,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

/// Plays `first` against `second`; `bar` counts games, and `counted` is told where the match stands after every pair.
///
/// Pairs are counted in their order, up to the one that decides, so that it doesn't matter which end sooner. With one
/// worker the same contest has the same games.
///
/// # Errors
///
/// One line: a number makes no sense, a book or tables can't be read, a network fails, or `counted` does.
pub fn contest(
    [first, second]: [&Contender; 2],
    contest: &Contest,
    bar: &ProgressBar,
    stop: &AtomicBool,
    counted: &mut dyn FnMut(&Tally) -> Result<(), String>,
) -> Result<Report, String> {
    let rules = &contest.rules;
    rules.check()?;
    if contest.is_decided(&contest.begun) {
        return Ok(Report { tally: contest.begun, ..Report::default() });
    }
    let Ground { starts, tables } =
        Ground::open(&rules.book, rules.random_plies, &rules.syzygy, contest.seed)?;
    let mut networks = Vec::new();
    let minds = [mind(first, &mut networks), mind(second, &mut networks)];
    let ring = Arc::new(Ring { minds, rules: rules.clone(), tables, seed: contest.seed });
    let (next, halt) = (AtomicU64::new(2 * contest.begun.count()), AtomicBool::new(false));
    let (report, reports) = unbounded();
    thread::scope(|scope| {
        let (ring, starts, networks, next, halt) = (&ring, &starts, &networks, &next, &halt);
        for number in 0..worker_count(rules.workers) {
            let report = report.clone();
            let work = move || {
                let failed = Mutex::new(None);
                let mut deal = || {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= 2 * contest.pairs {
                        return None;
                    }
                    let start = starts.without_engine(number / 2);
                    let start = start.map_err(|why| *lock(&failed) = Some(format!("{why:#}"))).ok()?;
                    Some(Duel::new(Arc::clone(ring), number, start))
                };
                let mut done = |played| _ = report.send(Ok(played));
                let mut evaluators = match evaluators(networks, rules.games) {
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
        let report = count(contest, &reports, bar, [stop, halt], counted);
        halt.store(true, Ordering::Relaxed);
        report
    })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn mind(contender: &Contender, networks: &mut Vec<Arc<dyn Backend>>) -> Mind {
    match contender {
        Contender::Classical { player, effort } => Mind::Classical(*player, *effort),
        Contender::Network { network, visits, .. } => {
            networks.push(Arc::clone(network));
            Mind::Search(networks.len() - 1, *visits)
        }
    }
}

fn evaluators(networks: &[Arc<dyn Backend>], batch: usize) -> Result<Vec<Box<dyn Evaluator>>, String> {
    networks.iter().map(|network| network.evaluator(batch)).collect()
}

fn count(
    contest: &Contest,
    reports: &Receiver<Result<Played, String>>,
    bar: &ProgressBar,
    [stop, halt]: [&AtomicBool; 2],
    counted: &mut dyn FnMut(&Tally) -> Result<(), String>,
) -> Result<Report, String> {
    let mut report = Report { tally: contest.begun, ..Report::default() };
    let mut early: BTreeMap<u64, Played> = BTreeMap::new();
    for played in reports {
        let played = played?;
        early.insert(played.number, played);
        bar.inc(1);
        let mut next = 2 * report.tally.count();
        let is_on = || !stop.load(Ordering::Relaxed);
        while is_on() && early.contains_key(&next) && early.contains_key(&(next + 1)) {
            let pair = [next, next + 1].map(|number| early.remove(&number).expect("both are there"));
            report.tally.add_pair([pair[0].halves(), pair[1].halves()]);
            report.games.extend(pair.map(|played| played.game));
            next += 2;
            let llr = contest.sprt.as_ref().map_or(String::new(), |sprt| {
                format!(", LLR {:.2} of {:.2}", sprt.llr(&report.tally), sprt.bounds().upper)
            });
            bar.set_message(format!("{:.1} %{llr}", 100.0 * report.tally.score()));
            counted(&report.tally)?;
            if contest.is_decided(&report.tally) {
                return Ok(report);
            }
        }
        if !is_on() {
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
        gone_on(Tally::default(), pairs, seed, sprt)
    }

    /// A match that goes on after what was `begun`.
    fn gone_on(begun: Tally, pairs: u64, seed: u64, sprt: Option<Sprt>) -> Report {
        let player = |name| Contender::named(name, 1).unwrap();
        let rules = MatchRules { games: 4, workers: 1, max_plies: 120, ..MatchRules::default() };
        let contest = Contest { pairs, sprt, rules, seed, begun };
        let stop = AtomicBool::new(false);
        let mut last = begun;
        let mut counted = |tally: &Tally| {
            assert_eq!(tally.count(), last.count() + 1);
            last = *tally;
            Ok(())
        };
        let players = [&player("uct-value:40"), &player("random")];
        let report = super::contest(players, &contest, &ProgressBar::hidden(), &stop, &mut counted).unwrap();
        assert_eq!(report.tally, last);
        report
    }

    #[test]
    fn an_interrupted_match_goes_on_with_the_next_pair() {
        let whole = played(6, 7, None);
        // As far as it is after two pairs, in whatever order the games end.
        let first = played(2, 7, None);
        let rest = gone_on(first.tally, 6, 7, None);
        assert_eq!(rest.tally, whole.tally);
        assert_eq!([first.games, rest.games].concat(), whole.games);
        let over = gone_on(whole.tally, 6, 7, None);
        assert_eq!((over.tally, over.games.len(), over.stopped), (whole.tally, 0, false));
    }

    #[test]
    fn rules_that_make_no_sense_are_refused() {
        let rules = MatchRules::default;
        assert_eq!(rules().check(), Ok(()));
        for (bad, key) in [
            (MatchRules { resign_moves: 0, ..rules() }, "resign_moves"),
            (MatchRules { max_plies: 0, ..rules() }, "max_plies"),
            (MatchRules { policy_temperature: 0.0, ..rules() }, "policy_temperature"),
            (MatchRules { resign_threshold: f32::NAN, ..rules() }, "resign_threshold"),
        ] {
            assert!(bad.check().unwrap_err().starts_with(key));
        }
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
