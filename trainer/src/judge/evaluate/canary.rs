//! Canaries: built-in positions that show, by category, what a network has learnt.
//!
//! Columns of `trainer/data/canaries.tsv`: category, name, position as in UCI (with preceding moves if history
//! matters), kind of [`Criterion`], expected answer, other position of a comparison. No training data contains the
//! positions. `scripts/canaries.py` checks them with Stockfish.

use anyhow::{Context, Result};

use super::criterion::Criterion;
use super::judge::TestPosition;
use super::tsv;
use super::tsv::TableRow;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Category {
    pub name: &'static str,
    /// Weight in the total. 3: wins or loses at once. 2: decides long-term, or calibrates the value. 1: finer points,
    /// and errors that search corrects.
    pub weight: u32,
}

/// By urgency; then the categories of numbers (policy, WDL, search).
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

/// 0 for an unknown category.
pub fn weight(name: &str) -> u32 {
    CATEGORIES.iter().find(|category| category.name == name).map_or(0, |category| category.weight)
}

const DATA: &str = include_str!("../../../data/canaries.tsv");

/// In the order of [`CATEGORIES`].
pub fn canaries() -> Vec<TestPosition> {
    parse("canaries.tsv", DATA).expect("the program's own canaries are valid")
}

fn parse(name: &str, text: &str) -> Result<Vec<TestPosition>> {
    let rows = tsv::rows(name, text, "position")?;
    let named = |row: &TableRow<'_>| canary(row).with_context(|| format!("{name}, line {}", row.line));
    let mut items = rows.iter().map(named).collect::<Result<Vec<_>>>()?;
    items.sort_by_key(|(place, _)| *place);
    Ok(items.into_iter().map(|(_, item)| item).collect())
}

/// Also returns the index of the category.
fn canary(row: &TableRow<'_>) -> Result<(usize, TestPosition)> {
    let group = row.get("category");
    let place = CATEGORIES.iter().position(|category| category.name == group);
    let place = place.with_context(|| format!("no category is called \"{group}\""))?;
    let game = tsv::position(row.get("position"))?;
    let criterion = Criterion::parse(&game, row.get("question"), row.get("expected"), row.get("other"))?;
    Ok((place, TestPosition { group: group.into(), id: row.get("id").into(), game, criterion }))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    use engine::nets::eval::Uniform;

    use super::*;
    use crate::judge::evaluate::judge::judge;
    use crate::judge::evaluate::judged_network::JudgedNetwork;

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
    fn no_canary_accepts_every_legal_move() {
        for item in canaries() {
            let (Criterion::Plays(moves) | Criterion::Avoids(moves) | Criterion::Finds(moves)) =
                &item.criterion
            else {
                continue;
            };
            assert!(moves.len() < item.game.legal_moves().len(), "{}", item.id);
        }
    }

    #[test]
    fn a_network_answers_better_than_the_uniform_evaluator() {
        let mut networks = [
            JudgedNetwork::load(Path::new("embedded"), 0).unwrap(),
            JudgedNetwork::new("uniform", Box::new(Uniform), None),
        ];
        let graded = judge(&canaries(), &mut networks).unwrap();
        let right = |network: usize| graded.iter().filter(|row| row[network].alone == Some(true)).count();
        assert!(right(0) > 2 * right(1), "{} and {}", right(0), right(1));
    }

    #[test]
    fn invalid_canaries_are_named_by_line() {
        let head = "category\tid\tposition\tquestion\texpected\tother\n";
        for (row, why) in [
            ("tea\ta\tstartpos\tplays\te2e4", "no category is called \"tea\""),
            ("pins\ta\tstartpos\tplays\te2e5", "illegal move: e2e5"),
            ("pins\ta\tstartpos\tplays\t", "no moves are expected"),
            ("pins\ta\tstartpos\tlikes\te2e4", "no question is called \"likes\""),
            ("pins\ta\tstartpos\tsays\tq = 1", "\"q = 1\" is not a bound"),
            ("pins\ta\tstartpos\tsays\tpolicy < 0.1", "policy needs two positions"),
            ("pins\ta\tstartpos\tdiffers\tq > 0.1", "another position is for \"differs\""),
            ("pins\ta\tstartpos\tsays\tq > 0.1\tstartpos", "another position is for \"differs\""),
            ("pins\ta\tstartpos\tmates\tsoon", "\"soon\" is not a number of moves"),
        ] {
            let error = format!("{:#}", parse("c.tsv", &format!("{head}{row}\n")).unwrap_err());
            assert!(error.starts_with("c.tsv, line 2: ") && error.contains(why), "{error}");
        }
    }
}
