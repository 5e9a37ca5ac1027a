//! With hashed evaluations.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use engine::chess::position::Game;
use engine::chess::tables::Tables;
use engine::nets::encoding::Input;
use engine::nets::eval::HashedEvaluator;
use engine::nets::eval::{Answer, EvalError, Evaluator, Request};
use engine::search::{Gumbel, Limits, SteppedSearch};
use indicatif::ProgressBar;

use super::game::{FinishedGame, SelfPlayGame, SelfPlaySetup, check_game};
use super::play::{SelfPlayNetworks, SelfPlayPlan, play};
use crate::base::network::Backend;
use crate::base::network::search_alone;
use crate::config::{GumbelRules, ResignRules, SelfPlayRules};
use crate::data::dataset::{Chunk, PendingGame, Store, StoreOptions, inspect};
use crate::data::record::{
    FLAG_ADJUDICATED, FLAG_SELF_PLAY, GameRecord, GameResult, RngStream, SearchRecord, stream_rng,
};
use crate::play::gameplay::drive;

fn short() -> SelfPlayRules {
    SelfPlayRules {
        visits: 30,
        max_plies: 12,
        resign: ResignRules { threshold: 1.0, ..ResignRules::default() },
        ..SelfPlayRules::default()
    }
}

fn setup(rules: &SelfPlayRules, seed: u64) -> Arc<SelfPlaySetup> {
    Arc::new(SelfPlaySetup { rules: rules.clone(), seed, tables: Tables::default() })
}

/// Plays `stop` rounds. Returns the finished games in order, the unfinished games and the number of positions.
fn driven(
    setup: &Arc<SelfPlaySetup>,
    games: Vec<(u64, GameRecord)>,
    at_once: usize,
    stop: usize,
) -> (Vec<FinishedGame>, Vec<(u64, GameRecord)>, usize) {
    let mut evaluators: Vec<Box<dyn Evaluator>> = vec![Box::new(HashedEvaluator)];
    let mut left = games.into_iter();
    let mut finished = Vec::new();
    let (halt, mut rounds, mut positions) = (AtomicBool::new(false), 0, 0);
    let begun = drive(
        &mut evaluators,
        (at_once, setup.rules.leaves),
        &mut || left.next().map(|(number, game)| SelfPlayGame::new(Arc::clone(setup), number, 0, game)),
        &mut |outcome| finished.push(outcome),
        &mut |count| {
            (rounds, positions) = (rounds + 1, positions + count);
            halt.store(rounds >= stop, Ordering::Relaxed);
        },
        &|| halt.load(Ordering::Relaxed),
    );
    finished.sort_by_key(|finished| finished.number);
    (finished, begun.unwrap().into_iter().map(SelfPlayGame::into_parts).collect(), positions)
}

fn fresh(count: u64) -> Vec<(u64, GameRecord)> {
    (0..count).map(|number| (number, GameRecord::default())).collect()
}

fn played(rules: &SelfPlayRules, seed: u64) -> Vec<GameRecord> {
    let (finished, begun, _) = driven(&setup(rules, seed), fresh(6), 4, usize::MAX);
    assert!(begun.is_empty());
    finished.into_iter().map(|finished| finished.game).collect()
}

fn recorded(game: &GameRecord) -> usize {
    game.searches.iter().filter(|searched| !searched.shares.is_empty()).count()
}

#[test]
fn the_seed_decides_the_games_and_how_many_play_at_once_does_not() {
    let rules = short();
    let games = played(&rules, 1);
    assert_eq!(games, played(&rules, 1));
    assert_ne!(games, played(&rules, 2));
    let alone = driven(&setup(&rules, 1), fresh(6), 1, usize::MAX).0;
    assert_eq!(alone.into_iter().map(|finished| finished.game).collect::<Vec<_>>(), games);
}

/// Records its batch sizes, up to the given maximum.
struct Recording(usize, Arc<Mutex<Vec<usize>>>);

