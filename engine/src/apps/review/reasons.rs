//! Why a line wins: motifs that the board proves.

use shakmaty::attacks::ray;
use shakmaty::{Bitboard, Board, Chess, Color, Move, Position, Role, Square};

use super::material::{balance, settled, value_of};
use super::replies::Proof;
use crate::chess::position::played;

/// Least gain of a line that has a reason, in centipawns.
pub const GAIN: i32 = 100;
/// A promotion after more plies has other causes.
const PROMOTION_PLIES: usize = 8;
/// Of a capture that wins later, only the exchange on its square is shown.
const SHOWN_PLIES: usize = 8;

/// What the first move of a line does. Squares are those of the pieces attacked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Motif {
    Mate {
        back_rank: bool,
    },
    /// Takes a piece that nothing defends.
    Hanging {
        taken: Role,
        on: Square,
    },
    /// Takes a piece worth more than the taker, or attacked more often than defended.
    Takes {
        taken: Role,
        on: Square,
    },
    /// Attacks several pieces and takes one of them next.
    Fork {
        attacked: Vec<(Role, Square)>,
    },
    /// Takes a piece; the answer takes one of the same kind elsewhere.
    Trades {
        role: Role,
    },
    /// Takes a piece that is pinned to its king.
    Pin {
        taken: Role,
        on: Square,
    },
    /// `front` moves, and `behind` is taken.
    Skewer {
        front: (Role, Square),
        behind: (Role, Square),
    },
    /// Moves off a line on which another piece then takes, or gives check by it and takes itself.
    Discovered {
        attacked: (Role, Square),
    },
    /// Attacks a piece whose every move loses it, too.
    Trapped {
        piece: (Role, Square),
    },
    /// Takes on one square; the recapture gives up another.
    Overloaded {
        defender: (Role, Square),
        left: (Role, Square),
    },
    Promotion {
        by: Square,
    },
    /// The opponent takes back a piece that took one of less value.
    TakesBack {
        lost: Role,
        /// `None` if the exchange goes on, so that more is taken.
        gained: Option<Role>,
    },
    Perpetual,
}

impl Motif {
    /// What an answer with this motif does, for tables.
    pub fn kind(&self) -> &'static str {
        match self {
            Motif::Mate { .. } => "mate",
            Motif::Hanging { .. } => "undefended piece",
            Motif::Takes { .. } | Motif::Trades { .. } => "winning capture",
            Motif::Fork { .. } => "fork",
            Motif::Pin { .. } => "pin",
            Motif::Skewer { .. } => "skewer",
            Motif::Discovered { .. } => "discovered attack",
            Motif::Trapped { .. } => "trapped piece",
            Motif::Overloaded { .. } => "overloaded defender",
            Motif::Promotion { .. } => "promotion",
            Motif::TakesBack { .. } => "bad exchange",
            Motif::Perpetual => "perpetual check",
        }
    }
}

/// What the side to move achieves by `line` and against all other replies, and the number of plies until the line shows
/// it; `None` if nothing is proven. Getting back only what `error`, the move before, took proves nothing. A mate at the
/// line's end counts as forced only with `mates`.
pub fn reason(position: &Chess, error: Option<Move>, line: &[Move], mates: bool) -> Option<(Motif, usize)> {
    let us = position.turn();
    let boards = positions(position, line);
    let last = boards.last()?;
    if last.is_checkmate() && (mates || last.turn() == us) {
        return (last.turn() != us).then(|| (Motif::Mate { back_rank: is_back_rank(last) }, line.len()));
    }
    if let Some(plies) = perpetual(&boards) {
        return Some((Motif::Perpetual, plies));
    }
    let gained = error.and_then(|error| error.capture());
    let promoted = error.and_then(|error| error.promotion());
    let least =
        GAIN + gained.map_or(0, value_of) + promoted.map_or(0, |role| value_of(role) - value_of(Role::Pawn));
    let won = won_after(&boards, least)?;
    // What is taken back at once belongs to the line.
    let exchange =
        1 + line[1..].iter().take_while(|m| line[0].is_capture() && m.to() == line[0].to()).count();
    let plies = if won == 1 { exchange } else { won };
    let is_back = error.map(|error| error.to()) == Some(line[0].to());
    // A line that wins late proves nothing about its first reply.
    let proof = Proof { position, line: if plies <= SHOWN_PLIES { line } else { &line[..1] } };
    if let Some(motif) = capture(&proof, &line[..plies], least) {
        let motif = match (motif, gained) {
            (Motif::Hanging { taken, .. } | Motif::Takes { taken, .. }, Some(gained)) if is_back => {
                Motif::TakesBack { lost: taken, gained: (exchange == 1).then_some(gained) }
            }
            (motif, _) => motif,
        };
        let is_overload = matches!(motif, Motif::Overloaded { .. });
        return Some((motif, if plies > SHOWN_PLIES && !is_overload { exchange } else { plies }));
    }
    let line = &line[..plies];
    let motif = promotion(position, line)
        .or_else(|| attack(&proof, &boards, line, least))
        .or_else(|| pinned(&proof, &boards, line, least))?;
    Some((motif, plies))
}

