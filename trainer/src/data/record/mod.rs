//! Games as in `games/1`: [`GameRecord`] owns a game, [`GameView`] borrows one from a file's columns.

mod evals;
mod search;
mod view;
mod random;
mod openings;
mod notation;

use std::borrow::Cow;

pub use crate::base::result::GameResult;
use engine::chess::position::PackedMove;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

pub use engine::chess::openings::{LONGEST_LINE, Opening, opening_of};
pub(crate) use evals::{EvalComment, FoundEval, find as find_eval};
pub use evals::{EvalCounts, EvalSide, MATE_LIMIT, MATE_SCORE, MAX_CENTIPAWNS, NO_EVAL, wdl_of_eval};
pub use notation::{PlayedMove, date, eval_text, played_moves, write_pgn};
pub use openings::opening;
pub use random::{RngStream, game_rng, stream_rng};
pub use search::{SearchColumns, SearchRecord, SearchView, wdl_of_search};
pub use view::{DamagedGame, GameView};

/// The attribute `format` of a file of games.
pub const FORMAT: &str = "games";

pub const INITIAL_FEN: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

/// Bit 0 of [`GameRecord::flags`]: Chess960 rules.
pub const FLAG_CHESS960: u16 = 1;
/// Bit 1: a puzzle, whose plies 0, 2, 4 … are targets.
pub const FLAG_PUZZLE: u16 = 2;
/// Bit 2: a network played itself.
pub const FLAG_SELF_PLAY: u16 = 4;
pub const FLAG_ADJUDICATED: u16 = 8;
pub const KNOWN_FLAGS: u16 = FLAG_CHESS960 | FLAG_PUZZLE | FLAG_SELF_PLAY | FLAG_ADJUDICATED;

/// The moves are legal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GameRecord {
    /// FEN as shakmaty writes it, at most 100 bytes; `None` is the initial position.
    pub start: Option<String>,
    pub moves: Vec<PackedMove>,
    /// `[plies]`: score before each move, in centipawns for White; mates are ±([`MATE_SCORE`] − plies), [`NO_EVAL`] is
    /// none.
    pub evals: Vec<i16>,
    pub result: GameResult,
    pub white_elo: u16,
    pub black_elo: u16,
    /// yyyymmdd; unknown parts are 0.
    pub date: u32,
    pub flags: u16,
    /// `[plies]`: search before each move, by self-play or an engine; or empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<SearchRecord>,
}

impl GameRecord {
    /// Also for the initial position.
    pub fn start_fen(&self) -> Cow<'_, str> {
        self.start.as_deref().map_or(Cow::Borrowed(INITIAL_FEN), Cow::Borrowed)
    }

    pub fn identity(&self) -> u64 {
        identity(&self.start_fen(), self.moves.iter().map(|m| m.0))
    }

    pub fn has_evals(&self) -> bool {
        self.evals.iter().any(|eval| *eval != NO_EVAL)
    }
}

/// xxh3-64 of the start FEN's bytes (also of [`INITIAL_FEN`]) and the packed moves, each two bytes, low byte first.
pub fn identity(start_fen: &str, moves: impl Iterator<Item = u16>) -> u64 {
    let mut bytes = Vec::with_capacity(512);
    bytes.extend_from_slice(start_fen.as_bytes());
    bytes.extend(moves.flat_map(u16::to_le_bytes));
    let mut hasher = Xxh3::new();
    hasher.update(&bytes);
    hasher.digest()
}

/// Use of a game in training. Positions of a game are never split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Split {
    /// 98 of 100 games.
    Train,
    /// [`identity`] modulo 100 is 98. These games choose the best checkpoint.
    Validation,
    /// Modulo 100 is 99. For the final evaluation only.
    Test,
}

pub fn split(identity: u64) -> Split {
    split_at(identity, 1)
}

/// Like [`split`], but holds out `validation` of 100 games (1 to 98). All games that [`split`] holds out stay held out.
pub fn split_at(identity: u64, validation: u64) -> Split {
    match identity % 100 {
        99 => Split::Test,
        part if part + validation >= 99 => Split::Validation,
        _ => Split::Train,
    }
}

/// Whether a game is in a share (0 to 1) of the games, whatever their [`Split`]. A larger share has the games of a smaller.
pub fn is_in_fraction(identity: u64, fraction: f64) -> bool {
    // The split depends on the remainder by 100.
    let place = (identity / 100) as u32;
    f64::from(place) < fraction * 2f64.powi(32)
}

#[cfg(test)]
mod tests {
    use shakmaty::Color;

    use super::*;

    #[test]
    fn more_validation_games_are_taken_from_the_training_games() {
        for part in 0..100 {
            let expected = match part {
                99 => Split::Test,
                79.. => Split::Validation,
                _ => Split::Train,
            };
            assert_eq!(split_at(700 + part, 20), expected);
            let usual = split(700 + part);
            assert!(usual == Split::Train || usual == expected, "what was held out still is: {part}");
            assert_eq!(split(part) == Split::Validation, part == 98);
        }
    }

    #[test]
    fn a_larger_fraction_has_the_games_of_a_smaller_and_the_split_does_not_matter() {
        let mut random = fastrand::Rng::with_seed(1);
        let games: Vec<u64> = (0..20_000).map(|_| random.u64(..)).collect();
        let taken = |fraction: f64| -> Vec<u64> {
            games.iter().copied().filter(|game| is_in_fraction(*game, fraction)).collect()
        };
        let [few, half, all] = [0.01, 0.5, 1.0].map(taken);
        assert_eq!(all, games);
        // Bounds are four standard deviations.
        assert!((144..=256).contains(&few.len()) && (9717..=10_283).contains(&half.len()));
        assert!(few.iter().all(|game| half.contains(game)));
        let validation = half.iter().filter(|game| split_at(**game, 20) == Split::Validation).count();
        assert!((1840..=2160).contains(&validation), "{validation}");
    }

    fn packed(from: u16, to: u16) -> PackedMove {
        PackedMove(from | to << 6)
    }

    #[test]
    fn the_split_never_changes() {
        let mut game = GameRecord::default();
        assert_eq!(game.identity(), xxhash_rust::xxh3::xxh3_64(INITIAL_FEN.as_bytes()));
        game.moves = vec![packed(12, 28), packed(52, 36)];
        // After 1. e4 e5. Another hash would move games between training and validation.
        assert_eq!(game.identity(), IDENTITY_E4_E5);
        assert_eq!(split(game.identity()), Split::Train);
        game.start = Some("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1".to_owned());
        assert_eq!(game.identity(), IDENTITY_ENDING);
        assert_eq!(split(198), Split::Validation);
        assert_eq!(split(99), Split::Test);
        assert_eq!(split(100), Split::Train);
    }

    const IDENTITY_E4_E5: u64 = 10_799_547_134_926_109_180;
    const IDENTITY_ENDING: u64 = 13_989_046_677_300_891_013;

    #[test]
    fn results_keep_their_codes() {
        for code in [-1, 0, 1, 2] {
            assert_eq!(GameResult::from_code(code).unwrap().code(), code);
        }
        assert_eq!(GameResult::from_code(3), None);
        assert_eq!(GameResult::won_by(Color::Black).code(), -1);
    }
}