impl Evaluator for Recording {
    fn max_batch(&self) -> usize {
        self.0
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        self.1.lock().unwrap().push(batch.len());
        HashedEvaluator.evaluate(batch)
    }
}

#[test]
fn as_many_games_as_a_large_batch_takes_fill_it() {
    let rules = SelfPlayRules { visits: 6, max_plies: 3, ..short() };
    let setup = setup(&rules, 1);
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let mut evaluators: Vec<Box<dyn Evaluator>> = vec![Box::new(Recording(256, Arc::clone(&sizes)))];
    let mut numbers = 0..1024;
    let mut deal = || {
        numbers.next().map(|number| SelfPlayGame::new(Arc::clone(&setup), number, 0, GameRecord::default()))
    };
    let mut over = 0;
    drive(&mut evaluators, (256, 1), &mut deal, &mut |_| over += 1, &mut |_| (), &|| false).unwrap();
    assert_eq!(over, 1024);
    let sizes = sizes.lock().unwrap();
    let full = sizes.iter().filter(|size| **size == 256).count();
    assert!(full * 100 >= sizes.len() * 95, "{full} of {} batches are full", sizes.len());
}

/// Records requested maximum batch sizes and actual batch sizes.
#[derive(Default)]
struct RecordingBackend {
    most: Mutex<Vec<usize>>,
    sizes: Arc<Mutex<Vec<usize>>>,
}

impl Backend for RecordingBackend {
    fn cached_input(&self) -> Option<Input> {
        Some(Input::Planes72)
    }

    fn evaluator(&self, max_batch: usize) -> anyhow::Result<Box<dyn Evaluator>> {
        self.most.lock().unwrap().push(max_batch);
        Ok(Box::new(Recording(max_batch, Arc::clone(&self.sizes))))
    }
}

#[test]
fn one_worker_asks_its_network_about_all_its_games_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let out = StoreOptions {
        folder: folder.path().into(),
        chunk_size: 1 << 20,
        save_every: std::time::Duration::from_secs(600),
        resume: false,
        numbers: 0..u64::MAX,
    };
    // Games differ in length, so in one round some searches end and others start.
    let resign = ResignRules { threshold: 0.0, moves: 2, played_on: 0.5 };
    let rules = SelfPlayRules {
        visits: 8,
        max_plies: 24,
        random_plies: 4,
        resign,
        games: 256,
        workers: 1,
        cache: 0,
        ..SelfPlayRules::default()
    };
    let plan = SelfPlayPlan { rules, seed: 1, games: 600 };
    let asked = Arc::new(RecordingBackend::default());
    let networks = SelfPlayNetworks { network: Arc::clone(&asked) as _, other: None };
    let store = Store::open(&out, "games", "a test", serde_json::Value::Null).unwrap();
    let session = play(&plan, &networks, store, &ProgressBar::hidden(), &AtomicBool::new(false)).unwrap();
    assert_eq!((session.games, session.stats.games), (600, 600));
    assert_eq!(*asked.most.lock().unwrap(), [256], "one evaluator");
    let sizes = asked.sizes.lock().unwrap();
    assert_eq!(sizes.iter().sum::<usize>() as u64, session.evaluated);
    assert_eq!(session.batch, session.evaluated as f64 / sizes.len() as f64);
    // Batches are full as long as every finished game is replaced.
    let full = sizes.iter().take_while(|size| **size == 256).count();
    let many = sizes[..full].iter().sum::<usize>();
    assert!(many as u64 * 2 > session.evaluated, "{full} of {} batches are full", sizes.len());
}

fn resumed(folder: &Path) -> Store {
    let out = StoreOptions {
        folder: folder.into(),
        chunk_size: 1 << 20,
        save_every: std::time::Duration::from_secs(600),
        resume: true,
        numbers: 0..u64::MAX,
    };
    Store::open(&out, "games", "a test", serde_json::Value::Null).unwrap()
}

