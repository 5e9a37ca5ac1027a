use std::collections::BTreeSet;
use std::fmt::Write;

use shakmaty::{Bitboard, Board, Color, File, Piece, Rank, Role, Square};
use thiserror::Error;

use super::sparse1::{self, FEATURES, Feature, View};
use super::{Input, onehot832};
use crate::chess::position::{Game, PositionError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    pub fen: String,
    /// Parts that the scheme lacks: the FEN has White to move, no rights, no en passant, clocks of a new game.
    pub assumed: Vec<&'static str>,
    /// Planes (`onehot832/1`: indices, `sparse/1`: features) that differ when the FEN is encoded without history.
    pub different: Vec<usize>,
}

#[derive(Debug, Error)]
pub enum DecodeError {
    #[error("{0} numbers, expected {1}")]
    Size(usize, usize),
    #[error("square {0} of the tensor: {1} pieces or states, expected one at most")]
    Square(Square, usize),
    #[error("{0} is no index of {name}: its indices are 0 to {last}", name = sparse1::NAME, last = FEATURES - 1)]
    Feature(u16),
    #[error("square {0}: two pieces, expected one at most")]
    TwoPieces(Square),
    #[error("own king {0}: {name} sees it on one of the files e to h", name = sparse1::NAME)]
    King(Square),
    #[error("no position has these features: {fen} differs in {}",
        features.iter().map(u16::to_string).collect::<Vec<_>>().join(" "))]
    Features {
        fen: String,
        /// Features that either the list or this position lacks.
        features: Vec<u16>,
    },
    #[error("{fen}: {source}")]
    Position { fen: String, source: PositionError },
}

#[derive(Clone, Copy)]
enum Turned {
    Mirrored,
    Rotated,
}

/// A scheme whose first twelve planes are the own P, N, B, R, Q, K, and the opponent's in the same order.
struct Layout {
    turned: Turned,
    /// The side-to-move plane, and the side for which it is all ones.
    side: Option<(usize, Color)>,
    /// Own king side, own queen side, the opponent's king side, queen side.
    castling: Option<[usize; 4]>,
    en_passant: Option<usize>,
    /// The plane, and the factor from its value to plies.
    clock: Option<(usize, f32)>,
    move_number: Option<(usize, f32)>,
}

fn layout(input: Input) -> Option<Layout> {
    let board = |turned| Layout {
        turned,
        side: None,
        castling: None,
        en_passant: None,
        clock: None,
        move_number: None,
    };
    Some(match input {
        Input::Planes72 => Layout {
            castling: Some([50, 51, 52, 53]),
            en_passant: Some(54),
            clock: Some((55, 100.0)),
            move_number: Some((49, 200.0)),
            ..board(Turned::Mirrored)
        },
        Input::Planes19 => Layout {
            side: Some((18, Color::Black)),
            castling: Some([14, 15, 16, 17]),
            ..board(Turned::Mirrored)
        },
        Input::Planes14 => board(Turned::Rotated),
        Input::Planes119 => Layout {
            side: Some((112, Color::White)),
            castling: Some([114, 115, 116, 117]),
            clock: Some((118, 1.0)),
            move_number: Some((113, 1.0)),
            ..board(Turned::Rotated)
        },
        Input::Lc0112 => Layout {
            side: Some((108, Color::Black)),
            castling: Some([105, 104, 107, 106]),
            clock: Some((109, 1.0)),
            ..board(Turned::Mirrored)
        },
        Input::Onehot832 => return None,
    })
}

