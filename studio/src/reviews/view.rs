//! A review as JSON for the page.

use engine::apps::review::{Explanation, GameReview, PlayerSummary, ReviewedMove, numbered, remark};
use engine::chess::position::Game;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReviewedPly {
    pub ply: usize,
    /// Such as `?!`.
    pub mark: Option<&'static str>,
    pub name: Option<&'static str>,
    pub remark: Option<String>,
    /// What the board proves about an error.
    pub reason: Option<String>,
    /// The better line, in SAN with move numbers.
    pub best: Option<String>,
    pub best_uci: Vec<String>,
    /// White's win probability after the move, in per cent.
    pub white: f64,
    /// After the move, as in a PGN comment.
    pub eval: Option<String>,
    /// 0 to 100.
    pub accuracy: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReviewedPlayer {
    pub moves: usize,
    /// 0 to 100.
    pub accuracy: Option<f64>,
    /// Inaccuracies, mistakes, blunders.
    pub errors: [usize; 3],
    /// Opening, middlegame, endgame.
    pub phases: [Option<f64>; 3],
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReviewView {
    /// The game's [`TableView::key`](crate::play::TableView).
    pub key: String,
    pub judge: String,
    pub nodes: u64,
    /// In positions.
    pub done: usize,
    pub total: usize,
    /// `None` before a speed is known.
    pub seconds_left: Option<f64>,
    pub running: bool,
    /// Why the review is incomplete, and what to do.
    pub notice: Option<String>,
    /// White's win probability before the first move, in per cent.
    pub white: Option<f64>,
    pub moves: Vec<ReviewedPly>,
    pub players: Option<[ReviewedPlayer; 2]>,
}

impl ReviewView {
    pub fn take(&mut self, review: &GameReview<'_>) {
        self.white = review.moves.first().filter(|first| first.ply == 0).map(|first| first.before.white);
        self.moves = review.moves.iter().map(reviewed).collect();
        self.players = Some(review.players.each_ref().map(player));
    }
}

fn reviewed(played: &ReviewedMove) -> ReviewedPly {
    let chess960 = shakmaty::Position::castles(&played.position).mode().is_chess960();
    let is_error = played.mark.is_some_and(engine::apps::review::judgement::Mark::is_error);
    let best = if is_error { played.best.as_slice() } else { &[] };
    ReviewedPly {
        ply: played.ply,
        mark: played.mark.map(|mark| mark.symbol()),
        name: played.mark.map(|mark| mark.name()),
        remark: remark(played),
        reason: played.reason.as_ref().map(Explanation::words),
        best: (!best.is_empty()).then(|| numbered(&played.position, &played.best_san)),
        best_uci: best.iter().map(|m| Game::uci(*m, chess960)).collect(),
        white: played.after.white,
        eval: played.after.comment(),
        accuracy: played.accuracy,
    }
}

fn player(summary: &PlayerSummary) -> ReviewedPlayer {
    ReviewedPlayer {
        moves: summary.moves,
        accuracy: summary.accuracy,
        errors: [summary.inaccuracies, summary.mistakes, summary.blunders],
        phases: summary.phases,
    }
}
