//! Invents a history for puzzles.

use fastrand::Rng;
use shakmaty::{
    Bitboard, Board, Chess, Color, EnPassantMode, Move, Piece, Position, Role, Setup, Square, attacks,
};

/// Share of captures among invented moves, about that of games.
const CAPTURES: f64 = 0.25;
/// The captured piece is drawn uniformly from these.
const CAPTURED: [Role; 10] = [
    Role::Pawn,
    Role::Pawn,
    Role::Pawn,
    Role::Pawn,
    Role::Knight,
    Role::Knight,
    Role::Bishop,
    Role::Bishop,
    Role::Rook,
    Role::Queen,
];
/// Attempts to invent a move.
const TRIES: usize = 16;

pub(super) struct Past {
    pub start: Setup,
    pub moves: Vec<Move>,
}

/// Takes back up to `plies` plausible moves. None castles, promotes, loses a castling right or leaves the own king in
/// check. If the position has an en-passant square, the last move is the double push.
pub(super) fn invent(position: &Chess, plies: usize, rng: &mut Rng) -> Past {
    let mut start = position.to_setup(EnPassantMode::Legal);
    let mut moves = Vec::with_capacity(plies);
    for _ in 0..plies {
        let mover = !start.turn;
        let Some(m) = last_move(&start, mover, rng) else { break };
        start.board = taken_back(&start.board, m, mover);
        start.turn = mover;
        start.ep_square = None;
        moves.push(m);
    }
    moves.reverse();
    Past { start, moves }
}

fn last_move(after: &Setup, mover: Color, rng: &mut Rng) -> Option<Move> {
    let possible = |m: Move| {
        let before = taken_back(&after.board, m, mover);
        let king = before.king_of(!mover)?;
        before.attacks_to(king, mover, before.occupied()).is_empty().then_some(m)
    };
    if let Some(square) = after.ep_square {
        let push = mover.fold_wb(8, -8);
        return possible(normal(Role::Pawn, square.offset(-push)?, square.offset(push)?, None));
    }
    let board = &after.board;
    (0..TRIES).find_map(|_| {
        let captured = (rng.f64() < CAPTURES).then(|| CAPTURED[rng.usize(..CAPTURED.len())]);
        let captured = captured.filter(|role| may_be_added(board, *role, !mover));
        let mut origins = Vec::with_capacity(64);
        for to in movable(after, mover) {
            let role = board.role_at(to)?;
            if captured != Some(Role::Pawn) || !Bitboard::BACKRANKS.contains(to) {
                let squares = origins_of(board, role, mover, to, captured.is_some());
                origins.extend(squares.into_iter().map(|from| normal(role, from, to, captured)));
            }
        }
        (!origins.is_empty()).then(|| origins[rng.usize(..origins.len())]).and_then(possible)
    })
}

fn normal(role: Role, from: Square, to: Square, capture: Option<Role>) -> Move {
    Move::Normal { role, from, capture, to, promotion: None }
}

/// Excludes a king and rooks that may still castle.
fn movable(after: &Setup, mover: Color) -> Bitboard {
    let own = after.board.by_color(mover);
    let rooks = after.castling_rights & own;
    let king = if rooks.any() { after.board.kings() } else { Bitboard::EMPTY };
    own & !rooks & !king
}

fn may_be_added(board: &Board, role: Role, color: Color) -> bool {
    let most = match role {
        Role::Pawn => 8,
        Role::Queen => 1,
        _ => 2,
    };
    (board.by_role(role) & board.by_color(color)).count() < most
}

/// Empty squares from which the piece on `to` may have come.
fn origins_of(board: &Board, role: Role, mover: Color, to: Square, capture: bool) -> Bitboard {
    let free = !board.occupied();
    if role != Role::Pawn {
        return attacks::attacks(to, role.of(mover), board.occupied()) & free;
    }
    let behind = |square: Square| Bitboard::from_iter(square.offset(mover.fold_wb(-8, 8))) & free;
    let squares = if capture {
        attacks::pawn_attacks(!mover, to) & free
    } else {
        let one = behind(to);
        let doubled = to.rank() == mover.fold_wb(shakmaty::Rank::Fourth, shakmaty::Rank::Fifth);
        one | one.first().filter(|_| doubled).map_or(Bitboard::EMPTY, behind)
    };
    squares & !Bitboard::BACKRANKS
}

fn taken_back(board: &Board, m: Move, mover: Color) -> Board {
    let mut before = board.clone();
    if let Move::Normal { role, from, capture, to, .. } = m {
        before.discard_piece_at(to);
        before.set_piece_at(from, Piece { color: mover, role });
        if let Some(role) = capture {
            before.set_piece_at(to, Piece { color: !mover, role });
        }
    }
    before
}
