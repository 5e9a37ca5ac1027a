//! `philidor encode`: what a scheme makes of a position or a move, and back.
//!
//! An input tensor is printed as lines `plane value squares`, of `onehot832/1` as lines `index value`; the same lines
//! are read back. Squares are the tensor's: a1 is the first number of a plane, whichever way the scheme turns the board.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use shakmaty::{Move, Square};
use thiserror::Error;

use crate::encoding::moves1::{self, Rows};
use crate::encoding::sparse1::{self, View};
use crate::encoding::{DecodeError, Input, Policy, PolicyIndex, az4672, decode, gym4672};
use crate::pgn::read_move;
use crate::position::{Game, PositionError};

/// Arguments of `philidor encode`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:
  philidor encode e2e4 --scheme az4672/1
  philidor encode 877 --scheme az4672/1
  philidor encode 'r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 5 20' --scheme planes19/1
  philidor encode --moves 'e2e4 e7e5' --scheme planes119/1 > planes.txt
  philidor encode --decode planes.txt --scheme planes119/1
philidor --version lists the schemes; besides them there are sparse/1 and moves/1. docs/formats.md describes them.")]
pub struct EncodeConfig {
    /// A FEN; or, for a policy scheme, a move (e2e4, Nf3) or an index [default: every legal move]
    #[arg(value_name = "FEN|MOVE|INDEX")]
    pub what: Option<String>,
    /// Name of the scheme
    #[arg(long, value_name = "NAME")]
    pub scheme: String,
    /// The position of a move or an index [default: the initial position]
    #[arg(long)]
    pub fen: Option<String>,
    /// Moves from there, in SAN or UCI notation: inputs with history hold what came before
    #[arg(long, value_delimiter = ' ')]
    pub moves: Vec<String>,
    /// Read printed planes from this file (- is stdin) and print the position in FEN
    #[arg(long, value_name = "FILE", conflicts_with_all = ["what", "fen", "moves"])]
    pub decode: Option<PathBuf>,
}

