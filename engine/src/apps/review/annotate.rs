use super::game_review::{GameReview, ReviewedMove};
use super::judgement::{Mark, MateChange};
use crate::chess::pgn::{MoveTree, NodeId, PgnGame, Step};

/// The game with the review's marks, evaluations, remarks and better lines. What is there already is not added again.
pub fn annotated(review: &GameReview<'_>, judge: &str) -> PgnGame {
    let mut game = review.game.clone();
    game.add_tag("Annotator", judge);
    let line: Vec<NodeId> = game.tree.main_line().collect();
    for played in &review.moves {
        annotate(&mut game.tree, line[played.ply], played);
    }
    game
}

fn annotate(tree: &mut MoveTree, node: NodeId, played: &ReviewedMove) {
    if let Some(mark) = played.mark {
        tree.add_nag(node, mark.nag());
    }
    let eval = played.after.comment().map(|eval| format!("[%eval {eval}]"));
    let comment: Vec<String> = eval.into_iter().chain(remark(played)).collect();
    tree.add_first_comment(node, &comment.join(" "));
    if played.mark.is_some_and(Mark::is_error) {
        let parent = tree.parent(node).expect("the root is no move");
        played.best.iter().fold(parent, |node, m| tree.play(node, Step::Move(*m)));
    }
}

/// One or two sentences about a marked move.
pub fn remark(played: &ReviewedMove) -> Option<String> {
    let mark = played.mark?;
    let what = match (mark, played.mate) {
        (Mark::Brilliant, _) => "The only good move, and a sacrifice.".to_owned(),
        (Mark::Good, _) => "The only good move.".to_owned(),
        (_, Some(MateChange::Created)) => format!("{}: it allows a forced mate.", mark.name()),
        (_, Some(MateChange::Lost)) => format!("{}: a forced mate is lost.", mark.name()),
        (_, None) => format!("{}.", mark.name()),
    };
    let best = played.best_san.first().filter(|_| mark.is_error());
    Some(best.map_or_else(|| what.clone(), |best| format!("{what} {best} was best.")))
}
