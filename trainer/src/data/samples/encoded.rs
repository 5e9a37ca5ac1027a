//! A network's input before its expansion to a tensor.

use engine::chess::position::Game;
use engine::nets::encoding::{Input, planes72};
use shakmaty::Move;

/// See [`Input::read`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EncodedInput {
    /// Bit masks, a1 = bit 0 in the scheme's orientation.
    pub masks: Vec<u64>,
    /// Planes with a value other than 0 and 1.
    pub scalars: Vec<f32>,
}

impl EncodedInput {
    /// `moves` are the legal moves of `game`. `boards` limits the previous boards.
    pub fn new(scheme: Input, game: &Game, moves: &[Move], boards: Option<usize>) -> EncodedInput {
        let keep = |masks: &[u64], scalars: &[f32]| EncodedInput {
            masks: masks.to_vec(),
            scalars: scalars.to_vec(),
        };
        match scheme {
            // `planes72` reads the legal moves.
            Input::Planes72 => {
                let mut planes = planes72::encode_given(game, moves);
                if let Some(boards) = boards {
                    planes.forget(boards);
                }
                keep(&planes.masks, &planes.scalars)
            }
            _ => scheme.read(game, keep),
        }
    }
}