#[test]
fn a_finished_game_that_waits_for_earlier_ones_is_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    let open = || resumed(folder.path());
    let mut store = open();
    let rules = SelfPlayRules { workers: 1, ..short() };
    let game = played(&rules, 1).remove(2);
    store.push(PendingGame { number: 2, done: game.moves.len(), game, finished: true }).unwrap();
    store.close().unwrap();
    let plan = SelfPlayPlan { rules, seed: 1, games: 4 };
    let report = |stop: bool| {
        let networks = SelfPlayNetworks { network: Arc::new(RecordingBackend::default()), other: None };
        play(&plan, &networks, open(), &ProgressBar::hidden(), &AtomicBool::new(stop)).unwrap()
    };
    // Some games may end before the signal is seen.
    let stopped = report(true);
    assert_eq!(stopped.games + stopped.waiting, stopped.stats.games + 1);
    let done = report(false);
    assert_eq!((done.games, done.waiting, stopped.stats.games + done.stats.games), (4, 0, 3));
}

#[test]
fn fewer_games_leave_later_ones_that_were_begun() {
    let folder = tempfile::tempdir().unwrap();
    let open = || resumed(folder.path());
    let rules = SelfPlayRules { workers: 1, ..short() };
    let mut store = open();
    let begun = [1, 4, 5].map(|number| PendingGame { number, ..PendingGame::default() });
    begun.iter().for_each(|game| store.push(game.clone()).unwrap());
    store.close().unwrap();
    let play = |games: u64| {
        let plan = SelfPlayPlan { rules: rules.clone(), seed: 1, games };
        let networks = SelfPlayNetworks { network: Arc::new(RecordingBackend::default()), other: None };
        play(&plan, &networks, open(), &ProgressBar::hidden(), &AtomicBool::new(false)).unwrap()
    };
    let fewer = play(3);
    assert_eq!((fewer.games, fewer.waiting, fewer.stopped, fewer.stats.games), (3, 0, false, 3));
    assert_eq!(open().begun(), begun[1..]);
    let all = play(6);
    assert_eq!((all.games, all.waiting, all.stopped, all.stats.games), (6, 0, false, 3));
}

#[test]
fn a_part_of_the_games_is_the_same_alone_as_among_all() {
    let resign = ResignRules { threshold: 0.0, moves: 2, played_on: 0.5 };
    let rules = SelfPlayRules {
        visits: 8,
        max_plies: 24,
        random_plies: 4,
        resign,
        games: 16,
        workers: 1,
        cache: 0,
        ..SelfPlayRules::default()
    };
    let played = |first: u64, games: u64| {
        let folder = tempfile::tempdir().unwrap();
        let out = StoreOptions {
            folder: folder.path().into(),
            chunk_size: 1 << 20,
            save_every: std::time::Duration::ZERO,
            resume: true,
            numbers: first..first + games,
        };
        let store = Store::open(&out, "games", "a test", serde_json::Value::Null).unwrap();
        let plan = SelfPlayPlan { rules: rules.clone(), seed: 1, games };
        let networks = SelfPlayNetworks { network: Arc::new(RecordingBackend::default()), other: None };
        play(&plan, &networks, store, &ProgressBar::hidden(), &AtomicBool::new(false)).unwrap();
        let chunk = crate::data::dataset::read(&folder.path().join("games-00000.h5")).unwrap();
        let games: Vec<GameRecord> = (0..chunk.games()).map(|game| chunk.game(game)).collect();
        let checked = SelfPlaySetup { rules: rules.clone(), seed: 1, tables: Tables::default() };
        for (number, game) in (first..).zip(&games) {
            check_game(&checked, number, game).unwrap();
        }
        games
    };
    let all = played(0, 60);
    assert_eq!([played(0, 20), played(20, 20), played(40, 20)].concat(), all);
}