/// The position must be legal.
pub fn decode(input: Input, tensor: &[f32]) -> Result<Decoded, DecodeError> {
    if tensor.len() != input.size() {
        return Err(DecodeError::Size(tensor.len(), input.size()));
    }
    let mut assumed = Vec::new();
    let mut or_assumed = |known: Option<String>, what: &'static str, otherwise: &str| {
        known.unwrap_or_else(|| {
            assumed.push(what);
            otherwise.to_owned()
        })
    };
    let fen = match layout(input) {
        Some(layout) => {
            let value = |plane: usize| tensor[64 * plane];
            let turn = layout.side.map(|(plane, side)| if value(plane) > 0.5 { side } else { !side });
            let us = turn.unwrap_or(Color::White);
            let turned = |square: Square| match (us, layout.turned) {
                (Color::White, _) => square,
                (Color::Black, Turned::Mirrored) => square.flip_vertical(),
                (Color::Black, Turned::Rotated) => square.rotate_180(),
            };
            let board = board(tensor, us, turned)?;
            let side = turn.map(|turn| turn.char().to_string());
            let rights = layout.castling.map(|planes| rights(us, planes.map(|plane| value(plane) > 0.5)));
            let target = layout.en_passant.map(|plane| {
                let set = Square::ALL.into_iter().find(|square| tensor[64 * plane + *square as usize] > 0.5);
                set.map_or("-".to_owned(), |square| turned(square).to_string())
            });
            let number = |place: Option<(usize, f32)>| {
                place.map(|(plane, scale)| (value(plane) * scale).round().to_string())
            };
            let side = or_assumed(side, "White to move", "w");
            let rights = or_assumed(rights, "no castling rights", "-");
            let target = or_assumed(target, "no en-passant square", "-");
            let clock = or_assumed(number(layout.clock), "half-move clock 0", "0");
            let moves = or_assumed(number(layout.move_number), "full-move number 1", "1");
            format!("{} {side} {rights} {target} {clock} {moves}", board.board_fen())
        }
        None => {
            assumed =
                vec!["White to move", "no castling rights", "no en-passant square", "clocks of a new game"];
            format!("{} w - - 0 1", one_hot(tensor)?.board_fen())
        }
    };
    let game = Game::from_fen(&fen).map_err(|source| DecodeError::Position { fen: fen.clone(), source })?;
    let mut again = vec![0.0; input.size()];
    input.write(&game, &mut again);
    let unit = if input == Input::Onehot832 { 1 } else { 64 };
    let pairs = tensor.chunks(unit).zip(again.chunks(unit)).enumerate();
    let different = pairs.filter(|(_, (given, alone))| given != alone).map(|(index, _)| index).collect();
    Ok(Decoded { fen, assumed, different })
}

/// Decodes a `sparse/1` list with White as the mover. The list must be exactly a position's features.
pub fn decode_features(features: &[u16]) -> Result<Decoded, DecodeError> {
    let mut board = Board::empty();
    let mut castling = [false; 4];
    let (mut target, mut clock) = ("-".to_owned(), 0);
    for feature in features {
        match Feature::of(*feature).ok_or(DecodeError::Feature(*feature))? {
            Feature::Piece { square, .. } if board.piece_at(square).is_some() => {
                return Err(DecodeError::TwoPieces(square));
            }
            Feature::Piece { own: true, role: Role::King, square, .. } if square.file() < File::E => {
                return Err(DecodeError::King(square));
            }
            Feature::Piece { own, role, square, .. } => {
                board.set_piece_at(square, Piece { color: Color::from_white(own), role });
            }
            Feature::Castling { own, towards_h } => {
                castling[2 * usize::from(!own) + usize::from(!towards_h)] = true;
            }
            Feature::EnPassant(file) => target = Square::from_coords(file, Rank::Sixth).to_string(),
            Feature::Clock(first, _) => clock = first,
            _ => {}
        }
    }
    let rights = rights(Color::White, castling);
    let fen = format!("{} w {rights} {target} {clock} 1", board.board_fen());
    let game = Game::from_fen(&fen).map_err(|source| DecodeError::Position { fen: fen.clone(), source })?;
    let given: BTreeSet<u16> = features.iter().copied().collect();
    // Last move and repetitions cannot be derived from the pieces.
    let history: Vec<u16> =
        given.iter().copied().filter(|f| Feature::of(*f).is_some_and(Feature::is_history)).collect();
    let kinds = history.iter().filter_map(|f| Feature::of(*f)).map(|feature| match feature {
        Feature::Origin(_) => [1, 0, 0],
        Feature::Target { .. } => [0, 1, 0],
        _ => [0, 0, 1],
    });
    let [origins, targets, repetitions] =
        kinds.fold([0; 3], |sum: [usize; 3], kind| std::array::from_fn(|i| sum[i] + kind[i]));
    if origins > 1 || targets != origins || repetitions > 1 {
        return Err(DecodeError::Features { fen, features: history });
    }
    let alone: BTreeSet<u16> = View::of(&game).features().iter().copied().collect();
    let differ = given.symmetric_difference(&alone);
    let (before, wrong): (Vec<u16>, Vec<u16>) = differ.partition(|feature| history.contains(feature));
    if !wrong.is_empty() {
        return Err(DecodeError::Features { fen, features: wrong });
    }
    let mut assumed = vec!["White to move", "files not mirrored"];
    if several_rooks(&board, castling) {
        assumed.push("castling with the outermost rook");
    }
    assumed.extend(["the smallest half-move clock of its range", "full-move number 1"]);
    Ok(Decoded { fen, assumed, different: before.into_iter().map(usize::from).collect() })
}

