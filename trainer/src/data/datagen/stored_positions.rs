use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use engine::chess::position::PackedMove;
use fastrand::Rng;

use super::walk::Walk;
use crate::data::dataset::{self, Chunk};
use crate::data::record::{Split, split};

/// Positions of training games in files, equally likely; no puzzles.
#[derive(Clone, Debug)]
pub struct StoredPositions {
    chunks: Vec<Chunk>,
    /// Chunk, and index in it.
    games: Vec<(usize, usize)>,
    /// Cumulative plies up to each game's end.
    ends: Vec<usize>,
}

impl StoredPositions {
    pub fn read(files: &[PathBuf]) -> Result<StoredPositions> {
        let mut positions = StoredPositions { chunks: Vec::new(), games: Vec::new(), ends: Vec::new() };
        for file in files {
            let chunk = dataset::read_replayed(file)?;
            for index in 0..chunk.games() {
                let game = chunk.replay(index);
                if !game.puzzle && !game.moves.is_empty() && split(chunk.identity(index)) == Split::Train {
                    positions.games.push((positions.chunks.len(), index));
                    positions.ends.push(positions.count() + game.moves.len());
                }
            }
            positions.chunks.push(chunk);
        }
        let names = || files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ");
        ensure!(positions.count() > 0, "{}: no training games to begin in", names());
        Ok(positions)
    }

    fn count(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Draws a position in which the game is open. Fails after `tries` finished games.
    pub fn draw(&self, tries: u32, rng: &mut Rng) -> Result<Walk> {
        let drawn = |rng: &mut Rng| {
            let ply = rng.usize(..self.count());
            let index = self.ends.partition_point(|end| *end <= ply);
            let (chunk, game) = self.games[index];
            let game = self.chunks[chunk].replay(game);
            let plies = game.moves.len() + ply - self.ends[index];
            let moves: Vec<PackedMove> = game.moves[..plies].iter().copied().map(PackedMove).collect();
            Walk::along(game.start.map(str::to_owned), &moves)
        };
        // A game may have gone on after a draw by rule that nobody claimed.
        let open = (0..tries).map(|_| drawn(rng)).find(|walk| walk.position.game.outcome().is_none());
        open.context("no position found in which the game is not over")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use engine::chess::position::Game;

    use super::super::position_after;
    use super::*;
    use crate::data::record::{FLAG_PUZZLE, GameRecord, game_rng};

    /// Deterministic by `seed`.
    fn game(seed: usize, plies: usize) -> GameRecord {
        let (mut replay, mut record) = (Game::new(), GameRecord::default());
        for ply in 0..plies {
            let moves = replay.legal_moves();
            let m = moves[(seed * 31 + ply * seed) % moves.len()];
            record.moves.push(PackedMove::new(m));
            replay.play(m);
        }
        record
    }

    #[test]
    fn the_positions_of_all_training_games_are_as_likely() {
        let folder = tempfile::tempdir().unwrap();
        let (mut files, mut expected, mut held_out) = (Vec::new(), BTreeMap::new(), 0);
        for file in 0..2 {
            let mut chunk = Chunk::new("a test");
            for number in 0..150 {
                let mut game = game(150 * file + number, 1 + number % 4);
                if number == 3 {
                    game.flags = FLAG_PUZZLE;
                } else if split(game.identity()) == Split::Train {
                    let fens = (0..game.moves.len())
                        .map(|ply| position_after(None, game.moves[..ply].iter().copied()).game.fen());
                    fens.for_each(|fen| *expected.entry(fen).or_insert(0.0) += 1.0);
                } else {
                    held_out += 1;
                }
                chunk.push(&game);
            }
            files.push(folder.path().join(format!("{file}.h5")));
            dataset::write(&chunk, &files[file]).unwrap();
        }
        assert!(held_out > 0);
        let positions = StoredPositions::read(&files).unwrap();
        let all: f64 = expected.values().sum();
        assert_eq!(positions.count() as f64, all);
        let (mut rng, mut found) = (game_rng(1, 1, 1), BTreeMap::new());
        let draws = 20_000.0;
        for _ in 0..draws as u32 {
            *found.entry(positions.draw(1, &mut rng).unwrap().position.game.fen()).or_insert(0.0) += 1.0;
        }
        assert!(found.keys().all(|fen| expected.contains_key(fen)));
        for (fen, count) in &expected {
            let (drawn, mean) = (found.get(fen).copied().unwrap_or(0.0), draws * count / all);
            assert!((drawn - mean).abs() < 5.0 * mean.sqrt(), "{fen}: {drawn} instead of {mean}");
        }
    }

    #[test]
    fn without_training_games_there_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("none.h5");
        dataset::write(&Chunk::new("a test"), &file).unwrap();
        let error = format!("{:#}", StoredPositions::read(&[file]).unwrap_err());
        assert!(error.ends_with("none.h5: no training games to begin in"), "{error}");
        let missing = StoredPositions::read(&[folder.path().join("missing.h5")]).unwrap_err();
        assert!(format!("{missing:#}").contains("missing.h5"));
    }
}
