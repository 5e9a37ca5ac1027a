//! Parses input lines. Keywords are case-insensitive.

use thiserror::Error;

use super::go::{self, Go};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Nothing,
    Uci,
    Debug(bool),
    IsReady,
    SetOption {
        name: String,
        /// `None` if the line has no word `value`.
        value: Option<String>,
    },
    /// Ignored.
    Register,
    NewGame,
    Position(Setup),
    Go(Box<Go>),
    Stop,
    PonderHit,
    Quit,
    /// `d`, as in Stockfish.
    Show,
    /// `eval`, not in the protocol: a network evaluation without search.
    Eval,
    /// `tree`, not in the protocol: statistics of the moves after a line of the last search.
    Tree {
        /// The line, from the searched position.
        moves: Vec<String>,
    },
}

/// FEN and moves are not validated yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// `None` for the initial position.
    pub fen: Option<String>,
    pub moves: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommandError {
    #[error("unknown command: {0}")]
    Unknown(String),
    #[error("cannot parse: {0}")]
    Malformed(String),
    #[error("position: {0}")]
    Position(#[from] SetupError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SetupError {
    #[error("expected startpos or fen")]
    Missing,
    #[error("no FEN after fen")]
    NoFen,
    #[error("only moves can follow startpos")]
    Trailing,
}

const WORDS: [&str; 11] = [
    "uci",
    "debug",
    "isready",
    "setoption",
    "register",
    "ucinewgame",
    "position",
    "go",
    "stop",
    "ponderhit",
    "quit",
];

/// Skips unknown words before a command (`joho debug on`) and words after a command without arguments (`stop now`), as
/// the protocol demands.
pub fn parse(line: &str) -> Result<Command, CommandError> {
    let line = line.trim();
    match line.to_ascii_lowercase().as_str() {
        "" => return Ok(Command::Nothing),
        "d" => return Ok(Command::Show),
        "eval" => return Ok(Command::Eval),
        _ => {}
    }
    let mut words = line.split_whitespace();
    if words.next().is_some_and(|word| word.eq_ignore_ascii_case("tree")) {
        return match words.next() {
            None => Ok(Command::Tree { moves: Vec::new() }),
            Some(word) if word.eq_ignore_ascii_case("moves") => {
                Ok(Command::Tree { moves: words.map(str::to_owned).collect() })
            }
            Some(_) => Err(CommandError::Malformed(line.to_owned())),
        };
    }
    let mut left = line;
    while !left.is_empty() {
        let (word, rest) = left.split_once(char::is_whitespace).unwrap_or((left, ""));
        if let Some(known) = WORDS.into_iter().find(|known| known.eq_ignore_ascii_case(word)) {
            return command(known, left, rest.trim());
        }
        left = rest.trim_start();
    }
    Err(CommandError::Unknown(line.split_whitespace().next().unwrap_or_default().to_owned()))
}

fn command(known: &str, line: &str, rest: &str) -> Result<Command, CommandError> {
    let malformed = || CommandError::Malformed(line.to_owned());
    match known {
        "uci" => Ok(Command::Uci),
        "isready" => Ok(Command::IsReady),
        "register" => Ok(Command::Register),
        "ucinewgame" => Ok(Command::NewGame),
        "stop" => Ok(Command::Stop),
        "ponderhit" => Ok(Command::PonderHit),
        "quit" => Ok(Command::Quit),
        "position" => Ok(Command::Position(setup(rest)?)),
        "go" => Ok(Command::Go(Box::new(go::parse(rest)))),
        "debug" => rest
            .split_whitespace()
            .find_map(|word| match word.to_ascii_lowercase().as_str() {
                "on" => Some(Command::Debug(true)),
                "off" => Some(Command::Debug(false)),
                _ => None,
            })
            .ok_or_else(malformed),
        _ => set_option(rest).ok_or_else(malformed),
    }
}

/// A name may have several words. A value keeps its inner white space.
fn set_option(rest: &str) -> Option<Command> {
    let is_keyword = |text: &str, keyword: &str| text.eq_ignore_ascii_case(keyword);
    let (first, mut left) = rest.split_once(char::is_whitespace)?;
    if !is_keyword(first, "name") {
        return None;
    }
    let mut name: Vec<&str> = Vec::new();
    let mut value = None;
    while !left.trim_start().is_empty() {
        let (word, after) =
            left.trim_start().split_once(char::is_whitespace).unwrap_or((left.trim_start(), ""));
        if is_keyword(word, "value") {
            value = Some(after.trim().to_owned());
            break;
        }
        name.push(word);
        left = after;
    }
    (!name.is_empty()).then(|| Command::SetOption { name: name.join(" "), value })
}

fn setup(rest: &str) -> Result<Setup, SetupError> {
    let mut words = rest.split_whitespace();
    let kind = words.next().ok_or(SetupError::Missing)?;
    let is_moves = |word: &&str| word.eq_ignore_ascii_case("moves");
    let before: Vec<&str> = words.by_ref().take_while(|word| !is_moves(word)).collect();
    let moves = words.map(str::to_owned).collect();
    if kind.eq_ignore_ascii_case("startpos") {
        match before.is_empty() {
            true => Ok(Setup { fen: None, moves }),
            false => Err(SetupError::Trailing),
        }
    } else if kind.eq_ignore_ascii_case("fen") {
        match before.is_empty() {
            true => Err(SetupError::NoFen),
            false => Ok(Setup { fen: Some(before.join(" ")), moves }),
        }
    } else {
        Err(SetupError::Missing)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn setoption(name: &str, value: Option<&str>) -> Command {
        Command::SetOption { name: name.into(), value: value.map(Into::into) }
    }

    #[test]
    fn good_lines_as_a_table() {
        let position = |fen: Option<&str>, moves: &[&str]| {
            Command::Position(Setup {
                fen: fen.map(Into::into),
                moves: moves.iter().map(|&m| m.into()).collect(),
            })
        };
        let shredder = "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9";
        for (line, command) in [
            ("", Command::Nothing),
            (" \t\r\n", Command::Nothing),
            ("uci", Command::Uci),
            ("  UCI \r", Command::Uci),
            ("\t debug \t on", Command::Debug(true)),
            ("debug off", Command::Debug(false)),
            ("isready", Command::IsReady),
            ("ucinewgame", Command::NewGame),
            ("stop", Command::Stop),
            ("ponderhit", Command::PonderHit),
            ("quit", Command::Quit),
            ("register later", Command::Register),
            ("joho debug on", Command::Debug(true)),
            ("well, stop now", Command::Stop),
            ("debug it on", Command::Debug(true)),
            ("uci now", Command::Uci),
            ("\u{feff} isready", Command::IsReady),
            ("please setoption name Hash value 64", setoption("Hash", Some("64"))),
            ("d", Command::Show),
            ("eval", Command::Eval),
            ("tree", Command::Tree { moves: vec![] }),
            (" Tree  moves e2e4 e7e5", Command::Tree { moves: vec!["e2e4".into(), "e7e5".into()] }),
            ("setoption name Hash value 64", setoption("Hash", Some("64"))),
            ("setoption name Move Overhead value 30", setoption("Move Overhead", Some("30"))),
            ("setoption\tname\tHash\tvalue\t64", setoption("Hash", Some("64"))),
            ("SETOPTION NAME Move  Overhead VALUE 30", setoption("Move Overhead", Some("30"))),
            ("SetOption Name UCI_ShowWDL Value TRUE", setoption("UCI_ShowWDL", Some("TRUE"))),
            (
                "setoption name WeightsFile value a  value b.onnx",
                setoption("WeightsFile", Some("a  value b.onnx")),
            ),
            ("setoption name Clear Hash", setoption("Clear Hash", None)),
            ("setoption name Debug Log File value", setoption("Debug Log File", Some(""))),
            (
                "setoption name WeightsFile value /a b/my value.onnx",
                setoption("WeightsFile", Some("/a b/my value.onnx")),
            ),
            ("position startpos", position(None, &[])),
            ("position startpos moves", position(None, &[])),
            ("position  startpos   moves e2e4  e7e5", position(None, &["e2e4", "e7e5"])),
            (&format!("position fen {shredder}"), position(Some(shredder), &[])),
            (
                "position fen 4k3/8/8/8/8/8/8/4K3 w - -  moves e1e2",
                position(Some("4k3/8/8/8/8/8/8/4K3 w - -"), &["e1e2"]),
            ),
        ] {
            assert_eq!(parse(line), Ok(command), "{line}");
        }
    }

    #[test]
    fn bad_lines_as_a_table() {
        let unknown = |word: &str| CommandError::Unknown(word.into());
        let malformed = |line: &str| CommandError::Malformed(line.into());
        for (line, error) in [
            ("hello world", unknown("hello")),
            ("d 3", unknown("d")),
            ("what is d", unknown("what")),
            ("bestmove e2e4", unknown("bestmove")),
            ("uciok", unknown("uciok")),
            ("tree e2e4", malformed("tree e2e4")),
            ("debug", malformed("debug")),
            ("debug maybe", malformed("debug maybe")),
            ("setoption", malformed("setoption")),
            ("setoption Hash 3", malformed("setoption Hash 3")),
            ("setoption name", malformed("setoption name")),
            ("setoption name value 3", malformed("setoption name value 3")),
            ("position", CommandError::Position(SetupError::Missing)),
            ("position here", CommandError::Position(SetupError::Missing)),
            ("position fen", CommandError::Position(SetupError::NoFen)),
            ("position fen moves e2e4", CommandError::Position(SetupError::NoFen)),
            ("position startpos e2e4", CommandError::Position(SetupError::Trailing)),
        ] {
            assert_eq!(parse(line), Err(error), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(line in ".{0,200}") {
            let _ = parse(&line);
        }

        #[test]
        fn no_shuffle_of_protocol_words_makes_it_panic(
            words in prop::collection::vec(
                prop::sample::select(vec![
                    "uci", "go", "position", "fen", "startpos", "moves", "setoption", "name", "value",
                    "e2e4", "w", "-", "KQkq", "0", "-1", "99999999999999999999", "depth", "wtime",
                    "searchmoves", "ponder", "infinite", "debug", "on", "\t", "é", "8/8/8/8/8/8/8/8",
                ]),
                0..12,
            )
        ) {
            let _ = parse(&words.join(" "));
        }
    }
}
