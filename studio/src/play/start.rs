use std::hash::{BuildHasher, RandomState};

use engine::chess::position::{Game, PositionError};
use serde::Deserialize;
use shakmaty::{Bitboard, Board, Rank, Role};

use super::played::PlayedGame;

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartChoice {
    #[default]
    Standard,
    /// A Chess960 position by its number; `None` draws one.
    Chess960(Option<u16>),
    /// A Chess960 position for White's pieces, and one for Black's.
    DoubleChess960([Option<u16>; 2]),
    Fen(String),
    /// An opening: moves in SAN, with or without move numbers.
    Moves(String),
}

impl StartChoice {
    pub fn game(&self) -> Result<PlayedGame, String> {
        let start = self.fen().map_err(|error| error.to_string())?;
        let mut game = PlayedGame::new(start).map_err(|error| error.to_string())?;
        if let StartChoice::Moves(moves) = self {
            for text in moves.split_whitespace().filter(|text| !text.ends_with('.')) {
                let m = game.parse(text)?;
                game.play(m)?;
            }
        }
        Ok(game)
    }

    /// `None` is the initial position.
    pub fn fen(&self) -> Result<Option<String>, PositionError> {
        match self {
            StartChoice::Standard | StartChoice::Moves(_) => Ok(None),
            StartChoice::Chess960(number) => {
                let number = number.unwrap_or_else(|| any_number(960));
                let fen = chess960_fen(number).ok_or_else(|| {
                    PositionError::Fen(format!(
                        "positions of Chess960 have the numbers 0 to 959, not {number}"
                    ))
                })?;
                Ok(Some(fen))
            }
            StartChoice::DoubleChess960(numbers) => {
                let [white, black] = numbers.map(|number| number.unwrap_or_else(|| any_number(960)));
                let wrong = || {
                    let text =
                        format!("positions of Chess960 have the numbers 0 to 959, not {white} and {black}");
                    PositionError::Fen(text)
                };
                double_chess960_fen(white, black).map(Some).ok_or_else(wrong)
            }
            StartChoice::Fen(fen) => Game::from_fen(fen).map(|game| Some(game.fen())),
        }
    }
}

/// Draws from the random keys of the standard library's hasher.
fn any_number(count: u16) -> u16 {
    (RandomState::new().hash_one(0) % u64::from(count)) as u16
}

/// The Chess960 position with this number as a Shredder-FEN; `None` above 959.
pub fn chess960_fen(number: u16) -> Option<String> {
    double_chess960_fen(number, number)
}

/// White's pieces as in one Chess960 position, Black's as in another, as a Shredder-FEN; `None` above 959.
pub fn double_chess960_fen(white: u16, black: u16) -> Option<String> {
    // In a Shredder-FEN, castling rights are the files of the rooks.
    let side = |number: u16| -> Option<(String, String)> {
        let board = (number < 960).then(|| Board::chess960(u32::from(number)))?;
        let rooks = Bitboard::from_rank(Rank::First) & board.by_role(Role::Rook);
        let rights = rooks.into_iter().rev().map(|rook| rook.file().char()).collect();
        let pieces = board.board_fen().to_string().split('/').next()?.to_owned();
        Some((pieces, rights))
    };
    let ((first, white_rights), (eighth, black_rights)) = (side(white)?, side(black)?);
    let (first, white_rights) = (first.to_uppercase(), white_rights.to_uppercase());
    Some(format!("{eighth}/pppppppp/8/8/8/8/PPPPPPPP/{first} w {white_rights}{black_rights} - 0 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chess960_positions_are_numbered_as_usual() {
        let pieces = |number| chess960_fen(number).unwrap().split('/').next().unwrap().to_owned();
        assert_eq!(pieces(518), "rnbqkbnr");
        assert_eq!(pieces(0), "bbqnnrkr");
        assert_eq!(pieces(959), "rkrnnqbb");
        assert_eq!(chess960_fen(960), None);
        let double = double_chess960_fen(518, 0).unwrap();
        assert_eq!(double, "bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w HAhf - 0 1");
        assert!(Game::from_fen(&double).is_ok());
        assert_eq!(double_chess960_fen(0, 960), None);
    }

    #[test]
    fn every_position_is_read_back_with_both_castlings() {
        for number in 0..960 {
            let game = Game::from_fen(&chess960_fen(number).unwrap()).unwrap();
            use shakmaty::Position;
            assert_eq!(game.position().castles().castling_rights().count(), 4, "{number}");
        }
        assert!(StartChoice::Chess960(Some(960)).fen().is_err());
        assert!(StartChoice::Fen("nonsense".into()).fen().is_err());
        assert!(StartChoice::Chess960(None).fen().unwrap().is_some());
    }
}
