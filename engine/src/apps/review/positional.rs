//! What an inaccuracy's answer changes for good where it wins no material: castling, the king's shelter, pawns.

use shakmaty::{Bitboard, Board, Chess, Color, File, Move, Position, Rank, Role, Square};

use super::judgement::Mark;
use super::material::{balance, settled};
use super::reasons::positions;
use crate::chess::position::played;

/// Only what is visible after so few plies is a reason: later moves of a line are less certain.
const VISIBLE: usize = 6;
/// Pawns that leave their places before the king.
const SHELTER_LOST: usize = 2;
/// From here on, counted from its own side, a passed pawn matters.
const FAR_RANK: u32 = 4;

/// Of the side that made the error, but for `Passed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The king moves before it has castled.
    Castling,
    /// Pawns before the king have left; so many remain.
    Shelter {
        king: Square,
        left: usize,
    },
    /// The opponent gets this passed pawn.
    Passed {
        on: Square,
    },
    Doubled {
        file: File,
    },
    Isolated {
        on: Square,
    },
}

impl Change {
    /// For tables.
    pub fn kind(self) -> &'static str {
        match self {
            Change::Castling => "lost castling",
            Change::Shelter { .. } => "open king",
            Change::Passed { .. } => "passed pawn",
            Change::Doubled { .. } => "doubled pawns",
            Change::Isolated { .. } => "isolated pawn",
        }
    }

    /// As in `leads to a passed pawn on d6`.
    pub fn words(self, victim: Color) -> String {
        let side = victim.fold_wb("White", "Black");
        match self {
            Change::Castling => format!("keeps {side} from castling"),
            Change::Shelter { king, left } => {
                let pawns = match left {
                    0 => "without a pawn".to_owned(),
                    1 => "with one pawn".to_owned(),
                    left => format!("with {left} pawns"),
                };
                format!("leaves {side}'s king on {king} {pawns} before it")
            }
            Change::Passed { on } => format!("leads to a passed pawn on {on}"),
            Change::Doubled { file } => format!("leaves {side} doubled pawns on the {}-file", file.char()),
            Change::Isolated { on } => format!("leaves {side} an isolated pawn on {on}"),
        }
    }
}

/// What follows from `error` and its `answer`, does not from `best`, and was not so before; and the plies of the answer
/// until it is visible.
pub fn change(
    position: &Chess,
    error: Move,
    answer: &[Move],
    best: &[Move],
    mark: Mark,
) -> Option<(Change, usize)> {
    // A mistake or a blunder is about more. Of 100 reasons that were checked, 17 had such a cause; four helped.
    if mark != Mark::Inaccuracy {
        return None;
    }
    let after = played(position, error);
    let boards = positions(&after, answer.get(..VISIBLE).unwrap_or(answer));
    let other = positions(position, best);
    let end = (1..boards.len()).rev().find(|ply| is_quiet(&boards[*ply]))?;
    let other_end = (2..other.len()).rev().find(|ply| is_quiet(&other[*ply]))?;
    let victim = position.turn();
    let others = [position, &other[other_end]];
    let castling = || {
        let ply = king_walks(&boards[..=end], answer, victim)?;
        let keeps = king_walks(&other, best, victim).is_none();
        (position.castles().has_color(victim) && keeps).then_some((Change::Castling, ply))
    };
    let first_ply = |holds: &dyn Fn(&Board) -> bool| {
        let since = boards[..=end].iter().rev().take_while(|board| holds(board.board())).count();
        (since > 0).then(|| (end + 1 - since).max(1))
    };
    let shelter = || {
        let king = position.board().king_of(victim)?;
        let pawns = |board: &Board| shelter(board, victim, king);
        let left = pawns(boards[end].board())?;
        let lost = |other: &Chess| pawns(other.board()).is_some_and(|pawns| pawns >= left + SHELTER_LOST);
        let ply = first_ply(&|board| pawns(board) == Some(left))?;
        others.into_iter().all(lost).then_some((Change::Shelter { king, left }, ply))
    };
    let new = |of: &dyn Fn(&Board) -> Bitboard, change: &dyn Fn(Square) -> Change| {
        let now = of(boards[end].board());
        let is_new = |square: &Square| {
            others.iter().all(|other| (of(other.board()) & Bitboard::from(square.file())).is_empty())
        };
        let on = now.into_iter().find(is_new)?;
        let file = Bitboard::from(on.file());
        Some((change(on), first_ply(&|board| (of(board) & file).any())?))
    };
    castling()
        .or_else(shelter)
        .or_else(|| new(&|board| passed(board, !victim), &|on| Change::Passed { on }))
        .or_else(|| new(&|board| doubled(board, victim), &|on| Change::Doubled { file: on.file() }))
        .or_else(|| new(&|board| isolated(board, victim), &|on| Change::Isolated { on }))
}

fn is_quiet(position: &Chess) -> bool {
    !position.is_check() && settled(position) == balance(position)
}

/// The ply at which the king moves without castling, if that costs a right.
fn king_walks(boards: &[Chess], line: &[Move], side: Color) -> Option<usize> {
    let walk = |ply: &usize| {
        let (before, m) = (&boards[*ply], line[*ply]);
        before.turn() == side
            && before.castles().has_color(side)
            && m.role() == Role::King
            && !matches!(m, Move::Castle { .. })
    };
    (0..boards.len().saturating_sub(1).min(line.len())).find(walk).map(|ply| ply + 1)
}

