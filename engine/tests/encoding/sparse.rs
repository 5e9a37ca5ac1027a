//! `sparse/1` and `moves/1` against plain square-by-square encoders, and properties on random games.

use std::collections::HashSet;

use engine::nets::encoding::decode_features;
use engine::nets::encoding::moves1::{self, ROWS_A, ROWS_B, Rows};
use engine::nets::encoding::sparse1::{FEATURES, Feature, View};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use shakmaty::{Bitboard, Board, ByColor, CastlingSide, Piece};

use super::*;

fn rows(game: &Game, moves: &[Move]) -> Vec<Rows> {
    let mut rows = vec![Rows::default(); moves.len()];
    moves1::rows(&View::of(game), moves, &mut rows);
    rows
}

fn features(game: &Game) -> Vec<u16> {
    let mut features = View::of(game).features().to_vec();
    features.sort_unstable();
    features
}

fn seen(game: &Game) -> impl Fn(Square) -> usize + use<> {
    let king = game.position().board().king_of(game.turn()).unwrap();
    let ranks = if game.turn().is_white() { 0 } else { 56 };
    let files = if king.file() < shakmaty::File::E { 7 } else { 0 };
    move |square| square as usize ^ ranks ^ files
}

/// `sparse/1`, square by square.
fn plain_features(game: &Game) -> Vec<u16> {
    let (position, us, seen) = (game.position(), game.turn(), seen(game));
    let board = position.board();
    let mut features = Vec::new();
    for (square, piece) in board.clone() {
        let attacked = board.attacks_to(square, !piece.color, board.occupied()).any();
        let defended = board.attacks_to(square, piece.color, board.occupied()).any();
        let kind = piece.role as usize - 1 + if piece.color == us { 0 } else { 6 };
        features.push(1536 * usize::from(defended) + 768 * usize::from(attacked) + 64 * kind + seen(square));
    }
    let mirrored = seen(Square::A1) % 8 == 7;
    for (index, (color, towards_h)) in
        [(us, true), (us, false), (!us, true), (!us, false)].into_iter().enumerate()
    {
        if position.castles().has(color, CastlingSide::from_king_side(towards_h != mirrored)) {
            features.push(3072 + index);
        }
    }
    let en_passant = game.legal_moves().into_iter().find(|m| m.is_en_passant());
    features.extend(en_passant.map(|m| 3076 + seen(m.to()) % 8));
    if let Some(last) = game.last_move() {
        let to = match last {
            Move::Castle { king, rook } => CastlingSide::from_king_side(rook > king).king_to(!us),
            _ => last.to(),
        };
        features.push(3084 + seen(last.from().unwrap()));
        features.push(if last.is_capture() { 3212 } else { 3148 } + seen(to));
    }
    features.extend([None, Some(3276), Some(3277)][(game.repetitions() as usize).min(2)]);
    features.extend(position.is_check().then_some(3278));
    features.push(match position.halfmoves() {
        0..2 => 3279,
        2..6 => 3280,
        6..12 => 3281,
        12..20 => 3282,
        20..35 => 3283,
        35..50 => 3284,
        50..65 => 3285,
        65..80 => 3286,
        80..90 => 3287,
        _ => 3288,
    });
    features.push(3289 + ((board.occupied().count() - 1) / 4).min(7));
    features.sort_unstable();
    features.into_iter().map(|feature| feature as u16).collect()
}

fn worth(role: Role) -> i32 {
    [100, 450, 450, 650, 1250, 100_000][role as usize - 1]
}

/// Returns what `color` wins at best by capturing the piece worth `there` on `to`.
fn recapture(board: &Board, color: Color, to: Square, there: i32, order: &impl Fn(Square) -> usize) -> i32 {
    let attackers = board.attacks_to(to, color, board.occupied());
    let least = attackers.into_iter().min_by_key(|square| (board.role_at(*square), order(*square)));
    let Some(from) = least else { return 0 };
    let role = board.role_at(from).unwrap();
    let mut after = board.clone();
    after.discard_piece_at(from);
    after.set_piece_at(to, Piece { color, role });
    if role == Role::King && after.attacks_to(to, !color, after.occupied()).any() {
        return 0;
    }
    (there - recapture(&after, !color, to, worth(role), order)).max(0)
}

