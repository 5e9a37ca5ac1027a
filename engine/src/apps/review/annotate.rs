use super::game_review::{GameReview, ReviewedMove};
use super::judgement::{Mark, MateChange};
use crate::chess::pgn::{Additions, MoveAdditions};

pub fn additions(review: &GameReview<'_>, judge: &str) -> Additions {
    let moves = review.moves.iter().map(|played| (played.ply, move_additions(played))).collect();
    Additions { tag: Some(("Annotator".to_owned(), judge.to_owned())), moves }
}

fn move_additions(played: &ReviewedMove) -> MoveAdditions {
    let eval = played.after.comment().map(|eval| format!("[%eval {eval}]"));
    let is_error = played.mark.is_some_and(Mark::is_error);
    let comment: Vec<String> = eval.into_iter().chain(remark(played)).collect();
    MoveAdditions {
        nag: played.mark.map(Mark::nag),
        comment: (!comment.is_empty()).then(|| comment.join(" ")),
        variation: if is_error { played.best_san.clone() } else { Vec::new() },
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
