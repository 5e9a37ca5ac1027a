use serde::{Deserialize, Serialize};
use shakmaty::Color;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GameResult {
    White,
    Black,
    Draw,
    #[default]
    Unknown,
}

impl GameResult {
    /// Code in `games/1`: 1 White, 0 draw, −1 Black, 2 unknown.
    pub fn code(self) -> i8 {
        match self {
            GameResult::White => 1,
            GameResult::Draw => 0,
            GameResult::Black => -1,
            GameResult::Unknown => 2,
        }
    }

    pub fn from_code(code: i8) -> Option<GameResult> {
        match code {
            1 => Some(GameResult::White),
            0 => Some(GameResult::Draw),
            -1 => Some(GameResult::Black),
            2 => Some(GameResult::Unknown),
            _ => None,
        }
    }

    pub fn won_by(winner: Color) -> GameResult {
        winner.fold_wb(GameResult::White, GameResult::Black)
    }

    /// `None` for a draw or an unknown result.
    pub fn winner(self) -> Option<Color> {
        match self {
            GameResult::White => Some(Color::White),
            GameResult::Black => Some(Color::Black),
            GameResult::Draw | GameResult::Unknown => None,
        }
    }
}