/// Static exchange evaluation by plain recursion.
fn exchange(game: &Game, m: Move) -> i32 {
    let (us, seen) = (game.turn(), seen(game));
    let mut board = game.position().board().clone();
    let (from, to) = (m.from().unwrap(), m.to());
    let piece = m.promotion().unwrap_or(m.role());
    let taken = m.capture().map_or(0, worth);
    board.discard_piece_at(from);
    if m.is_en_passant() {
        board.discard_piece_at(Square::from_coords(to.file(), from.rank()));
    }
    board.set_piece_at(to, Piece { color: us, role: piece });
    let promoted = m.promotion().map_or(0, |role| worth(role) - worth(Role::Pawn));
    taken + promoted - recapture(&board, !us, to, worth(piece), &seen)
}

fn flags(rows: Rows) -> (bool, bool, bool) {
    assert_eq!(rows.a & 1, rows.b & 1, "both rows tell the same exchange");
    (rows.b & 1 != 0, rows.b & 2 != 0, rows.b & 4 != 0)
}

fn obeys(game: &Game) {
    let fen = game.fen();
    let features = features(game);
    assert_eq!(features, plain_features(game), "{fen}");
    assert!(features.iter().all(|feature| usize::from(*feature) < FEATURES), "{fen}");
    let legal = game.legal_moves();
    let rows = rows(game, &legal);
    let seen = seen(game);
    for (m, row) in legal.iter().zip(&rows) {
        assert!(usize::from(row.a) < ROWS_A && usize::from(row.b) < ROWS_B, "{m:?} in {fen}");
        let mut after = game.position().clone();
        after.play_unchecked(*m);
        let keeps = m.is_castle() || exchange(game, *m) >= 0;
        assert_eq!(flags(*row), (keeps, after.is_check(), m.is_capture()), "{m:?} in {fen}");
        let to = match *m {
            Move::Castle { king, rook } => CastlingSide::from_king_side(rook > king).king_to(game.turn()),
            _ => m.to(),
        };
        let target = match m.promotion() {
            None => 64 * (m.role() as usize - 1) + seen(to),
            Some(role) => 384 + 8 * (role as usize - 2) + seen(to) % 8,
        };
        assert_eq!(usize::from(row.b / 8), target, "{m:?} in {fen}");
    }
    let triples: HashSet<u16> = rows.iter().map(|row| row.a / 2).collect();
    assert_eq!(triples.len(), legal.len(), "two moves share a row in {fen}");
}

/// Decodes features to the position and rows to moves.
fn leads_back(game: &Game) {
    let given = features(game);
    let decoded = decode_features(&given).unwrap_or_else(|error| panic!("{error} of {}", game.fen()));
    let again = features(&Game::from_fen(&decoded.fen).unwrap());
    let history: Vec<u16> = decoded.different.iter().map(|feature| *feature as u16).collect();
    assert!(history.iter().all(|feature| Feature::of(*feature).unwrap().is_history()), "{}", game.fen());
    // Two features of the last move, one of a repetition.
    let expected = 2 * usize::from(game.last_move().is_some()) + usize::from(game.repetitions() > 0);
    assert_eq!(history.len(), expected, "{}", game.fen());
    let mut all = [again, history].concat();
    all.sort_unstable();
    assert_eq!(all, given, "{} is not {}", decoded.fen, game.fen());
    let legal = game.legal_moves();
    let seen = seen(game);
    for (m, row) in legal.iter().zip(rows(game, &legal)) {
        assert_eq!(moves1::find(game, row), Some(*m), "{m:?} in {}", game.fen());
        let square = |square: Square| Square::new(seen(square) as u32);
        let (from, to) = (square(m.from().unwrap()), square(m.to()));
        let role = format!("{:?}", m.role()).to_lowercase();
        let promoted = m.promotion().map(|role| format!(", promoted to {role:?}").to_lowercase());
        let promoted = promoted.unwrap_or_default();
        let exchange = if row.a & 1 != 0 { "exchange at least 0" } else { "exchange below 0" };
        let (_, check, capture) = flags(row);
        let check = if check { ", check" } else { "" };
        let capture = if capture { ", capture" } else { "" };
        let [a, b] = row.meanings();
        if let Move::Castle { king, rook } = *m {
            let to = square(CastlingSide::from_king_side(rook > king).king_to(game.turn()));
            assert_eq!(a, format!("castling, king to {to}, exchange at least 0"));
            assert_eq!(b, format!("king to {to}, exchange at least 0{check}"));
        } else {
            assert_eq!(a, format!("{role} {from} to {to}{promoted}, {exchange}"));
            assert_eq!(b, format!("{role} to {to}{promoted}, {exchange}{check}{capture}"));
        }
    }
}