/// What the side to move wins by captures on one square, the least valuable piece first; at least 0, in centipawns.
pub fn exchange(position: &Chess, on: Square) -> i32 {
    let captures = position.capture_moves().into_iter().filter(|m| m.to() == on);
    let cost = |m: &Move| if m.role() == Role::King { i32::MAX } else { value_of(m.role()) };
    let Some(m) = captures.min_by_key(cost) else { return 0 };
    (m.capture().map_or(0, value_of) - exchange(&played(position, m), on)).max(0)
}

/// Where the piece stands that a move takes; of a move that takes nothing, where it goes.
pub fn taken_on(m: Move) -> Square {
    match m {
        Move::EnPassant { from, to } => Square::from_coords(to.file(), from.rank()),
        _ => m.to(),
    }
}

/// What a capture wins on its square; `after` is the position after it.
pub fn won_by(m: &Move, after: &Chess) -> i32 {
    m.capture().map_or(0, value_of) - exchange(after, m.to())
}

/// Before the line, and after each of its moves.
pub fn positions(position: &Chess, line: &[Move]) -> Vec<Chess> {
    let mut boards = vec![position.clone()];
    for m in line {
        boards.push(played(&boards[boards.len() - 1], *m));
    }
    boards
}

/// Plies until the side that begins the line is ahead by `least` in a position where the opponent has no capture that
/// pays. No captures may win it back to the end of the line; positions in check are skipped.
fn won_after(boards: &[Chess], least: i32) -> Option<usize> {
    let us = boards[0].turn();
    let start = balance(&boards[0]);
    let mut first = None;
    for (ply, board) in boards.iter().enumerate().skip(1).filter(|(_, board)| !board.is_check()) {
        // On the board, and after the captures that the side to move has.
        let [now, after] = [balance(board), settled(board)];
        let (is_won, is_kept) = match board.turn() == us {
            true => (now - start >= least, after - start >= least),
            false => (now == after, -after - start >= least),
        };
        if !is_kept {
            first = None;
        } else if is_won {
            first = first.or(Some(ply));
        }
    }
    first
}

/// Of a mated king on its first rank that its own pieces hem in.
fn is_back_rank(mated: &Chess) -> bool {
    let us = mated.turn();
    let Some(king) = mated.board().king_of(us) else { return false };
    let (home, next) = us.fold_wb((0, 1), (7, 6));
    let heavy = mated.board().rooks_and_queens();
    let checkers = mated.checkers();
    let escape = shakmaty::attacks::king_attacks(king) & Bitboard::from(shakmaty::Rank::new(next));
    u32::from(king.rank()) == home
        && (checkers & heavy & Bitboard::from(king.rank())) == checkers
        && (escape & !mated.board().by_color(us)).is_empty()
}

