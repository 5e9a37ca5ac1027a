//! The game as the page receives it.

use std::time::Instant;

use serde::Serialize;
use shakmaty::{Color, Position};

use super::clock::TimeControl;
use super::pgn::first_ply;
use super::played::{LegalMove, PlayedMove};
use super::session::{Seat, Session};

/// An engine that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EngineView {
    /// Its name.
    pub name: String,
    /// Smallest and largest `UCI_Elo`, if its strength can be limited.
    pub elo: Option<(i64, i64)>,
    /// Why it cannot play.
    pub error: Option<String>,
}

/// A player.
#[derive(Clone, Debug, Serialize)]
pub struct SeatView {
    /// The seat.
    #[serde(flatten)]
    pub seat: Seat,
    /// What the player is called.
    pub label: String,
}

/// The clock at the moment of sending.
#[derive(Clone, Debug, Serialize)]
pub struct ClockView {
    /// Milliseconds that White has left.
    pub white_ms: u64,
    /// Milliseconds that Black has left.
    pub black_ms: u64,
    /// The side whose time runs.
    pub running: Option<&'static str>,
    /// The time control.
    pub control: TimeControl,
}

/// The game's end.
#[derive(Clone, Debug, Serialize)]
pub struct EndView {
    /// As PGN writes it.
    pub result: &'static str,
    /// A sentence.
    pub text: String,
}

/// Everything that the page shows of the game.
#[derive(Clone, Debug, Serialize)]
pub struct TableView {
    /// The number of the position.
    pub revision: u64,
    /// The start position.
    pub start_fen: String,
    /// Whether castling is king takes rook.
    pub chess960: bool,
    /// Plies before the first move, by the move number of the start position.
    pub first_ply: usize,
    /// The moves played.
    pub moves: Vec<PlayedMove>,
    /// Code and name of the opening.
    pub opening: Option<String>,
    /// Whether the side to move is in check in the start position.
    pub start_check: bool,
    /// The side to move.
    pub turn: &'static str,
    /// The legal moves, if a person has the move.
    pub legal: Vec<LegalMove>,
    /// White's player.
    pub white: SeatView,
    /// Black's player.
    pub black: SeatView,
    /// The clock.
    pub clock: Option<ClockView>,
    /// The end.
    pub end: Option<EndView>,
    /// Plies that taking back would take.
    pub take_back: usize,
    /// Whether an engine is thinking about its move.
    pub thinking: bool,
    /// Whether the evaluation is asked for.
    pub analysis: bool,
    /// What went wrong, and what to do.
    pub notice: Option<String>,
    /// Whether an engine waits to be started again.
    pub stalled: bool,
    /// The engines that can be chosen.
    pub engines: Vec<EngineView>,
}

/// The name of a side.
pub fn side(color: Color) -> &'static str {
    color.fold_wb("white", "black")
}

impl TableView {
    /// The view of a session, without what only the table knows.
    pub fn of(session: &Session, now: Instant) -> TableView {
        let game = session.game();
        let [white, black] = session.labels();
        let seats = session.seats();
        let view = |seat: &Seat, label| SeatView { seat: seat.clone(), label };
        let start = super::played::PlayedGame::new(game.start().map(str::to_owned));
        TableView {
            revision: session.revision(),
            start_fen: game.start_fen(),
            chess960: game.is_chess960(),
            first_ply: first_ply(game),
            moves: game.moves().to_vec(),
            opening: game.opening().map(ToString::to_string),
            start_check: start.is_ok_and(|start| start.game().position().is_check()),
            turn: side(game.turn()),
            legal: if session.person_moves() { game.legal() } else { Vec::new() },
            white: view(&seats.white, white),
            black: view(&seats.black, black),
            clock: session.clock().map(|clock| {
                let left = clock.left(now);
                let milliseconds =
                    |left: std::time::Duration| left.as_millis().min(u128::from(u64::MAX)) as u64;
                ClockView {
                    white_ms: milliseconds(left.white),
                    black_ms: milliseconds(left.black),
                    running: clock.running().map(side),
                    control: clock.control(),
                }
            }),
            end: session.end().map(|end| EndView { result: end.result(), text: end.sentence() }),
            take_back: session.plies_to_take_back(),
            thinking: session.engine_to_move().is_some(),
            analysis: false,
            notice: None,
            stalled: false,
            engines: Vec::new(),
        }
    }
}
