//! Why an error is one, in a sentence with its line.

use shakmaty::san::SanPlus;
use shakmaty::{Chess, Move, Position, Role};

use super::game_review::{LINE_LENGTH, numbered, sans};
use super::judgement::Mark;
use super::material::value_of;
use super::positional::change;
use super::reasons::{GAIN, Motif, exchange, positions, reason, won_by, words};

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
        self.refutation(answer, best)
            .or_else(|| self.missed(answer, best, mates))
            .or_else(|| self.change(answer, best))
    }

    fn after(&self) -> Chess {
        let mut after = self.position.clone();
        after.play_unchecked(self.m);
        after
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
        if let Motif::Hanging { taken, .. } | Motif::Takes { taken, .. } = motif {
            let on = best[0].to();
            let boards = positions(&self.after(), answer);
            let is_taken_later = (1..answer.len()).step_by(2).take(STILL).any(|ply| {
                let (m, after) = (&answer[ply], &boards[ply + 1]);
                m.to() == on && won_by(m, after) >= GAIN
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
            Motif::Hanging { taken, .. } | Motif::Takes { taken, .. } => {
                *taken != Role::Pawn || self.mark != Mark::Blunder
            }
            _ => true,
        }
    }

    /// What becomes of the answer after the best move, to which `reply` is best. `None` if the answer takes on the square
    /// where the error went: after another move nothing stands there to take.
    fn prevented(&self, answer: Move, best: Move, reply: Option<Move>) -> Option<String> {
        if answer.to() == self.m.to() {
            return None;
        }
        let best_san = SanPlus::from_move(self.position.clone(), best);
        let mut after = self.position.clone();
        after.play_unchecked(best);
        // The answer may only be put off, or be good there too.
        let is_reply = reply.is_some_and(|reply| (reply.from(), reply.to()) == (answer.from(), answer.to()));
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
        let mut taken = after.clone();
        taken.play_unchecked(m);
        let lost = exchange(&taken, m.to()) - m.capture().map_or(0, value_of);
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
}
