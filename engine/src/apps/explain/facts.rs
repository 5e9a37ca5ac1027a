//! Facts about a line: material, the reply, the result given up.

use serde::Serialize;
use shakmaty::{Color, Move, Position, Role};

use crate::apps::review::{JudgedLine, balance, forked, settled, value_of};
use crate::chess::position::Game;
use crate::nets::eval::Wdl;

/// Captured pieces, most valuable first, without equal exchanges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trade {
    pub lost: Vec<Role>,
    pub won: Vec<Role>,
}

impl Trade {
    /// In centipawns.
    pub fn balance(&self) -> i32 {
        let value = |roles: &[Role]| roles.iter().copied().map(value_of).sum::<i32>();
        value(&self.won) - value(&self.lost)
    }
}

/// A loss compared with the best move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GivenUp {
    /// The best move forces mate.
    MissedMate { moves: u32 },
    /// The opponent now has a forced mate.
    Mated { moves: u32 },
    Material {
        /// Less than after the best move's line.
        centipawns: i32,
    },
    /// A win was more likely than not.
    Win { now: LikelyResult },
    /// A draw was more likely than not; now a loss is likeliest.
    Draw,
}

/// From the mover's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LikelyResult {
    Win,
    Draw,
    Loss,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpponentReply {
    pub san: String,
    /// The captured piece as a lower-case letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub takes: Option<char>,
    /// The captured piece has just captured.
    pub recaptures: bool,
    pub check: bool,
    /// Two or more pieces attacked at once, as lower-case letters: the king, pieces worth more than the attacker,
    /// undefended pieces.
    pub forks: String,
}

impl LikelyResult {
    fn of(wdl: Wdl) -> LikelyResult {
        if wdl.win >= wdl.draw && wdl.win >= wdl.loss {
            LikelyResult::Win
        } else if wdl.draw >= wdl.loss {
            LikelyResult::Draw
        } else {
            LikelyResult::Loss
        }
    }
}

/// Captures of both sides up to the line's last quiet position.
pub fn trade(game: &Game, line: &[Move]) -> Trade {
    let mover = game.turn();
    let mut position = game.position().clone();
    let (mut so_far, mut last_quiet) = (Trade::default(), Trade::default());
    for m in line {
        let own = position.turn() == mover;
        if let Some(taken) = m.capture() {
            if own { so_far.won.push(taken) } else { so_far.lost.push(taken) }
        }
        if let Some(promoted) = m.promotion() {
            // A promotion is a pawn given for a piece.
            let (gained, given) =
                if own { (&mut so_far.won, &mut so_far.lost) } else { (&mut so_far.lost, &mut so_far.won) };
            gained.push(promoted);
            given.push(Role::Pawn);
        }
        position.play_unchecked(*m);
        if !position.is_check() && settled(&position) == balance(&position) {
            last_quiet = so_far.clone();
        }
    }
    balanced(last_quiet)
}

fn balanced(trade: Trade) -> Trade {
    let Trade { mut lost, won } = trade;
    let mut kept = Vec::new();
    for role in won {
        match lost.iter().position(|other| value_of(*other) == value_of(role)) {
            Some(at) => drop(lost.remove(at)),
            None => kept.push(role),
        }
    }
    let mut won = kept;
    for roles in [&mut lost, &mut won] {
        roles.sort_by_key(|role| std::cmp::Reverse(value_of(*role)));
    }
    Trade { lost, won }
}

pub fn reply(game: &Game, line: &[Move]) -> Option<OpponentReply> {
    let (first, answer) = (line.first()?, line.get(1)?);
    let san = crate::apps::review::sans(game.position(), &line[..2]).pop()?;
    let mut position = game.position().clone();
    position.play_unchecked(*first);
    let taken = answer.capture();
    let recaptures = first.is_capture() && taken.is_some() && answer.to() == first.to();
    position.play_unchecked(*answer);
    let attacked: Vec<Role> =
        forked(position.board(), answer.to()).into_iter().map(|(role, _)| role).collect();
    let forks = if attacked.len() > 1 { attacked } else { Vec::new() };
    Some(OpponentReply {
        san,
        takes: taken.map(|role| role.char()),
        recaptures,
        check: position.is_check(),
        forks: letters(&forks),
    })
}

