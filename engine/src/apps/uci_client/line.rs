//! Parses engine output word by word, as GUIs do.

use super::InfoLine;

#[derive(Clone, Debug, PartialEq)]
pub enum EngineLine {
    Name(String),
    Option(OptionSpec),
    UciOk,
    ReadyOk,
    Info(InfoLine),
    /// A root move's `info string`, as lc0 and Philidor write it.
    Numbers(MoveNumbers),
    /// Philidor's answer to `tree`, as JSON.
    Tree(String),
    /// The reason why `tree` has no answer.
    NoTree(String),
    /// The move as written.
    Best(String),
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionSpec {
    pub name: String,
    /// Of a `spin` option.
    pub range: Option<(i64, i64)>,
    /// Of a `check` or `combo` option, what it can be.
    pub choices: Vec<String>,
}

/// Statistics of a root move, for the side to move at the root.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveNumbers {
    /// UCI notation; `node` is the root, which ends a list.
    pub uci: String,
    pub visits: u64,
    /// 0 to 1.
    pub prior: f32,
    /// −1 to 1.
    pub q: f32,
}

impl EngineLine {
    pub fn parse(line: &str) -> EngineLine {
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("uciok") => EngineLine::UciOk,
            Some("readyok") => EngineLine::ReadyOk,
            Some("id") if words.next() == Some("name") => {
                EngineLine::Name(words.collect::<Vec<_>>().join(" "))
            }
            Some("option") => option(words).map_or(EngineLine::Other, EngineLine::Option),
            Some("info") if line.starts_with("info string ") => info_string(&line["info string ".len()..]),
            Some("info") => InfoLine::parse(words).map_or(EngineLine::Other, EngineLine::Info),
            Some("bestmove") => EngineLine::Best(words.next().unwrap_or_default().to_owned()),
            _ => EngineLine::Other,
        }
    }
}

fn option<'a>(words: impl Iterator<Item = &'a str>) -> Option<OptionSpec> {
    let words: Vec<&str> = words.collect();
    // Some engines leave out the type.
    let kind = words.iter().position(|word| *word == "type").unwrap_or(words.len());
    let (names, rest) = words.split_at(kind);
    let (&first, names) = names.split_first()?;
    let number = |key| {
        let index = rest.iter().position(|word| *word == key)?;
        rest.get(index + 1)?.parse().ok()
    };
    let choices = match rest.get(1) {
        Some(&"check") => vec!["true".to_owned(), "false".to_owned()],
        // A value may have several words.
        Some(&"combo") => {
            let parts = rest.split(|word| *word == "var").skip(1);
            let of =
                |part: &[&str]| part.split(|word| *word == "default").next().unwrap_or_default().join(" ");
            parts.map(of).collect()
        }
        _ => Vec::new(),
    };
    (first == "name" && !names.is_empty()).then(|| OptionSpec {
        name: names.join(" "),
        range: number("min").zip(number("max")),
        choices,
    })
}

fn info_string(text: &str) -> EngineLine {
    if let Some(answer) = text.strip_prefix("tree {") {
        return EngineLine::Tree(format!("{{{answer}"));
    }
    if let Some(reason) = text.strip_prefix("tree: ") {
        return EngineLine::NoTree(reason.to_owned());
    }
    numbers(text).map_or(EngineLine::Other, EngineLine::Numbers)
}

/// Parses `e2e4  (877 ) N:      15 (+ 0) (P: 20.18%) (WL:  0.04000) … (Q:  0.03125) …`.
fn numbers(text: &str) -> Option<MoveNumbers> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let after = |key| words.iter().position(|word| *word == key).and_then(|at| words.get(at + 1));
    let number = |key| after(key)?.trim_end_matches(['%', ')']).parse::<f32>().ok();
    Some(MoveNumbers {
        uci: (*words.first()?).to_owned(),
        visits: after("N:")?.parse().ok()?,
        prior: number("(P:")? / 100.0,
        q: number("(Q:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_with_spaces_and_ranges_are_read() {
        let option = |line| match EngineLine::parse(line) {
            EngineLine::Option(option) => Some((option.name, option.range)),
            _ => None,
        };
        let elo = "option name UCI_Elo type spin default 1500 min 800 max 1700";
        assert_eq!(option(elo), Some(("UCI_Elo".into(), Some((800, 1700)))));
        assert_eq!(option("option name Clear Hash type button"), Some(("Clear Hash".into(), None)));
        assert_eq!(option("option name Own Book"), Some(("Own Book".into(), None)));
        assert_eq!(option("option name"), None);
    }

    #[test]
    fn statistics_of_moves_and_answers_about_the_tree_are_read() {
        let line = "info string e2e4  (877 ) N:      15 (+ 0) (P: 20.18%) (WL:  0.04000) (D: 0.360) (M:  0.0) \
                    (Q:  0.03125) (U: 0.04250) (S:  0.07375) (V: -0.0312)";
        let EngineLine::Numbers(numbers) = EngineLine::parse(line) else { panic!("numbers") };
        assert_eq!((numbers.uci.as_str(), numbers.visits, numbers.q), ("e2e4", 15, 0.03125));
        assert!((numbers.prior - 0.2018).abs() < 1e-6);
        let root = "info string node  (20  ) N:      16 (+ 0) (P: 100.0%) (WL:  0.04000) (D: 0.360) (M:  0.0) (Q: -0.5) ";
        assert!(
            matches!(EngineLine::parse(root), EngineLine::Numbers(numbers) if numbers.uci == "node" && numbers.q == -0.5)
        );
        assert_eq!(EngineLine::parse("info string tree {\"a\": 1}"), EngineLine::Tree("{\"a\": 1}".into()));
        assert_eq!(
            EngineLine::parse("info string tree: illegal move"),
            EngineLine::NoTree("illegal move".into())
        );
        assert_eq!(EngineLine::parse("info string N: x"), EngineLine::Other);
    }

    #[test]
    fn names_and_moves_are_read() {
        assert_eq!(EngineLine::parse("bestmove e2e4 ponder c7c5"), EngineLine::Best("e2e4".into()));
        assert_eq!(EngineLine::parse("id name My Engine 3"), EngineLine::Name("My Engine 3".into()));
        assert!(matches!(EngineLine::parse("info depth 1 score cp 3 pv e2e4"), EngineLine::Info(_)));
    }
}