/// How many pawns stand one or two ranks before their king, on its file and those beside it. `None` if the king is not
/// on `king`, has left its first two ranks, or stands on a middle file.
fn shelter(board: &Board, side: Color, king: Square) -> Option<usize> {
    let rank = side.fold_wb(u32::from(king.rank()), 7 - u32::from(king.rank()));
    if board.king_of(side) != Some(king) || rank > 1 || matches!(king.file(), File::D | File::E) {
        return None;
    }
    let ahead = |square: Square| {
        let other = side.fold_wb(u32::from(square.rank()), 7 - u32::from(square.rank()));
        (rank + 1..=rank + 2).contains(&other) && square.file().distance(king.file()) <= 1
    };
    Some((board.pawns() & board.by_color(side)).into_iter().filter(|square| ahead(*square)).count())
}

fn beside(file: File) -> Bitboard {
    [-1, 1]
        .into_iter()
        .filter_map(|delta| file.offset(delta))
        .map(Bitboard::from)
        .fold(Bitboard::EMPTY, |files, file| files | file)
}

/// Far pawns that no enemy pawn can stop or take any more.
fn passed(board: &Board, side: Color) -> Bitboard {
    let own = board.pawns() & board.by_color(side);
    let theirs = board.pawns() & board.by_color(!side);
    let relative = |rank: Rank| side.fold_wb(u32::from(rank), 7 - u32::from(rank));
    let is_passed = |pawn: &Square| {
        let files = Bitboard::from(pawn.file()) | beside(pawn.file());
        relative(pawn.rank()) >= FAR_RANK
            && !(theirs & files).into_iter().any(|other| relative(other.rank()) > relative(pawn.rank()))
    };
    own.into_iter().filter(is_passed).collect()
}

fn doubled(board: &Board, side: Color) -> Bitboard {
    let own = board.pawns() & board.by_color(side);
    own.into_iter().filter(|pawn| (own & Bitboard::from(pawn.file())).count() > 1).collect()
}

fn isolated(board: &Board, side: Color) -> Bitboard {
    let own = board.pawns() & board.by_color(side);
    own.into_iter().filter(|pawn| (own & beside(pawn.file())).is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::position::Game;

    fn change_of(fen: &str, error: &str, answer: &str, best: &str, mark: Mark) -> Option<(Change, usize)> {
        let game = Game::from_fen(fen).unwrap();
        let moves = |first: &[&str], words: &str| -> Vec<Move> {
            let mut now = game.clone();
            let words = first.iter().copied().chain(words.split_whitespace());
            words
                .map(|word| {
                    let m = now.parse_uci(word).unwrap();
                    now.play(m);
                    m
                })
                .collect()
        };
        let line = moves(&[error], answer);
        change(game.position(), line[0], &line[1..], &moves(&[], best), mark)
    }

    #[test]
    fn a_king_that_must_walk_cannot_castle() {
        let fen = "4k2r/5ppp/8/8/8/8/3Q1PPP/6K1 b k - 0 1";
        let answer = "d2e3 e8f8 h2h3";
        let found = |best| change_of(fen, "g7g6", answer, best, Mark::Inaccuracy);
        assert_eq!(found("e8g8 h2h3 g8h8"), Some((Change::Castling, 2)));
        assert_eq!(found("e8e7 h2h3 e7e6"), None, "the better move gives it up as well");
    }

    #[test]
    fn a_king_without_its_pawns() {
        let fen = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 b - - 0 1";
        let found = |answer, best| {
            change_of(fen, "g7g5", answer, best, Mark::Inaccuracy)
                .filter(|(change, _)| matches!(change, Change::Shelter { .. }))
        };
        let open = Some((Change::Shelter { king: Square::G8, left: 1 }, 4));
        let answer = "h2h4 g5h4 d1d4 h7h5 d4d7";
        assert_eq!(found(answer, "g8h8 h2h3 h8g8"), open);
        assert_eq!(found(answer, "g8f8 h2h3 f8e7"), None, "the king stands elsewhere");
        assert_eq!(found("h2h4 g5h4 d1d4 g8g7 d4d7", "g8h8 h2h3 h8g8"), None, "it has only stepped up");
    }

    #[test]
    fn new_passed_pawns() {
        let fen = "4k3/3p4/8/4P3/8/8/8/4K3 b - - 0 1";
        let found = |best| change_of(fen, "d7d5", "e5d6 e8f7 e1e2", best, Mark::Inaccuracy);
        assert_eq!(found("e8e7 e1e2 e7e6"), Some((Change::Passed { on: Square::D6 }, 1)));
        let soon =
            change_of("4k3/8/8/4P3/8/8/8/4K3 b - - 0 1", "e8f8", "e5e6 f8e8", "e8e7 e1e2", Mark::Inaccuracy);
        assert_eq!(soon, None, "it was one before");
    }

    #[test]
    fn changes_explain_inaccuracies_alone() {
        let fen = "4k3/8/8/8/1b6/8/PPP5/1N4K1 w - - 0 1";
        let found = |best, mark| change_of(fen, "b1c3", "b4c3 b2c3 e8e7", best, mark);
        let doubled = Some((Change::Doubled { file: File::C }, 2));
        assert_eq!(found("c2c3 b4e7 b1d2", Mark::Inaccuracy), doubled);
        assert_eq!([Mark::Mistake, Mark::Blunder].map(|mark| found("c2c3 b4e7 b1d2", mark)), [None; 2]);
        assert_eq!(found("a2a3 b4c3 b2c3", Mark::Inaccuracy), None, "the better move leads to them as well");
    }

    #[test]
    fn words_name_the_side() {
        assert_eq!(Change::Castling.words(Color::Black), "keeps Black from castling");
        let open = Change::Shelter { king: Square::G8, left: 1 };
        assert_eq!(open.words(Color::Black), "leaves Black's king on g8 with one pawn before it");
        assert_eq!(
            Change::Doubled { file: File::C }.words(Color::White),
            "leaves White doubled pawns on the c-file"
        );
    }
}