/// Whether a right could belong to several rooks. Rights are ordered as in [`rights`] for White.
fn several_rooks(board: &Board, castling: [bool; 4]) -> bool {
    let sides = [(Color::White, true), (Color::White, false), (Color::Black, true), (Color::Black, false)];
    sides.into_iter().zip(castling).filter(|(_, set)| *set).any(|((color, towards_h), _)| {
        let rooks = board.by_piece(Piece { color, role: Role::Rook }) & Bitboard::from(color.backrank());
        let beyond = |rook: &Square| board.king_of(color).is_some_and(|king| (*rook > king) == towards_h);
        rooks.into_iter().filter(beyond).count() > 1
    })
}

fn board(tensor: &[f32], us: Color, turned: impl Fn(Square) -> Square) -> Result<Board, DecodeError> {
    let mut board = Board::empty();
    for square in Square::ALL {
        let mut here = (0..12).filter(|plane| tensor[64 * plane + square as usize] > 0.5);
        if let Some(plane) = here.next() {
            let more = here.count();
            if more > 0 {
                return Err(DecodeError::Square(square, 1 + more));
            }
            let color = if plane < 6 { us } else { !us };
            board.set_piece_at(turned(square), Piece { color, role: Role::ALL[plane % 6] });
        }
    }
    Ok(board)
}

fn one_hot(tensor: &[f32]) -> Result<Board, DecodeError> {
    let mut board = Board::empty();
    for square in Square::ALL {
        let first = square.flip_vertical() as usize * onehot832::STATES;
        let states: Vec<usize> = (0..onehot832::STATES).filter(|state| tensor[first + state] > 0.5).collect();
        let [state] = states[..] else { return Err(DecodeError::Square(square, states.len())) };
        if let Some(piece) = state.checked_sub(1) {
            let color = Color::from_white(piece < 6);
            board.set_piece_at(square, Piece { color, role: Role::ALL[piece % 6] });
        }
    }
    Ok(board)
}

fn rights(us: Color, [own_king, own_queen, their_king, their_queen]: [bool; 4]) -> String {
    let (white, black) = match us {
        Color::White => ([own_king, own_queen], [their_king, their_queen]),
        Color::Black => ([their_king, their_queen], [own_king, own_queen]),
    };
    let mut text = String::new();
    for (set, letter) in white.into_iter().chain(black).zip("KQkq".chars()) {
        if set {
            _ = text.write_char(letter);
        }
    }
    if text.is_empty() { "-".to_owned() } else { text }
}
