//! Why an error is one, in a sentence with its line.

use shakmaty::san::SanPlus;
use shakmaty::{Chess, Move, Position, Role};

use super::game_review::{LINE_LENGTH, numbered, sans};
use super::judgement::Mark;
use super::material::{balance, settled, value_of};
use super::positional::change;
use super::reasons::{GAIN, Motif, exchange, positions, reason, taken_on, won_by, words};
use super::replies::Proof;
use crate::chess::position::played;

/// Moves of the side that erred in which it may still take what it seems to have missed.
const STILL: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// For tables, as in `fork`.
    pub kind: &'static str,
    /// Of what the better move would have done; otherwise of what the answer does.
    pub is_missed: bool,
    pub text: String,
}

impl Explanation {
    pub fn words(&self) -> String {
        format!("{}{}", if self.is_missed { "Missed: " } else { "" }, self.text)
    }
}

pub struct Error<'a> {
    pub position: &'a Chess,
    /// The move before the error.
    pub last: Option<Move>,
    pub m: Move,
    pub mark: Mark,
    /// The opponent has a forced mate now.
    pub is_mated: bool,
}

impl Error<'_> {
    /// `answer` follows the error, `best` is played in its place. With `mates` it forces mate.
    pub fn explain(&self, answer: &[Move], best: &[Move], mates: bool) -> Option<Explanation> {
        self.stalemate()
            .or_else(|| self.refutation(answer, best))
            .or_else(|| self.missed(answer, best, mates))
            .or_else(|| self.change(answer, best))
    }

    fn after(&self) -> Chess {
        played(self.position, self.m)
    }

    fn stalemate(&self) -> Option<Explanation> {
        let san = SanPlus::from_move(self.position.clone(), self.m);
        self.after().is_stalemate().then(|| Explanation {
            kind: "stalemate",
            is_missed: false,
            text: format!("{san} is stalemate"),
        })
    }

    fn refutation(&self, answer: &[Move], best: &[Move]) -> Option<Explanation> {
        let (motif, text) = reason_in_words(&self.after(), Some(self.m), answer, self.is_mated)?;
        let best = best.get(..LINE_LENGTH).unwrap_or(best);
        let prevented = best.first().and_then(|m| self.prevented(answer[0], *m, best.get(1).copied()));
        let text = prevented.map_or(text.clone(), |prevented| format!("{text}. {prevented}"));
        self.is_explained_by(&motif, answer, best).then(|| Explanation {
            kind: motif.kind(),
            is_missed: false,
            text,
        })
    }

    /// A man that was taken otherwise, or still is after the answer, is not missed; nor is a pawn what a mistake or a
    /// blunder is about.
    fn missed(&self, answer: &[Move], best: &[Move], mates: bool) -> Option<Explanation> {
        let (motif, text) = reason_in_words(self.position, self.last, best, mates)?;
        if let Motif::Hanging { taken, .. } | Motif::Takes { taken, .. } | Motif::Trades { role: taken } =
            motif
        {
            let on = taken_on(best[0]);
            let boards = positions(&self.after(), answer);
            let is_taken_later = (1..answer.len()).step_by(2).take(STILL).any(|ply| {
                let (m, after) = (&answer[ply], &boards[ply + 1]);
                taken_on(*m) == on && won_by(m, after) >= GAIN
            });
            let is_small = taken == Role::Pawn && self.mark != Mark::Inaccuracy;
            if on == self.m.to() || is_taken_later || is_small {
                return None;
            }
        }
        Some(Explanation { kind: motif.kind(), is_missed: true, text })
    }

    fn change(&self, answer: &[Move], best: &[Move]) -> Option<Explanation> {
        let (change, plies) = change(self.position, self.m, answer, best, self.mark)?;
        let text = sentence(&self.after(), &answer[..plies], &change.words(self.position.turn()));
        Some(Explanation { kind: change.kind(), is_missed: false, text })
    }

    /// Whether the motif may be why the move is an error: what the best move allows as well is no reason, nor does a
    /// pawn make a blunder.
    fn is_explained_by(&self, motif: &Motif, answer: &[Move], best: &[Move]) -> bool {
        let is_answer_to_best = best.get(1) == answer.first();
        match motif {
            Motif::Mate { .. } | Motif::Promotion { .. } | Motif::Fork { .. } => true,
            _ if is_answer_to_best => false,
            Motif::Hanging { taken, .. } | Motif::Takes { taken, .. } | Motif::Trades { role: taken } => {
                let is_small = *taken == Role::Pawn;
                !(is_small && self.mark == Mark::Blunder || self.is_taken_anyway(answer[0], best, is_small))
            }
            _ => true,
        }
    }

    /// Whether what the answer takes is taken after the best move, too: in its line, or if another promotion of the same
    /// pawn is best. Something `small` also counts as taken if the answer may still win it there.
    fn is_taken_anyway(&self, answer: Move, best: &[Move], small: bool) -> bool {
        let Some(first) = best.first() else { return false };
        let boards = positions(self.position, best);
        let on = taken_on(answer);
        let stays = |ply: usize| {
            let moved = |m: &Move| m.from() == Some(on) || m.to() == on;
            !best[..ply].iter().any(moved)
        };
        let is_taken = |ply: usize| {
            taken_on(best[ply]) == on && stays(ply) && won_by(&best[ply], &boards[ply + 1]) >= GAIN
        };
        let in_line = (1..best.len()).step_by(2).any(is_taken);
        let is_promotion = (first.from(), first.to()) == (self.m.from(), self.m.to());
        let is_still_won = || {
            let (position, what) = (&boards[1], |m: &Move| (m.from(), m.to(), m.capture()));
            let same = position.legal_moves().into_iter().find(|m| what(m) == what(&answer));
            same.is_some_and(|m| Proof { position, line: &[m] }.may_win(GAIN))
        };
        let stood_before = self.m.to() != on;
        stood_before && (in_line || is_promotion || small && is_still_won())
    }

    /// What becomes of the answer after the best move, to which `reply` is best. `None` if the answer takes on the square
    /// where the error went: after another move nothing stands there to take.
    fn prevented(&self, answer: Move, best: Move, reply: Option<Move>) -> Option<String> {
        if taken_on(answer) == self.m.to() {
            return None;
        }
        let best_san = SanPlus::from_move(self.position.clone(), best);
        let after = played(self.position, best);
        // The answer may only be put off, or be good there too.
        let is_same =
            |reply: Move| reply.to() == answer.to() && (answer.is_capture() || reply.from() == answer.from());
        let is_reply = reply.is_some_and(is_same);
        if after.is_check() || is_reply {
            return None;
        }
        let same = |m: &Move| {
            (m.role(), m.from(), m.to(), m.promotion())
                == (answer.role(), answer.from(), answer.to(), answer.promotion())
        };
        let Some(m) = after.legal_moves().into_iter().find(same) else {
            return Some(format!("After {best_san} this is not possible."));
        };
        let taken = played(&after, m);
        let lost = exchange(&taken, m.to()) - m.capture().map_or(0, value_of);
        // Other captures may make up for it.
        let lost = lost.min(settled(&taken) + balance(&after));
        (lost >= GAIN).then(|| format!("After {best_san}, {} loses material.", SanPlus::from_move(after, m)))
    }
}

