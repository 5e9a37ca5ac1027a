//! Positions on which two forms of a network are compared.

use std::path::Path;

use anyhow::{Context, Result};
use engine::chess::position::{Game, PackedMove};

use super::golden::golden_games;
use crate::data::dataset;

/// Largest difference: absolute for probabilities; relative to max(|logit|, 1) for logits, which can be large for
/// illegal moves.
pub const TOLERANCE: f32 = 1e-4;

/// Spread over the games of a file.
pub fn positions_of_file(path: &Path, count: usize) -> Result<Vec<Game>> {
    let chunk = dataset::read(path)?;
    let games = chunk.games().max(1);
    let mut positions = Vec::with_capacity(count);
    for number in 0..count.min(chunk.positions()) {
        let stored = chunk.replay(number * 7919 % games);
        if stored.moves.is_empty() {
            continue;
        }
        let mut game = stored.initial().with_context(|| path.display().to_string())?;
        for packed in &stored.moves[..number * 31 % stored.moves.len()] {
            game.play(PackedMove(*packed).to_legal_move(game.position()));
        }
        if !game.legal_moves().is_empty() {
            positions.push(game);
        }
    }
    Ok(positions)
}

/// Golden positions and their successors, always the same.
pub fn built_in_positions(count: usize) -> Vec<Game> {
    let mut positions = Vec::with_capacity(count);
    let mut starts = golden_games().into_iter().cycle();
    while positions.len() < count {
        let mut game = starts.next().expect("a cycle never ends");
        for step in 0..40 {
            let legal = game.legal_moves();
            if legal.is_empty() || positions.len() == count {
                break;
            }
            positions.push(game.clone());
            game.play(legal[(step * 7 + positions.len() * 13) % legal.len()]);
        }
    }
    positions
}
