use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, ensure};
use engine::base::words::counted;
use engine::chess::tables::Tables;

use super::match_result::read_match;
use super::task::UnitTask;
use super::unit::{Unit, UnitKind};
use super::unit_rules::MatchUnitRules;
use crate::config::SelfPlayRules;
use crate::data::datagen::StartPositions;
use crate::data::dataset::{self, Chunk, replay_game};
use crate::data::record::{GameRecord, MAX_CENTIPAWNS, NO_EVAL, RngStream, stream_rng};
use crate::play::arena::{Contender, Side, check_match_game, match_setup, search_match_again};
use crate::play::gameplay::OpeningsAndTables;
use crate::play::selfplay::{SelfPlayNetworks, SelfPlaySetup, check_game, network_of, search_again};

/// Shared by the checks of one kind of unit and one seed.
pub struct ResultCheck {
    task: UnitTask,
    starts: StartPositions,
    tables: Tables,
    seed: u64,
}

impl ResultCheck {
    pub fn new(task: UnitTask, seed: u64) -> Result<ResultCheck> {
        let (book, random_plies, syzygy) = match &task {
            UnitTask::SelfPlay(rules, _) => (&*rules.book, rules.random_plies, &*rules.syzygy),
            UnitTask::Match(rules, _) => (&*rules.rules.book, rules.rules.random_plies, &*rules.rules.syzygy),
            UnitTask::Annotate(..) => ("", 0, ""),
        };
        let OpeningsAndTables { starts, tables } = OpeningsAndTables::open(book, random_plies, syzygy, seed)?;
        Ok(ResultCheck { task, starts, tables, seed })
    }

    /// The new task must have the same openings, tables and seed.
    pub fn for_task(self, task: UnitTask) -> ResultCheck {
        ResultCheck { task, ..self }
    }
}

/// Checks a result and returns its games in order.
///
/// The file must name this unit (whose name covers networks, rules and seed) and have all of its games, which must
/// replay by the rules to their results. If the network is exact on every machine, one random search is repeated.
pub fn check_result(unit: &Unit, path: &Path, check: &ResultCheck) -> Result<Vec<GameRecord>> {
    let records = match unit.kind {
        UnitKind::Match => read_match(path, &unit.source(), &check.tables)?,
        _ => read_games(path, &unit.source())?,
    };
    let (games, count) = (records.len() as u64, expected_games(unit, &check.task));
    ensure!(games == count, "it has {}, not {count}", counted(games, "game"));
    let of = |index: usize, why: anyhow::Error| why.context(format!("game {index}"));
    match &check.task {
        UnitTask::SelfPlay(rules, networks) => {
            let setup = setup(check, rules);
            for (index, game) in records.iter().enumerate() {
                let number = unit.number + index as u64;
                ensure!(
                    game.start == check.starts.without_engine(number)?,
                    "game {index}: it has another start"
                );
                check_game(&setup, number, game).map_err(|why| of(index, why))?;
            }
            search_one_again(unit, &records, setup, networks)?;
        }
        UnitTask::Match(rules, players) => {
            for (index, game) in records.iter().enumerate() {
                let start = check.starts.without_engine(unit.number + index as u64 / 2)?;
                ensure!(game.start == start, "game {index}: it has another start");
                check_match_game(&rules.rules, &check.tables, game).map_err(|why| of(index, why))?;
            }
            search_one_of_match_again(unit, &records, rules, players, check)?;
        }
        UnitTask::Annotate(_, original) => {
            let original = dataset::read(original)?;
            ensure!(is_labelled(&records, &original), "its games are not those of the unit");
            let evals = records.iter().flat_map(|game| &game.evals);
            let missing = evals.filter(|eval| **eval == NO_EVAL).count();
            ensure!(missing == 0, "positions without an evaluation: {missing}");
        }
    }
    Ok(records)
}

fn expected_games(unit: &Unit, task: &UnitTask) -> u64 {
    if matches!(task, UnitTask::Match(..)) { 2 * unit.count } else { unit.count }
}