#[test]
fn games_by_other_rules_are_refused_with_a_reason() {
    let setup =
        |rules: &SelfPlayRules| SelfPlaySetup { rules: rules.clone(), seed: 1, tables: Tables::default() };
    let rules = SelfPlayRules { max_plies: 6, ..short() };
    let game = played(&rules, 1).remove(0);
    let why = |rules: &SelfPlayRules, game: &GameRecord| {
        check_game(&setup(rules), 0, game).map_err(|error| error.to_string())
    };
    assert_eq!(why(&rules, &game), Ok(()));
    let with = |change: &dyn Fn(&mut GameRecord)| {
        let mut changed = game.clone();
        change(&mut changed);
        why(&rules, &changed).unwrap_err()
    };
    assert_eq!(with(&|game| game.result = GameResult::White), "its result is White, expected Draw");
    assert!(with(&|game| game.flags = 0).starts_with("its flags are 0x0000"));
    let cut = |game: &mut GameRecord| {
        game.moves.pop();
        game.searches.pop();
    };
    assert_eq!(with(&cut), "it is not over after its 5 plies");
    assert_eq!(with(&|game| _ = game.searches.pop()), "it has 5 searches for 6 plies");
    let shorter = SelfPlayRules { max_plies: 4, ..rules.clone() };
    assert_eq!(why(&shorter, &game), Err("it was over after 4 plies, and has 6".into()));
}

struct Incomplete(fn(&mut Vec<Answer>));

impl Evaluator for Incomplete {
    fn max_batch(&self) -> usize {
        4
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        let mut answers = HashedEvaluator.evaluate(batch)?;
        self.0(&mut answers);
        Ok(answers)
    }
}

#[test]
fn an_evaluator_that_leaves_something_out_ends_the_games() {
    let setup = setup(&short(), 1);
    let lacks: [fn(&mut Vec<Answer>); 2] = [
        |answers| _ = answers.pop(),
        |answers| answers.iter_mut().for_each(|answer| _ = answer.priors.pop()),
    ];
    for lack in lacks {
        let mut evaluators: Vec<Box<dyn Evaluator>> = vec![Box::new(Incomplete(lack))];
        let mut deal = || Some(SelfPlayGame::new(Arc::clone(&setup), 0, 0, GameRecord::default()));
        let error = drive(&mut evaluators, (1, 1), &mut deal, &mut |_| (), &mut |_| (), &|| false).err();
        assert!(error.is_some_and(|error| error.0.contains("unanswered")));
    }
}

#[test]
fn every_position_has_its_search_and_the_file_is_sound() {
    let mut chunk = Chunk::new("a test");
    for game in played(&short(), 1) {
        assert_eq!((game.searches.len(), game.evals.len(), game.moves.len()), (12, 12, 12));
        assert_eq!(recorded(&game), 12);
        assert_eq!(
            (game.result, game.flags),
            (GameResult::Draw, FLAG_SELF_PLAY | FLAG_ADJUDICATED),
            "too long"
        );
        assert!(game.searches.iter().any(|searched| searched.q != 0 && searched.d != 0));
        chunk.push(&game);
    }
    let found = inspect(&chunk, true).expect("legal moves whose shares sum to one").to_string();
    assert!(found.contains("searched    72 positions (100.0 %)"), "{found}");
}

#[test]
fn a_game_that_is_cut_short_is_a_draw_or_has_no_result() {
    let results = |cut_is_draw| -> Vec<GameResult> {
        played(&SelfPlayRules { cut_is_draw, ..short() }, 1).iter().map(|game| game.result).collect()
    };
    assert_eq!((results(true), results(false)), (vec![GameResult::Draw; 6], vec![GameResult::Unknown; 6]));
}

#[test]
fn an_interrupted_game_is_continued_as_if_it_had_not_been() {
    let rules = short();
    let whole = driven(&setup(&rules, 3), fresh(3), 3, usize::MAX).0;
    let (finished, begun, _) = driven(&setup(&rules, 3), fresh(3), 3, 150);
    assert!(finished.is_empty() && begun.iter().all(|(_, game)| (2..12).contains(&game.moves.len())));
    assert_eq!(driven(&setup(&rules, 3), begun, 2, usize::MAX).0, whole);
}

