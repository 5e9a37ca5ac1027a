//! Changes of a session's tree, and their undoing.

use std::time::{Duration, Instant};

use engine::chess::pgn::{MoveTree, NodeId, Step};
use shakmaty::ByColor;

use super::clock::ChessClock;
use super::hint::is_note;
use super::played::{GameEnd, PlayedGame};
use super::seats::ActionError;
use super::session::{Session, end_of};
use super::variations::{Edit, game_to, numbered, text_of};

const MOST_UNDONE: usize = 100;

/// What was there before an edit.
#[derive(Clone, Debug)]
pub(super) struct Edited {
    label: String,
    tree: MoveTree,
    game: PlayedGame,
    at: NodeId,
    end: Option<GameEnd>,
    is_loaded: bool,
    /// The clock and its times before each move, if the change set them back.
    clock: Option<(ChessClock, Vec<ByColor<Duration>>)>,
}

impl Session {
    /// What undoing a change will bring back. `with_clock` is for changes that set the clock back.
    pub(super) fn before_change(&self, label: String, with_clock: bool) -> Edited {
        let clock = self.clock.clone().filter(|_| with_clock);
        Edited {
            label,
            tree: self.record.tree.clone(),
            game: self.game.clone(),
            at: self.at,
            end: self.end,
            is_loaded: self.is_loaded,
            clock: clock.map(|clock| (clock, self.clock_before.clone())),
        }
    }

    pub fn node(&self, index: u32) -> Result<NodeId, ActionError> {
        let gone = || ActionError::NotNow("This move is no longer in the game.".to_owned());
        self.record.tree.node(index).ok_or_else(gone)
    }

    /// Adds moves, separated by blanks, after any position. At the last one of a running game, they are played, if both
    /// sides are persons without a clock, as on a board for analysis. Returns the last one's node.
    pub fn add_variation(&mut self, node: u32, text: &str, now: Instant) -> Result<NodeId, ActionError> {
        let mut node = self.node(node)?;
        let unread = || {
            ActionError::Invalid(
                "No move can be added here: what leads here is no legal line, or is too long.".into(),
            )
        };
        let mut game = game_to(&self.record.tree, node, self.game.start()).ok_or_else(unread)?;
        let last = || ActionError::NotNow("This leads past the game's last position: play on there.".into());
        let mut tree = self.record.tree.clone();
        let mut first_added = None;
        let words = if text.trim().is_empty() { vec![text] } else { text.split_whitespace().collect() };
        for (index, word) in words.iter().enumerate() {
            if node == self.at && self.end.is_none() {
                if self.persons() < 2 || self.clock.is_some() {
                    return Err(last());
                }
                return self.play_on(&words[index..], game, now);
            }
            let m = game.parse(word).map_err(ActionError::Invalid)?;
            game.play(m).map_err(ActionError::NotNow)?;
            let step = Step::Move(m);
            let is_new = tree.children(node).all(|child| tree.step(child) != Some(&step));
            if is_new && node == self.at && tree.first_child(node).is_none() && self.is_played {
                tree.add_comment(node, &self.end.map(GameEnd::sentence).unwrap_or_default());
            }
            node = tree.play(node, step);
            first_added = first_added.or(is_new.then_some(node));
        }
        if let Some(added) = first_added {
            let label = format!("add {}", numbered(&tree, added));
            let end = self.end;
            self.replace_tree(label, tree, None, end);
        }
        Ok(node)
    }

    /// Plays all of these moves, or none.
    fn play_on(&mut self, words: &[&str], mut game: PlayedGame, now: Instant) -> Result<NodeId, ActionError> {
        for word in words {
            let m = game.parse(word).map_err(ActionError::Invalid)?;
            game.play(m).map_err(ActionError::NotNow)?;
        }
        let mut before = self.before_change(String::new(), false);
        let edits = self.edits.clone();
        for (index, word) in words.iter().enumerate() {
            self.play(word, now)?;
            if index == 0 {
                before.label = format!("play {}", numbered(&self.record.tree, self.at));
            }
        }
        // Unlike a typed move, a line is soon clicked by mistake.
        self.edits = edits;
        self.remember(before);
        Ok(self.at)
    }

