//! A game replayed into training samples: input masks and targets.

mod phase;
mod value;

use engine::encoding::planes72::{self, Planes72, ROWS};
use engine::encoding::{PolicyIndex, az4672};
use engine::position::{Game, PackedMove, PositionError};
use shakmaty::Position;

pub use phase::Phase;
pub use value::{ValueTarget, wdl_of_eval};

/// Words of the mask of legal moves: one bit per index of `az4672/1`.
pub const LEGAL_WORDS: usize = az4672::SIZE.div_ceil(64);

const _: () = assert!(LEGAL_WORDS == ROWS, "the batch lays both out in rows of 73 words");

/// One position with what was played and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The encoded position.
    pub input: Planes72,
    /// Legal moves: index `64·w + b` is bit `b` of word `w`.
    pub legal: [u64; LEGAL_WORDS],
    /// The move played.
    pub policy: PolicyIndex,
    /// Target probabilities of win, draw and loss for the mover.
    pub wdl: [f32; 3],
}

/// A game as a sampler reads it.
#[derive(Clone, Copy, Debug)]
pub struct Replay<'a> {
    /// The start as a FEN; `None` is the initial position.
    pub start: Option<&'a str>,
    /// The moves, packed as in `games/1`.
    pub moves: &'a [u16],
    /// One per move, as in `games/1`; empty for a game without evaluations.
    pub evals: &'a [i16],
    /// White's: 1, 0, −1, or 2 for unknown.
    pub result: i8,
}

/// Why a game can't be replayed: it was damaged after its import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// The ply that is not a legal move, or 0 if the start is no position.
    pub ply: usize,
}

impl std::fmt::Display for Damaged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no legal move at ply {}", self.ply)
    }
}

impl Replay<'_> {
    /// The position that the game starts from.
    ///
    /// # Errors
    ///
    /// If its FEN is no position.
    pub fn initial(&self) -> Result<Game, PositionError> {
        self.start.map_or_else(|| Ok(Game::new()), Game::from_fen)
    }

    /// The sample of the position before ply `ply`, with the move played there as its policy target.
    ///
    /// # Errors
    ///
    /// If the move there isn't legal.
    ///
    /// # Panics
    ///
    /// If the game has no such ply.
    pub fn sample(&self, ply: usize, target: &ValueTarget) -> Result<Sample, Damaged> {
        let mut game = self.initial().map_err(|_| Damaged { ply: 0 })?;
        for packed in &self.moves[..ply] {
            let m = PackedMove(*packed).to_legal_move(game.position());
            game.play(m);
        }
        let moves = game.legal_moves();
        let played = PackedMove(self.moves[ply]).to_legal_move(game.position());
        if !moves.contains(&played) {
            return Err(Damaged { ply });
        }
        let turn = game.position().turn();
        let mut legal = [0; LEGAL_WORDS];
        for m in &moves {
            let index = az4672::index(turn, *m).offset();
            legal[index / 64] |= 1 << (index % 64);
        }
        let eval = self.evals.get(ply).copied();
        Ok(Sample {
            input: planes72::encode_given(&game, &moves),
            legal,
            policy: az4672::index(turn, played),
            wdl: target.for_mover(turn, self.result, eval),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(moves: &str) -> Vec<u16> {
        let mut game = Game::new();
        let pack = |text: &str| {
            let m = game.parse_uci(text).unwrap();
            game.play(m);
            PackedMove::new(m).0
        };
        moves.split_whitespace().map(pack).collect()
    }

    #[test]
    fn a_sample_is_the_position_before_its_ply() {
        let moves = packed("e2e4 e7e5 g1f3");
        let replay = Replay { start: None, moves: &moves, evals: &[], result: 1 };
        let sample = replay.sample(1, &ValueTarget::default()).unwrap();
        let mut game = Game::new();
        game.play(game.parse_uci("e2e4").unwrap());
        assert_eq!(sample.input, planes72::encode(&game));
        assert_eq!(sample.policy, az4672::index(game.turn(), game.parse_uci("e7e5").unwrap()));
        assert_eq!(sample.wdl, [0.0, 0.0, 1.0], "White won, Black is to move");
        assert_eq!(sample.legal.iter().map(|word| word.count_ones()).sum::<u32>(), 20);
        let index = sample.policy.offset();
        assert_eq!(sample.legal[index / 64] >> (index % 64) & 1, 1, "the move played is legal");
    }

    #[test]
    fn a_damaged_game_is_an_error() {
        let mut moves = packed("e2e4 e7e5");
        moves[1] = 12 | 28 << 6; // e2e4 again
        let replay = Replay { start: None, moves: &moves, evals: &[], result: 0 };
        assert_eq!(replay.sample(1, &ValueTarget::default()), Err(Damaged { ply: 1 }));
        let bad_start = Replay { start: Some("nonsense"), ..replay };
        assert_eq!(bad_start.sample(0, &ValueTarget::default()), Err(Damaged { ply: 0 }));
    }
}