/// `centipawns` is the material that `line` has less than `best`.
pub fn given_up(mover: Color, line: &JudgedLine, best: &JudgedLine, centipawns: i32) -> Vec<GivenUp> {
    let mut given = Vec::new();
    let mate = |line: &JudgedLine, by: Color| {
        line.value.mate.filter(|mate| mate.winner == by).map(|mate| mate.moves)
    };
    let mated = mate(line, !mover).filter(|_| mate(best, !mover).is_none());
    if let (Some(moves), None) = (mate(best, mover), mate(line, mover)) {
        given.push(GivenUp::MissedMate { moves });
    }
    given.extend(mated.map(|moves| GivenUp::Mated { moves }));
    // Beside a mate, material means nothing.
    if centipawns >= 100 && line.value.mate.is_none() && best.value.of(mover) > line.value.of(mover) {
        given.push(GivenUp::Material { centipawns });
    }
    let probable = |wdl: &Wdl| wdl.win.max(wdl.draw).max(wdl.loss) > 0.5;
    if let (None, Some(before), Some(now)) =
        (mated, best.wdl.filter(probable).map(LikelyResult::of), line.wdl.map(LikelyResult::of))
    {
        match (before, now) {
            (LikelyResult::Win, LikelyResult::Draw | LikelyResult::Loss) => given.push(GivenUp::Win { now }),
            (LikelyResult::Draw, LikelyResult::Loss) => given.push(GivenUp::Draw),
            _ => (),
        }
    }
    given
}

pub fn letters(roles: &[Role]) -> String {
    roles.iter().map(|role| role.char()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(game: &Game, moves: &str) -> Vec<Move> {
        let mut now = game.clone();
        let play = |word| {
            let m = now.parse_uci(word).unwrap();
            now.play(m);
            m
        };
        moves.split_whitespace().map(play).collect()
    }

    #[test]
    fn a_trade_ends_where_no_capture_pays() {
        let game = Game::from_fen("4k3/2p5/3p4/8/4N3/8/8/R3K3 w - - 0 1").unwrap();
        // The knight is lost for a defended pawn; the line ends amid another exchange.
        let knight = trade(&game, &line(&game, "e4d6 c7d6 a1a7"));
        assert_eq!(
            (letters(&knight.lost), letters(&knight.won), knight.balance()),
            ("n".into(), "p".into(), -200)
        );
        assert_eq!(trade(&game, &line(&game, "e4d6")), Trade::default(), "the recapture is due");
        let promotion = Game::from_fen("8/P3k3/8/8/8/8/8/4K3 w - - 0 1").unwrap();
        let queen = trade(&promotion, &line(&promotion, "a7a8q e7d7"));
        assert_eq!((letters(&queen.won), letters(&queen.lost)), ("q".into(), "p".into()));
        let minor = Trade { lost: vec![Role::Knight, Role::Pawn], won: vec![Role::Bishop, Role::Queen] };
        assert_eq!(balanced(minor), Trade { lost: vec![Role::Pawn], won: vec![Role::Queen] });
    }

    #[test]
    fn a_reply_takes_checks_and_forks() {
        let game = Game::from_fen("4k3/8/8/8/1n6/8/4P3/R3K3 w - - 0 1").unwrap();
        let fork = reply(&game, &line(&game, "e2e3 b4c2")).unwrap();
        assert_eq!(
            (fork.san.as_str(), fork.takes, fork.check, fork.forks.as_str()),
            ("Nc2+", None, true, "kr")
        );
        let quiet = reply(&game, &line(&game, "a1a8 e8e7")).unwrap();
        assert_eq!((quiet.check, quiet.recaptures, quiet.forks.as_str()), (false, false, ""));
        let exchange = Game::from_fen("r3k3/8/8/8/8/8/4P3/R3K2q w Q - 0 1").unwrap();
        let answered = |moves| reply(&exchange, &line(&exchange, moves)).unwrap();
        assert!(!answered("e1d2 a8a1").recaptures);
        let game = Game::from_fen("r3k3/p7/8/8/8/8/4P3/R3K3 w - - 0 1").unwrap();
        let back = reply(&game, &line(&game, "a1a7 a8a7")).unwrap();
        assert_eq!((back.takes, back.recaptures), (Some('r'), true));
        assert_eq!(reply(&game, &line(&game, "e2e3")), None);
    }

    #[test]
    fn a_draw_and_a_win_are_given_up() {
        use crate::apps::review::judgement::PositionValue;
        let game = Game::new();
        let judged = |m: &str, win, draw| {
            let wdl = Wdl { win, draw, loss: 1.0 - win - draw };
            let value = PositionValue::from_wdl(wdl, Color::White, None);
            JudgedLine { value, wdl: Some(wdl), pv: line(&game, m) }
        };
        let (won, drawn, lost) =
            (judged("e2e4", 0.8, 0.1), judged("d2d4", 0.2, 0.6), judged("g2g4", 0.1, 0.2));
        let given = |line, best| given_up(Color::White, line, best, 0);
        assert_eq!(given(&drawn, &won), [GivenUp::Win { now: LikelyResult::Draw }]);
        assert_eq!(given(&lost, &won), [GivenUp::Win { now: LikelyResult::Loss }]);
        assert_eq!(given(&lost, &drawn), [GivenUp::Draw]);
        assert_eq!(given(&won, &won), []);
        let unclear = judged("e2e4", 0.4, 0.35);
        assert_eq!(given(&drawn, &unclear), []);
    }
}