/// Only checks by the side to move first, to which one move alone answers, until a position returns.
fn perpetual(boards: &[Chess]) -> Option<usize> {
    let is_same = |a: &Chess, b: &Chess| {
        a.board() == b.board()
            && a.turn() == b.turn()
            && a.castles().castling_rights() == b.castles().castling_rights()
    };
    let us = boards[0].turn();
    let is_forced = |board: &Chess| board.is_check() && board.legal_moves().len() == 1;
    let checks = boards.iter().skip(1).take_while(|board| board.turn() == us || is_forced(board)).count();
    (1..=checks).find(|last| boards[..*last].iter().any(|earlier| is_same(earlier, &boards[*last])))
}

/// Soon, to a piece that stays, whatever the other side plays.
fn promotion(position: &Chess, line: &[Move]) -> Option<Motif> {
    let at = line.iter().step_by(2).position(|m| m.promotion().is_some())?;
    let pawn = line[2 * at];
    let is_taken = line.get(2 * at + 1).is_some_and(|answer| answer.to() == pawn.to());
    // Followed back to where the pawn stands now.
    let mut square = pawn.from()?;
    for m in line[..2 * at].iter().step_by(2).rev() {
        if m.to() == square {
            square = m.from()?;
        }
    }
    let is_soon = !is_taken && 2 * at < PROMOTION_PLIES;
    (is_soon && Proof { position, line }.promotes(square, at + 1)).then_some(Motif::Promotion { by: square })
}

/// Of a line that begins with a capture.
fn capture(proof: &Proof<'_>, line: &[Move], least: i32) -> Option<Motif> {
    let first = line.first()?;
    let taken = first.capture().filter(|_| proof.wins(least))?;
    let position = proof.position;
    let (board, us) = (position.board(), position.turn());
    let on = taken_on(*first);
    if let Some(motif) = overloaded(board, us, line) {
        return Some(motif);
    }
    let after = played(position, *first);
    let defended = after.legal_moves().into_iter().any(|m| m.is_capture() && m.to() == first.to());
    let is_pinned = pinned_pieces(board, !us).contains(on);
    let trades = |answer: &Move| answer.capture() == Some(taken) && answer.to() != first.to();
    let value = value_of(taken);
    match () {
        // The gain comes later in the line.
        _ if won_by(first, &after) < least => None,
        _ if is_pinned && taken != Role::Pawn && proof.wins_at_once(value) => Some(Motif::Pin { taken, on }),
        _ if line.get(1).is_some_and(trades) && !proof.wins_at_once(value) => {
            Some(Motif::Trades { role: taken })
        }
        _ if !defended && !after.is_check() && proof.wins_at_once(value / 2) => {
            Some(Motif::Hanging { taken, on })
        }
        _ => Some(Motif::Takes { taken, on }),
    }
}

/// The recapturing piece was the only defender of two pieces.
fn overloaded(board: &Board, us: Color, line: &[Move]) -> Option<Motif> {
    let [first, recapture, second, ..] = line else { return None };
    let defender = recapture.from()?;
    let is_exchange = first.is_capture() && recapture.to() == first.to() && second.is_capture();
    let role = board.role_at(defender).filter(|role| *role != Role::King)?;
    let only = |square: Square| {
        let without = board.occupied();
        (board.attacks_to(square, !us, without) & !Bitboard::from(square)) == Bitboard::from(defender)
    };
    let left = (board.role_at(second.to())?, second.to());
    let is_other = second.to() != first.to() && second.to() != defender;
    (is_exchange && is_other && only(first.to()) && only(second.to()))
        .then_some(Motif::Overloaded { defender: (role, defender), left })
}

