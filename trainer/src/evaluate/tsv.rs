//! Tables with tabs between the columns and a first line that names them, and the positions in them.

use engine::position::Game;
use shakmaty::Move;

/// A line of a table.
pub struct Row<'a> {
    /// Its number in the file.
    pub line: usize,
    head: &'a str,
    cells: &'a str,
}

impl<'a> Row<'a> {
    /// What stands in a column, without blanks around it; nothing if the table or the line lacks it.
    pub fn get(&self, column: &str) -> &'a str {
        let place = self.head.split('\t').position(|name| name.trim() == column);
        place.and_then(|place| self.cells.split('\t').nth(place)).unwrap_or_default().trim()
    }
}

/// The lines of a table but the first; empty ones and those that begin with `#` are left out.
///
/// # Errors
///
/// If there is no column of this name.
pub fn rows<'a>(name: &str, text: &'a str, needed: &str) -> Result<Vec<Row<'a>>, String> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (first, head) = lines.next().unwrap_or((0, ""));
    if !head.split('\t').any(|column| column.trim() == needed) {
        return Err(format!("{name}, line {}: no column is called \"{needed}\"", first + 1));
    }
    Ok(lines.map(|(index, cells)| Row { line: index + 1, head, cells }).collect())
}

/// The position that `text` describes as UCI does: a FEN or `startpos`, then maybe `moves` and moves.
///
/// # Errors
///
/// If the text describes none, or one in which the game is over.
pub fn position(text: &str) -> Result<Game, String> {
    let (start, moves) = text.split_once(" moves ").unwrap_or((text, ""));
    let mut game = match start.trim() {
        "startpos" => Game::new(),
        fen => Game::from_fen(fen).map_err(|error| error.to_string())?,
    };
    for text in moves.split_whitespace() {
        let m = game.parse_uci(text).map_err(|error| error.to_string())?;
        game.play(m);
    }
    match game.outcome() {
        None => Ok(game),
        Some(_) => Err(format!("the game is over in \"{text}\"")),
    }
}

/// The moves, in UCI's notation with blanks between them, that are legal in `game`.
///
/// # Errors
///
/// The first that isn't.
pub fn moves(game: &Game, text: &str) -> Result<Vec<Move>, String> {
    text.split_whitespace().map(|uci| game.parse_uci(uci).map_err(|error| error.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_go_by_their_names_and_may_be_missing() {
        let table = "# a comment\nid\tdm\tfen\r\na\t2\tone\r\n\n# another\nb\t \t\"two\nc\n";
        let rows = rows("t", table, "fen").unwrap();
        let found: Vec<_> = rows.iter().map(|row| (row.line, row.get("fen"), row.get("dm"))).collect();
        assert_eq!(found, [(3, "one", "2"), (6, "\"two", ""), (7, "", "")]);
        assert_eq!(rows[0].get("bm"), "");
    }

    #[test]
    fn a_table_without_the_column_that_matters_is_none() {
        let error = |table| rows("t.tsv", table, "fen").err().unwrap();
        assert_eq!(error("id\tepd\n"), "t.tsv, line 1: no column is called \"fen\"");
        assert_eq!(error("# fen\n#\n\nid\nfen\n"), "t.tsv, line 4: no column is called \"fen\"");
        assert_eq!(error(""), "t.tsv, line 1: no column is called \"fen\"");
    }

    #[test]
    fn positions_are_written_as_in_uci() {
        let game = position("startpos moves e2e4 e7e5").unwrap();
        assert_eq!((game.ply(), game.legal_moves().len()), (2, 29));
        assert_eq!(position("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1").unwrap().ply(), 0);
        assert!(position("nonsense").unwrap_err().starts_with("not a FEN"));
        assert_eq!(position("startpos moves e2e5").unwrap_err(), "illegal move: e2e5");
        let mated = "startpos moves f2f3 e7e5 g2g4 d8h4";
        assert_eq!(position(mated).unwrap_err(), format!("the game is over in \"{mated}\""));
    }
}
