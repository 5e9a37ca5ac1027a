//! A game's moves with variations, as an arena of nodes that are named by their index.

use shakmaty::san::SanPlus;
use shakmaty::{Chess, EnPassantMode, FromSetup, Move, Position};

use super::comments::{command, tidy, with_command};
use crate::chess::position::Game;

/// Stays valid while its tree lives; a deleted node's is not given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    pub fn index(self) -> u32 {
        self.0
    }
}

/// What leads to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Move(Move),
    /// A null move. Not allowed in check.
    Null,
    /// A word of a variation that is no legal move there. All that follows it is unread, too.
    Unread(Box<str>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Before the move: only for a move that begins a variation.
    pub before: Vec<String>,
    /// After the move, or of the start position. Without braces.
    pub comments: Vec<String>,
    /// `!` is 1, `?` 2, `!!` 3, `??` 4, `!?` 5, `?!` 6.
    pub nags: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Node {
    /// The root's is [`Step::Null`] and has no meaning.
    step: Step,
    notes: Option<Box<Notes>>,
    parent: u32,
    first_child: u32,
    last_child: u32,
    next: u32,
}

const NONE: u32 = u32::MAX;

/// The first child of a node continues its line, the others are variations, in order.
#[derive(Clone, Debug)]
pub struct MoveTree {
    start: Game,
    nodes: Vec<Node>,
}

static NO_NOTES: Notes = Notes { before: Vec::new(), comments: Vec::new(), nags: Vec::new() };

impl Node {
    fn new(step: Step, parent: u32) -> Node {
        Node { step, notes: None, parent, first_child: NONE, last_child: NONE, next: NONE }
    }
}

fn id(index: u32) -> Option<NodeId> {
    (index != NONE).then_some(NodeId(index))
}

/// The position after a null move; `None` in check.
fn after_null(position: &Chess) -> Option<Chess> {
    let mut setup = position.to_setup(EnPassantMode::Always);
    setup.fullmoves = setup.fullmoves.saturating_add(u32::from(setup.turn.is_black()));
    setup.halfmoves += 1;
    setup.swap_turn();
    Chess::from_setup(setup, position.castles().mode()).ok()
}

impl Step {
    /// The position after the step, if it is a legal one.
    pub fn played(&self, position: &Chess) -> Option<Chess> {
        match self {
            Step::Move(m) => {
                let mut after = position.clone();
                after.play_unchecked(*m);
                Some(after)
            }
            Step::Null => after_null(position),
            Step::Unread(_) => None,
        }
    }

    /// As in a PGN, from the position before it.
    pub fn text(&self, before: Option<&Chess>) -> String {
        match (self, before) {
            (Step::Move(m), Some(position)) => SanPlus::from_move(position.clone(), *m).to_string(),
            (Step::Unread(word), _) => word.to_string(),
            _ => "--".to_owned(),
        }
    }
}

impl MoveTree {
    pub const ROOT: NodeId = NodeId(0);

    pub fn new(start: Game) -> MoveTree {
        MoveTree { start, nodes: vec![Node::new(Step::Null, NONE)] }
    }

    pub fn start(&self) -> &Game {
        &self.start
    }

    /// The node of an index that came from outside, such as from a page.
    pub fn node(&self, index: u32) -> Option<NodeId> {
        let is_used = index == 0 || self.nodes.get(index as usize).is_some_and(|node| node.parent != NONE);
        is_used.then_some(NodeId(index))
    }

    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        id(self.at(node).parent)
    }

    /// `None` for the root.
    pub fn step(&self, node: NodeId) -> Option<&Step> {
        (node != MoveTree::ROOT).then(|| &self.at(node).step)
    }

    pub fn notes(&self, node: NodeId) -> &Notes {
        self.at(node).notes.as_deref().unwrap_or(&NO_NOTES)
    }

    pub fn first_child(&self, node: NodeId) -> Option<NodeId> {
        id(self.at(node).first_child)
    }

    /// The next move in place of the same one.
    pub fn next_sibling(&self, node: NodeId) -> Option<NodeId> {
        id(self.at(node).next)
    }

    pub fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.first_child(node), |child| self.next_sibling(*child))
    }

    /// Without the root.
    pub fn main_line(&self) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.first_child(MoveTree::ROOT), |node| self.first_child(*node))
    }

    /// The main line up to the first null move.
    pub fn moves(&self) -> Vec<Move> {
        let move_of = |node| match self.at(node).step {
            Step::Move(m) => Some(m),
            _ => None,
        };
        self.main_line().map_while(move_of).collect()
    }

    /// From the root's child to `node`.
    pub fn path(&self, node: NodeId) -> Vec<NodeId> {
        let up = std::iter::successors(Some(node), |node| self.parent(*node));
        let mut path: Vec<NodeId> = up.take_while(|node| *node != MoveTree::ROOT).collect();
        path.reverse();
        path
    }

    /// With the history since the last null move. `None` if an unread word leads there.
    pub fn game_at(&self, node: NodeId) -> Option<Game> {
        let mut game = self.start.clone();
        for node in self.path(node) {
            match &self.at(node).step {
                Step::Move(m) => game.play(*m),
                step => game = Game::from_position(step.played(game.position())?),
            }
        }
        Some(game)
    }

    /// All nodes but the root: each line to its end before its variations, the last move's variations first.
    pub fn walk(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.walk_below(MoveTree::ROOT)
    }

    fn walk_below(&self, top: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let mut open: Vec<NodeId> = Vec::from_iter(self.first_child(top));
        std::iter::from_fn(move || {
            let node = open.pop()?;
            open.extend(self.next_sibling(node));
            open.extend(self.first_child(node));
            Some(node)
        })
    }

    /// Enters the child with this step, or adds it as the last variation. The step must be possible there.
    pub fn play(&mut self, node: NodeId, step: Step) -> NodeId {
        let known = self.children(node).find(|child| self.at(*child).step == step);
        known.unwrap_or_else(|| self.add(node, step))
    }

    /// Adds a last child, even a second one with the same step, as files have them.
    pub(super) fn add(&mut self, parent: NodeId, step: Step) -> NodeId {
        let child = u32::try_from(self.nodes.len()).ok().filter(|index| *index != NONE);
        let child = child.expect("a tree has fewer than 2^32 moves");
        self.nodes.push(Node::new(step, parent.0));
        self.append(parent, child);
        NodeId(child)
    }

    /// Makes the line that `node` belongs to one place more important among its siblings. Returns whether it was not
    /// the first already.
    pub fn promote(&mut self, node: NodeId) -> bool {
        let Some(head) = self.lines_head(node) else { return false };
        let place = self.place(head);
        self.put(head, place - 1);
        self.settle();
        true
    }

    /// One place less important. In a line without siblings, the line that it belongs to moves.
    pub fn demote(&mut self, node: NodeId) -> bool {
        let up = std::iter::successors(Some(node), |node| self.parent(*node));
        let Some(head) = up.into_iter().find(|node| self.next_sibling(*node).is_some()) else { return false };
        let place = self.place(head);
        self.put(head, place + 1);
        self.settle();
        true
    }

    /// Makes the main line go through `node`.
    pub fn make_main(&mut self, node: NodeId) -> bool {
        let mut changed = false;
        while let Some(head) = self.lines_head(node) {
            self.put(head, 0);
            changed = true;
        }
        self.settle();
        changed
    }

    /// Deletes the move and all that follows it. The root stays.
    pub fn delete(&mut self, node: NodeId) {
        self.cut(node);
        self.settle();
    }

    fn cut(&mut self, node: NodeId) {
        let Some(parent) = self.parent(node) else { return };
        self.unlink(node);
        self.becomes_first(parent);
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            open.extend(self.children(node));
            let gone = &mut self.nodes[node.0 as usize];
            *gone = Node::new(Step::Null, NONE);
        }
    }

    pub fn add_comment(&mut self, node: NodeId, comment: &str) {
        let comment = tidy(comment);
        if !comment.is_empty() {
            push(&mut self.notes_mut(node).comments, comment);
        }
    }

    /// Replaces the comments after the move.
    pub fn set_comments(&mut self, node: NodeId, comments: &[String]) {
        self.notes_mut(node).comments.clear();
        comments.iter().for_each(|comment| self.add_comment(node, comment));
    }

    /// Puts a comment before the others, unless it is there already.
    pub fn add_first_comment(&mut self, node: NodeId, comment: &str) {
        let comment = tidy(comment);
        if !comment.is_empty() && !self.notes(node).comments.contains(&comment) {
            self.notes_mut(node).comments.insert(0, comment);
        }
    }

    pub fn add_nag(&mut self, node: NodeId, nag: u8) {
        if !self.notes(node).nags.contains(&nag) {
            push(&mut self.notes_mut(node).nags, nag);
        }
    }

    pub fn remove_nag(&mut self, node: NodeId, nag: u8) {
        self.notes_mut(node).nags.retain(|other| *other != nag);
    }

    /// The argument of the first command `[%name argument]` in the node's comments.
    pub fn command(&self, node: NodeId, name: &str) -> Option<&str> {
        self.notes(node).comments.iter().find_map(|comment| command(comment, name))
    }

    /// Replaces the commands of this name; without an argument it removes them.
    pub fn set_command(&mut self, node: NodeId, name: &str, argument: Option<&str>) {
        let comments = with_command(&self.notes(node).comments, name, argument);
        self.set_comments(node, &comments);
    }

    pub(super) fn notes_mut(&mut self, node: NodeId) -> &mut Notes {
        self.nodes[node.0 as usize].notes.get_or_insert_default()
    }

    fn at(&self, node: NodeId) -> &Node {
        &self.nodes[node.0 as usize]
    }

    fn append(&mut self, parent: NodeId, child: u32) {
        let parent = &mut self.nodes[parent.0 as usize];
        let last = std::mem::replace(&mut parent.last_child, child);
        match last {
            NONE => parent.first_child = child,
            last => self.nodes[last as usize].next = child,
        }
    }

    /// The first node on the way to the root that is no first child.
    fn lines_head(&self, node: NodeId) -> Option<NodeId> {
        let up = std::iter::successors(Some(node), |node| self.parent(*node));
        up.into_iter()
            .find(|node| self.parent(*node).is_some_and(|parent| self.first_child(parent) != Some(*node)))
    }

    fn place(&self, node: NodeId) -> usize {
        let parent = self.parent(node).expect("the root has no siblings");
        self.children(parent).take_while(|child| *child != node).count()
    }

    /// Moves a node to a place among its siblings.
    pub(super) fn put(&mut self, node: NodeId, place: usize) {
        let Some(parent) = self.parent(node) else { return };
        self.unlink(node);
        let before = place.checked_sub(1).and_then(|place| self.children(parent).nth(place));
        let next = match before {
            Some(before) => std::mem::replace(&mut self.nodes[before.0 as usize].next, node.0),
            None => std::mem::replace(&mut self.nodes[parent.0 as usize].first_child, node.0),
        };
        self.nodes[node.0 as usize].next = next;
        if next == NONE {
            self.nodes[parent.0 as usize].last_child = node.0;
        }
        self.becomes_first(parent);
    }

    fn unlink(&mut self, node: NodeId) {
        let parent = self.parent(node).expect("the root is in no list");
        let before = self.children(parent).take_while(|child| *child != node).last();
        let next = std::mem::replace(&mut self.nodes[node.0 as usize].next, NONE);
        match before {
            Some(before) => self.nodes[before.0 as usize].next = next,
            None => self.nodes[parent.0 as usize].first_child = next,
        }
        if next == NONE {
            self.nodes[parent.0 as usize].last_child = before.map_or(NONE, |before| before.0);
        }
    }

    /// Unread words are allowed in variations and after a null move. Where they would continue the game they become a
    /// comment, because a reader would refuse them.
    pub(super) fn settle(&mut self) {
        let mut node = MoveTree::ROOT;
        while let Some(next) = self.first_child(node) {
            match self.step(next) {
                Some(Step::Move(_)) => node = next,
                Some(Step::Unread(word)) if **word != *"--" => {
                    let words = std::iter::once(next).chain(self.walk_below(next));
                    let texts = words.flat_map(|node| {
                        let step = self.step(node).expect("it is not the root").text(None);
                        let notes = self.notes(node);
                        notes.before.iter().cloned().chain([step]).chain(notes.comments.iter().cloned())
                    });
                    let text = texts.collect::<Vec<_>>().join(" ");
                    self.cut(next);
                    self.add_comment(node, &text);
                }
                _ => return,
            }
        }
    }

    /// A PGN has no place for comments before a move that continues a line: they go before its own.
    fn becomes_first(&mut self, parent: NodeId) {
        let Some(first) = self.first_child(parent) else { return };
        if !self.notes(first).before.is_empty() {
            let notes = self.notes_mut(first);
            let before = std::mem::take(&mut notes.before);
            notes.comments.splice(..0, before);
        }
    }
}

/// Most notes have one entry, and files have many.
fn push<T>(list: &mut Vec<T>, item: T) {
    if list.is_empty() {
        list.reserve_exact(1);
    }
    list.push(item);
}

impl PartialEq for MoveTree {
    /// Same start, moves, order and notes, whatever the names of the nodes.
    fn eq(&self, other: &MoveTree) -> bool {
        let mut pairs = vec![(MoveTree::ROOT, MoveTree::ROOT)];
        if self.start.fen() != other.start.fen() {
            return false;
        }
        while let Some((a, b)) = pairs.pop() {
            if self.at(a).step != other.at(b).step || self.notes(a) != other.notes(b) {
                return false;
            }
            let (mut ours, mut theirs) = (self.children(a), other.children(b));
            loop {
                match (ours.next(), theirs.next()) {
                    (Some(a), Some(b)) => pairs.push((a, b)),
                    (None, None) => break,
                    _ => return false,
                }
            }
        }
        true
    }
}