#[test]
fn noise_and_its_pruning_change_the_policy_target() {
    let mut rules = SelfPlayRules { max_plies: 1, visits: 60, ..short() };
    rules.temperature.plies = 0;
    rules.temperature.later = 0.0;
    let first = |rules: &SelfPlayRules| -> Vec<_> {
        played(rules, 1).into_iter().map(|game| game.searches[0].shares.clone()).collect()
    };
    let noisy = first(&SelfPlayRules { prune: false, ..rules.clone() });
    let pruned = first(&rules);
    rules.noise.epsilon = 0.0;
    let quiet = first(&SelfPlayRules { prune: false, ..rules });
    assert!(quiet.iter().all(|shares| *shares == quiet[0]), "all games have the same first search");
    assert!(noisy.iter().all(|shares| *shares != quiet[0]) && noisy[0] != noisy[1]);
    assert!(pruned.iter().zip(&noisy).all(|(pruned, noisy)| pruned.len() < noisy.len()));
}

#[test]
fn gumbel_search_visits_few_moves_and_has_a_target_for_all() {
    let mut rules = SelfPlayRules { visits: 17, ..short() };
    let puct = played(&rules, 1);
    rules.gumbel.considered = 4;
    let games = played(&rules, 1);
    assert_ne!(games, puct);
    assert_eq!(games, played(&rules, 1));
    let first = |games: &[GameRecord]| games.iter().map(|game| game.searches[0].shares.len()).max().unwrap();
    assert!(first(&games) > 4, "{} moves have a share, four were considered", first(&games));
    assert!(games.iter().any(|game| game.moves[0] != games[0].moves[0]), "moves are sampled");
    (rules.temperature.opening, rules.temperature.plies, rules.temperature.later) = (1.0, 2, 0.0);
    assert_ne!(played(&rules, 1), games);
    rules.temperature.plies = 0;
    let cold = played(&rules, 1);
    assert!(cold.iter().all(|game| game.moves == cold[0].moves), "none is sampled");
}

#[test]
fn the_value_is_that_of_the_best_move() {
    let mut rules = SelfPlayRules { visits: 40, ..short() };
    rules.noise.epsilon = 0.0;
    let game = &played(&rules, 1)[0];
    let mut search = SteppedSearch::new(Tables::default(), rules.tree_memory());
    let limits = Limits { visits: Some(rules.visits), ..Limits::default() };
    search.start(&Game::new(), limits, rules.params());
    search_alone(&mut search, rules.leaves, &mut HashedEvaluator).unwrap();
    let (best, mean) = (search.tree().stats()[0], search.tree().root().wdl.flipped());
    let searched = SearchRecord::new(best.q, best.wdl.draw.min(1.0 - best.q.abs()), []);
    assert_eq!((game.searches[0].q, game.searches[0].d), (searched.q, searched.d));
    assert!(best.q > mean.q() + 0.05, "{best:?} {mean:?}");
}

#[test]
fn gumbel_search_records_the_value_of_the_improved_policy() {
    let mut rules = SelfPlayRules { visits: 40, ..short() };
    rules.gumbel.considered = 8;
    let games = played(&rules, 1);
    for (number, game) in (0..).zip(&games) {
        // Repeats the game's first search with the same random numbers in the same order.
        let mut rng = stream_rng(RngStream::Search, 1, number, 0);
        assert!(rng.f64() < rules.playout_cap.share);
        let _noise = rng.u64(..);
        let GumbelRules { considered, c_visit, c_scale } = rules.gumbel;
        let noise = rules.temperature.opening;
        let gumbel = Gumbel { considered, c_visit, c_scale, noise, seed: rng.u64(..) };
        let mut search = SteppedSearch::new(Tables::default(), rules.tree_memory());
        let limits = Limits { visits: Some(rules.visits), ..Limits::default() };
        search.start_gumbel(&Game::new(), limits, rules.params(), gumbel);
        search_alone(&mut search, rules.leaves, &mut HashedEvaluator).unwrap();
        let root = search.tree().root();
        let improved = search.improved_policy().expect("a search by Gumbel");
        let (mean, draw) = (root.wdl.flipped().q(), root.wdl.draw);
        let recorded = |q: f32| {
            let searched = SearchRecord::new(q, draw.min(1.0 - q.abs()), []);
            (searched.q, searched.d)
        };
        let searched = &game.searches[0];
        assert_eq!((searched.q, searched.d), recorded(improved.q), "game {number}");
        assert_ne!(searched.q, recorded(mean).0, "game {number}: the mean over visits is another value");
    }
}

