//! White's win probability as SVG, stretched to the page's width; its labels are HTML, not to be stretched.

use std::fmt::{self, Display, Formatter, Write};

use shakmaty::Position;

use super::{Escaped, anchor, class};
use crate::apps::review::game_review::{GameReview, ReviewedMove};

const LABELS: usize = 8;

pub struct Curve<'a> {
    /// From 1.
    pub number: usize,
    /// Has a move.
    pub review: &'a GameReview<'a>,
    /// The moves with boards.
    pub moments: &'a [&'a ReviewedMove],
}

impl Display for Curve<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let moves = &self.review.moves;
        let width = 10 * moves.len();
        let height = |white: f64| 100.0 - white;
        write!(
            f,
            "<figure class=\"curve\">\n<div class=\"plot\"><svg viewBox=\"0 0 {width} 100\" preserveAspectRatio=\"none\" \
             role=\"img\" aria-label=\"White’s win probability after each move\">"
        )?;
        let mut path = format!("M0 100V{:.1}", height(moves[0].before.white));
        for (played, x) in moves.iter().zip((10..).step_by(10)) {
            write!(path, "L{x} {:.1}", height(played.after.white))?;
        }
        write!(f, "<path class=\"white\" d=\"{path}V100z\"/>")?;
        write!(f, "<line class=\"half\" x1=\"0\" x2=\"{width}\" y1=\"50\" y2=\"50\"/>")?;
        for (index, pair) in moves.windows(2).enumerate() {
            if pair[0].phase != pair[1].phase {
                let x = 10 * (index + 1);
                let phase = pair[1].phase.name();
                write!(
                    f,
                    "<line class=\"phase\" x1=\"{x}\" x2=\"{x}\" y1=\"0\" y2=\"100\"><title>{phase}</title></line>"
                )?;
            }
        }
        for (played, x) in moves.iter().zip((10..).step_by(10)) {
            let Some(mark) = played.mark else { continue };
            let (class, y) = (class(mark), height(played.after.white));
            let point = format!(
                "<path class=\"point {class}\" d=\"M{x} {y:.1}h0.01\"><title>{}{}</title></path>",
                Escaped(&played.san),
                mark.symbol()
            );
            if self.moments.iter().any(|moment| moment.ply == played.ply) {
                write!(f, "<a href=\"#{}\">{point}</a>", anchor(self.number, played))?;
            } else {
                write!(f, "{point}")?;
            }
        }
        f.write_str("</svg></div>\n<div class=\"axis\">")?;
        let step = moves.len().div_ceil(LABELS).max(1).next_multiple_of(2);
        for (index, played) in moves.iter().enumerate().step_by(step) {
            let number = played.position.fullmoves();
            write!(
                f,
                "<span style=\"left:{:.1}%\">{number}</span>",
                100.0 * index as f64 / moves.len() as f64
            )?;
        }
        writeln!(
            f,
            "</div>\n<figcaption class=\"faint\">White’s win probability (light) after each move; points are marked moves, \
             dashed lines the phases.</figcaption>\n</figure>"
        )
    }
}
