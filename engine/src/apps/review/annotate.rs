use super::game_review::{GameReview, ReviewedMove};
use super::judgement::{Class, Mark, MateChange};
use crate::chess::pgn::{MoveTree, NodeId, PgnGame, Step, without_commands};

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

pub const UNCLEAR: &str = "Unclear.";

/// One or two sentences about a marked or unclear move.
pub fn remark(played: &ReviewedMove) -> Option<String> {
    let Some(mark) = played.mark else {
        return (played.wanted && played.class == Class::Unclear).then(|| UNCLEAR.to_owned());
    };
    let what = what_of(mark, played.class == Class::MissedWin, played.mate);
    let best = played.best_san.first().filter(|_| mark.is_error());
    Some(best.map_or_else(|| what.clone(), |best| format!("{what} {best} was best.")))
}

fn what_of(mark: Mark, misses_win: bool, mate: Option<MateChange>) -> String {
    match (mark, mate) {
        (Mark::Brilliant, _) => "A sound sacrifice, and better than all other moves.".to_owned(),
        (Mark::Good, _) => "The only good move.".to_owned(),
        (_, Some(MateChange::Created)) => format!("{}: it allows a forced mate.", mark.name()),
        (_, Some(MateChange::Lost)) => format!("{}: a forced mate is lost.", mark.name()),
        (_, None) if misses_win => format!("{}: a win is missed.", mark.name()),
        (_, None) => format!("{}.", mark.name()),
    }
}

/// Whether a comment is the [`remark`] of some review.
pub fn is_remark(comment: &str) -> bool {
    let text = without_commands(comment);
    let what = text.strip_suffix(" was best.").and_then(|text| text.rsplit_once(' ')).map(|(what, _)| what);
    let what = what.unwrap_or(&text);
    let cases =
        [(false, None), (true, None), (false, Some(MateChange::Created)), (false, Some(MateChange::Lost))];
    let is_of = |mark| cases.iter().any(|(misses_win, mate)| what_of(mark, *misses_win, *mate) == what);
    what == UNCLEAR || Mark::ALL.into_iter().any(is_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_of_earlier_reviews_are_known_by_their_words() {
        for text in [
            "Blunder.",
            "[%eval 0.3] Mistake. Nf3 was best.",
            "Blunder: it allows a forced mate. O-O was best.",
            "A sound sacrifice, and better than all other moves.",
            "Mistake: a win is missed. Rd8+ was best.",
            "[%eval 0.1] Unclear.",
        ] {
            assert!(is_remark(text), "{text}");
        }
        for text in ["", "Blunder. Why?", "Nf3 was best.", "A mistake. Nf3 was best."] {
            assert!(!is_remark(text), "{text}");
        }
    }
}
