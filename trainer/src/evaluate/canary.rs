//! Canaries: our own positions that say what a network has learnt of each side of chess.
//!
//! `trainer/data/canaries.tsv` holds them: the category, a name, the position as in UCI (with the last moves
//! before it, where a game led there: networks see them), the question ([`Question`]), what is expected, the
//! other position for a comparison. The positions come from games that a weak Stockfish played against itself
//! for this purpose, from endings made at random, and some were made by hand; no training data holds them.
//! `scripts/canaries.py` has Stockfish check them.

use super::judge::Item;
use super::question::Question;
use super::tsv;
use super::tsv::Row;

/// A side of chess that canaries tell about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Category {
    /// As the table and the data call it.
    pub name: &'static str,
    /// How much it counts in the total: 3 for what loses or wins a game at once, 2 for what decides games over
    /// many moves and for a value that a search can trust, 1 for finer points and for what a search mends.
    pub weight: u32,
}

/// All categories: at first what happens on the board, by urgency, then what the numbers are like.
pub const CATEGORIES: [Category; 26] = [
    Category { name: "free capture", weight: 3 },
    Category { name: "mate in one", weight: 3 },
    Category { name: "mate in two", weight: 2 },
    Category { name: "defence", weight: 3 },
    Category { name: "check response", weight: 3 },
    Category { name: "tactics", weight: 3 },
    Category { name: "king safety", weight: 2 },
    Category { name: "trapped pieces", weight: 2 },
    Category { name: "pins", weight: 2 },
    Category { name: "endgame", weight: 2 },
    Category { name: "development", weight: 2 },
    Category { name: "passed pawns", weight: 2 },
    Category { name: "pawn structure", weight: 1 },
    Category { name: "outposts", weight: 1 },
    Category { name: "bishop quality", weight: 1 },
    Category { name: "tempo", weight: 1 },
    Category { name: "prophylaxis", weight: 1 },
    Category { name: "zugzwang", weight: 1 },
    Category { name: "fortress", weight: 1 },
    Category { name: "exchanges", weight: 2 },
    Category { name: "repetition", weight: 2 },
    Category { name: "material evaluation", weight: 3 },
    Category { name: "WDL health", weight: 2 },
    Category { name: "policy diversity", weight: 1 },
    Category { name: "search behaviour", weight: 2 },
    Category { name: "history", weight: 1 },
];

/// The weight of the category of this name; 0 if there is none.
pub fn weight(name: &str) -> u32 {
    CATEGORIES.iter().find(|category| category.name == name).map_or(0, |category| category.weight)
}

const DATA: &str = include_str!("../../data/canaries.tsv");

/// The canaries of this program, in the order of [`CATEGORIES`].
///
/// # Panics
///
/// Never: a test reads them.
pub fn canaries() -> Vec<Item> {
    parse("canaries.tsv", DATA).expect("the program's own canaries can be read")
}

/// Reads a table of canaries.
///
/// # Errors
///
/// One line: what is wrong in which line.
fn parse(name: &str, text: &str) -> Result<Vec<Item>, String> {
    let rows = tsv::rows(name, text, "position")?;
    let named = |row: &Row<'_>| canary(row).map_err(|why| format!("{name}, line {}: {why}", row.line));
    let mut items = rows.iter().map(named).collect::<Result<Vec<_>, _>>()?;
    items.sort_by_key(|(place, _)| *place);
    Ok(items.into_iter().map(|(_, item)| item).collect())
}

/// A canary with the place of its category.
fn canary(row: &Row<'_>) -> Result<(usize, Item), String> {
    let group = row.get("category");
    let place = CATEGORIES.iter().position(|category| category.name == group);
    let place = place.ok_or_else(|| format!("no category is called \"{group}\""))?;
    let game = tsv::position(row.get("position"))?;
    let question = Question::parse(&game, row.get("question"), row.get("expected"), row.get("other"))?;
    Ok((place, Item { group: group.into(), id: row.get("id").into(), game, question }))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    use engine::eval::Uniform;

    use super::*;
    use crate::evaluate::judge::judge;
    use crate::evaluate::player::Player;

    #[test]
    fn every_category_has_ten_legal_canaries_or_more() {
        let items = parse("canaries.tsv", DATA).unwrap();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for item in &items {
            *counts.entry(&item.group).or_default() += 1;
        }
        for category in CATEGORIES {
            let count = counts.get(category.name).copied().unwrap_or(0);
            assert!(count >= 10, "{}: {count}", category.name);
        }
        let names: BTreeSet<_> = items.iter().map(|item| &item.id).collect();
        assert_eq!(names.len(), items.len(), "names are unique");
    }

    #[test]
    fn no_canary_asks_for_what_every_move_is() {
        for item in canaries() {
            let (Question::Plays(moves) | Question::Avoids(moves) | Question::Finds(moves)) = &item.question
            else {
                continue;
            };
            assert!(moves.len() < item.game.legal_moves().len(), "{}", item.id);
        }
    }

    #[test]
    fn canaries_tell_a_network_from_none() {
        let mut players = [
            Player::load(Path::new("embedded"), 0).unwrap(),
            Player::new("uniform", Box::new(Uniform), None),
        ];
        let verdicts = judge(&canaries(), &mut players).unwrap();
        let right = |player: usize| verdicts.iter().filter(|row| row[player].alone == Some(true)).count();
        assert!(right(0) > 2 * right(1), "{} and {}", right(0), right(1));
    }

    #[test]
    fn bad_canaries_are_named_by_line() {
        let head = "category\tid\tposition\tquestion\texpected\tother\n";
        for (row, why) in [
            ("tea\ta\tstartpos\tplays\te2e4", "no category is called \"tea\""),
            ("pins\ta\tstartpos\tplays\te2e5", "illegal move: e2e5"),
            ("pins\ta\tstartpos\tplays\t", "no moves are expected"),
            ("pins\ta\tstartpos\tlikes\te2e4", "no question is called \"likes\""),
            ("pins\ta\tstartpos\tsays\tq = 1", "\"q = 1\" is no claim"),
            ("pins\ta\tstartpos\tsays\tpolicy < 0.1", "policy is known of two positions only"),
            ("pins\ta\tstartpos\tdiffers\tq > 0.1", "another position goes with \"differs\""),
            ("pins\ta\tstartpos\tsays\tq > 0.1\tstartpos", "another position goes with \"differs\""),
            ("pins\ta\tstartpos\tmates\tsoon", "\"soon\" is no number of moves"),
        ] {
            let error = parse("c.tsv", &format!("{head}{row}\n")).unwrap_err();
            assert!(error.starts_with("c.tsv, line 2: ") && error.contains(why), "{error}");
        }
    }
}
