//! `onehot832/1`: the state of each square, with absolute colours; no side to move, castling rights or counters.
//!
//! Squares are a8, b8 … h8, a7 … h1; the 13 states are empty, white P N B R Q K, black P N B R Q K.

use shakmaty::{Bitboard, Color, Position};

use super::planes::pieces;
use crate::chess::position::Game;

pub const NAME: &str = "onehot832/1";

pub const STATES: usize = 13;

pub const INPUT_SIZE: usize = 64 * STATES;

/// Squares in each state, a1 = bit 0.
pub fn encode(game: &Game) -> [u64; STATES] {
    let board = game.position().board();
    let mut masks = [0; STATES];
    masks[0] = !board.occupied().0;
    pieces(board, Color::White, &mut masks[1..]);
    masks
}

pub fn write(masks: &[u64; STATES], out: &mut [f32]) {
    assert_eq!(out.len(), INPUT_SIZE, "one input tensor");
    out.fill(0.0);
    for (state, mask) in masks.iter().enumerate() {
        for square in Bitboard(*mask) {
            out[square.flip_vertical() as usize * STATES + state] = 1.0;
        }
    }
}