/// Of a line that takes at its third ply what it attacked at its first.
fn attack(proof: &Proof<'_>, boards: &[Chess], line: &[Move], least: i32) -> Option<Motif> {
    let [first, answer, second, ..] = line else { return None };
    second.capture()?;
    if won_by(second, &boards[3]) < GAIN || !proof.wins(least) {
        return None;
    }
    let position = proof.position;
    let us = position.turn();
    let board = boards[1].board();
    let target = second.to();
    let role = board.role_at(target).filter(|_| board.by_color(!us).contains(target));
    let by_mover = second.from() == Some(first.to());
    if by_mover {
        let skewered = skewer(board, us, first.to(), answer, target);
        if let Some(Motif::Skewer { front, behind }) = skewered {
            return proof.takes(&[front.1, behind.1], least).then_some(Motif::Skewer { front, behind });
        }
        let attacked = forked(board, first.to());
        if attacked.len() > 1 && attacked.iter().any(|(_, square)| *square == target) {
            let squares: Vec<Square> = attacked.iter().map(|(_, square)| *square).collect();
            return proof.takes(&squares, least).then_some(Motif::Fork { attacked });
        }
    }
    let role = role.filter(|_| proof.takes(&[target], least))?;
    if let Some(motif) = discovered(position, first, second, board, (role, target)) {
        return Some(motif);
    }
    is_trapped(&boards[1], target).then_some(Motif::Trapped { piece: (role, target) })
}

/// The king, pieces worth more than the attacker, and undefended pieces, most valuable first.
pub fn forked(board: &Board, attacker: Square) -> Vec<(Role, Square)> {
    let Some(piece) = board.piece_at(attacker) else { return Vec::new() };
    let targets = board.attacks_from(attacker) & board.by_color(!piece.color);
    let mut found: Vec<(Role, Square)> = targets
        .into_iter()
        .filter_map(|target| {
            let role = board.role_at(target)?;
            let defended = board.attacks_to(target, !piece.color, board.occupied()).any();
            let of_interest = role == Role::King
                || value_of(role) > value_of(piece.role)
                || role != Role::Pawn && !defended;
            of_interest.then_some((role, target))
        })
        .collect();
    found.sort_by_key(|(role, _)| {
        std::cmp::Reverse(if *role == Role::King { i32::MAX } else { value_of(*role) })
    });
    found
}

fn skewer(board: &Board, us: Color, slider: Square, answer: &Move, behind: Square) -> Option<Motif> {
    let front = answer.from()?;
    let role = board.role_at(slider)?;
    let is_slider = matches!(role, Role::Bishop | Role::Rook | Role::Queen);
    let (front_role, behind_role) = (board.role_at(front)?, board.role_at(behind)?);
    let on_line = ray(slider, behind).contains(front)
        && shakmaty::attacks::between(slider, behind) & board.occupied() == Bitboard::from(front);
    let is_worth = front_role == Role::King || value_of(front_role) > value_of(behind_role);
    (is_slider && on_line && is_worth && board.by_color(!us).contains(behind))
        .then_some(Motif::Skewer { front: (front_role, front), behind: (behind_role, behind) })
}

fn discovered(
    before: &Chess,
    first: &Move,
    second: &Move,
    board: &Board,
    target: (Role, Square),
) -> Option<Motif> {
    let us = before.turn();
    let (left, king) = (first.from()?, board.king_of(!us)?);
    let opened = |square: Square| {
        let attackers = board.attacks_to(square, us, board.occupied()) & !Bitboard::from(first.to());
        let earlier = before.board().attacks_to(square, us, before.board().occupied());
        (attackers & !earlier).into_iter().find(|slider| ray(*slider, square).contains(left))
    };
    let takes_by_line = second.from().is_some() && second.from() == opened(target.1);
    let takes_after_check = second.from() == Some(first.to())
        && opened(king).is_some()
        && board.attacks_from(first.to()).contains(target.1);
    (takes_by_line || takes_after_check).then_some(Motif::Discovered { attacked: target })
}

/// Whether the side to move loses the piece, at least two pawns' worth, where it stands and wherever it goes.
fn is_trapped(position: &Chess, square: Square) -> bool {
    let board = position.board();
    let us = position.turn();
    let Some(role) = board.role_at(square).filter(|role| value_of(*role) >= 300) else { return false };
    let is_lost =
        |m: &Move| exchange(&played(position, *m), m.to()) - m.capture().map_or(0, value_of) >= 2 * GAIN;
    let own: Vec<Move> = position.legal_moves().into_iter().filter(|m| m.from() == Some(square)).collect();
    let is_pinned = pinned_pieces(board, us).contains(square);
    let stays_lost = position.clone().swap_turn().is_ok_and(|theirs| exchange(&theirs, square) >= 2 * GAIN);
    stays_lost && !is_pinned && role != Role::King && own.iter().all(is_lost)
}

