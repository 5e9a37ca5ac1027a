//! `philidor encode` prints planes as `plane value squares`, `onehot832/1` as `index value`, `sparse/1` as features.
//! Squares are the tensor's: a1 is a plane's first number, however the scheme turns the board.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use shakmaty::{Move, Square};
use thiserror::Error;

use crate::chess::pgn::read_move;
use crate::chess::position::{Game, PositionError};
use crate::nets::encoding::moves1::{self, ROWS_A, ROWS_B, Rows};
use crate::nets::encoding::sparse1::{self, FEATURES, Feature, View};
use crate::nets::encoding::{
    DecodeError, Decoded, Input, Policy, PolicyIndex, az4672, decode, decode_features, gym4672,
};

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:
  philidor encode e2e4 --scheme az4672/1
  philidor encode 877 --scheme az4672/1
  philidor encode 'r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 5 20' --scheme planes19/1
  philidor encode --moves 'e2e4 e7e5' --scheme planes119/1 > planes.txt
  philidor encode --decode planes.txt --scheme planes119/1
  philidor encode --moves 'e2e4 e7e5' --scheme sparse/1 | philidor encode --decode - --scheme sparse/1
  philidor encode '3136 3278' --scheme sparse/1
  philidor encode '37 225' --scheme moves/1
philidor --version lists the schemes; besides them there are sparse/1 and moves/1. docs/formats.md
of the source describes them; packages hold it in docs or share/doc/philidor.")]
pub struct EncodeConfig {
    /// A FEN; for a policy scheme, a move (e2e4, Nf3), an index or, for moves/1, 'ROW-A ROW-B' [default: every legal
    /// move]; for sparse/1, features to describe ('3136 3278')
    #[arg(value_name = "FEN|MOVE|INDEX")]
    pub what: Option<String>,
    /// Name of the scheme
    #[arg(long, value_name = "NAME")]
    pub scheme: String,
    /// FEN of the position in which a move or an index is read [default: the initial position]
    #[arg(long)]
    pub fen: Option<String>,
    /// Moves from --fen, in SAN or UCI notation, for inputs with history
    #[arg(long, value_delimiter = ' ')]
    pub moves: Vec<String>,
    /// Read printed planes or features from this file (- is stdin) and print the position's FEN
    #[arg(long, value_name = "FILE", conflicts_with_all = ["what", "fen", "moves"])]
    pub decode: Option<PathBuf>,
}

