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

/// In plies.
const HINT_LENGTH: usize = 6;

pub(super) struct Dialogue {
    record: Record,
    opponent: Opponent,
    style: BoardStyle,
    /// Side at the bottom of the board.
    view: Color,
    stop: Arc<AtomicBool>,
    /// The file lacks the last moves.
    save_failed: bool,
}

impl Dialogue {
    pub fn new(record: Record, opponent: Opponent, style: BoardStyle, stop: Arc<AtomicBool>) -> Dialogue {
        Dialogue { view: record.side, record, opponent, style, stop, save_failed: false }
    }

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

    /// Breaks at `quit`.
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
            TypedLine::New => match self.record.next_game() {
                Ok(next) => {
                    self.end(out)?;
                    self.record = next;
                    self.save_failed = false;
                    self.view = self.record.side;
                    self.begin(out)?;
                }
                Err(error) => writeln!(out, "No new game: {error}. `save FILE` names another file.")?,
            },
            TypedLine::TakeBack => {
                if self.record.take_back() {
                    self.save_game(out)?;
                    self.show(out)?;
                } else {
                    writeln!(out, "You have not moved yet.")?;
                }
            }
            _ if self.record.is_over() => writeln!(out, "The game is over.")?,
            TypedLine::Resign => {
                self.record.resign();
                self.save_game(out)?;
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
                    self.play(m, out)?;
                    self.answer(out)?;
                }
                None => writeln!(out, "No legal move: {text}. `moves` lists them, `help` everything else.")?,
            },
        }
        Ok(ControlFlow::Continue(()))
    }

    pub fn end(&self, out: &mut impl Write) -> Result<(), PlayError> {
        writeln!(out)?;
        match self.record.path() {
            _ if self.record.moves().1.is_empty() => (),
            Some(path) if !self.save_failed => writeln!(out, "The game is in {}.", path.display())?,
            _ => out.write_all(&self.record.pgn())?,
        }
        Ok(())
    }

    fn play(&mut self, m: Move, out: &mut impl Write) -> io::Result<()> {
        self.record.play(m);
        self.save_game(out)
    }

    /// A full disk or a missing folder must not end the game.
    fn save_game(&mut self, out: &mut impl Write) -> io::Result<()> {
        let saved = self.record.save();
        self.save_failed = saved.is_err();
        match saved {
            Ok(()) => Ok(()),
            Err(error) => {
                writeln!(out, "Not saved: {error}. The game goes on; `save FILE` names another file.")
            }
        }
    }

    /// Plays if it is the engine's turn, but not after Ctrl-C.
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
        self.play(m, out)?;
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
            _ if self.record.is_resigned() => "you resigned".to_owned(),
            Some(outcome) => outcome.reason().to_owned(),
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
        match self.record.keep_in(&path) {
            Ok(()) => {
                self.save_failed = false;
                writeln!(out, "The game is in {}, also after every further move.", path.display())?;
            }
            Err(error) => {
                writeln!(out, "Not saved: {error}.")?;
                if let Some(former) = self.record.path().filter(|former| *former != path) {
                    writeln!(out, "The game stays in {}.", former.display())?;
                }
            }
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
