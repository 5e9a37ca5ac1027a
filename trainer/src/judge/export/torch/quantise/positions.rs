//! Training games for calibration, validation games for comparison.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use engine::chess::position::{Game, PackedMove};
use shakmaty::Move;

use crate::data::dataset::{self, Chunk};
use crate::data::record::{GameView, Split, split};

/// Sampled positions per game, so that a few games do not dominate a source.
const PER_GAME: usize = 8;

#[derive(Clone, Debug)]
pub struct LabelledPosition {
    pub game: Game,
    pub played: Move,
}

#[derive(Clone, Debug, Default)]
pub struct PositionSplit {
    pub calibration: Vec<Game>,
    pub held_out: Vec<LabelledPosition>,
}

/// Samples all sources equally. Training and validation games must exist.
pub fn read(files: &[PathBuf], calibration: usize, held_out: usize) -> Result<PositionSplit> {
    let mut pools: Vec<SourceGames> = Vec::new();
    for file in files {
        log::info!("reading {}", file.display());
        let chunk = dataset::read(file)?;
        match pools.iter_mut().find(|pool| pool.source == chunk.source) {
            Some(pool) => pool.add(&chunk, calibration),
            None => {
                let mut pool = SourceGames { source: chunk.source.clone(), ..SourceGames::default() };
                pool.add(&chunk, calibration);
                pools.push(pool);
            }
        }
    }
    let mut positions = PositionSplit::default();
    for pool in &pools {
        let before = positions.held_out.len();
        let share = |count: usize| count.div_ceil(pools.len());
        let train = spread(&pool.training, share(calibration))?;
        positions.calibration.extend(train.into_iter().map(|position| position.game));
        positions.held_out.extend(spread(&pool.held_out, share(held_out))?);
        log::info!("{}: {} held-out positions", pool.source, positions.held_out.len() - before);
    }
    ensure!(
        !positions.calibration.is_empty() && !positions.held_out.is_empty(),
        "there are too few games in the files: one game in a hundred is held out for comparison"
    );
    Ok(positions)
}

pub fn sample(files: &[PathBuf], count: usize) -> Result<Vec<LabelledPosition>> {
    let mut games = Vec::new();
    for file in files {
        let chunk = dataset::read(file)?;
        games.extend((0..chunk.games()).map(|game| StoredGame::of(&chunk, game)));
    }
    spread(&games, count)
}

#[derive(Default)]
struct SourceGames {
    source: String,
    training: Vec<StoredGame>,
    held_out: Vec<StoredGame>,
}

struct StoredGame {
    start: Option<String>,
    moves: Vec<u16>,
    puzzle: bool,
}

impl StoredGame {
    fn of(chunk: &Chunk, game: usize) -> StoredGame {
        let replay = chunk.replay(game);
        let start = replay.start.map(str::to_owned);
        StoredGame { start, moves: replay.moves.to_vec(), puzzle: replay.puzzle }
    }

    fn replay(&self) -> GameView<'_> {
        let start = self.start.as_deref();
        GameView { start, moves: &self.moves, puzzle: self.puzzle, ..GameView::default() }
    }

    fn targets(&self) -> usize {
        self.replay().targets()
    }
}

impl SourceGames {
    /// All validation games of a file and up to `most` of its training games.
    fn add(&mut self, chunk: &Chunk, most: usize) {
        let before = self.training.len();
        for index in 0..chunk.games() {
            let part = match split(chunk.identity(index)) {
                Split::Train if self.training.len() - before < most => &mut self.training,
                Split::Validation => &mut self.held_out,
                Split::Train | Split::Test => continue,
            };
            part.push(StoredGame::of(chunk, index));
        }
    }
}