fn setup(check: &ResultCheck, rules: &SelfPlayRules) -> SelfPlaySetup {
    SelfPlaySetup { rules: rules.clone(), seed: check.seed, tables: check.tables.clone() }
}

fn read_games(path: &Path, source: &str) -> Result<Vec<GameRecord>> {
    let chunk = dataset::read(path)?;
    ensure!(chunk.source == source, "it is \"{}\", not \"{source}\"", chunk.source);
    for index in 0..chunk.games() {
        replay_game(&chunk, index)?;
    }
    Ok((0..chunk.games()).map(|index| chunk.game(index)).collect())
}

/// Whether the games are the original ones, labels aside.
fn is_labelled(games: &[GameRecord], original: &Chunk) -> bool {
    let bare = |game: GameRecord| GameRecord { evals: Vec::new(), searches: Vec::new(), ..game };
    let same = |(index, game): (usize, &GameRecord)| bare(game.clone()) == bare(original.game(index));
    games.len() == original.games() && games.iter().enumerate().all(same)
}

/// Repeats one search, which detects another network or a broken program.
fn search_one_again(
    unit: &Unit,
    games: &[GameRecord],
    setup: SelfPlaySetup,
    networks: &SelfPlayNetworks,
) -> Result<()> {
    // Every network gives the same proven mates and single legal moves.
    let telling = |game: &GameRecord, ply: usize| {
        game.evals[ply].unsigned_abs() <= MAX_CENTIPAWNS.unsigned_abs() && game.searches[ply].shares.len() > 1
    };
    let all =
        games.iter().enumerate().flat_map(|(index, game)| (0..game.moves.len()).map(move |ply| (index, ply)));
    let told: Vec<(usize, usize)> = all.filter(|(index, ply)| telling(&games[*index], *ply)).collect();
    let mut rng = stream_rng(RngStream::Recheck, unit.seed, unit.number, 0);
    let Some((index, ply)) = rng.choice(told) else { return Ok(()) };
    let (game, number) = (&games[index], unit.number + index as u64);
    let network = network_of(networks, unit.seed, number);
    if !network.is_exact() {
        return Ok(());
    }
    let mut evaluator = network.evaluator(setup.rules.leaves)?;
    let again = search_again(Arc::new(setup), number, game, ply, evaluator.as_mut())?;
    ensure!(
        again == (game.moves[ply], game.searches[ply].clone()),
        "game {index}: the search at ply {ply} is not this network's by these rules"
    );
    Ok(())
}

/// Repeats one search, which detects another player or setting.
fn search_one_of_match_again(
    unit: &Unit,
    games: &[GameRecord],
    rules: &MatchUnitRules,
    [first, second]: &[Contender; 2],
    check: &ResultCheck,
) -> Result<()> {
    let (setup, networks) = match_setup([first, second], &rules.rules, check.tables.clone(), check.seed);
    let exact: [Option<usize>; 2] = std::array::from_fn(|player| match setup.sides[player] {
        Side::Search(index, _) if networks[index].is_exact() => Some(index),
        _ => None,
    });
    // The first player has White in each pair's first game.
    let player = |index: usize, game: &GameRecord, ply: usize| {
        (index + ply + usize::from(game.start_fen().split(' ').nth(1) == Some("b"))) % 2
    };
    let all = games.iter().enumerate().flat_map(|(index, game)| {
        let plies = 0..game.moves.len();
        plies.filter_map(move |ply| Some((index, ply, exact[player(index, game, ply)]?)))
    });
    let told: Vec<(usize, usize, usize)> = all.collect();
    let mut rng = stream_rng(RngStream::Recheck, unit.seed, unit.number, 0);
    let Some((index, ply, network)) = rng.choice(told) else { return Ok(()) };
    let mut evaluator = networks[network].evaluator(1)?;
    let number = 2 * unit.number + index as u64;
    let again = search_match_again(setup, number, &games[index], ply, evaluator.as_mut())?;
    ensure!(
        again == games[index].moves[ply],
        "game {index}: the move at ply {ply} is not this player's by these rules"
    );
    Ok(())
}
