//! Tactics suites: positions with best moves, moves to avoid or mates.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::criterion::Criterion;
use super::judge::TestPosition;
use super::tsv;
use super::tsv::TableRow;

/// A position's group is its column `suite`, or else the file stem.
pub fn read(file: &Path) -> Result<Vec<TestPosition>> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    parse(&name, &stem, &text)
}

fn parse(name: &str, stem: &str, text: &str) -> Result<Vec<TestPosition>> {
    let rows = tsv::rows(name, text, "fen")?;
    let named = |row: &TableRow<'_>| item(row, stem).with_context(|| format!("{name}, line {}", row.line));
    rows.iter().map(named).collect()
}

/// The first present column applies: best moves (`bm`), moves to avoid (`am`), moves to mate (`dm`, with the first move
/// of `pv_uci` if given).
fn item(row: &TableRow<'_>, stem: &str) -> Result<TestPosition> {
    let game = tsv::position(row.get("fen"))?;
    let criterion = match ["bm", "am", "dm"].map(|column| row.get(column)) {
        ["", "", ""] => bail!("no bm, am or dm"),
        ["", "", count] => {
            let first = row.get("pv_uci").split_whitespace().next().unwrap_or_default();
            Criterion::mates(count, tsv::moves(&game, first)?)?
        }
        ["", avoid, _] => Criterion::parse(&game, "avoids", avoid, "")?,
        [best, ..] => Criterion::parse(&game, "plays", best, "")?,
    };
    let or = |text: &str, other: &str| if text.is_empty() { other.to_owned() } else { text.to_owned() };
    let group = or(row.get("suite"), stem);
    let id = or(row.get("id"), &row.line.to_string());
    Ok(TestPosition { group, id, game, criterion })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "suite\tid\tfen\tbm\tam\tdm\tpoints\n";
    const MATE: &str = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1";

    fn read(rows: &str) -> Result<Vec<TestPosition>> {
        parse("dir/mine.tsv", "mine", &format!("{HEAD}{rows}"))
    }

    #[test]
    fn rows_become_criteria() {
        let rows = format!(
            "WAC\tone\t{MATE}\ta1a8 a1a7\t\t\t\nWAC\t\t{MATE}\t\tg1h1\t\t\n\tthree\t{MATE}\t\t\t1\t5\n"
        );
        let items = read(&rows).unwrap();
        let place = |item: &TestPosition| (item.group.clone(), item.id.clone());
        assert_eq!(place(&items[0]), ("WAC".into(), "one".into()));
        assert_eq!(place(&items[1]), ("WAC".into(), "3".into()));
        assert_eq!(place(&items[2]), ("mine".into(), "three".into()));
        assert!(matches!(&items[0].criterion, Criterion::Plays(moves) if moves.len() == 2));
        assert!(matches!(&items[1].criterion, Criterion::Avoids(moves) if moves.len() == 1));
        assert!(matches!(&items[2].criterion, Criterion::Mates(1, moves) if moves.is_empty()));
    }

    #[test]
    fn the_first_move_of_a_variation_is_used() {
        let table = format!("suite\tid\tfen\tdm\tpv_uci\nm\t1\t{MATE}\t1\ta1a8 and more\n");
        let items = parse("m.tsv", "m", &table).unwrap();
        assert!(matches!(&items[0].criterion, Criterion::Mates(1, moves) if moves.len() == 1));
    }

    #[test]
    fn bad_rows_are_named_by_file_and_line() {
        let good = format!("WAC\tone\t{MATE}\ta1a8\t\t\t\n");
        for (row, why) in [
            (format!("a\tb\t{MATE}\t\t\t\t\n"), "no bm, am or dm"),
            (format!("a\tb\t{MATE}\ta1b2\t\t\t\n"), "illegal move: a1b2"),
            (format!("a\tb\t{MATE}\tRa8\t\t\t\n"), "not a move: Ra8"),
            (format!("a\tb\t{MATE}\t\t\tsoon\t\n"), "\"soon\" is not a number of moves"),
            ("a\tb\t8/8/8 w\ta1a8\t\t\t\n".into(), "not a FEN"),
        ] {
            let error = format!("{:#}", read(&format!("{good}{row}")).unwrap_err());
            assert!(error.starts_with("dir/mine.tsv, line 3: "), "{error}");
            assert!(error.contains(why), "{error}");
        }
    }
}
