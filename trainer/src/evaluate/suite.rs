//! Suites of positions to be solved, as tables.

use std::path::Path;

use super::judge::Item;
use super::question::Question;
use super::tsv;
use super::tsv::Row;

/// Reads a suite: a table with a column `fen`, moves in UCI's notation. Its items are grouped by the column
/// `suite`, or else by the file's name.
///
/// # Errors
///
/// One line: the file can't be read, or what is wrong in which line.
pub fn read(file: &Path) -> Result<Vec<Item>, String> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot read {name}: {error}"))?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    parse(&name, &stem, &text)
}

fn parse(name: &str, stem: &str, text: &str) -> Result<Vec<Item>, String> {
    let rows = tsv::rows(name, text, "fen")?;
    let named = |row: &Row<'_>| item(row, stem).map_err(|why| format!("{name}, line {}: {why}", row.line));
    rows.iter().map(named).collect()
}

/// One position. It has best moves (`bm`), or moves to avoid (`am`), or a mate in so many moves (`dm`), of
/// which `pv_uci` may show the beginning; if more than one is there, the first of these counts.
fn item(row: &Row<'_>, stem: &str) -> Result<Item, String> {
    let game = tsv::position(row.get("fen"))?;
    let question = match ["bm", "am", "dm"].map(|column| row.get(column)) {
        ["", "", ""] => return Err("no bm, am or dm".into()),
        ["", "", count] => {
            let first = row.get("pv_uci").split_whitespace().next().unwrap_or_default();
            Question::mates(count, tsv::moves(&game, first)?)?
        }
        ["", avoid, _] => Question::parse(&game, "avoids", avoid, "")?,
        [best, ..] => Question::parse(&game, "plays", best, "")?,
    };
    let or = |text: &str, other: &str| if text.is_empty() { other.to_owned() } else { text.to_owned() };
    let group = or(row.get("suite"), stem);
    let id = or(row.get("id"), &row.line.to_string());
    Ok(Item { group, id, game, question })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "suite\tid\tfen\tbm\tam\tdm\tpoints\n";
    const MATE: &str = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1";

    fn read(rows: &str) -> Result<Vec<Item>, String> {
        parse("dir/mine.tsv", "mine", &format!("{HEAD}{rows}"))
    }

    #[test]
    fn rows_become_questions() {
        let rows = format!(
            "WAC\tone\t{MATE}\ta1a8 a1a7\t\t\t\nWAC\t\t{MATE}\t\tg1h1\t\t\n\tthree\t{MATE}\t\t\t1\t5\n"
        );
        let items = read(&rows).unwrap();
        let place = |item: &Item| (item.group.clone(), item.id.clone());
        assert_eq!(place(&items[0]), ("WAC".into(), "one".into()));
        assert_eq!(place(&items[1]), ("WAC".into(), "3".into()));
        assert_eq!(place(&items[2]), ("mine".into(), "three".into()));
        assert!(matches!(&items[0].question, Question::Plays(moves) if moves.len() == 2));
        assert!(matches!(&items[1].question, Question::Avoids(moves) if moves.len() == 1));
        assert!(matches!(&items[2].question, Question::Mates(1, moves) if moves.is_empty()));
    }

    #[test]
    fn a_variation_tells_its_first_move() {
        let table = format!("suite\tid\tfen\tdm\tpv_uci\nm\t1\t{MATE}\t1\ta1a8 and more\n");
        let items = parse("m.tsv", "m", &table).unwrap();
        assert!(matches!(&items[0].question, Question::Mates(1, moves) if moves.len() == 1));
    }

    #[test]
    fn bad_rows_are_named_by_file_and_line() {
        let good = format!("WAC\tone\t{MATE}\ta1a8\t\t\t\n");
        for (row, why) in [
            (format!("a\tb\t{MATE}\t\t\t\t\n"), "no bm, am or dm"),
            (format!("a\tb\t{MATE}\ta1b2\t\t\t\n"), "illegal move: a1b2"),
            (format!("a\tb\t{MATE}\tRa8\t\t\t\n"), "not a move: Ra8"),
            (format!("a\tb\t{MATE}\t\t\tsoon\t\n"), "\"soon\" is no number of moves"),
            ("a\tb\t8/8/8 w\ta1a8\t\t\t\n".into(), "not a FEN"),
        ] {
            let error = read(&format!("{good}{row}")).unwrap_err();
            assert!(error.starts_with("dir/mine.tsv, line 3: "), "{error}");
            assert!(error.contains(why), "{error}");
        }
    }
}
