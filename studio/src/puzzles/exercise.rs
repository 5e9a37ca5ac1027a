//! A position to solve, and what is said to a move. Nothing is kept of the solver: the page tells how far it is.

use engine::chess::position::Game;
use serde::Serialize;
use shakmaty::{Chess, Move, Position};

use engine::apps::review::{numbered, sans};

use crate::play::{ActionError, LegalMove, PlayedGame, PlayedMove, side};

#[derive(Clone, Debug)]
pub struct Exercise {
    /// The last move, if any, is the opponent's that led to the position.
    pub start: PlayedGame,
    /// The solver's move, the answer, and so on.
    pub solution: Vec<Move>,
    /// Such as "Puzzle 00ymq, rated 1500".
    pub title: String,
    /// What is told only afterwards: themes, or what was played in the game.
    pub afterwards: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct ExerciseView {
    pub title: String,
    pub fen: String,
    /// The move that led there, in UCI notation and in SAN.
    pub last: Option<String>,
    pub last_san: Option<String>,
    pub check: bool,
    pub side: &'static str,
    pub legal: Vec<LegalMove>,
}

/// What a move is worth.
#[derive(Clone, Debug, Serialize)]
pub struct Attempt {
    pub right: bool,
    pub solved: bool,
    /// The move that was tried.
    pub san: String,
    /// To the solver.
    pub word: String,
    /// The solver's move and the answer; empty after a wrong move.
    pub moves: Vec<PlayedMove>,
    /// Plies of the solution that are played now.
    pub step: usize,
    pub legal: Vec<LegalMove>,
    /// Once it is solved.
    pub afterwards: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Solution {
    /// From where the solver was.
    pub moves: Vec<PlayedMove>,
    /// With move numbers, from the start.
    pub line: String,
    pub afterwards: String,
}

fn is_mate(position: &Chess, m: Move) -> bool {
    let mut after = position.clone();
    after.play_unchecked(m);
    after.is_checkmate()
}

impl Exercise {
    pub fn view(&self) -> ExerciseView {
        let game = &self.start;
        ExerciseView {
            title: self.title.clone(),
            fen: game.game().fen(),
            last: game.moves().last().map(|played| played.uci.clone()),
            last_san: game.moves().last().map(|played| played.san.clone()),
            check: game.game().position().is_check(),
            side: side(game.turn()),
            legal: game.legal(),
        }
    }

    /// After `step` plies of the solution.
    fn at(&self, step: usize) -> Result<PlayedGame, ActionError> {
        let known =
            self.solution.get(..step).filter(|_| step.is_multiple_of(2) && step < self.solution.len());
        let wrong = || ActionError::Invalid(format!("The puzzle has no move number {step} to find."));
        let mut game = self.start.clone();
        known.ok_or_else(wrong)?.iter().try_for_each(|m| game.play(*m)).map_err(ActionError::NotNow)?;
        Ok(game)
    }

    /// Any mate solves a puzzle, whatever its table has.
    pub fn attempt(&self, step: usize, text: &str) -> Result<Attempt, ActionError> {
        let mut game = self.at(step)?;
        let m = game.parse(text).map_err(ActionError::Invalid)?;
        let position = game.game().position();
        let mates = is_mate(position, m);
        let san = sans(position, &[m]).concat();
        if m != self.solution[step] && !mates {
            let word = format!("{san} is not it: look again.");
            let legal = game.legal();
            let (moves, afterwards) = (Vec::new(), String::new());
            return Ok(Attempt { right: false, solved: false, san, word, moves, step, legal, afterwards });
        }
        let before = game.ply();
        let answer = self.solution.get(step + 1).filter(|_| !mates && step + 2 < self.solution.len());
        for m in std::iter::once(&m).chain(answer) {
            game.play(*m).map_err(ActionError::NotNow)?;
        }
        let solved = answer.is_none();
        let word = if solved { "Solved." } else { "Right. Go on." };
        Ok(Attempt {
            right: true,
            solved,
            san,
            word: word.to_owned(),
            moves: game.moves()[before..].to_vec(),
            step: step + game.ply() - before,
            legal: game.legal(),
            afterwards: if solved { self.afterwards.clone() } else { String::new() },
        })
    }

    /// What is left of the solution.
    pub fn solution(&self, step: usize) -> Result<Solution, ActionError> {
        let mut game = self.at(step)?;
        let before = game.ply();
        self.solution[step..].iter().try_for_each(|m| game.play(*m)).map_err(ActionError::NotNow)?;
        let start = self.start.game().position();
        let line = numbered(start, &sans(start, &self.solution));
        Ok(Solution { moves: game.moves()[before..].to_vec(), line, afterwards: self.afterwards.clone() })
    }

    /// UCI notation as engines write it for this position.
    pub fn first_uci(&self) -> String {
        Game::uci(self.solution[0], self.start.is_chess960())
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// White wins the queen by a check, then takes it.
    pub fn fork() -> Exercise {
        let mut start = PlayedGame::new(Some("6k1/8/8/8/3q4/8/8/4KN1R b - - 0 1".into())).unwrap();
        start.play(start.parse("Qd5").unwrap()).unwrap();
        let mut game = start.clone();
        let mut solution = Vec::new();
        for text in ["Rh8+", "Kxh8", "Ne3"] {
            let m = game.parse(text).unwrap();
            game.play(m).unwrap();
            solution.push(m);
        }
        Exercise { start, solution, title: "Puzzle 1".into(), afterwards: "fork".into() }
    }

    #[test]
    fn right_moves_are_answered_and_wrong_ones_refused_with_a_word() {
        let puzzle = fork();
        let view = puzzle.view();
        assert_eq!((view.side, view.last.as_deref()), ("white", Some("d4d5")));
        assert_eq!(view.last_san.as_deref(), Some("Qd5"));
        let wrong = puzzle.attempt(0, "Ne3").unwrap();
        assert_eq!((wrong.right, wrong.word.as_str(), wrong.step), (false, "Ne3 is not it: look again.", 0));
        assert_eq!(wrong.san, "Ne3");
        assert!(puzzle.attempt(0, "Nd5").is_err(), "no legal move");
        let first = puzzle.attempt(0, "h1h8").unwrap();
        let sans: Vec<_> = first.moves.iter().map(|m| m.san.as_str()).collect();
        assert_eq!((sans, first.step, first.solved), (vec!["Rh8+", "Kxh8"], 2, false));
        assert_eq!(first.afterwards, "", "nothing is told before the end");
        let last = puzzle.attempt(2, "Ne3").unwrap();
        assert_eq!((last.solved, last.afterwards.as_str()), (true, "fork"));
        assert!(puzzle.attempt(3, "Ne3").is_err() && puzzle.attempt(1, "Ne3").is_err());
        let shown = puzzle.solution(2).unwrap();
        assert_eq!((shown.moves.len(), shown.line.as_str()), (1, "2. Rh8+ Kxh8 3. Ne3"));
    }

    #[test]
    fn every_mate_is_right() {
        let start = PlayedGame::new(Some("7k/8/6K1/8/8/8/8/RR6 w - - 0 1".into())).unwrap();
        let solution = vec![start.parse("Ra8").unwrap()];
        let puzzle = Exercise { start, solution, title: String::new(), afterwards: String::new() };
        assert!(puzzle.attempt(0, "Rb8").unwrap().solved);
    }
}