    /// Replaces the tree by one with the same moves, and more besides.
    pub fn annotate(&mut self, tree: MoveTree) {
        let end = self.end;
        self.replace_tree("keep the review".to_owned(), tree, None, end);
    }

    /// Where the game was loaded, or both sides are persons without a clock, the game follows the main line.
    /// `seen` is the comment that the person began to change.
    pub fn edit(&mut self, node: u32, edit: &Edit, seen: Option<&str>) -> Result<(), ActionError> {
        let node = self.node(node)?;
        if seen.is_some_and(|seen| seen != text_of(&self.record.tree.notes(node).comments)) {
            let text = "This comment was changed in another tab meanwhile: read it, then write yours again.";
            return Err(ActionError::NotNow(text.to_owned()));
        }
        let mut tree = self.record.tree.clone();
        let label = edit.label(&numbered(&tree, node));
        edit.apply(&mut tree, node);
        if tree == self.record.tree {
            return Ok(());
        }
        let is_on_main_line = match self.game.ply() {
            0 => true,
            ply => tree.main_line().nth(ply - 1) == Some(self.at),
        };
        if is_on_main_line {
            let end = self.end;
            self.replace_tree(label, tree, None, end);
            return Ok(());
        }
        if !self.is_loaded && (self.persons() < 2 || self.clock.is_some()) {
            let text = "The moves that were played stay the main line: add variations, or take moves back.";
            return Err(ActionError::NotNow(text.into()));
        }
        let mut game = PlayedGame::new(self.game.start().map(str::to_owned))
            .map_err(|error| ActionError::Invalid(error.to_string()))?;
        tree.moves().into_iter().try_for_each(|m| game.play(m)).map_err(ActionError::NotNow)?;
        let by_rules =
            |end: &GameEnd| PlayedGame::end(&self.game).is_some_and(|other| other.reason == end.reason);
        let end = game.end().or(self.end.filter(|end| !by_rules(end)));
        self.replace_tree(label, tree, Some(game), end);
        Ok(())
    }

    /// Keeps a change so that it can be undone.
    pub(super) fn remember(&mut self, before: Edited) {
        if self.edits.len() >= MOST_UNDONE {
            self.edits.remove(0);
        }
        self.edits.push(before);
    }

    fn replace_tree(
        &mut self,
        label: String,
        tree: MoveTree,
        game: Option<PlayedGame>,
        end: Option<GameEnd>,
    ) {
        self.remember(self.before_change(label, false));
        (self.record.tree, self.end) = (tree, end);
        self.is_played = true;
        if let Some(game) = game {
            self.game = game;
            self.at = end_of(&self.record, self.game.ply());
            self.revision += 1;
        }
    }

    /// Writes a hint as a comment on the last position, over an earlier hint of this engine. It is no edit to undo, so
    /// the earlier trees, which undo brings back, get it too.
    pub fn note_hint(&mut self, note: &str, engine: &str) {
        self.is_played = true;
        let earlier = self.edits.iter_mut().map(|edited| &mut edited.tree);
        for tree in earlier.chain([&mut self.record.tree]) {
            // A tree from before the position was reached lacks it.
            let Some(node) = tree.node(self.at.index()) else { continue };
            let mut comments = tree.notes(node).comments.clone();
            comments.retain(|comment| !is_note(comment, engine));
            comments.push(note.to_owned());
            tree.set_comments(node, &comments);
        }
    }

    pub fn undo_label(&self) -> Option<String> {
        self.edits.last().map(|edited| edited.label.clone())
    }

    pub fn undo(&mut self, now: Instant) -> Result<(), ActionError> {
        let none = || ActionError::NotNow("There is no change to undo.".to_owned());
        let Edited { tree, game, at, end, is_loaded, clock, .. } = self.edits.pop().ok_or_else(none)?;
        // An engine that thinks about its move goes on if the game is the same.
        self.revision += u64::from(game.position_command() != self.game.position_command());
        (self.record.tree, self.game, self.at, self.end) = (tree, game, at, end);
        self.is_loaded = is_loaded;
        if let Some((mut clock, clock_before)) = clock {
            if end.is_none() {
                clock.run(self.game.turn(), now);
            }
            (self.clock, self.clock_before) = (Some(clock), clock_before);
        }
        Ok(())
    }
}