/// As in `Nc2+ forks the king and the rook on a1: 8... Nc2+ 9. Kd1 Nxa1`.
fn sentence(position: &Chess, line: &[Move], does: &str) -> String {
    let sans = sans(position, line);
    format!("{} {does}: {}", sans[0], numbered(position, &sans))
}

fn reason_in_words(
    position: &Chess,
    last: Option<Move>,
    line: &[Move],
    mates: bool,
) -> Option<(Motif, String)> {
    let (motif, plies) = reason(position, last, line, mates)?;
    let text = sentence(position, &line[..plies], &words(&motif));
    Some((motif, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::position::Game;

    fn now_after(game: &Game, line: &[Move]) -> Chess {
        let mut position = game.position().clone();
        line.iter().for_each(|m| position.play_unchecked(*m));
        position
    }

    fn explained(fen: &str, error: &str, answer: &str, best: &str) -> Option<String> {
        let game = Game::from_fen(fen).unwrap();
        let moves = |first: &str, words: &str| -> Vec<Move> {
            let mut now = game.clone();
            first
                .split_whitespace()
                .chain(words.split_whitespace())
                .map(|word| {
                    let m = now.parse_uci(word).unwrap();
                    now.play(m);
                    m
                })
                .collect()
        };
        let line = moves(error, answer);
        let (position, m) = (game.position(), line[0]);
        let is_mated = now_after(&game, &line).is_checkmate();
        let error = Error { position, last: None, m, mark: Mark::Blunder, is_mated };
        error.explain(&line[1..], &moves("", best), false).map(|found| found.text)
    }

    #[test]
    fn the_better_move_prevents_the_answer_or_makes_it_lose() {
        let fen = "r3k3/8/8/3N4/7p/8/P7/4K3 b - - 0 1";
        let fork = "Nc7+ forks the king and the rook on a8: 2. Nc7+ Kd7 3. Nxa8";
        let found = |best| explained(fen, "h4h3", "d5c7 e8d7 c7a8", best);
        assert_eq!(found("a8a2 d5c7 e8d7").unwrap(), fork, "the knight can go there, and is not lost");
        assert_eq!(found("e8d8 e1f2").unwrap(), format!("{fork}. After Kd8, Nc7 loses material."));
        assert_eq!(found("a8a5 d5f4 h4h3").unwrap(), fork);
    }

    #[test]
    fn the_better_move_makes_the_mate_impossible() {
        let found = explained("6k1/5ppp/8/8/7p/1r6/8/R5K1 b - - 0 1", "h4h3", "a1a8 b3b8 a8b8", "b3a3 a1b1");
        let mate =
            "Ra8+ leads to mate on the back rank: 2. Ra8+ Rb8 3. Rxb8#. After Ra3 this is not possible.";
        assert_eq!(found.unwrap(), mate);
    }

    #[test]
    fn a_blunder_costs_more_than_a_pawn_or_its_place() {
        let fen = "4k3/3p4/8/4P3/8/8/8/4K3 b - - 0 1";
        assert_eq!(explained(fen, "d7d5", "e5d6 e8f7 e1e2", "e8e7 e1e2 e7e6"), None);
        // The pawn on d5 could be taken.
        let fen = "4k3/8/8/3p4/8/8/8/3RK3 w - - 0 1";
        assert_eq!(explained(fen, "e1f1", "d5d4 f1e1 e8e7", "d1d5 e8e7 d5d4"), None);
    }

    #[test]
    fn what_is_taken_a_move_later_is_not_missed() {
        let fen = "4k3/8/8/3n4/8/8/8/3RK3 w - - 0 1";
        let missed = "Rxd5 takes the undefended knight on d5: 1. Rxd5";
        assert_eq!(explained(fen, "e1f1", "d5f6 f1e1 e8e7", "d1d5 e8e7 d5d4").as_deref(), Some(missed));
        assert_eq!(explained(fen, "e1f1", "e8e7 d1d5 e7e6", "d1d5 e8e7 d5d4"), None);
        // By then it is defended: a rook for a knight is not what was missed.
        let late = explained(fen, "e1f1", "e8d7 f1f2 d7e6 d1d5 e6d5", "d1d5 e8e7 d5d4");
        assert_eq!(late.as_deref(), Some(missed));
    }

    #[test]
    fn an_answer_that_is_good_after_the_better_move_too_is_not_prevented() {
        // The rook moves off the first rank's end, and Nc7 is the reply there as well.
        let fen = "r3k3/8/8/3N4/7p/8/P7/4K3 b - - 0 1";
        let fork = "Nc7+ forks the king and the rook on a8: 2. Nc7+ Kd7 3. Nxa8";
        let found = |best| explained(fen, "h4h3", "d5c7 e8d7 c7a8", best);
        assert_eq!(found("e8d8 d5c7 d8c7").unwrap(), fork);
        assert_eq!(found("e8d8 e1f2").unwrap(), format!("{fork}. After Kd8, Nc7 loses material."));
    }

    #[test]
    fn what_is_exchanged_is_not_won() {
        // The pinned queen is taken, and so is the other; a bishop is won.
        let fen = "1r2k1nr/p1pbq1bp/6p1/3BQ3/3P4/8/PPP2PPP/RNB1K2R w KQk - 1 12";
        let found = explained(fen, "c1g5", "g7e5 g5e7 g8e7", "e5e7 g8e7 d5b3");
        let text = "Bxe5 exchanges the queens and wins material: 12... Bxe5 13. Bxe7 Nxe7";
        assert_eq!(found.as_deref(), Some(text));
        // The knight is pinned, but a pawn takes it back; White wins pawns.
        let fen = "r1bqkbnr/ppp2ppp/2n5/1B1pN3/4P3/8/PPPP1PPP/RNBQK2R b KQkq - 2 4";
        let found = explained(fen, "f7f6", "e5c6 d8d6", "d8d6 d2d4 d5e4");
        let text = "Nxc6 takes the knight on c6 and wins material: 5. Nxc6 Qd6";
        assert_eq!(found.as_deref(), Some(text));
    }

    #[test]
    fn a_better_reply_refutes_a_reason() {
        // 31... Kf8 stops the pawn.
        let fen = "r2q4/1p2kp2/pPb1pb2/Q7/3p4/3B4/PP3PP1/2R2RK1 b - - 3 30";
        let line = "c1c6 b7c6 b6b7 a8d8 a5c7 e7f8 b7b8r";
        assert_eq!(explained(fen, "d8h8", line, "d8d6 a5a3 d6a3 b2a3"), None);
        // 5... Nc6 defends the pawn.
        let fen = "rnbqkbnr/ppp1p1pp/8/5p2/3pPP2/3P1N2/PPP3PP/RNBQKB1R b KQkq - 1 4";
        assert_eq!(explained(fen, "f5e4", "d3e4 c8g4 d1d4", "c7c5 g2g3 b8c6 f1g2"), None);
        // 14. O-O-O Rxe6 15. d5 wins the piece back.
        let fen = "rn1q1rk1/ppp3pp/2b1p3/5pN1/P2P1P2/8/1PPQ1PPP/R3KB1R w KQ - 2 13";
        assert_eq!(explained(fen, "g5e6", "f8e8 e1c1 e8e6", "f1c4 h7h6 g5f3"), None);
        // The fork stands: a check only puts it off.
        let fen = "rnbqk2r/ppppn2p/5p1N/4p1p1/1bB1P3/8/P1PP1PPP/RNBQK2R b KQkq - 1 7";
        let found = explained(fen, "b8c6", "h6f7 c6a5 f7d8 a5c4", "d7d5 e4d5 c8f5").unwrap();
        assert!(
            found.starts_with("Nf7 forks the queen on d8 and the rook on h8: 8. Nf7 Na5 9. Nxd8"),
            "{found}"
        );
    }

    #[test]
    fn a_pawn_that_need_not_fall_is_not_the_target() {
        // 16... Nf8 keeps the pawn on e6; the bishop on b7 falls.
        let fen = "r2r2k1/1b1nbp1p/pq2Pp2/1pp5/4N3/5NP1/PPP1QPBP/3RR1K1 b - - 0 15";
        let line = "e4d6 e7d6 e2e6 g8h8 d1d6 b6c7 e6e7 a8c8 f3h4 b7g2 h4g2 d7e5 e7f6 h8g8";
        assert_eq!(explained(fen, "f7e6", line, "b6e6 e4c3 e6e2 e1e2"), None);
        // 15... Qxe6 16. Nd6 Bxd6 17. Qxe6 fxe6 18. Rxd6 loses nothing.
        let game = Game::from_fen(fen).unwrap();
        let (m, best) = (game.parse_uci("f7e6").unwrap(), game.parse_uci("b6e6").unwrap());
        let position = game.position();
        let error = Error { position, last: None, m, mark: Mark::Mistake, is_mated: false };
        let mut after = game.clone();
        after.play(m);
        assert_eq!(error.prevented(after.parse_uci("e4d6").unwrap(), best, None), None);
    }

    #[test]
    fn what_falls_after_the_better_move_too_is_no_reason() {
        let fen = "3r4/p1pn1kB1/b1p1p3/5p2/1b1P4/1PNpP3/P4PPP/2R2RK1 w - - 0 22";
        assert_eq!(explained(fen, "f1d1", "f7g7", "a2a3 d3d2 a3b4 d2c1q f1c1 f7g7 c1a1"), None);
        let fen = "1r6/4kppp/p4n2/1B1N4/Pq1Pp3/2P1P2P/5PP1/4K2R b K - 0 26";
        assert_eq!(explained(fen, "e7d6", "d5b4 a6b5", "f6d5 c3b4 a6b5"), None);
        // On c4 the rooks are exchanged.
        let fen = "1q3rk1/4bpp1/p3bn1p/B3p3/Ppr5/1N3P2/1PP1Q1PP/1KNRR3 b - - 2 24";
        let found = explained(fen, "e6f5", "e2c4", "b8e8 e2e5 e8a4 d1d4 f8c8 d4c4 c8c4");
        let text = "Qxc4 takes the undefended rook on c4: 25. Qxc4. After Qe8, Qxc4 loses material.";
        assert_eq!(found.as_deref(), Some(text));
        // After 31. b8=Q the knight hangs as well.
        let fen = "5n1k/1P4bp/2p1p2N/6R1/p2P4/4P1P1/qP4PP/6K1 w - - 0 31";
        let found = explained(fen, "b7b8n", "g7h6", "b7b8q a2b1 g1f2 a4a3 h6f7 h8g8").unwrap_or_default();
        assert!(!found.contains("Bxh6"), "{found}");
    }

    #[test]
    fn stalemate_is_named() {
        let fen = "6k1/8/1P6/4Bb1R/7P/p7/P4RP1/6K1 w - - 1 43";
        let found = explained(fen, "f2f5", "", "h5f5 g8h7 b6b7");
        assert_eq!(found.as_deref(), Some("Rfxf5 is stalemate"));
    }
}