#[derive(Debug, Error)]
pub enum EncodeError {
    #[error("no scheme is called {0}; inputs: {inputs}, sparse/1; policies: {policies}, moves/1",
        inputs = Input::ALL.map(Input::name).join(", "), policies = Policy::ALL.map(Policy::name).join(", "))]
    Scheme(String),
    #[error(transparent)]
    Position(#[from] PositionError),
    #[error("give one position: the FEN to encode or --fen")]
    TwoPositions,
    #[error("no legal move in {fen}: {text}")]
    Move { text: String, fen: String },
    #[error("{0} is no index of {1}: its indices are 0 to {2}")]
    Index(String, &'static str, usize),
    #[error("{0} is not a pair of rows: {name} has two for a move, such as '37 225'", name = moves1::NAME)]
    NotAPair(String),
    #[error("{0} encodes positions: give a FEN, or moves with --moves")]
    NotAPosition(&'static str),
    #[error("{0} encodes moves: give an index without --decode, which takes one of {names}, sparse/1",
        names = Input::ALL.map(Input::name).join(", "))]
    NoPlanes(String),
    #[error("{file}, line {line}: {text}; expected {expected} as philidor encode prints them")]
    Line { file: String, line: usize, text: String, expected: String },
    #[error(transparent)]
    Decode(#[from] DecodeError),
    #[error("{0}: {1}")]
    File(String, io::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

enum Scheme {
    Input(Input),
    Policy(Policy),
    Features,
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

pub fn run(config: &EncodeConfig, stdin: impl Read, out: &mut impl Write) -> Result<(), EncodeError> {
    let scheme = scheme(&config.scheme)?;
    if let Some(path) = &config.decode {
        if matches!(scheme, Scheme::Policy(_) | Scheme::Rows) {
            return Err(EncodeError::NoPlanes(config.scheme.clone()));
        }
        let name = path.display().to_string();
        let text = if name == "-" { io::read_to_string(stdin) } else { std::fs::read_to_string(path) };
        let text = text.map_err(|error| EncodeError::File(name.clone(), error))?;
        // Windows editors write a byte-order mark.
        let text = text.trim_start_matches('\u{feff}');
        return match scheme {
            Scheme::Input(input) => print_position(input, &name, text, out),
            _ => print_featured(&name, text, out),
        };
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
        Scheme::Input(input) => Ok(print_planes(input, &game, out)?),
        Scheme::Features if asked.is_some_and(numbers) => print_meanings(asked.unwrap_or_default(), out),
        Scheme::Features if asked.is_some() => Err(EncodeError::NotAPosition(sparse1::NAME)),
        Scheme::Features => {
            let mut features = View::of(&game).features().to_vec();
            features.sort_unstable();
            let features: Vec<String> = features.iter().map(u16::to_string).collect();
            Ok(writeln!(out, "{}", features.join(" "))?)
        }
        Scheme::Policy(policy) => print_indices(policy, &game, asked, out),
        Scheme::Rows => print_rows(&game, asked, out),
    }
}

fn numbers(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit();
    text.bytes().any(is_digit) && text.bytes().all(|byte| is_digit(byte) || byte.is_ascii_whitespace())
}

fn index(text: &str, scheme: &'static str, size: usize) -> Result<u16, EncodeError> {
    let index = text.parse().ok().filter(|index| usize::from(*index) < size);
    index.ok_or_else(|| EncodeError::Index(text.to_owned(), scheme, size - 1))
}

fn legal(game: &Game, text: &str) -> Result<Move, EncodeError> {
    let illegal = || EncodeError::Move { text: text.to_owned(), fen: game.fen() };
    read_move(game, text).ok_or_else(illegal)
}

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

fn meanings(features: &[u16]) -> impl Iterator<Item = (u16, Feature)> {
    features.iter().filter_map(|feature| Some((*feature, Feature::of(*feature)?)))
}

fn print_meanings(features: &str, out: &mut impl Write) -> Result<(), EncodeError> {
    let features = features.split_whitespace().map(|word| index(word, sparse1::NAME, FEATURES));
    let features: Vec<u16> = features.collect::<Result<_, _>>()?;
    writeln!(out, "feature meaning")?;
    for (feature, meaning) in meanings(&features) {
        writeln!(out, "{feature} {meaning}")?;
    }
    Ok(())
}

fn print_featured(file: &str, text: &str, out: &mut impl Write) -> Result<(), EncodeError> {
    let mut features = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for word in line.split('#').next().unwrap_or_default().split_whitespace() {
            features.push(index(word, sparse1::NAME, FEATURES).map_err(|_| EncodeError::Line {
                file: file.to_owned(),
                line: number,
                text: word.to_owned(),
                expected: format!("features from 0 to {}", FEATURES - 1),
            })?);
        }
    }
    print_decoded(sparse1::NAME, "features", &decode_features(&features)?, out)?;
    writeln!(out, "# feature meaning")?;
    for (feature, meaning) in meanings(&features) {
        writeln!(out, "# {feature} {meaning}")?;
    }
    Ok(())
}

fn print_position(input: Input, file: &str, text: &str, out: &mut impl Write) -> Result<(), EncodeError> {
    let mut tensor = vec![0.0; input.size()];
    let (unit, columns) = match input {
        Input::Onehot832 => ("indices", "index value"),
        _ => ("planes", "plane value squares"),
    };
    for (number, line) in (1..).zip(text.lines()) {
        let words = line.split('#').next().unwrap_or_default();
        if words.trim().is_empty() {
            continue;
        }
        read_line(input, words, &mut tensor).ok_or_else(|| EncodeError::Line {
            file: file.to_owned(),
            line: number,
            text: line.to_owned(),
            expected: format!("\"{columns}\""),
        })?;
    }
    Ok(print_decoded(input.name(), unit, &decode(input, &tensor)?, out)?)
}

fn print_decoded(scheme: &str, unit: &str, decoded: &Decoded, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", decoded.fen)?;
    if !decoded.assumed.is_empty() {
        writeln!(out, "# assumed, because {scheme} does not hold it: {}", decoded.assumed.join(", "))?;
    }
    if !decoded.different.is_empty() {
        let different: Vec<String> = decoded.different.iter().map(usize::to_string).collect();
        writeln!(out, "# from the game before it, not in the FEN: {unit} {}", different.join(" "))?;
    }
    Ok(())
}

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
            let index = PolicyIndex(index(text, policy.name(), policy.size())?);
            vec![(index, policy.find(game, index))]
        }
        Some(text) => legal(game, text).map(|m| vec![(index_of(&m), Some(m))])?,
    };
    moves.sort_by_key(|(index, _)| index.0);
    // 73 move types per square of the board as the scheme turns it.
    let typed = [az4672::NAME, gym4672::NAME].contains(&policy.name());
    writeln!(out, "index move{}", if typed { " origin type" } else { "" })?;
    for (index, m) in moves {
        write!(out, "{} {}", index.0, name(m))?;
        if typed {
            let (square, kind) =
                (u32::from(index.0) / az4672::TYPES as u32, usize::from(index.0) % az4672::TYPES);
            write!(out, " {} {kind}", Square::new(square))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn name(m: Option<Move>) -> String {
    m.map_or("none-legal".to_owned(), |m| Game::uci(m, false))
}

fn print_rows(game: &Game, asked: Option<&str>, out: &mut impl Write) -> Result<(), EncodeError> {
    let header = "move row-a row-b";
    let rows_of = |moves: &[Move]| {
        let mut rows = vec![Rows::default(); moves.len()];
        moves1::rows(&View::of(game), moves, &mut rows);
        rows
    };
    let Some(text) = asked else {
        let moves = game.legal_moves();
        writeln!(out, "{header}")?;
        for (m, Rows { a, b }) in moves.iter().zip(rows_of(&moves)) {
            writeln!(out, "{} {a} {b}", name(Some(*m)))?;
        }
        return Ok(());
    };
    let (m, rows) = if numbers(text) {
        let [a, b] = text.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err(EncodeError::NotAPair(text.to_owned()));
        };
        let rows =
            Rows { a: index(a, "row A of moves/1", ROWS_A)?, b: index(b, "row B of moves/1", ROWS_B)? };
        (moves1::find(game, rows), rows)
    } else {
        let m = legal(game, text)?;
        (Some(m), rows_of(&[m])[0])
    };
    let [a, b] = rows.meanings();
    Ok(writeln!(out, "{header}\n{} {} {}\n# row-a: {a}\n# row-b: {b}", name(m), rows.a, rows.b)?)
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
        // 73 · 12 (e2) + 1 (two squares north).
        assert_eq!(encoded(Some("e2e4"), "az4672/1", "").unwrap(), "index move origin type\n877 e2e4 e2 1\n");
        // 73 · 6 (g1) + 63 (one file back, two ranks up).
        assert_eq!(encoded(Some("Nf3"), "az4672/1", "").unwrap(), "index move origin type\n501 g1f3 g1 63\n");
        // Turned by 180°, e7 is d2: 73 · 11 + 1.
        assert_eq!(
            encoded(Some("e7e5"), "gym4672/1", "e2e4").unwrap(),
            "index move origin type\n804 e7e5 d2 1\n"
        );
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
        // Turned by 180° for Black: the king on e8 is on d1, White's rook on h1 on a8.
        let text = encoded(Some("4k3/8/8/8/8/8/8/4K2R b K - 5 20"), "planes119/1", "").unwrap();
        let expected = "# planes119/1 [119, 8, 8] of 4k3/8/8/8/8/8/8/4K2R b K - 5 20\n# plane value squares\n\
            5 1 d1\n9 1 a8\n11 1 d8\n113 20 all\n116 1 all\n118 5 all\n";
        assert_eq!(text, expected);
        // 13 · square + state: a8 is the first square, its white rook state 4; h7 is the 16th, the black king state 12.
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
                // The colours are lost: Black becomes White, and the ranks are mirrored.
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
        // A FEN cannot hold the history, so its planes are reported.
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
        for scheme in ["az4672/1", "moves/1"] {
            let error = decoded(scheme, "").unwrap_err().to_string();
            assert!(error.contains("give an index") && error.ends_with("planes119/1, sparse/1"), "{error}");
        }
        let error = decoded("onehot832/1", "0 1 a2\n").unwrap_err().to_string();
        assert!(error.contains("expected \"index value\""), "{error}");
        assert!(encoded(Some("e2e4"), "planes19/1", "").unwrap_err().to_string().contains("give a FEN"));
    }

    #[test]
    fn lists_of_features_and_rows_are_those_of_their_encoders() {
        let text = encoded(None, "sparse/1", "").unwrap();
        let features: Vec<usize> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
        // Pieces, castling rights, buckets of half-move clock and piece count.
        assert_eq!(features.len(), 32 + 4 + 2);
        assert_eq!(features[32..], [3072, 3073, 3074, 3075, 3279, 3296]);
        let text = encoded(None, "moves/1", "").unwrap();
        assert_eq!(text.lines().count(), 1 + 20, "{text}");
    }

    #[test]
    fn indices_of_every_policy_lead_back_to_their_moves() {
        let castling = "r3k2r/1P4p1/8/8/8/8/1p4P1/R3K2R w KQkq - 0 1";
        let chess960 = "1k6/8/8/8/8/8/8/RK5R w HA - 0 1";
        for policy in Policy::ALL {
            for (what, moves) in [(None, ""), (None, "e2e4"), (Some(castling), "g2g4"), (Some(chess960), "")]
            {
                let all = encoded(what, policy.name(), moves).unwrap();
                let header = all.lines().next().unwrap();
                for line in all.lines().skip(1) {
                    let config = EncodeConfig {
                        what: line.split(' ').next().map(str::to_owned),
                        scheme: policy.name().to_owned(),
                        fen: what.map(str::to_owned),
                        moves: moves.split_whitespace().map(str::to_owned).collect(),
                        decode: None,
                    };
                    let mut out = Vec::new();
                    run(&config, io::empty(), &mut out).unwrap();
                    assert_eq!(String::from_utf8(out).unwrap(), format!("{header}\n{line}\n"));
                }
            }
            for beyond in [policy.size().to_string(), "99999".to_owned()] {
                let error = encoded(Some(&beyond), policy.name(), "").unwrap_err().to_string();
                let last = policy.size() - 1;
                assert_eq!(
                    error,
                    format!("{beyond} is no index of {}: its indices are 0 to {last}", policy.name())
                );
            }
        }
        // Indices by hand after 1. e4 for Black: ranks mirrored, turned by 180°, absolute.
        for (scheme, index, moves, m) in [
            ("az4672/1", "877", "e2e4", "877 e7e5 e2 1"),
            ("gym4672/1", "804", "e2e4", "804 e7e5 d2 1"),
            ("uci1968/1", "930", "", "930 e2e4"),
            ("uci1968/1", "930", "e2e4", "930 none-legal"),
            ("uci1968m/1", "930", "e2e4", "930 e7e5"),
            ("lc0-1858/1", "322", "e2e4", "322 e7e5"),
        ] {
            let text = encoded(Some(index), scheme, moves).unwrap();
            assert_eq!(text.lines().nth(1).unwrap(), m, "{scheme}");
        }
    }

    #[test]
    fn rows_lead_back_to_moves_and_words() {
        let expected = "move row-a row-b\ne2e4 37 225\n# row-a: pawn e2 to e4, exchange at least 0\n\
            # row-b: pawn to e4, exchange at least 0\n";
        assert_eq!(encoded(Some("e2e4"), "moves/1", "").unwrap(), expected);
        assert_eq!(encoded(Some("37 225"), "moves/1", "").unwrap(), expected);
        // The same move from Black's view.
        assert!(encoded(Some("37 225"), "moves/1", "e2e4").unwrap().contains("\ne7e5 37 225\n"));
        // Check and capture: Qxf7+ loses the queen to the king.
        let moves = "e2e4 e7e5 d1h5 a7a6";
        let text = encoded(Some("h5f7"), "moves/1", moves).unwrap();
        let [row_a, row_b] = text.lines().nth(1).unwrap().split(' ').skip(1).collect::<Vec<_>>()[..] else {
            panic!("{text}")
        };
        assert!(text.ends_with(
            "# row-a: queen h5 to f7, exchange below 0\n# row-b: queen to f7, exchange below 0, check, capture\n"
        ));
        assert_eq!(encoded(Some(&format!("{row_a} {row_b}")), "moves/1", moves).unwrap(), text);
        // Rows of two different moves.
        let text = encoded(Some("0 225"), "moves/1", "").unwrap();
        assert!(text.contains("\nnone-legal 0 225\n# row-a: pawn a2 to a3, exchange below 0\n"), "{text}");
        for (rows, part) in [
            ("37", "37 is not a pair of rows: moves/1 has two for a move"),
            ("37 225 3", "37 225 3 is not a pair of rows"),
            ("7336 0", "7336 is no index of row A of moves/1: its indices are 0 to 7335"),
            ("0 3328", "3328 is no index of row B of moves/1: its indices are 0 to 3327"),
        ] {
            let error = encoded(Some(rows), "moves/1", "").unwrap_err().to_string();
            assert!(error.starts_with(part), "{error}");
        }
    }

    #[test]
    fn features_lead_back_to_the_position_and_words() {
        // Black's view mirrors ranks and files: king c8 is f1 (5), rook h8 a1 (0), White's king e1 d8 (59), and the
        // rook went from g8 (62) to h8 (63). Rooks defend both kings: 1536 + 64 · 5 + 5, 1536 + 64 · 11 + 59; rooks: 64
        // · 3, 64 · 9 + 63.
        let fen = "2k4r/8/8/8/8/8/8/1R2K3 w - - 20 40";
        let text = encoded(Some(fen), "sparse/1", "b1a1").unwrap();
        assert_eq!(text, "192 639 1861 2299 3146 3211 3283 3289\n");
        let expected = "3k3r/8/8/8/8/8/8/R4K2 w - - 20 1\n\
            # assumed, because sparse/1 does not hold it: White to move, files not mirrored, the smallest half-move \
            clock of its range, full-move number 1\n\
            # from the game before it, not in the FEN: features 3146 3211\n\
            # feature meaning\n\
            # 192 own rook a1\n# 639 their rook h8\n# 1861 own king f1, defended\n# 2299 their king d8, defended\n\
            # 3146 last move from g8\n# 3211 last move to h8, no capture\n# 3283 half-move clock 20 to 34\n\
            # 3289 1 to 4 pieces on the board\n";
        assert_eq!(decoded("sparse/1", &text).unwrap(), expected);
        let text = encoded(Some("3278 0"), "sparse/1", "").unwrap();
        assert_eq!(text, "feature meaning\n3278 the mover is in check\n0 own pawn a1\n");
        // The features do not say which rook may castle: the outermost is assumed.
        let text = encoded(Some("4k3/8/8/8/8/8/8/4KR1R w H - 0 1"), "sparse/1", "").unwrap();
        let back = decoded("sparse/1", &text).unwrap();
        assert!(back.starts_with("4k3/8/8/8/8/8/8/4KR1R w K - 0 1\n"), "{back}");
        assert!(back.contains("castling with the outermost rook"), "{back}");
    }

    #[test]
    fn what_is_no_list_of_features_is_refused() {
        assert!(encoded(Some(""), "sparse/1", "").unwrap_err().to_string().contains("give a FEN"));
        let error = encoded(Some("3297"), "sparse/1", "").unwrap_err().to_string();
        assert_eq!(error, "3297 is no index of sparse/1: its indices are 0 to 3296");
        assert!(encoded(Some("e2e4"), "sparse/1", "").unwrap_err().to_string().contains("give a FEN"));
        // Kings e1 and e8, buckets of half-move clock and piece count.
        assert!(
            decoded("sparse/1", "324 764 # kings\n3279 3289")
                .unwrap()
                .starts_with("4k3/8/8/8/8/8/8/4K3 w - - 0 1\n")
        );
        for (text, part) in [
            ("324 764\n3279 3297", "-, line 2: 3297; expected features from 0 to 3296"),
            ("324 x", "-, line 1: x; expected features"),
            ("324 764 60 3279 3289", "square e8: two pieces"),
            ("323 764 3279 3289", "own king d1: sparse/1 sees it on one of the files e to h"),
            ("764 3279 3289", "4k3/8/8/8/8/8/8/8 w - - 0 1"),
            ("", "8/8/8/8/8/8/8/8 w - - 0 1"),
            (
                "324 764 3278 3289",
                "no position has these features: 4k3/8/8/8/8/8/8/4K3 w - - 0 1 differs in 3278 3279",
            ),
            // Two last moves, an origin without a target, and two repetition counts.
            ("324 764 3279 3289 3084 3085 3148 3149", "differs in 3084 3085 3148 3149"),
            ("324 764 3279 3289 3084", "differs in 3084"),
            ("324 764 3279 3289 3276 3277", "differs in 3276 3277"),
        ] {
            let error = decoded("sparse/1", text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