/// Takes at the third ply a piece that could not move because of its king.
fn pinned(proof: &Proof<'_>, boards: &[Chess], line: &[Move], least: i32) -> Option<Motif> {
    let second = line.get(2)?;
    let taken = second.capture().filter(|role| *role != Role::Pawn)?;
    let position = &boards[1];
    let on = second.to();
    let stays = line[1].from() != Some(on) && line[1].to() != on && !line[1].is_capture();
    (stays
        && won_by(second, &boards[3]) >= GAIN
        && proof.wins(least)
        && pinned_pieces(position.board(), position.turn()).contains(on)
        && proof.takes(&[on], least))
    .then_some(Motif::Pin { taken, on })
}

/// Pieces of `side` that stand alone between their king and a slider.
fn pinned_pieces(board: &Board, side: Color) -> Bitboard {
    let Some(king) = board.king_of(side) else { return Bitboard::EMPTY };
    let sliders = (shakmaty::attacks::rook_attacks(king, Bitboard::EMPTY) & board.rooks_and_queens())
        | (shakmaty::attacks::bishop_attacks(king, Bitboard::EMPTY) & board.bishops_and_queens());
    let mut pinned = Bitboard::EMPTY;
    for slider in sliders & board.by_color(!side) {
        let between = shakmaty::attacks::between(king, slider) & board.occupied();
        if between.count() == 1 {
            pinned |= between & board.by_color(side);
        }
    }
    pinned
}

/// As in `forks the king and the rook on a1`.
pub fn words(motif: &Motif) -> String {
    let piece = |(role, square): &(Role, Square)| match role {
        Role::King => "the king".to_owned(),
        role => format!("the {} on {square}", name(*role)),
    };
    match motif {
        Motif::Mate { back_rank: true } => "leads to mate on the back rank".to_owned(),
        Motif::Mate { back_rank: false } => "leads to mate".to_owned(),
        Motif::Hanging { taken, on } => format!("takes the undefended {} on {on}", name(*taken)),
        Motif::Takes { taken, on } => format!("takes {} and wins material", piece(&(*taken, *on))),
        Motif::Trades { role } => format!("exchanges the {}s and wins material", name(*role)),
        Motif::Fork { attacked } => {
            let names: Vec<String> = attacked.iter().map(piece).collect();
            let (last, others) = names.split_last().expect("a fork attacks two pieces");
            format!("forks {} and {last}", others.join(", "))
        }
        Motif::Pin { taken, on } => format!("wins {}, which is pinned to its king", piece(&(*taken, *on))),
        Motif::Skewer { front, behind } => {
            format!("attacks {} and, through it, {}", piece(front), piece(behind))
        }
        Motif::Discovered { attacked } => format!("opens a line to win {}", piece(attacked)),
        Motif::Trapped { piece: trapped } => format!("traps {}", piece(trapped)),
        Motif::Overloaded { defender, left } => {
            format!("overloads {}, which alone defends {}, too", piece(defender), piece(left))
        }
        Motif::Promotion { by } => format!("lets the pawn on {by} promote"),
        Motif::TakesBack { lost, gained: Some(gained) } => {
            format!("takes back, a {} for a {}", name(*lost), name(*gained))
        }
        Motif::TakesBack { gained: None, .. } => "takes back and wins material".to_owned(),
        Motif::Perpetual => "gives perpetual check".to_owned(),
    }
}

