//! What the endgame tables know of a position: the result of every legal move.

use engine::chess::position::Game;
use engine::chess::tables::{TableResult, Tables};
use serde::Serialize;
use shakmaty::san::SanPlus;

use super::seats::ActionError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Win,
    Draw,
    Loss,
}

impl From<TableResult> for Verdict {
    fn from(result: TableResult) -> Verdict {
        match result {
            TableResult::Win => Verdict::Win,
            TableResult::Draw => Verdict::Draw,
            TableResult::Loss => Verdict::Loss,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MoveVerdict {
    pub uci: String,
    pub san: String,
    /// For the side that moves, under the fifty-move rule.
    pub verdict: Verdict,
    /// Plies to the next capture, pawn move or mate with best play, this move included: positive if the mover wins
    /// without the fifty-move rule, negative if it loses, 0 in a draw.
    pub dtz: i32,
}

/// The best first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerdictsView {
    /// For the side to move.
    pub verdict: Verdict,
    pub moves: Vec<MoveVerdict>,
}

/// `None` where the tables do not know the position, and where there is no legal move. The fifty-move counter is the
/// FEN's; repetitions in the game count for nothing.
pub fn verdicts(tables: &Tables, fen: &str) -> Result<Option<VerdictsView>, ActionError> {
    let game = Game::from_fen(fen).map_err(|error| ActionError::Invalid(error.to_string()))?;
    let Some(known) = tables.root(&game) else { return Ok(None) };
    let moves = known.all.iter().map(|ranked| MoveVerdict {
        uci: Game::uci(ranked.m, false),
        san: SanPlus::from_move(game.position().clone(), ranked.m).to_string(),
        verdict: ranked.outcome.into(),
        dtz: ranked.dtz,
    });
    Ok(Some(VerdictsView { verdict: known.outcome.into(), moves: moves.collect() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::chess::tables::ProbeRules;

    #[test]
    fn every_legal_move_has_a_verdict_and_a_distance() {
        let tables = Tables::builtin(ProbeRules::default());
        let known = |fen| verdicts(&tables, fen).unwrap();
        let won = known("8/8/8/8/8/4k3/4p3/4K2R w - - 0 1").unwrap();
        assert_eq!(won.moves.len(), 9, "{won:?}");
        let rook = known("7k/8/6K1/8/8/8/8/R7 w - - 0 1").unwrap();
        let (best, worst) = (&rook.moves[0], rook.moves.last().unwrap());
        assert_eq!((rook.verdict, best.verdict, best.dtz), (Verdict::Win, Verdict::Win, 1));
        assert_eq!((best.san.as_str(), best.uci.as_str()), ("Ra8#", "a1a8"));
        assert!(worst.dtz > 1 && rook.moves.is_sorted_by_key(|m| m.dtz), "{rook:?}");
        let lost = known("8/8/8/8/8/1k6/1q6/K7 w - - 0 1");
        assert_eq!(lost, None, "mate: there is no move");
        let defended = known("8/8/8/8/8/2k5/1q6/K7 w - - 0 1");
        assert_eq!(defended, None, "also mate");
        let late = known("7k/8/8/3K4/8/8/8/R7 w - - 95 150").unwrap();
        assert!(late.moves.iter().all(|m| m.verdict == Verdict::Draw) && late.moves[0].dtz > 0, "{late:?}");
        assert_eq!(known("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"), None);
        assert!(verdicts(&tables, "8/8/8/8/8/8/8/8 w - - 0 1").is_err());
    }
}