#[test]
fn playout_caps_record_their_share_and_save_evaluations() {
    let mut rules = SelfPlayRules { visits: 40, ..short() };
    let all = driven(&setup(&rules, 1), fresh(20), 20, usize::MAX);
    rules.playout_cap.share = 0.25;
    rules.playout_cap.visits = 10;
    let capped = driven(&setup(&rules, 1), fresh(20), 20, usize::MAX);
    let share = |finished: &[FinishedGame]| {
        let (recorded, plies) = finished.iter().fold((0, 0), |(recorded_so_far, plies), finished| {
            (recorded_so_far + recorded(&finished.game), plies + finished.game.moves.len())
        });
        recorded as f64 / plies as f64
    };
    assert_eq!(share(&all.0), 1.0);
    assert!((0.17..0.33).contains(&share(&capped.0)), "{}", share(&capped.0));
    assert!(capped.2 * 2 < all.2, "{} of {}", capped.2, all.2);
}

#[test]
fn temperature_and_random_openings_make_games_differ() {
    let mut rules = short();
    rules.noise.epsilon = 0.0;
    rules.temperature.opening = 0.0;
    rules.temperature.later = 0.0;
    let cold = played(&rules, 1);
    assert!(cold.iter().all(|game| game.moves == cold[0].moves), "nothing is random");
    rules.temperature.opening = 1.0;
    rules.temperature.plies = 2;
    let warm = played(&rules, 1);
    assert!(warm.iter().any(|game| game.moves != warm[0].moves));
}

#[test]
fn lost_games_are_resigned_unless_they_are_played_on() {
    // With this threshold nearly every game is resigned.
    let mut rules = SelfPlayRules { max_plies: 60, ..short() };
    rules.resign = ResignRules { threshold: 0.0, moves: 1, played_on: 0.0 };
    let resigned_games = driven(&setup(&rules, 1), fresh(8), 8, usize::MAX).0;
    let early: Vec<&FinishedGame> =
        resigned_games.iter().filter(|finished| finished.resigned.is_some()).collect();
    assert!(early.len() >= 6, "{} of 8", early.len());
    for finished in &early {
        let loser = finished.resigned.unwrap();
        assert_eq!(finished.game.result, GameResult::won_by(!loser));
        assert!(finished.game.flags & FLAG_ADJUDICATED != 0 && finished.would_resign.is_none());
        assert!(finished.game.moves.len() < 60);
    }
    rules.resign.played_on = 1.0;
    let played_on = driven(&setup(&rules, 1), fresh(8), 8, usize::MAX).0;
    assert!(played_on.iter().all(|finished| finished.resigned.is_none()));
    // Stored games give the same counts as games in memory.
    for finished in resigned_games.iter().chain(&played_on) {
        assert_eq!(FinishedGame::stored(finished.number, finished.game.clone(), &rules), *finished);
    }
    for (resigned_games, played_on) in resigned_games.iter().zip(&played_on) {
        assert_eq!(resigned_games.resigned, played_on.would_resign, "the same side, in the same game");
        assert!(played_on.game.moves.starts_with(&resigned_games.game.moves));
    }
}