/// Up to `count` distinct positions, spread over the games.
fn spread(games: &[StoredGame], count: usize) -> Result<Vec<LabelledPosition>> {
    let turns = |index: usize| (0..games[index].targets().min(PER_GAME)).map(move |turn| (index, turn));
    let all: Vec<(usize, usize)> = (0..games.len()).flat_map(turns).collect();
    let count = count.min(all.len());
    let mut positions = Vec::with_capacity(count);
    for number in 0..count {
        let (index, turn) = all[number * all.len() / count];
        positions.extend(position_of(&games[index], index, turn)?);
    }
    Ok(positions)
}

/// `None` if the stored move is illegal. The first sample (`turn` 0) depends on `index`, so that all phases are
/// covered.
fn position_of(stored: &StoredGame, index: usize, turn: usize) -> Result<Option<LabelledPosition>> {
    let replay = stored.replay();
    let mut game = replay.initial().context("invalid initial position of a game")?;
    let (targets, turns) = (replay.targets(), replay.targets().min(PER_GAME));
    // The golden ratio gives a low-discrepancy sequence, which covers openings and endings evenly.
    let first = (index as f64 * 0.618_034).fract() * targets as f64;
    let target = (first as usize + turn * targets / turns) % targets;
    let (before, after) = stored.moves.split_at(replay.target_ply(target));
    for packed in before {
        game.play(PackedMove(*packed).to_legal_move(game.position()));
    }
    let played = PackedMove(after[0]).to_legal_move(game.position());
    Ok(game.legal_moves().contains(&played).then_some(LabelledPosition { game, played }))
}

/// At equal distances, because positions are ordered by source.
pub fn thinned<T: Clone>(all: &[T], count: usize) -> Vec<T> {
    all.iter().step_by(all.len().div_ceil(count).max(1)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::record::{self, INITIAL_FEN};
    use crate::judge::export::torch::quantise::fixtures::games_file;

    #[test]
    fn calibration_uses_training_games_and_comparison_validation_games() {
        let folder = tempfile::tempdir().unwrap();
        let mut pool = SourceGames::default();
        pool.add(&dataset::read(&games_file(folder.path(), "a", 900)).unwrap(), 300);
        let part = |game: &StoredGame| split(record::identity(INITIAL_FEN, game.moves.iter().copied()));
        assert_eq!(pool.training.len(), 300);
        assert!(pool.training.iter().all(|game| part(game) == Split::Train));
        assert!((2..30).contains(&pool.held_out.len()), "one in a hundred: {}", pool.held_out.len());
        assert!(pool.held_out.iter().all(|game| part(game) == Split::Validation));
    }

    #[test]
    fn only_the_solvers_moves_of_a_puzzle_are_sampled() {
        let moves = [12 | 28 << 6, 52 | 36 << 6, 6 | 21 << 6]; // e2e4 e7e5 g1f3
        let stored = |puzzle| StoredGame { start: None, moves: moves.to_vec(), puzzle };
        let plies = |stored: StoredGame| -> Vec<usize> {
            spread(&[stored], 9).unwrap().iter().map(|position| position.game.ply()).collect()
        };
        assert_eq!(plies(stored(true)), [0, 2], "each of them once");
        assert_eq!(plies(stored(false)), [0, 1, 2]);
    }

    #[test]
    fn every_source_contributes_equally() {
        let folder = tempfile::tempdir().unwrap();
        let files = [("large", 900), ("large", 901), ("large", 902), ("small", 903)];
        let files = files.map(|(source, games)| games_file(folder.path(), source, games));
        let positions = read(&files, 200, 20).unwrap();
        assert_eq!(positions.calibration.len(), 200);
        assert_eq!(positions.held_out.len(), 20, "ten of each source");
        for LabelledPosition { game, played } in &positions.held_out {
            assert!(game.legal_moves().contains(played));
        }
        let moves: std::collections::HashSet<_> = positions.held_out.iter().map(|p| p.game.ply()).collect();
        assert!(moves.len() > 5, "openings and endings: {moves:?}");
        let few = read(&[games_file(folder.path(), "few", 3)], 10, 10).unwrap_err().to_string();
        assert!(few.contains("too few"), "{few}");
    }
}
