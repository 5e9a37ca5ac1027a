//! Live boards of games, matches and training runs. A tab is sent only the boards that it shows.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde::Serialize;
use tokio::sync::watch;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LiveBoard {
    pub white: String,
    pub black: String,
    pub title: String,
    pub fen: String,
    /// UCI notation.
    pub last: Option<String>,
    pub san: Option<String>,
    pub check: bool,
    pub ply: usize,
    /// White, Black.
    pub left_ms: Option<[u64; 2]>,
    pub end: Option<String>,
}

pub type BoardMap = BTreeMap<String, Arc<str>>;

#[derive(Clone, Debug)]
pub struct Boards {
    all: Arc<watch::Sender<BoardMap>>,
    /// The boards that tabs show.
    shown: Arc<watch::Sender<HashSet<String>>>,
}

impl Default for Boards {
    fn default() -> Boards {
        let shown = watch::Sender::new(HashSet::new());
        Boards { all: Arc::new(watch::Sender::new(BoardMap::new())), shown: Arc::new(shown) }
    }
}

impl Boards {
    /// Also what belongs to a board, such as its engines' thoughts.
    pub fn set(&self, name: &str, board: &impl Serialize) {
        let text: Arc<str> = serde_json::to_string(board).expect("boards can be written as JSON").into();
        self.all.send_if_modified(|boards| boards.insert(name.to_owned(), text.clone()) != Some(text));
    }

    pub fn remove(&self, name: &str) {
        self.all.send_if_modified(|boards| boards.remove(name).is_some());
    }

    /// Replaces all boards whose names begin with `prefix`.
    pub fn replace(&self, prefix: &str, boards: &[(String, LiveBoard)]) {
        let named = |name: &str| boards.iter().any(|(kept, _)| kept == name);
        self.all.send_if_modified(|all| {
            let before = all.len();
            all.retain(|name, _| !name.starts_with(prefix) || named(name));
            before != all.len()
        });
        boards.iter().for_each(|(name, board)| self.set(name, board));
    }

    pub fn subscribe(&self) -> watch::Receiver<BoardMap> {
        self.all.subscribe()
    }

    /// Tabs show these boards now.
    pub fn show(&self, names: HashSet<String>) {
        self.shown.send_if_modified(|shown| {
            let changed = *shown != names;
            *shown = names;
            changed
        });
    }

    /// The boards that tabs show.
    pub fn shown(&self) -> watch::Receiver<HashSet<String>> {
        self.shown.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_are_replaced_by_their_prefix_and_equal_ones_are_no_change() {
        let boards = Boards::default();
        let board = |ply| LiveBoard { ply, ..LiveBoard::default() };
        boards.set("match/0", &board(1));
        boards.replace("run/0/", &[("run/0/7".into(), board(3)), ("run/0/8".into(), board(4))]);
        let mut seen = boards.subscribe();
        seen.mark_unchanged();
        boards.set("match/0", &board(1));
        boards.replace("run/0/", &[("run/0/7".into(), board(3)), ("run/0/8".into(), board(4))]);
        assert!(!seen.has_changed().unwrap());
        boards.replace("run/0/", &[("run/0/8".into(), board(5))]);
        assert_eq!(seen.borrow_and_update().keys().collect::<Vec<_>>(), ["match/0", "run/0/8"]);
    }
}
