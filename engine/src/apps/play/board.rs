use std::fmt::Write;

use shakmaty::{Color, File, Move, Piece, Position, Rank, Role, Square};

use crate::chess::position::Game;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum BoardStyle {
    /// Letters, White's in capitals; the last move is between brackets
    Ascii,
    /// Chess figures; the last move is between brackets
    Unicode,
    /// Chess figures on coloured squares
    Colour,
}

/// Background of a square, and of a square of the last move.
const LIGHT: [&str; 2] = ["\x1b[48;5;180m", "\x1b[48;5;186m"];
const DARK: [&str; 2] = ["\x1b[48;5;137m", "\x1b[48;5;143m"];
const WHITE_PIECE: &str = "\x1b[1;38;5;231m";
const BLACK_PIECE: &str = "\x1b[1;38;5;16m";
const RESET: &str = "\x1b[0m";

impl BoardStyle {
    /// Figures in a UTF-8 locale, with colours at a terminal without `NO_COLOR`. Letters otherwise, and on Windows,
    /// whose consoles differ.
    pub fn of_terminal(is_terminal: bool) -> BoardStyle {
        let set = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
        let utf8 = locale.to_ascii_uppercase().replace('-', "").ends_with("UTF8");
        match (utf8 && cfg!(not(windows)), is_terminal && set("NO_COLOR").is_none()) {
            (true, true) => BoardStyle::Colour,
            (true, false) => BoardStyle::Unicode,
            (false, _) => BoardStyle::Ascii,
        }
    }
}

pub(super) fn draw(game: &Game, style: BoardStyle, side: Color) -> String {
    let board = game.position().board();
    let last: Vec<Square> = game.last_move().map_or(Vec::new(), squares);
    let order = |index: u32| if side.is_white() { 7 - index } else { index };
    let mut text = String::new();
    for rank in (0..8).map(order).map(Rank::new) {
        text += &format!(" {rank} ");
        for file in (0..8).map(order).map(|file| File::new(7 - file)) {
            let square = Square::from_coords(file, rank);
            draw_square(&mut text, board.piece_at(square), square, last.contains(&square), style);
        }
        text.push('\n');
    }
    text += "   ";
    for file in (0..8).map(order).map(|file| File::new(7 - file)) {
        text += &format!(" {file} ");
    }
    text.push('\n');
    text
}

fn squares(m: Move) -> Vec<Square> {
    [m.from(), Some(m.to())].into_iter().flatten().collect()
}

fn draw_square(text: &mut String, piece: Option<Piece>, square: Square, last: bool, style: BoardStyle) {
    let figure = match (piece, style) {
        (None, BoardStyle::Colour) => ' ',
        (None, _) => {
            if square.is_light() {
                '.'
            } else {
                ':'
            }
        }
        (Some(piece), BoardStyle::Ascii) => piece.char(),
        (Some(piece), BoardStyle::Unicode) => figure(piece),
        // Filled figures, coloured for both sides.
        (Some(piece), BoardStyle::Colour) => figure(Piece { color: Color::Black, ..piece }),
    };
    if style == BoardStyle::Colour {
        let background = if square.is_light() { LIGHT } else { DARK }[usize::from(last)];
        let colour =
            if piece.is_some_and(|piece| piece.color.is_white()) { WHITE_PIECE } else { BLACK_PIECE };
        let _ = write!(text, "{background}{colour} {figure} {RESET}");
    } else {
        let [open, close] = if last { ['[', ']'] } else { [' ', ' '] };
        text.extend([open, figure, close]);
    }
}

fn figure(piece: Piece) -> char {
    let [white, black] = match piece.role {
        Role::King => ['♔', '♚'],
        Role::Queen => ['♕', '♛'],
        Role::Rook => ['♖', '♜'],
        Role::Bishop => ['♗', '♝'],
        Role::Knight => ['♘', '♞'],
        Role::Pawn => ['♙', '♟'],
    };
    piece.color.fold_wb(white, black)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_board_from_both_sides_with_the_last_move() {
        let game = Game::from_uci(None, ["e2e4"]).unwrap();
        let white = draw(&game, BoardStyle::Ascii, Color::White);
        let lines: Vec<&str> = white.lines().collect();
        assert_eq!(lines[0], " 8  r  n  b  q  k  b  n  r ");
        assert_eq!(lines[4], " 4  .  :  .  : [P] :  .  : ");
        assert_eq!(lines[6], " 2  P  P  P  P [.] P  P  P ");
        assert_eq!(lines[8], "    a  b  c  d  e  f  g  h ");
        let black = draw(&game, BoardStyle::Unicode, Color::Black);
        let lines: Vec<&str> = black.lines().collect();
        assert_eq!(lines[0], " 1  ♖  ♘  ♗  ♔  ♕  ♗  ♘  ♖ ");
        assert_eq!(lines[8], "    h  g  f  e  d  c  b  a ");
        let colour = draw(&game, BoardStyle::Colour, Color::White);
        assert_eq!(colour.matches(RESET).count(), 64);
        assert!(!colour.contains('♔') && colour.matches('♚').count() == 2);
    }
}
