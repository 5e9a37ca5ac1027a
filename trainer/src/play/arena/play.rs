use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use crossbeam_channel::{Receiver, unbounded};
use engine::apps::matches::{MatchResults, SprtDecision};
use engine::chess::tables::Tables;
use engine::nets::eval::Evaluator;
use engine::search::Params;
use indicatif::ProgressBar;

use super::contender::Contender;
use super::game::{FinishedMatchGame, MatchGame, MatchSetup, Side};
use crate::base::network::Backend;
use crate::config::{MatchRules, Sprt, worker_count};
use crate::data::record::GameRecord;
use crate::play::gameplay::{OpeningsAndTables, drive};

#[derive(Clone, Debug, PartialEq)]
pub struct MatchPlan {
    pub first: u64,
    pub pairs: u64,
    /// May end the match early.
    pub sprt: Option<Sprt>,
    pub rules: MatchRules,
    pub seed: u64,
}

impl MatchPlan {
    fn is_decided(&self, results: &MatchResults) -> bool {
        let decided = |sprt: &Sprt| sprt.decision(results) != SprtDecision::Open;
        results.count() >= self.pairs || self.sprt.as_ref().is_some_and(decided)
    }
}

#[derive(Clone, Debug, Default)]
pub struct MatchReport {
    /// From the first player's point of view.
    pub results: MatchResults,
    /// In order of number; the first player has White in each pair's first game.
    pub games: Vec<GameRecord>,
    pub stopped: bool,
}

/// `bar` counts games; `counted` receives the results after every pair. Pairs count in order of number up to the
/// deciding pair. With one worker a plan is reproducible.
pub fn play_match(
    [first, second]: [&Contender; 2],
    plan: &MatchPlan,
    bar: &ProgressBar,
    stop: &AtomicBool,
    counted: &mut dyn FnMut(&MatchResults) -> Result<()>,
) -> Result<MatchReport> {
    let rules = &plan.rules;
    rules.check_visits(first.visits().max(second.visits()))?;
    let OpeningsAndTables { starts, tables } =
        OpeningsAndTables::open(&rules.book, rules.random_plies, &rules.syzygy, plan.seed)?;
    let (setup, networks) = match_setup([first, second], rules, tables, plan.seed);
    let (next, halt) = (AtomicU64::new(2 * plan.first), AtomicBool::new(false));
    let (report, reports) = unbounded();
    thread::scope(|scope| {
        let (setup, starts, networks, next, halt) = (&setup, &starts, &networks, &next, &halt);
        for number in 0..worker_count(rules.workers) {
            let report = report.clone();
            let work = move || {
                let failed = Mutex::new(None);
                let mut deal = || {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= 2 * (plan.first + plan.pairs) {
                        return None;
                    }
                    let start = starts.without_engine(number / 2);
                    let start =
                        start.map_err(|error| *lock(&failed) = Some(anyhow::Error::msg(error))).ok()?;
                    Some(MatchGame::new(Arc::clone(setup), number, start))
                };
                let mut done = |played| _ = report.send(Ok(played));
                let mut evaluators = match evaluators(networks, rules.games) {
                    Ok(evaluators) => evaluators,
                    Err(error) => {
                        _ = report.send(Err(error));
                        return;
                    }
                };
                let ended = || halt.load(Ordering::Relaxed) || stop.load(Ordering::Relaxed);
                let driven =
                    drive(&mut evaluators, (rules.games, 1), &mut deal, &mut done, &mut |_| (), &ended);
                let error = driven.err().map(anyhow::Error::from).or(lock(&failed).take());
                error.into_iter().for_each(|error| _ = report.send(Err(error)));
            };
            let worker = thread::Builder::new().name(format!("arena-{number}"));
            worker.spawn_scoped(scope, work).context("cannot start a thread to play on")?;
        }
        drop(report);
        let report = count(plan, &reports, bar, stop, counted);
        halt.store(true, Ordering::Relaxed);
        report
    })
}

