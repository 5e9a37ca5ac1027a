use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TypedLine {
    /// Anything that is not a command.
    Move(String),
    TakeBack,
    Hint,
    Save(Option<PathBuf>),
    Board,
    Flip,
    Fen,
    Pgn,
    Moves,
    Switch,
    Resign,
    New,
    Help,
    Quit,
}

pub(super) const HELP: &str = "\
  Nf3, exd5, O-O, e8=Q, g1f3   a move
  back        take back your last move and the answer to it
  hint        what the engine would play for you
  switch      change sides: the engine moves
  moves       the legal moves
  board       the board
  flip        the board from the other side
  fen         the position as a FEN
  pgn         the game so far
  save FILE   append the game to a PGN file, and update it after every move
  resign      give up the game
  new         a new game, with the other colour
  quit        end (Ctrl-C too)";

impl TypedLine {
    /// No move is spelt like a command.
    pub fn read(line: &str) -> TypedLine {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match word.to_ascii_lowercase().as_str() {
            "back" | "takeback" | "undo" | "u" => TypedLine::TakeBack,
            "hint" | "h" => TypedLine::Hint,
            "save" => TypedLine::Save((!rest.is_empty()).then(|| rest.into())),
            "board" | "d" => TypedLine::Board,
            "flip" => TypedLine::Flip,
            "fen" => TypedLine::Fen,
            "pgn" => TypedLine::Pgn,
            "moves" => TypedLine::Moves,
            "switch" | "go" => TypedLine::Switch,
            "resign" => TypedLine::Resign,
            "new" => TypedLine::New,
            "help" | "?" => TypedLine::Help,
            "quit" | "exit" | "q" => TypedLine::Quit,
            _ => TypedLine::Move(line.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_words_and_all_else_are_moves() {
        assert_eq!(TypedLine::read("undo"), TypedLine::TakeBack);
        assert_eq!(TypedLine::read("Save my games.pgn"), TypedLine::Save(Some("my games.pgn".into())));
        assert_eq!(TypedLine::read("save"), TypedLine::Save(None));
        assert_eq!(TypedLine::read("d4"), TypedLine::Move("d4".to_owned()));
        for line in HELP.lines().skip(1) {
            let word = line.trim().split(' ').next().unwrap();
            assert!(!matches!(TypedLine::read(word), TypedLine::Move(_)), "{word} is listed");
        }
    }
}