/// Castling only on request, because mirroring changes its target.
fn sorted_rows(game: &Game, castling: bool) -> Vec<(u16, u16)> {
    let moves: Vec<Move> = game.legal_moves().into_iter().filter(|m| castling || !m.is_castle()).collect();
    let mut rows: Vec<_> = rows(game, &moves).into_iter().map(|row| (row.a, row.b)).collect();
    rows.sort_unstable();
    rows
}

fn ranks_swapped(m: Move) -> Move {
    let flip = Square::flip_vertical;
    match m {
        Move::Normal { role, from, capture, to, promotion } => {
            Move::Normal { role, from: flip(from), capture, to: flip(to), promotion }
        }
        Move::EnPassant { from, to } => Move::EnPassant { from: flip(from), to: flip(to) },
        Move::Castle { king, rook } => Move::Castle { king: flip(king), rook: flip(rook) },
        Move::Put { role, to } => Move::Put { role, to: flip(to) },
    }
}

/// Without history.
fn files_swapped(game: &Game) -> Game {
    let mut setup = game.position().to_setup(EnPassantMode::Always);
    setup.board.flip_horizontal();
    setup.castling_rights = setup.castling_rights.flip_horizontal();
    setup.ep_square = setup.ep_square.map(Square::flip_horizontal);
    Game::from_position(
        setup.position::<Chess>(CastlingMode::Chess960).expect("the mirror of a legal position"),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn both_schemes_are_what_plain_encoders_say(start in start_position(), choices in prop::collection::vec(any::<u16>(), 0..300)) {
        random_game(start, &choices, obeys);
    }

    #[test]
    fn features_and_rows_lead_back(start in start_position(), choices in prop::collection::vec(any::<u16>(), 0..200)) {
        random_game(start, &choices, leads_back);
    }

    #[test]
    fn colours_make_no_difference(start in start_position(), choices in prop::collection::vec(any::<u16>(), 0..120)) {
        let mut other = mirrored(&start);
        random_game(start, &choices, |game| {
            if let Some(last) = game.last_move() {
                other.play(ranks_swapped(last));
            }
            assert_eq!(features(game), features(&other), "{}", game.fen());
            assert_eq!(sorted_rows(game, true), sorted_rows(&other, true), "{}", game.fen());
        });
    }

    #[test]
    fn files_make_no_difference(start in start_position(), choices in prop::collection::vec(any::<u16>(), 0..120)) {
        random_game(start, &choices, |game| {
            let game = Game::from_position(game.position().clone());
            let other = files_swapped(&game);
            assert_eq!(features(&game), features(&other), "{}", game.fen());
            assert_eq!(sorted_rows(&game, false), sorted_rows(&other, false), "{}", game.fen());
        });
    }
}

#[test]
fn a_million_positions_are_what_plain_encoders_say() {
    let mut positions = 0;
    let mut random = SmallRng::seed_from_u64(15);
    while positions < 1_000_000 {
        let fen: Fen = format!("{} w KQkq - 0 1", Board::chess960(random.random_range(0..960)).board_fen())
            .parse()
            .unwrap();
        let start = Game::from_position(fen.into_position(CastlingMode::Chess960).unwrap());
        let choices: Vec<u16> = (0..300).map(|_| random.random()).collect();
        random_game(start, &choices, |game| {
            obeys(game);
            positions += 1;
        });
    }
}

/// Pieces on random squares, many of which attack one another.
fn crowded(random: &mut SmallRng) -> Option<Game> {
    let mut board = Board::empty();
    for color in Color::ALL {
        board.set_piece_at(Square::new(random.random_range(0..64)), Piece { color, role: Role::King });
    }
    for _ in 0..random.random_range(8..30) {
        let square = Square::new(random.random_range(0..64));
        let role = [Role::Pawn, Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen]
            [random.random_range(0..6)];
        let back = Bitboard::from(shakmaty::Rank::First) | Bitboard::from(shakmaty::Rank::Eighth);
        if board.piece_at(square).is_none() && !(role == Role::Pawn && back.contains(square)) {
            board.set_piece_at(square, Piece { color: Color::from_white(random.random()), role });
        }
    }
    let kings = ByColor::new_with(|color| board.king_of(color));
    kings.white.and(kings.black)?;
    let turn = if random.random() { "w" } else { "b" };
    Game::from_fen(&format!("{} {turn} - - 0 1", board.board_fen())).ok()
}

#[test]
fn exchanges_on_crowded_boards_are_those_of_plain_recursion() {
    let mut random = SmallRng::seed_from_u64(1);
    let games: Vec<Game> = std::iter::from_fn(|| Some(crowded(&mut random))).flatten().take(30_000).collect();
    games.iter().for_each(obeys);
    let losing = games.iter().flat_map(|game| rows(game, &game.legal_moves())).filter(|row| row.a & 1 == 0);
    assert!(losing.count() > 30_000, "the exchanges are of both kinds");
}

#[test]
fn every_row_has_its_meaning() {
    let words = |row: u16| Rows { a: row, b: row.min(ROWS_B as u16 - 1) }.meanings();
    let first: HashSet<String> = (0..ROWS_A as u16).map(|row| words(row)[0].clone()).collect();
    let second: HashSet<String> = (0..ROWS_B as u16).map(|row| words(row)[1].clone()).collect();
    assert_eq!((first.len(), second.len()), (ROWS_A, ROWS_B));
}

#[test]
fn rows_by_hand() {
    let of = |fen: &str, uci: &str| {
        let game = Game::from_fen(fen).unwrap();
        let row = rows(&game, &[game.parse_uci(uci).unwrap()])[0];
        (row.a / 2, row.a % 2, row.b / 8, row.b % 8)
    };
    // The pawns' triples begin a2a3, a2a4, a2b3, b2a3, b2b3, b2b4 …: 3 + 6·4 + 3 of the second rank.
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    assert_eq!(of(start, "a2a3"), (0, 1, 16, 1));
    assert_eq!(of(start, "a2a4"), (2, 1, 24, 1));
    assert_eq!(of(start, "e2e4"), (3 + 3 * 4 + 3, 1, 28, 1));
    // The knights' triples follow the pawns' 118: two of a1, then three of b1 (d2, a3, c3).
    assert_eq!(of(start, "b1a3"), (118 + 2 + 1, 1, 64 + 16, 1));
    // A queen takes a defended pawn: it loses, and gives check.
    let losing = "rnbqkb1r/pppppppp/8/8/8/7Q/PPPPPPPP/RNB1KBNR w KQkq - 0 1";
    assert_eq!(of(losing, "h3d7").3, 2 + 4);
    // Promotions follow the kings' 210: the pawn on g7 takes h8 and becomes a knight, or becomes a queen on g8.
    let promotion = 118 + 336 + 560 + 896 + 1456 + 210;
    let fen = "7r/6P1/8/8/8/k7/8/6K1 w - - 0 1";
    assert_eq!(of(fen, "g7h8n"), (promotion + 2 * 6 + 7, 1, 384 + 7, 1 + 4));
    assert_eq!(of(fen, "g7g8q"), (promotion + 3 * 22 + 2 * 6 + 6, 0, 384 + 24 + 6, 0));
    // Castling comes last: b1, c1, f1, g1. A rook lands on d1 and gives check on the open file.
    let castling = promotion + 88;
    assert_eq!(usize::from(castling + 4) * 2, ROWS_A);
    let fen = "3k4/8/8/8/8/8/8/R3K2R w KQ - 0 1";
    assert_eq!(of(fen, "e1c1"), (castling + 1, 1, 320 + 2, 1 + 2));
    assert_eq!(of(fen, "e1g1"), (castling + 3, 1, 320 + 6, 1));
    // A king on b1 is seen on g1: towards the a-rook it arrives on c1, seen on f1.
    assert_eq!(of("6k1/8/8/8/8/8/8/RK5R w A - 0 1", "b1a1"), (castling + 2, 1, 320 + 5, 1));
    // En passant uncovers a check along the fifth rank.
    let fen = "8/8/8/R2pP2k/8/8/8/4K3 w - d6 0 1";
    assert_eq!(of(fen, "e5d6").3, 1 + 2 + 4);
}
