//! Lines in, the game's state and answers out.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use shakmaty::{Color, Move, Position};

use super::PlayError;
use super::board::{BoardStyle, draw};
use super::opponent::Opponent;
use super::record::Record;
use super::typed_line::{HELP, TypedLine};
use crate::apps::review::{JudgeError, numbered, sans};
use crate::chess::pgn::read_move;
use crate::chess::position::{DrawReason, Outcome};

/// Moves of the line that a hint shows.
const HINT_LENGTH: usize = 6;

/// A game between the person at the terminal and the engine.
pub(super) struct Dialogue {
    record: Record,
    opponent: Opponent,
    style: BoardStyle,
    /// The side from which the board is seen.
    view: Color,
    stop: Arc<AtomicBool>,
}

impl Dialogue {
    pub fn new(record: Record, opponent: Opponent, style: BoardStyle, stop: Arc<AtomicBool>) -> Dialogue {
        Dialogue { view: record.side, record, opponent, style, stop }
    }

    /// Says what is played, and lets the engine move if it is its turn.
    pub fn begin(&mut self, out: &mut impl Write) -> Result<(), PlayError> {
        let side = self.record.side.fold_wb("White", "Black");
        writeln!(out, "You play {side} against {}. `help` lists what can be typed.", self.opponent.name())?;
        let (start, moves) = self.record.moves();
        if !moves.is_empty() {
            writeln!(out, "So far: {}", numbered(start.position(), &sans(start.position(), moves)))?;
        }
        if !self.record.is_over() {
            self.show(out)?;
        }
        self.answer(out)
    }

    /// Asks for the next line.
    pub fn prompt(&self, out: &mut impl Write) -> io::Result<()> {
        if self.record.is_over() {
            write!(out, "new, back or quit? ")?;
        } else {
            let position = self.record.game().position();
            let dots = position.turn().fold_wb(".", "...");
            write!(out, "{}{dots} ", position.fullmoves())?;
        }
        out.flush()
    }

    /// Does what a line says; breaks at `quit`.
    pub fn line(&mut self, line: &str, out: &mut impl Write) -> Result<ControlFlow<()>, PlayError> {
        if line.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        match TypedLine::read(line) {
            TypedLine::Quit => return Ok(ControlFlow::Break(())),
            TypedLine::Help => writeln!(out, "{HELP}")?,
            TypedLine::Board => self.show(out)?,
            TypedLine::Flip => {
                self.view = !self.view;
                self.show(out)?;
            }
            TypedLine::Fen => writeln!(out, "{}", self.record.game().fen())?,
            TypedLine::Pgn => out.write_all(&self.record.pgn())?,
            TypedLine::Moves => self.list_moves(out)?,
            TypedLine::Save(path) => self.save(path.as_deref(), out)?,
            TypedLine::New => {
                self.record = self.record.next_game()?;
                self.view = self.record.side;
                self.begin(out)?;
            }
            TypedLine::TakeBack => {
                if self.record.take_back() {
                    self.record.save()?;
                    self.show(out)?;
                } else {
                    writeln!(out, "You have not moved yet.")?;
                }
            }
            _ if self.record.is_over() => writeln!(out, "The game is over.")?,
            TypedLine::Resign => {
                self.record.resign();
                self.record.save()?;
                self.say_result(out)?;
            }
            TypedLine::Hint => self.hint(out)?,
            TypedLine::Switch => {
                self.record.side = !self.record.side;
                self.view = self.record.side;
                self.answer(out)?;
            }
            TypedLine::Move(text) => match read_move(self.record.game(), &text) {
                Some(m) => {
                    self.play(m)?;
                    self.answer(out)?;
                }
                None => writeln!(out, "No legal move: {text}. `moves` lists them, `help` everything else.")?,
            },
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Prints the game if no file has it.
    pub fn end(&self, out: &mut impl Write) -> Result<(), PlayError> {
        writeln!(out)?;
        match self.record.path() {
            _ if self.record.moves().1.is_empty() => (),
            Some(path) => writeln!(out, "The game is in {}.", path.display())?,
            None => out.write_all(&self.record.pgn())?,
        }
        Ok(())
    }

    fn play(&mut self, m: Move) -> Result<(), PlayError> {
        self.record.play(m);
        self.record.save()
    }

    /// The engine's move, if it is its turn; after Ctrl-C nothing.
    fn answer(&mut self, out: &mut impl Write) -> Result<(), PlayError> {
        if self.record.is_over() {
            self.show(out)?;
            return self.say_result(out);
        }
        if self.record.game().turn() == self.record.side {
            return Ok(());
        }
        write!(out, "thinking … ")?;
        out.flush()?;
        let game = self.record.game().clone();
        let m = match self.opponent.choose(&game, &self.stop) {
            Err(JudgeError::Interrupted) => return Ok(()),
            chosen => chosen?,
        };
        self.play(m)?;
        writeln!(out, "{}", numbered(game.position(), &sans(game.position(), &[m])))?;
        self.show(out)?;
        if self.record.is_over() { self.say_result(out) } else { Ok(()) }
    }

    fn show(&self, out: &mut impl Write) -> Result<(), PlayError> {
        write!(out, "\n{}\n", draw(self.record.game(), self.style, self.view))?;
        Ok(())
    }

    fn say_result(&self, out: &mut impl Write) -> Result<(), PlayError> {
        let why = match self.record.game().outcome() {
            _ if self.record.is_resigned() => "you resigned",
            Some(Outcome::Decisive { .. }) => "checkmate",
            Some(Outcome::Draw(DrawReason::Stalemate)) => "stalemate",
            Some(Outcome::Draw(DrawReason::InsufficientMaterial)) => "neither side can mate",
            Some(Outcome::Draw(DrawReason::Threefold)) => "the position occurred three times",
            Some(Outcome::Draw(DrawReason::FiftyMoves)) => "fifty moves without capture or pawn move",
            None => return Ok(()),
        };
        writeln!(out, "{}: {why}.", self.record.result())?;
        Ok(())
    }

    fn list_moves(&self, out: &mut impl Write) -> Result<(), PlayError> {
        let position = self.record.game().position();
        let mut names: Vec<String> =
            position.legal_moves().iter().map(|m| sans(position, &[*m]).remove(0)).collect();
        names.sort();
        writeln!(out, "{}", names.join(" "))?;
        Ok(())
    }

    fn save(&mut self, path: Option<&Path>, out: &mut impl Write) -> Result<(), PlayError> {
        let Some(path) = path.map(Path::to_owned).or_else(|| self.record.path().map(Path::to_owned)) else {
            writeln!(out, "To which file? save FILE")?;
            return Ok(());
        };
        // A wrong name must not end the game.
        match self.record.keep_in(&path) {
            Ok(()) => writeln!(out, "The game is in {}, also after every further move.", path.display())?,
            Err(error) => writeln!(out, "Not saved: {error}")?,
        }
        Ok(())
    }

    fn hint(&mut self, out: &mut impl Write) -> Result<(), PlayError> {
        let game = self.record.game().clone();
        let line = match self.opponent.advise(&game, &self.stop) {
            Err(JudgeError::Interrupted) => return Ok(()),
            advised => advised?,
        };
        let pv = &line.pv[..line.pv.len().min(HINT_LENGTH)];
        let value = line.value.of(game.turn());
        let text = numbered(game.position(), &sans(game.position(), pv));
        writeln!(out, "{text}   (win probability {value:.0} %)")?;
        Ok(())
    }
}