pub fn name(role: Role) -> &'static str {
    match role {
        Role::Pawn => "pawn",
        Role::Knight => "knight",
        Role::Bishop => "bishop",
        Role::Rook => "rook",
        Role::Queen => "queen",
        Role::King => "king",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::position::Game;

    fn reason_of(fen: &str, line: &str) -> Option<(Motif, usize)> {
        let game = Game::from_fen(fen).unwrap();
        let mut now = game.clone();
        let moves: Vec<Move> = line
            .split_whitespace()
            .map(|word| {
                let m = now.parse_uci(word).unwrap();
                now.play(m);
                m
            })
            .collect();
        reason(game.position(), None, &moves, true)
    }

    fn motif(fen: &str, line: &str) -> Option<Motif> {
        reason_of(fen, line).map(|(motif, _)| motif)
    }

    #[test]
    fn mates() {
        let back_rank = motif("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1", "a1a8");
        assert_eq!(back_rank, Some(Motif::Mate { back_rank: true }));
        let fools = motif("rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 2", "d8h4");
        assert_eq!(fools, Some(Motif::Mate { back_rank: false }));
        assert_eq!(motif("6k1/5pp1/8/8/8/8/5PPP/R5K1 w - - 0 1", "a1a8 g8h7"), None);
    }

    #[test]
    fn hanging_and_badly_defended_pieces() {
        let hanging = motif("4k3/8/8/4n3/8/6B1/8/4K3 w - - 0 1", "g3e5");
        assert_eq!(hanging, Some(Motif::Hanging { taken: Role::Knight, on: Square::E5 }));
        assert_eq!(motif("4k3/8/3p4/4n3/8/6B1/8/4K3 w - - 0 1", "g3e5 d6e5"), None, "an exchange");
        let by_pawn = reason_of("4k3/8/5p2/4n3/3P4/8/8/4K3 w - - 0 1", "d4e5 f6e5");
        assert_eq!(by_pawn, Some((Motif::Takes { taken: Role::Knight, on: Square::E5 }, 2)));
        // The line goes on with a pawn that can be taken, too.
        let more = reason_of(
            "rnbqkbnr/pp2pppp/2p5/8/3Pp3/3B1N2/PPP2PPP/RNBQK2R b KQkq - 1 4",
            "e4f3 d1f3 g8f6 e1g1",
        );
        assert_eq!(more, Some((Motif::Takes { taken: Role::Knight, on: Square::F3 }, 2)));
    }

    /// The move before, of a rook.
    fn error(capture: Role, to: Square) -> Option<Move> {
        let from = Square::A2;
        Some(Move::Normal { role: Role::Rook, from, capture: Some(capture), to, promotion: None })
    }

    #[test]
    fn what_was_lost_before_is_not_won() {
        let game = Game::from_fen("4k3/8/8/4n3/8/6B1/8/4K3 w - - 0 1").unwrap();
        let line = [game.parse_uci("g3e5").unwrap()];
        let after = |error| reason(game.position(), error, &line, true);
        assert_eq!(after(error(Role::Bishop, Square::A5)), None);
        assert!(after(error(Role::Pawn, Square::A5)).is_some());
        let game = Game::from_fen("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1").unwrap();
        let line = [game.parse_uci("a1a8").unwrap()];
        assert_eq!(reason(game.position(), None, &line, false), None, "the mate is not forced");
    }

    #[test]
    fn forks() {
        let fen = "r3k3/8/8/3N4/8/8/8/4K3 w - - 0 1";
        let attacked = vec![(Role::King, Square::E8), (Role::Rook, Square::A8)];
        assert_eq!(reason_of(fen, "d5c7 e8d7 c7a8"), Some((Motif::Fork { attacked }, 3)));
        assert_eq!(motif(fen, "d5c7 e8d7"), None, "nothing is taken");
        assert_eq!(
            motif("r3k3/3n4/8/3N4/8/8/8/4K3 w - - 0 1", "d5c7 e8d8 c7a8 d7b6 a8b6"),
            motif(fen, "d5c7 e8d7 c7a8")
        );
    }

    #[test]
    fn a_fork_must_win_more_than_the_error_took_against_every_reply() {
        // On d7 the king lets the other rook take back: the fork wins two pawns' worth. On d8 it does not.
        let game = Game::from_fen("r3k2r/8/8/3N4/8/8/8/4K3 w - - 0 1").unwrap();
        let mut now = game.clone();
        let line = ["d5c7", "e8d8", "c7a8"].map(|word| {
            let m = now.parse_uci(word).unwrap();
            now.play(m);
            m
        });
        let after = |error| reason(game.position(), error, &line, true);
        assert!(matches!(after(None), Some((Motif::Fork { .. }, 3))));
        assert_eq!(after(error(Role::Knight, Square::H1)), None);
    }

    #[test]
    fn pins() {
        let pin = Some(Motif::Pin { taken: Role::Knight, on: Square::E7 });
        assert_eq!(motif("4k3/4n3/3P4/8/8/8/8/4R1K1 w - - 0 1", "d6e7"), pin);
        assert_eq!(motif("4k3/4n3/8/3P4/8/8/8/4R1K1 w - - 0 1", "d5d6 e8d7 d6e7"), pin);
        assert_eq!(
            motif("4k3/4n3/8/3P4/8/8/8/3R2K1 w - - 0 1", "d5d6 e8f8 d6e7 f8e7"),
            None,
            "it is free to move"
        );
    }

    #[test]
    fn skewers() {
        let skewer = Motif::Skewer { front: (Role::King, Square::E6), behind: (Role::Queen, Square::E8) };
        assert_eq!(motif("4q3/8/4k3/8/8/8/8/R5K1 w - - 0 1", "a1e1 e6d6 e1e8"), Some(skewer));
        let front = motif("4k3/8/8/4n3/8/8/8/R5K1 w - - 0 1", "a1e1 e8d8 e1e5");
        assert_eq!(front, Some(Motif::Pin { taken: Role::Knight, on: Square::E5 }), "the king stands behind");
    }

    #[test]
    fn discovered_attacks() {
        let fen = "3q2k1/8/8/8/8/3B4/8/3RK3 w - - 0 1";
        let attacked = (Role::Queen, Square::D8);
        assert_eq!(motif(fen, "d3h7 g8h7 d1d8"), Some(Motif::Discovered { attacked }));
        assert_eq!(motif("3q4/7k/8/8/3N4/8/8/3RK3 w - - 0 1", "d4b3 h7g7 d1d8"), None, "the queen can move");
        // The knight does not leave the rook's line.
        let aside = "3q4/7k/8/8/4N3/8/8/3RK3 w - - 0 1";
        assert_eq!(motif(aside, "d1d8"), Some(Motif::Hanging { taken: Role::Queen, on: Square::D8 }));
        assert_eq!(motif(aside, "e4g3 h7g7 d1d8"), None, "it was attacked before");
    }

    #[test]
    fn trapped_pieces() {
        let line = "c1b2 e8d7 b2a2";
        let trapped = Motif::Trapped { piece: (Role::Bishop, Square::A2) };
        assert_eq!(motif("4k3/8/8/8/8/1P6/b1P5/2K5 w - - 0 1", line), Some(trapped));
        assert_eq!(motif("4k3/8/8/8/8/8/b1P5/2K5 w - - 0 1", line), None, "it can leave");
    }

    #[test]
    fn overloaded_defenders() {
        let (defender, left) = ((Role::Rook, Square::D8), (Role::Knight, Square::A8));
        let fen = "n2r4/5ppk/8/3n4/8/8/5PPP/Q2R2K1 w - - 0 1";
        assert_eq!(motif(fen, "d1d5 d8d5 a1a8"), Some(Motif::Overloaded { defender, left }));
        let defended = "n2r4/5ppk/4p3/3n4/8/8/5PPP/Q2R2K1 w - - 0 1";
        assert_eq!(motif(defended, "d1d5 e6d5 a1a8 d8a8"), None);
    }

    #[test]
    fn promotions() {
        let fen = "8/8/P7/4k3/8/8/8/4K3 w - - 0 1";
        assert_eq!(motif(fen, "a6a7 e5d6 a7a8q"), Some(Motif::Promotion { by: Square::A6 }));
        assert_eq!(motif("1r6/P3k3/8/8/8/8/8/4K3 w - - 0 1", "a7a8q b8a8"), None, "the queen is lost");
        let fen = "8/8/8/8/P4k2/8/8/K7 w - - 0 1";
        let soon = "a4a5 f4e5 a5a6 e5d6 a6a7 d6e6 a7a8q";
        assert_eq!(motif(fen, soon), Some(Motif::Promotion { by: Square::A4 }));
        let near = "8/8/8/8/P3k3/8/8/K7 w - - 0 1";
        assert_eq!(motif(near, "a4a5 e4e5 a5a6 e5e6 a6a7 e6e7 a7a8q"), None, "the king is in time by d5");
        let late = "8/8/8/8/8/P4k2/8/K7 w - - 0 1";
        assert_eq!(motif(late, &format!("a3a4 f3f4 {soon}")), None, "at the ninth ply");
    }

    #[test]
    fn what_is_answered_by_mate_is_not_won() {
        // The fork wins the queen, but then the rook mates on b1, unless the king has a way out.
        let line = "d5c7 e8d7 c7a8";
        assert_eq!(motif("q3k3/8/8/3N4/8/8/1r3PPP/6K1 w - - 0 1", line), None);
        assert!(matches!(motif("q3k3/8/8/3N4/8/7P/1r3PP1/6K1 w - - 0 1", line), Some(Motif::Fork { .. })));
    }

    #[test]
    fn perpetual_checks() {
        let fen = "6k1/6p1/8/7Q/8/8/q4PPP/6K1 w - - 0 1";
        assert_eq!(reason_of(fen, "h5e8 g8h7 e8h5 h7g8"), Some((Motif::Perpetual, 4)));
        assert_eq!(motif(fen, "h5e8 g8h7 e8h5"), None, "nothing returned yet");
        assert_eq!(motif(fen, "h5d1 a2b2 d1h5 b2a2"), None, "no checks");
    }

    #[test]
    fn a_piece_that_took_a_smaller_one_is_taken_back() {
        let game = Game::from_fen("6kR/8/8/8/8/8/8/4K3 b - - 0 1").unwrap();
        let line = [game.parse_uci("g8h8").unwrap()];
        let back = Motif::TakesBack { lost: Role::Rook, gained: Some(Role::Knight) };
        assert_eq!(reason(game.position(), error(Role::Knight, Square::H8), &line, true), Some((back, 1)));
        // The queen took a pawn; the rook that takes it falls, too.
        let game = Game::from_fen("r4rB1/pp1k1pQ1/2p1pP2/3p4/P2q4/7P/2P2RP1/5RK1 w - - 0 29").unwrap();
        let mut after = game.clone();
        after.play(game.parse_uci("g7f7").unwrap());
        let taken = after.parse_uci("f8f7").unwrap();
        let mut rest = after.clone();
        rest.play(taken);
        let line = [taken, rest.parse_uci("g8f7").unwrap()];
        let back = Motif::TakesBack { lost: Role::Queen, gained: None };
        assert_eq!(
            reason(after.position(), error(Role::Pawn, Square::F7), &line, true),
            Some((back.clone(), 2))
        );
        assert_eq!(words(&back), "takes back and wins material");
    }

    #[test]
    fn a_capture_names_what_is_won_on_its_square() {
        // The knights are exchanged; only then the pawn on h6 falls.
        let exchange = "4k3/3p4/2n4p/8/3N4/8/7R/4K3 w - - 0 1";
        assert_eq!(motif(exchange, "d4c6 d7c6 h2h6"), None);
    }

    #[test]
    fn a_pawn_taken_en_passant_stands_beside() {
        let taken = Motif::Hanging { taken: Role::Pawn, on: Square::E4 };
        assert_eq!(motif("4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1", "d4e3"), Some(taken));
    }

    #[test]
    fn motifs_in_words() {
        let attacked = vec![(Role::King, Square::E8), (Role::Queen, Square::D5), (Role::Rook, Square::A8)];
        assert_eq!(words(&Motif::Fork { attacked }), "forks the king, the queen on d5 and the rook on a8");
        let taken = Motif::Hanging { taken: Role::Knight, on: Square::E5 };
        assert_eq!(words(&taken), "takes the undefended knight on e5");
    }
}
