//! The answer to `tree`: one `info string` with a JSON object, so that no `info` of a running search can interleave.

use serde_json::{Value, json};
use shakmaty::Move;

use crate::chess::position::{Game, PositionError};
use crate::search::{MoveStats, Proof, Tree};

/// Describes the moves after `line`. The text may be longer than [`Writer::say`](super::io::Writer::say) allows.
pub fn answer(tree: &Tree, line: &[String], chess960: bool) -> Result<String, PositionError> {
    let mut game = tree.root_game().clone();
    let mut moves: Vec<Move> = Vec::new();
    for text in line {
        let m = game.parse_uci(text)?;
        game.play(m);
        moves.push(m);
    }
    let stats = tree.stats_after(&moves);
    let children =
        stats.as_ref().map(|stats| stats.iter().map(|stats| child(stats, chess960)).collect::<Vec<_>>());
    let answer = json!({ "moves": line, "held": stats.is_some(), "children": children.unwrap_or_default() });
    Ok(format!("info string tree {answer}"))
}

fn child(stats: &MoveStats, chess960: bool) -> Value {
    let rounded = |number: f32| (f64::from(number) * 1e5).round() / 1e5;
    let wdl = [stats.wdl.win, stats.wdl.draw, stats.wdl.loss].map(rounded);
    json!({
        "move": Game::uci(stats.m, chess960),
        "visits": stats.visits,
        "prior": rounded(stats.prior),
        "q": rounded(stats.q),
        "wdl": wdl,
        "value": stats.value.map(rounded),
        "proof": stats.proof.map(|proof| match proof {
            Proof::Win(_) => "win",
            Proof::Draw => "draw",
            Proof::Loss(_) => "loss",
        }),
    })
}
