use anyhow::{Result, bail, ensure};
use engine::chess::position::Game;
use shakmaty::Move;

pub struct TableRow<'a> {
    /// From 1.
    pub line: usize,
    head: &'a str,
    cells: &'a str,
}

impl<'a> TableRow<'a> {
    /// The trimmed cell; empty if the table or the line lacks the column.
    pub fn get(&self, column: &str) -> &'a str {
        let place = self.head.split('\t').position(|name| name.trim() == column);
        place.and_then(|place| self.cells.split('\t').nth(place)).unwrap_or_default().trim()
    }
}

/// Skips empty lines and `#` comments. The column `needed` must exist.
pub fn rows<'a>(name: &str, text: &'a str, needed: &str) -> Result<Vec<TableRow<'a>>> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (first, head) = lines.next().unwrap_or((0, ""));
    let has_column = head.split('\t').any(|column| column.trim() == needed);
    ensure!(has_column, "{name}, line {}: no column is called \"{needed}\"", first + 1);
    Ok(lines.map(|(index, cells)| TableRow { line: index + 1, head, cells }).collect())
}

/// A FEN or `startpos`, optionally with `moves …`, as in UCI. The game must not be over.
pub fn position(text: &str) -> Result<Game> {
    let (start, moves) = text.split_once(" moves ").unwrap_or((text, ""));
    let fen = Some(start.trim()).filter(|start| *start != "startpos");
    let game = Game::from_uci(fen, moves.split_whitespace())?;
    match game.outcome() {
        None => Ok(game),
        Some(_) => bail!("the game is over in \"{text}\""),
    }
}

/// Legal moves of `game` in UCI notation, separated by blanks.
pub fn moves(game: &Game, text: &str) -> Result<Vec<Move>> {
    text.split_whitespace().map(|uci| Ok(game.parse_uci(uci)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name_and_may_be_missing() {
        let table = "# a comment\nid\tdm\tfen\r\na\t2\tone\r\n\n# another\nb\t \t\"two\nc\n";
        let rows = rows("t", table, "fen").unwrap();
        let found: Vec<_> = rows.iter().map(|row| (row.line, row.get("fen"), row.get("dm"))).collect();
        assert_eq!(found, [(3, "one", "2"), (6, "\"two", ""), (7, "", "")]);
        assert_eq!(rows[0].get("bm"), "");
    }

    #[test]
    fn a_table_without_the_needed_column_is_refused() {
        let error = |table| rows("t.tsv", table, "fen").err().unwrap().to_string();
        assert_eq!(error("id\tepd\n"), "t.tsv, line 1: no column is called \"fen\"");
        assert_eq!(error("# fen\n#\n\nid\nfen\n"), "t.tsv, line 4: no column is called \"fen\"");
        assert_eq!(error(""), "t.tsv, line 1: no column is called \"fen\"");
    }

    #[test]
    fn positions_are_written_as_in_uci() {
        let game = position("startpos moves e2e4 e7e5").unwrap();
        assert_eq!((game.ply(), game.legal_moves().len()), (2, 29));
        assert_eq!(position("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1").unwrap().ply(), 0);
        assert!(position("nonsense").unwrap_err().to_string().starts_with("not a FEN"));
        assert_eq!(position("startpos moves e2e5").unwrap_err().to_string(), "illegal move: e2e5");
        let mated = "startpos moves f2f3 e7e5 g2g4 d8h4";
        assert_eq!(position(mated).unwrap_err().to_string(), format!("the game is over in \"{mated}\""));
    }
}
