//! Words of messages.

use std::fmt::Display;

/// "1 game", "2 games".
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    if count == N::from(1) { format!("{count} {noun}") } else { format!("{count} {}", plural(noun)) }
}

fn plural(noun: &str) -> String {
    let before = noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u']));
    match before {
        Some(stem) => format!("{stem}ies"),
        // As in "epochs", where "ch" is spoken as "k".
        None if noun.ends_with("och") => format!("{noun}s"),
        None if ["s", "x", "ch", "sh", "o"].iter().any(|end| noun.ends_with(end)) => format!("{noun}es"),
        None => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        let nouns = ["game", "ply", "batch", "epoch", "veto"];
        assert_eq!(nouns.map(|noun| counted(1, noun)), ["1 game", "1 ply", "1 batch", "1 epoch", "1 veto"]);
        let many = nouns.map(|noun| counted(0, noun));
        assert_eq!(many, ["0 games", "0 plies", "0 batches", "0 epochs", "0 vetoes"]);
    }
}
