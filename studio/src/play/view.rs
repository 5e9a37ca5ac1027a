//! The game as JSON for the page.

use std::hash::{Hash, Hasher};
use std::time::Instant;

use engine::apps::review::Phase;
use serde::Serialize;
use shakmaty::{Board, Color, Position};

use super::analysts::AnalystSettings;
use super::clock::TimeControl;
use super::hint::Hint;
use super::pgn::first_ply;
use super::played::{LegalMove, PlayedGame, PlayedMove};
use super::seats::Seat;
use super::session::Session;
use super::variations::{NodeView, nodes};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EngineView {
    pub name: String,
    /// Whether it was started once and has said what follows.
    pub known: bool,
    /// Range of `UCI_Elo`, if there is one.
    pub elo: Option<(i64, i64)>,
    /// It plays the named levels.
    pub levels: bool,
    /// Ranges of `Threads` and `Hash`, if the engine has them.
    pub threads: Option<(i64, i64)>,
    pub hash: Option<(i64, i64)>,
    /// Why the engine cannot play.
    pub error: Option<String>,
}

impl EngineView {
    /// Before the engine was started.
    pub fn unknown(name: &str) -> EngineView {
        EngineView {
            name: name.to_owned(),
            known: false,
            elo: None,
            levels: false,
            threads: None,
            hash: None,
            error: None,
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct SeatView {
    #[serde(flatten)]
    pub seat: Seat,
    pub label: String,
}

/// The clock at the moment of sending.
#[derive(Clone, Debug, Serialize)]
pub struct ClockView {
    pub white_ms: u64,
    pub black_ms: u64,
    pub running: Option<&'static str>,
    /// Of the running side, before its time falls.
    pub delay_ms: u64,
    pub control: TimeControl,
}

#[derive(Clone, Debug, Serialize)]
pub struct EndView {
    pub result: &'static str,
    pub text: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct FileView {
    /// Distinguishes this file from earlier ones.
    pub number: u64,
    pub games: usize,
    /// The shown game, from 0.
    pub chosen: usize,
}

#[derive(Clone, Debug, Serialize)]
pub struct TableView {
    pub revision: u64,
    /// Of the board.
    pub id: u32,
    /// Another number is another game, with another tree.
    pub number: u64,
    /// See [`key_of`].
    pub key: String,
    pub file: Option<FileView>,
    pub start_fen: String,
    pub chess960: bool,
    /// Plies before the first move, by the move number of the start position.
    pub first_ply: usize,
    pub moves: Vec<PlayedMove>,
    /// All moves with variations; the first is the start position.
    pub tree: Vec<NodeView>,
    /// The node of the game's last position.
    pub at: u32,
    /// The edit that can be undone, such as "delete 3. Nf3".
    pub undo: Option<String>,
    /// ECO code and name.
    pub opening: Option<String>,
    /// Plies at which the middlegame and the endgame begin.
    pub phases: [Option<usize>; 2],
    /// The side to move is in check in the start position.
    pub start_check: bool,
    pub turn: &'static str,
    /// Empty if an engine is to move. After the end of the game they are for variations.
    pub legal: Vec<LegalMove>,
    pub white: SeatView,
    pub black: SeatView,
    pub clock: Option<ClockView>,
    pub end: Option<EndView>,
    pub take_back: usize,
    pub thinking: bool,
    /// The first analyst is on.
    pub analysis: bool,
    pub analysts: Vec<AnalystSettings>,
    /// The analysts wait until another board is analysed no longer.
    pub waits: bool,
    /// An error, and what to do.
    pub notice: Option<String>,
    pub stalled: bool,
    /// The last position ends the game by the rules.
    pub is_final: bool,
    /// Of the game's file in the library.
    pub name: Option<String>,
    /// For the last position.
    pub hint: Option<Hint>,
}

pub fn side(color: Color) -> &'static str {
    color.fold_wb("white", "black")
}

/// A hash of the game's start position and moves.
pub fn key_of(game: &PlayedGame) -> String {
    let mut hasher = std::hash::DefaultHasher::new();
    game.position_command().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn phases(game: &PlayedGame) -> [Option<usize>; 2] {
    let mut begun = [None, None];
    let mut phase = Phase::Opening;
    let fens = std::iter::once(game.start_fen()).chain(game.moves().iter().map(|m| m.fen.clone()));
    for (ply, fen) in fens.enumerate() {
        let board = fen.split(' ').next().and_then(|text| Board::from_ascii_board_fen(text.as_bytes()).ok());
        let Some(board) = board else { continue };
        phase = Phase::after(phase, &board);
        if phase >= Phase::Middlegame {
            begun[0].get_or_insert(ply);
        }
        if phase == Phase::Endgame {
            begun[1].get_or_insert(ply);
        }
    }
    begun
}

impl TableView {
    /// Leaves out the fields that only the table knows.
    pub fn of(session: &Session, now: Instant) -> TableView {
        let game = session.game();
        let [white, black] = session.labels();
        let seats = session.seats();
        let view = |seat: &Seat, label| SeatView { seat: seat.clone(), label };
        let start = super::played::PlayedGame::new(game.start().map(str::to_owned));
        TableView {
            revision: session.revision(),
            key: key_of(game),
            file: None,
            start_fen: game.start_fen(),
            chess960: game.is_chess960(),
            first_ply: first_ply(game),
            id: 0,
            number: 0,
            moves: game.moves().to_vec(),
            tree: nodes(session.tree(), game.is_chess960()),
            at: session.at().index(),
            undo: session.undo_label(),
            opening: game.opening().map(ToString::to_string),
            phases: phases(game),
            start_check: start.is_ok_and(|start| start.game().position().is_check()),
            turn: side(game.turn()),
            legal: if session.engine_to_move().is_none() { game.legal() } else { Vec::new() },
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
                    delay_ms: milliseconds(clock.delay_left(now)),
                    control: clock.control(),
                }
            }),
            end: session.end().map(|end| EndView { result: end.result(), text: end.sentence() }),
            take_back: session.plies_to_take_back(),
            thinking: session.engine_to_move().is_some(),
            analysis: false,
            analysts: Vec::new(),
            waits: false,
            notice: None,
            stalled: false,
            is_final: game.end().is_some(),
            name: session.name.clone(),
            hint: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_begin_once_and_stay() {
        let mut game = PlayedGame::new(Some("4k3/pppp4/8/8/8/8/4P3/4K2R w K - 0 1".into())).unwrap();
        assert_eq!(phases(&game), [Some(0), Some(0)]);
        game.play(game.parse("O-O").unwrap()).unwrap();
        assert_eq!(phases(&game), [Some(0), Some(0)]);
        let mut game = PlayedGame::new(None).unwrap();
        for text in "e4 e5 Nf3 Nc6 Bb5 a6 O-O Nf6 Qe2 Be7 Nc3".split(' ') {
            game.play(game.parse(text).unwrap()).unwrap();
        }
        // White has king, both rooks and a bishop on the first rank: four pieces; without the bishop three.
        assert_eq!(phases(&game), [None, None]);
        for text in "d6 d3 O-O Be3".split(' ') {
            game.play(game.parse(text).unwrap()).unwrap();
        }
        assert_eq!(phases(&game), [Some(15), None]);
        assert_ne!(key_of(&game), key_of(&PlayedGame::new(None).unwrap()));
    }
}