/// Why nothing can be encoded or decoded.
#[derive(Debug, Error)]
pub enum EncodeError {
    /// No scheme has this name.
    #[error("no scheme is called {0}; inputs: {inputs}, sparse/1; policies: {policies}, moves/1",
        inputs = Input::ALL.map(Input::name).join(", "), policies = Policy::ALL.map(Policy::name).join(", "))]
    Scheme(String),
    /// The position.
    #[error(transparent)]
    Position(#[from] PositionError),
    /// Both a FEN to encode and `--fen`.
    #[error("two positions: the FEN to encode and --fen")]
    TwoPositions,
    /// A move is not legal.
    #[error("no legal move in {fen}: {text}")]
    Move {
        /// The move.
        text: String,
        /// The position.
        fen: String,
    },
    /// An index beyond the scheme's size.
    #[error("{0} is no index of {1}: its indices are 0 to {2}")]
    Index(String, &'static str, usize),
    /// A move was given to an input scheme.
    #[error("{0} encodes positions: give a FEN, or moves with --moves")]
    NotAPosition(&'static str),
    /// The scheme cannot be read back.
    #[error("{0} cannot be read back: --decode takes one of {names}", names = Input::ALL.map(Input::name).join(", "))]
    OneWay(String),
    /// A line of planes that is none.
    #[error("{file}, line {line}: {text}; expected \"plane value squares\" as philidor encode prints them")]
    Line {
        /// The file.
        file: String,
        /// From 1.
        line: usize,
        /// What is there.
        text: String,
    },
    /// The planes are no position.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A file cannot be read, or `out` not written.
    #[error("{0}: {1}")]
    File(String, io::Error),
    /// Output.
    #[error(transparent)]
    Io(#[from] io::Error),
}

enum Scheme {
    Input(Input),
    Policy(Policy),
    /// `sparse/1`.
    Features,
    /// `moves/1`.
    Rows,
}

fn scheme(name: &str) -> Result<Scheme, EncodeError> {
    let special = match name {
        sparse1::NAME => Some(Scheme::Features),
        moves1::NAME => Some(Scheme::Rows),
        _ => None,
    };
    Input::named(name)
        .map(Scheme::Input)
        .or_else(|| Policy::named(name).map(Scheme::Policy))
        .or(special)
        .ok_or_else(|| EncodeError::Scheme(name.to_owned()))
}

/// Encodes or decodes, as `config` says.
///
/// # Errors
///
/// If the scheme, the position, the move or the planes are not valid, or `out` cannot be written.
pub fn run(config: &EncodeConfig, stdin: impl Read, out: &mut impl Write) -> Result<(), EncodeError> {
    let scheme = scheme(&config.scheme)?;
    if let Some(path) = &config.decode {
        let Scheme::Input(input) = scheme else { return Err(EncodeError::OneWay(config.scheme.clone())) };
        let name = path.display().to_string();
        let text = if name == "-" { io::read_to_string(stdin) } else { std::fs::read_to_string(path) };
        let text = text.map_err(|error| EncodeError::File(name.clone(), error))?;
        return print_position(input, &name, &text, out);
    }
    let position = config.what.as_deref().filter(|what| what.contains('/'));
    if position.is_some() && config.fen.is_some() {
        return Err(EncodeError::TwoPositions);
    }
    let start = position.or(config.fen.as_deref());
    let mut game = start.map_or(Ok(Game::new()), Game::from_fen)?;
    for text in config.moves.iter().filter(|text| !text.is_empty()) {
        let m = legal(&game, text)?;
        game.play(m);
    }
    let asked = config.what.as_deref().filter(|_| position.is_none());
    match scheme {
        Scheme::Input(input) if asked.is_some() => Err(EncodeError::NotAPosition(input.name())),
        Scheme::Features if asked.is_some() => Err(EncodeError::NotAPosition(sparse1::NAME)),
        Scheme::Input(input) => Ok(print_planes(input, &game, out)?),
        Scheme::Features => {
            let mut features = View::of(&game).features().to_vec();
            features.sort_unstable();
            let features: Vec<String> = features.iter().map(u16::to_string).collect();
            Ok(writeln!(out, "{}", features.join(" "))?)
        }
        Scheme::Policy(policy) => print_indices(policy, &game, asked, out),
        Scheme::Rows => {
            let moves = match asked {
                Some(text) => vec![legal(&game, text)?],
                None => game.legal_moves().to_vec(),
            };
            let mut rows = vec![Rows::default(); moves.len()];
            moves1::rows(&View::of(&game), &moves, &mut rows);
            writeln!(out, "move row-a row-b")?;
            for (m, Rows { a, b }) in moves.iter().zip(rows) {
                writeln!(out, "{} {a} {b}", Game::uci(*m, false))?;
            }
            Ok(())
        }
    }
}

fn legal(game: &Game, text: &str) -> Result<Move, EncodeError> {
    let illegal = || EncodeError::Move { text: text.to_owned(), fen: game.fen() };
    read_move(game, text).ok_or_else(illegal)
}

/// The lines of a tensor's numbers that are not zero.
fn print_planes(input: Input, game: &Game, out: &mut impl Write) -> io::Result<()> {
    let tensor = input.tensor(std::slice::from_ref(game));
    writeln!(out, "# {} {:?} of {}", input.name(), input.shape(), game.fen())?;
    if input == Input::Onehot832 {
        writeln!(out, "# index value")?;
        for (index, value) in tensor.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            writeln!(out, "{index} {value}")?;
        }
        return Ok(());
    }
    writeln!(out, "# plane value squares")?;
    for (index, plane) in tensor.as_chunks::<64>().0.iter().enumerate() {
        let mut values: Vec<f32> = plane.iter().copied().filter(|value| *value != 0.0).collect();
        values.sort_by(|a, b| b.total_cmp(a));
        values.dedup();
        for value in values {
            let squares = Square::ALL.into_iter().filter(|square| plane[*square as usize] == value);
            let squares: Vec<String> = squares.map(|square| square.to_string()).collect();
            let squares = if squares.len() == 64 { "all".to_owned() } else { squares.join(" ") };
            writeln!(out, "{index} {value} {squares}")?;
        }
    }
    Ok(())
}

fn print_position(input: Input, file: &str, text: &str, out: &mut impl Write) -> Result<(), EncodeError> {
    let mut tensor = vec![0.0; input.size()];
    for (number, line) in (1..).zip(text.lines()) {
        let words = line.split('#').next().unwrap_or_default();
        if words.trim().is_empty() {
            continue;
        }
        read_line(input, words, &mut tensor).ok_or_else(|| EncodeError::Line {
            file: file.to_owned(),
            line: number,
            text: line.to_owned(),
        })?;
    }
    let decoded = decode(input, &tensor)?;
    writeln!(out, "{}", decoded.fen)?;
    if !decoded.assumed.is_empty() {
        writeln!(
            out,
            "# assumed, because {} does not hold it: {}",
            input.name(),
            decoded.assumed.join(", ")
        )?;
    }
    if !decoded.different.is_empty() {
        let different: Vec<String> = decoded.different.iter().map(usize::to_string).collect();
        let what = "# from the game before it, not in the FEN";
        writeln!(
            out,
            "{what}: {} {}",
            if input == Input::Onehot832 { "indices" } else { "planes" },
            different.join(" ")
        )?;
    }
    Ok(())
}

/// Sets the numbers of a line; `None` if it is none.
fn read_line(input: Input, line: &str, tensor: &mut [f32]) -> Option<()> {
    let mut words = line.split_whitespace();
    let index: usize = words.next()?.parse().ok()?;
    let value: f32 = words.next()?.parse().ok().filter(|value: &f32| value.is_finite())?;
    if input == Input::Onehot832 {
        *tensor.get_mut(index)? = value;
        return words.next().is_none().then_some(());
    }
    let plane = tensor.as_chunks_mut::<64>().0.get_mut(index)?;
    let squares: Vec<&str> = words.collect();
    match squares[..] {
        [] => return None,
        ["all"] => plane.fill(value),
        _ => {
            for square in squares {
                plane[square.parse::<Square>().ok()? as usize] = value;
            }
        }
    }
    Some(())
}

fn print_indices(
    policy: Policy,
    game: &Game,
    asked: Option<&str>,
    out: &mut impl Write,
) -> Result<(), EncodeError> {
    let index_of = |m: &Move| policy.index(game.turn(), *m);
    let mut moves: Vec<(PolicyIndex, Option<Move>)> = match asked {
        None => game.legal_moves().iter().map(|m| (index_of(m), Some(*m))).collect(),
        Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            let index = text.parse().ok().filter(|index| usize::from(*index) < policy.size());
            let wrong = || EncodeError::Index(text.to_owned(), policy.name(), policy.size() - 1);
            let index = PolicyIndex(index.ok_or_else(wrong)?);
            vec![(index, policy.find(game, index))]
        }
        Some(text) => legal(game, text).map(|m| vec![(index_of(&m), Some(m))])?,
    };
    moves.sort_by_key(|(index, _)| index.0);
    // AlphaZero's form: 73 types of move from each square, as the scheme turns the board.
    let typed = [az4672::NAME, gym4672::NAME].contains(&policy.name());
    writeln!(out, "index move{}", if typed { " origin type" } else { "" })?;
    for (index, m) in moves {
        let name = m.map_or("none-legal".to_owned(), |m| Game::uci(m, false));
        write!(out, "{} {name}", index.0)?;
        if typed {
            let (square, kind) =
                (u32::from(index.0) / az4672::TYPES as u32, usize::from(index.0) % az4672::TYPES);
            write!(out, " {} {kind}", Square::new(square))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(what: Option<&str>, scheme: &str, moves: &str) -> Result<String, EncodeError> {
        let config = EncodeConfig {
            what: what.map(str::to_owned),
            scheme: scheme.to_owned(),
            fen: None,
            moves: moves.split_whitespace().map(str::to_owned).collect(),
            decode: None,
        };
        let mut out = Vec::new();
        run(&config, io::empty(), &mut out)?;
        Ok(String::from_utf8(out).expect("text"))
    }

    fn decoded(scheme: &str, text: &str) -> Result<String, EncodeError> {
        let config = EncodeConfig {
            what: None,
            scheme: scheme.to_owned(),
            fen: None,
            moves: Vec::new(),
            decode: Some("-".into()),
        };
        let mut out = Vec::new();
        run(&config, text.as_bytes(), &mut out)?;
        Ok(String::from_utf8(out).expect("text"))
    }

    #[test]
    fn indices_are_those_of_the_formulas() {
        // 73 · 12 (e2) + 1 (north, two squares).
        assert_eq!(encoded(Some("e2e4"), "az4672/1", "").unwrap(), "index move origin type\n877 e2e4 e2 1\n");
        // 73 · 6 (g1) + 63 (one file back, two ranks up).
        assert_eq!(encoded(Some("Nf3"), "az4672/1", "").unwrap(), "index move origin type\n501 g1f3 g1 63\n");
        // Turned by 180°, e7 is d2: 73 · 11 + 1.
        assert_eq!(
            encoded(Some("e7e5"), "gym4672/1", "e2e4").unwrap(),
            "index move origin type\n804 e7e5 d2 1\n"
        );
        // The third move of a1's 23 labels.
        let corner = "7k/8/8/8/8/8/8/R6K w - - 0 1";
        let all = encoded(Some(corner), "uci1968/1", "").unwrap();
        assert!(all.starts_with("index move\n0 a1b1\n1 a1c1\n2 a1d1\n"), "{all}");
    }

    #[test]
    fn indices_lead_back_to_moves() {
        assert_eq!(encoded(Some("877"), "az4672/1", "").unwrap(), "index move origin type\n877 e2e4 e2 1\n");
        assert_eq!(
            encoded(Some("0"), "az4672/1", "").unwrap(),
            "index move origin type\n0 none-legal a1 0\n"
        );
        let error = encoded(Some("4672"), "az4672/1", "").unwrap_err().to_string();
        assert_eq!(error, "4672 is no index of az4672/1: its indices are 0 to 4671");
        assert!(encoded(Some("e2e5"), "az4672/1", "").unwrap_err().to_string().contains("no legal move"));
    }

    #[test]
    fn planes_are_printed_by_square_in_the_schemes_view() {
        // For Black, turned by 180°: his king on e8 is seen on d1, White's rook on h1 on a8.
        let text = encoded(Some("4k3/8/8/8/8/8/8/4K2R b K - 5 20"), "planes119/1", "").unwrap();
        let expected = "# planes119/1 [119, 8, 8] of 4k3/8/8/8/8/8/8/4K2R b K - 5 20\n# plane value squares\n\
            5 1 d1\n9 1 a8\n11 1 d8\n113 20 all\n116 1 all\n118 5 all\n";
        assert_eq!(text, expected);
        // 13 · square + state: a8 is the first square, its white rook state 4; h7 the 16th, the black king 12.
        let text = encoded(Some("R7/7k/8/8/8/8/8/K7 w - - 0 1"), "onehot832/1", "").unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[2], lines[3], lines[17], lines.len()), ("4 1", "13 1", "207 1", 66), "{text}");
    }

    #[test]
    fn planes_lead_back_to_the_position() {
        let fen = "r3k2r/pp3ppp/8/3p4/8/5N2/PPP2PPP/R3K2R b KQkq - 3 17";
        for scheme in ["planes72/1", "planes19/1", "planes14/1", "onehot832/1", "lc0-112/1", "planes119/1"] {
            let text = encoded(Some(fen), scheme, "").unwrap();
            let back = decoded(scheme, &text).unwrap();
            let got = back.lines().next().unwrap();
            match scheme {
                "planes119/1" => {
                    let assumed = "# assumed, because planes119/1 does not hold it: no en-passant square";
                    assert_eq!(back, format!("{fen}\n{assumed}\n"));
                }
                // The colours are not held: what moves is White, and the ranks are mirrored.
                "planes72/1" => {
                    assert_eq!(got, "r3k2r/ppp2ppp/5n2/8/3P4/8/PP3PPP/R3K2R w KQkq - 3 17");
                    assert!(back.contains("assumed") && back.contains("White to move"), "{back}");
                }
                "planes19/1" => {
                    assert!(got.starts_with("r3k2r/pp3ppp/8/3p4/8/5N2/PPP2PPP/R3K2R b KQkq "), "{back}");
                }
                "lc0-112/1" => {
                    assert_eq!(got, "r3k2r/pp3ppp/8/3p4/8/5N2/PPP2PPP/R3K2R b KQkq - 3 1");
                }
                "planes14/1" => assert_eq!(got, "r2k3r/ppp2ppp/2n5/8/4P3/8/PPP3PP/R2K3R w - - 0 1"),
                _ => assert_eq!(got, "r3k2r/pp3ppp/8/3p4/8/5N2/PPP2PPP/R3K2R w - - 0 1"),
            }
        }
        // What came before is not in a FEN, and is said.
        let text = encoded(None, "planes119/1", "e2e4 e7e5").unwrap();
        let back = decoded("planes119/1", &text).unwrap();
        assert!(back.starts_with("rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2\n"), "{back}");
        assert!(back.contains("planes 14 15 "), "{back}");
    }

    #[test]
    fn errors_name_the_place_and_the_way_out() {
        for (text, part) in [
            ("0 1 a2\n5 x e1\n", "-, line 2: 5 x e1; expected \"plane value squares\""),
            ("5 1 e1\n11 1 e1\n", "square e1 of the tensor: 2 pieces"),
            ("5 1 e1\n", "8/8/8/8/8/8/8/4K3"),
            ("14 1 all\n", "-, line 1"),
        ] {
            let error = decoded("planes14/1", text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let error = encoded(None, "planes15/1", "").unwrap_err().to_string();
        assert!(error.contains("planes15/1") && error.contains("planes119/1") && error.contains("moves/1"));
        assert!(decoded("sparse/1", "").unwrap_err().to_string().contains("cannot be read back"));
        assert!(encoded(Some("e2e4"), "planes19/1", "").unwrap_err().to_string().contains("give a FEN"));
    }

    #[test]
    fn lists_of_features_and_rows_are_those_of_their_encoders() {
        let text = encoded(None, "sparse/1", "").unwrap();
        let features: Vec<usize> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
        // 32 pieces, four castling rights, the clock's and the number of pieces' bucket.
        assert_eq!(features.len(), 32 + 4 + 2);
        assert_eq!(features[32..], [3072, 3073, 3074, 3075, 3279, 3296]);
        let text = encoded(None, "moves/1", "").unwrap();
        assert_eq!(text.lines().count(), 1 + 20, "{text}");
    }
}
