//! A position as SVG.

use std::fmt::{self, Display, Formatter};

use shakmaty::{Chess, Color, File, Move, Position, Rank, Square};

use super::Escaped;

/// In the units of the piece symbols.
const SQUARE: f64 = 45.0;

#[derive(Clone, Copy, Debug)]
pub struct Arrow {
    pub m: Move,
    /// In the style sheet, besides `arrow`.
    pub class: &'static str,
}

/// Seen by the side to move.
#[derive(Clone, Debug)]
pub struct Board<'a> {
    pub position: &'a Chess,
    pub last_move: Option<Move>,
    pub arrows: Vec<Arrow>,
    /// Text alternative of the picture.
    pub label: String,
}

/// The empty board, seen by White and by Black, as two symbols that all positions share.
pub fn squares() -> String {
    let side = 8.0 * SQUARE;
    let dark: String = (0..64)
        .filter(|index| (index / 8 + index % 8) % 2 == 1)
        .map(|index| format!("M{} {}h45v45h-45z", 45 * (index % 8), 45 * (index / 8)))
        .collect();
    let symbol = |color: Color| {
        let mut text = String::new();
        for index in 0..8 {
            let place = f64::from(index);
            let seen = color.fold_wb(index, 7 - index) as u32;
            let (file, rank) = (File::new(seen), Rank::new(7 - seen));
            let class = |dark: bool| if dark { "on-dark" } else { "on-light" };
            text += &format!(
                "<text class=\"coordinate {}\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{file}</text>",
                class(index % 2 == 0),
                (place + 1.0) * SQUARE - 2.0,
                side - 3.0,
            );
            text += &format!(
                "<text class=\"coordinate {}\" x=\"2\" y=\"{}\">{rank}</text>",
                class(index % 2 == 1),
                place * SQUARE + 10.0,
            );
        }
        let name = color.fold_wb("white", "black");
        format!(
            "<symbol id=\"{name}\" viewBox=\"0 0 {side} {side}\"><path class=\"light\" d=\"M0 0h{side}v{side}h-{side}z\"/>\
             <path class=\"dark\" d=\"{dark}\"/>{text}</symbol>\n"
        )
    };
    symbol(Color::White) + &symbol(Color::Black)
}

/// Upper left.
fn corner(square: Square, seen_by: Color) -> (f64, f64) {
    let (file, rank) = (f64::from(u32::from(square.file())), f64::from(u32::from(square.rank())));
    let (column, row) = seen_by.fold_wb((file, 7.0 - rank), (7.0 - file, rank));
    (column * SQUARE, row * SQUARE)
}

/// Castling is drawn as the king's move.
fn ends(m: Move) -> Option<(Square, Square)> {
    match m {
        Move::Castle { king, rook } => {
            let file = if rook > king { File::G } else { File::C };
            Some((king, Square::from_coords(file, king.rank())))
        }
        other => Some((other.from()?, other.to())),
    }
}

impl Display for Board<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let seen_by = self.position.turn();
        let side = 8.0 * SQUARE;
        let board = seen_by.fold_wb("white", "black");
        write!(
            f,
            "<svg viewBox=\"0 0 {side} {side}\" role=\"img\" aria-label=\"{}\"><use href=\"#{board}\"/>",
            Escaped(&self.label)
        )?;
        if let Some((from, to)) = self.last_move.and_then(ends) {
            for square in [from, to] {
                let (x, y) = corner(square, seen_by);
                write!(f, "<path class=\"moved\" d=\"M{x} {y}h45v45h-45z\"/>")?;
            }
        }
        for (square, piece) in self.position.board().iter() {
            let (x, y) = corner(square, seen_by);
            let color = piece.color.fold_wb('w', 'b');
            let role = piece.role.upper_char();
            write!(f, "<use href=\"#{color}{role}\" x=\"{x}\" y=\"{y}\" width=\"45\" height=\"45\"/>")?;
        }
        for arrow in &self.arrows {
            if let Some((from, to)) = ends(arrow.m) {
                write!(f, "<path class=\"arrow {}\" d=\"{}\"/>", arrow.class, outline(from, to, seen_by))?;
            }
        }
        f.write_str("</svg>")
    }
}

fn outline(from: Square, to: Square, seen_by: Color) -> String {
    let middle = |square| {
        let (x, y) = corner(square, seen_by);
        (x + SQUARE / 2.0, y + SQUARE / 2.0)
    };
    let ((x1, y1), (x2, y2)) = (middle(from), middle(to));
    let length = (x2 - x1).hypot(y2 - y1).max(1.0);
    let (dx, dy) = ((x2 - x1) / length, (y2 - y1) / length);
    let point = |along: f64, aside: f64| {
        format!("{:.1} {:.1}", x1 + along * dx - aside * dy, y1 + along * dy + aside * dx)
    };
    let head = length - 18.0;
    let corners =
        [(10.0, 4.0), (head, 4.0), (head, 12.0), (length, 0.0), (head, -12.0), (head, -4.0), (10.0, -4.0)];
    let points: Vec<String> = corners.map(|(along, aside)| point(along, aside)).to_vec();
    format!("M{}z", points.join("L"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::position::Game;

    fn board(game: &Game, label: &str) -> String {
        let (position, label) = (game.position(), label.to_owned());
        Board { position, last_move: None, arrows: Vec::new(), label }.to_string()
    }

    #[test]
    fn a_board_is_seen_by_the_side_to_move() {
        let game = Game::from_fen("8/8/8/8/8/8/8/K6k b - - 0 1").unwrap();
        let svg = board(&game, "a <b>");
        assert!(svg.contains("#black") && svg.contains("aria-label=\"a &lt;b&gt;\""), "{svg}");
        // Black sees h1 at the upper left, a1 at the upper right.
        assert!(svg.contains("#bK\" x=\"0\" y=\"0\"") && svg.contains("#wK\" x=\"315\" y=\"0\""), "{svg}");
        let white = Game::from_fen("8/8/8/8/8/8/8/K6k w - - 0 1").unwrap();
        let svg = board(&white, "");
        assert!(svg.contains("#wK\" x=\"0\" y=\"315\""), "{svg}");
    }

    #[test]
    fn castling_is_drawn_as_the_kings_move() {
        let game = Game::from_fen("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1").unwrap();
        let drawn = |uci: &str| ends(game.parse_uci(uci).unwrap());
        assert_eq!(drawn("e1g1"), Some((Square::E1, Square::G1)));
        assert_eq!(drawn("e1c1"), Some((Square::E1, Square::C1)));
        assert_eq!(drawn("a1a8"), Some((Square::A1, Square::A8)));
    }

    #[test]
    fn every_square_has_its_colour_and_coordinates() {
        let squares = squares();
        assert_eq!(squares.matches('M').count(), 2 * 33, "the board and its dark squares, twice");
        assert_eq!(squares.matches("<text").count(), 32);
    }
}
