//! The rules for a page: what may be played in a position, and moves as people write them.

use engine::chess::position::{Game, Outcome};
use serde::Serialize;
use shakmaty::san::SanPlus;
use shakmaty::{Color, Position};

/// The position after some moves.
#[derive(Serialize)]
pub struct Described {
    fen: String,
    turn: &'static str,
    check: bool,
    /// The moves that led here, in SAN.
    san: Vec<String>,
    /// Empty if the game is over.
    legal: Vec<LegalMove>,
    /// `None` while the game goes on.
    result: Option<&'static str>,
}

#[derive(Serialize)]
struct LegalMove {
    uci: String,
    san: String,
}

impl Described {
    /// `fen` is empty for the initial position; `moves` are in UCI notation, separated by spaces.
    pub fn of(fen: &str, moves: &str) -> Result<Described, String> {
        let mut game =
            Game::from_uci(Some(fen).filter(|fen| !fen.is_empty()), []).map_err(|error| error.to_string())?;
        let mut san = Vec::new();
        for text in moves.split_whitespace() {
            let m = game.parse_uci(text).map_err(|error| error.to_string())?;
            san.push(SanPlus::from_move(game.position().clone(), m).to_string());
            game.play(m);
        }
        let result = game.outcome().map(|outcome| match outcome {
            Outcome::Decisive { winner: Color::White } => "1-0",
            Outcome::Decisive { winner: Color::Black } => "0-1",
            Outcome::Draw(_) => "1/2-1/2",
        });
        let write = |m| LegalMove {
            uci: Game::uci(m, false),
            san: SanPlus::from_move(game.position().clone(), m).to_string(),
        };
        let legal =
            if result.is_some() { Vec::new() } else { game.legal_moves().into_iter().map(write).collect() };
        Ok(Described {
            fen: game.fen(),
            turn: if game.turn() == Color::White { "white" } else { "black" },
            check: game.position().is_check(),
            san,
            legal,
            result,
        })
    }
}