/// The sides refer to the networks by index.
pub fn match_setup(
    players: [&Contender; 2],
    rules: &MatchRules,
    tables: Tables,
    seed: u64,
) -> (Arc<MatchSetup>, Vec<Arc<dyn Backend>>) {
    let mut networks = Vec::new();
    let sides = players.map(|player| side(player, &mut networks));
    let params = players.map(|player| match player {
        Contender::Network { params: Some(own), .. } => Params::clone(own),
        _ => rules.params(),
    });
    (Arc::new(MatchSetup { sides, rules: rules.clone(), params, tables, seed }), networks)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn side(contender: &Contender, networks: &mut Vec<Arc<dyn Backend>>) -> Side {
    match contender {
        Contender::Classical { player, effort } => Side::Classical(*player, *effort),
        Contender::Network { network, visits, .. } => {
            networks.push(Arc::clone(network));
            Side::Search(networks.len() - 1, *visits)
        }
    }
}

fn evaluators(networks: &[Arc<dyn Backend>], batch: usize) -> Result<Vec<Box<dyn Evaluator>>> {
    networks.iter().map(|network| network.evaluator(batch)).collect()
}

/// Pair by pair until all are played or the SPRT has decided.
fn count(
    plan: &MatchPlan,
    reports: &Receiver<Result<FinishedMatchGame>>,
    bar: &ProgressBar,
    stop: &AtomicBool,
    counted: &mut dyn FnMut(&MatchResults) -> Result<()>,
) -> Result<MatchReport> {
    let mut report = MatchReport::default();
    let mut early: BTreeMap<u64, FinishedMatchGame> = BTreeMap::new();
    for played in reports {
        let played = played?;
        early.insert(played.number, played);
        bar.inc(1);
        let mut next = 2 * (plan.first + report.results.count());
        let is_running = || !stop.load(Ordering::Relaxed);
        while is_running() && early.contains_key(&next) && early.contains_key(&(next + 1)) {
            let pair = [next, next + 1].map(|number| early.remove(&number).expect("both are there"));
            report.results.add_pair([pair[0].halves(), pair[1].halves()]);
            report.games.extend(pair.map(|played| played.game));
            next += 2;
            let llr = plan.sprt.as_ref().map_or(String::new(), |sprt| {
                format!(", LLR {:.2} of {:.2}", sprt.llr(&report.results), sprt.bounds().upper)
            });
            bar.set_message(format!("{:.1} %{llr}", 100.0 * report.results.score()));
            counted(&report.results)?;
            if plan.is_decided(&report.results) {
                return Ok(report);
            }
        }
    }
    report.stopped = report.results.count() < plan.pairs;
    Ok(report)
}

#[cfg(test)]
mod tests {
    use engine::nets::encoding::Input;
    use engine::nets::eval::{Answer, EvalError, HashedEvaluator, Request};

    use super::*;
    use crate::data::record::GameResult;
    use crate::play::arena::check_match_game;
    use crate::play::gameplay::{BatchedGame, Next};

    fn played(pairs: u64, seed: u64, sprt: Option<Sprt>) -> MatchReport {
        part(0, pairs, seed, sprt)
    }

    fn part(first: u64, pairs: u64, seed: u64, sprt: Option<Sprt>) -> MatchReport {
        let player = |name| Contender::named(name, 1).unwrap();
        let rules = MatchRules { games: 4, workers: 1, max_plies: 120, ..MatchRules::default() };
        let plan = MatchPlan { first, pairs, sprt, rules: rules.clone(), seed };
        let stop = AtomicBool::new(false);
        let mut last = MatchResults::default();
        let mut counted = |results: &MatchResults| {
            assert_eq!(results.count(), last.count() + 1);
            last = *results;
            Ok(())
        };
        let players = [&player("uct-value:40"), &player("random")];
        let report = super::play_match(players, &plan, &ProgressBar::hidden(), &stop, &mut counted).unwrap();
        assert_eq!(report.results, last);
        for game in &report.games {
            check_match_game(&rules, &Tables::default(), game).unwrap();
        }
        report
    }

    #[test]
    fn a_part_of_a_match_has_the_same_games_as_the_whole() {
        let whole = played(6, 7, None);
        let parts = [played(2, 7, None), part(2, 4, 7, None)];
        assert_eq!(parts.map(|part| part.games).concat(), whole.games);
    }

    #[test]
    fn games_by_other_rules_are_refused_with_a_reason() {
        let game = played(1, 7, None).games.remove(0);
        let why = |rules: &MatchRules, game: &GameRecord| {
            check_match_game(rules, &Tables::default(), game).unwrap_err().to_string()
        };
        let rules = MatchRules { max_plies: 120, ..MatchRules::default() };
        let plies = game.moves.len();
        let other = GameRecord { result: GameResult::Unknown, ..game.clone() };
        assert!(why(&rules, &other).starts_with("it ends as (Unknown"));
        let mut cut = game.clone();
        cut.moves.pop();
        assert_eq!(why(&rules, &cut), format!("it is not over after its {} plies", plies - 1));
        let shorter = MatchRules { max_plies: plies - 1, ..rules };
        assert_eq!(why(&shorter, &game), format!("it was over after {} plies, and has {plies}", plies - 1));
    }

    #[test]
    fn invalid_rules_are_refused() {
        let rules = MatchRules::default;
        assert!(rules().check().is_ok());
        for (bad, key) in [
            (MatchRules { resign_moves: 0, ..rules() }, "resign_moves"),
            (MatchRules { max_plies: 0, ..rules() }, "max_plies"),
            (MatchRules { policy_temperature: 0.0, ..rules() }, "policy_temperature"),
            (MatchRules { resign_threshold: f32::NAN, ..rules() }, "resign_threshold"),
        ] {
            assert!(bad.check().unwrap_err().to_string().starts_with(key));
        }
    }

    #[test]
    fn the_same_seed_has_the_same_games_on_paired_openings() {
        let first = played(3, 7, None);
        assert_eq!((first.results.count(), first.games.len()), (3, 6));
        assert_eq!(first.games, played(3, 7, None).games);
        assert_ne!(first.games, played(3, 8, None).games);
        for pair in first.games.chunks(2) {
            assert_eq!(pair[0].start, pair[1].start);
        }
        assert_ne!(first.games[0].start, first.games[2].start);
        assert!(first.results.score() > 0.5, "{}", first.results);
    }

    /// Sets the flag at its tenth position and counts them all.
    #[derive(Clone, Default)]
    struct Interrupting(Arc<(AtomicBool, AtomicU64)>);

    impl Backend for Interrupting {
        fn cached_input(&self) -> Option<Input> {
            None
        }

        fn evaluator(&self, _max_batch: usize) -> Result<Box<dyn Evaluator>> {
            Ok(Box::new(self.clone()))
        }
    }

    impl Evaluator for Interrupting {
        fn max_batch(&self) -> usize {
            1
        }

        fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
            let (stop, count) = &*self.0;
            stop.fetch_or(count.fetch_add(1, Ordering::Relaxed) == 9, Ordering::Relaxed);
            HashedEvaluator.evaluate(batch)
        }
    }

    #[test]
    fn an_interruption_ends_it_within_a_search() {
        let network = Interrupting::default();
        let player = Contender::Network {
            name: "network".into(),
            network: Arc::new(network.clone()),
            visits: 1000,
            params: None,
        };
        let rules = MatchRules { games: 1, workers: 1, max_plies: 3, ..MatchRules::default() };
        let plan = MatchPlan { first: 0, pairs: 2, sprt: None, rules, seed: 1 };
        let (stop, count) = &*network.0;
        let play = |players: [&Contender; 2]| {
            play_match(players, &plan, &ProgressBar::hidden(), stop, &mut |_| Ok(())).unwrap()
        };
        let report = play([&player, &player]);
        assert!(report.stopped && report.games.is_empty());
        assert_eq!(count.load(Ordering::Relaxed), 10, "no position after the flag is set");
        // Players without a network think as long as no flag is set.
        let classical = Contender::named("uct:1000000", 1).unwrap();
        let report = play([&classical, &classical]);
        assert!(report.stopped && report.games.is_empty());
    }

    #[test]
    fn a_classical_player_that_is_interrupted_makes_no_move() {
        let rules = MatchRules { random_plies: 0, ..MatchRules::default() };
        let classical = Contender::named("uct:1000000", 1).unwrap();
        let (setup, _) = match_setup([&classical, &classical], &rules, Tables::default(), 1);
        let mut game = MatchGame::new(setup, 0, None);
        let asked = AtomicU64::new(0);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) >= 3;
        assert!(matches!(game.advance(&stop), Next::Stopped));
        assert_eq!(asked.into_inner(), 5, "once by us, after the search has ended");
    }

    #[test]
    fn it_ends_when_the_test_has_decided() {
        let sprt = Sprt { elo0: -200.0, elo1: 200.0, alpha: 0.1, beta: 0.1 };
        let report = played(200, 1, Some(sprt.clone()));
        assert!(report.results.count() < 30 && !report.stopped, "{}", report.results);
        assert_eq!(sprt.decision(&report.results), SprtDecision::Accepted);
    }
}
