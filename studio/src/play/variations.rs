//! The tree of moves as the page shows and changes it.

use engine::chess::pgn::{MoveTree, NodeId, Shape, Step, without_commands};
use engine::chess::position::Game;
use serde::{Deserialize, Serialize};
use shakmaty::fen::Fen;
use shakmaty::{Chess, EnPassantMode, Position};

use super::played::{LegalMove, PlayedGame};

/// The NAGs of `!`, `?`, `!!`, `??`, `!?` and `?!`.
const MARKS: std::ops::RangeInclusive<u8> = 1..=6;

/// What a person may change at a move: its place among the variations, or what is noted there.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Edit {
    /// One place up among its variations.
    Promote,
    /// One place down.
    Demote,
    MakeMain,
    Delete,
    /// Replaces the text after the move; clocks and other commands stay.
    Comment(String),
    /// Replaces the marks from `!` to `?!` by this NAG; 0 is none.
    Mark(u8),
    /// Replaces the arrows and squares, by words such as `Ge2e4` and `Rd5`.
    Shapes(Vec<String>),
}

impl Edit {
    /// In words, for [`Session::undo_label`](super::Session::undo_label).
    pub fn label(&self, of: &str) -> String {
        match self {
            Edit::Promote => format!("promote {of}"),
            Edit::Demote => format!("demote {of}"),
            Edit::MakeMain => format!("make {of} the main line"),
            Edit::Delete => format!("delete {of}"),
            Edit::Comment(_) => format!("comment on {of}"),
            Edit::Mark(_) => format!("mark {of}"),
            Edit::Shapes(_) => format!("draw at {of}"),
        }
    }

    pub fn apply(&self, tree: &mut MoveTree, node: NodeId) {
        match self {
            Edit::Promote => _ = tree.promote(node),
            Edit::Demote => _ = tree.demote(node),
            Edit::MakeMain => _ = tree.make_main(node),
            Edit::Delete => tree.delete(node),
            Edit::Comment(text) => set_text(tree, node, text),
            Edit::Mark(mark) => {
                MARKS.for_each(|other| tree.remove_nag(node, other));
                if MARKS.contains(mark) && node != MoveTree::ROOT {
                    tree.add_nag(node, *mark);
                }
            }
            Edit::Shapes(words) => {
                let shapes: Vec<Shape> = words.iter().flat_map(|word| Shape::read(word)).collect();
                set_shapes(tree, node, "cal", shapes.iter().filter(|shape| shape.to.is_some()));
                set_shapes(tree, node, "csl", shapes.iter().filter(|shape| shape.to.is_none()));
            }
        }
    }
}

/// Replaces the text of all comments by one comment, with the commands first.
fn set_text(tree: &mut MoveTree, node: NodeId, text: &str) {
    let commands: String = tree.notes(node).comments.iter().map(|comment| commands_of(comment)).collect();
    let text = without_commands(text);
    tree.set_comments(node, &[format!("{commands} {text}")]);
}

/// The `[%…]` commands of a comment, without its text.
pub fn commands_of(comment: &str) -> String {
    let mut commands = String::new();
    let mut rest = comment;
    while let Some(at) = rest.find("[%") {
        let end = rest[at..].find(']').map_or(rest.len(), |length| at + length + 1);
        commands += &rest[at..end];
        rest = &rest[end..];
    }
    commands
}

/// The text of comments, without `[%…]` commands.
pub fn text_of(comments: &[String]) -> String {
    let texts = comments.iter().map(|comment| without_commands(comment));
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

fn set_shapes<'a>(tree: &mut MoveTree, node: NodeId, name: &str, shapes: impl Iterator<Item = &'a Shape>) {
    let words: Vec<String> = shapes.map(Shape::to_string).collect();
    tree.set_command(node, name, (!words.is_empty()).then(|| words.join(",")).as_deref());
}

/// A position of the tree.
#[derive(Clone, Debug, Serialize)]
pub struct PositionView {
    pub node: u32,
    pub legal: Vec<LegalMove>,
    /// The position ends the game by the rules, so there is nothing to evaluate.
    pub is_final: bool,
    /// ECO code and name.
    pub opening: Option<String>,
}

impl PositionView {
    /// `game` leads there; `None` if what leads there is no chess.
    pub fn of(node: NodeId, game: Option<&PlayedGame>) -> PositionView {
        PositionView {
            node: node.index(),
            legal: game.map(PlayedGame::legal).unwrap_or_default(),
            is_final: game.is_none_or(|game| game.end().is_some()),
            opening: game.and_then(PlayedGame::opening).map(ToString::to_string),
        }
    }
}

/// A move of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeView {
    pub id: u32,
    pub parent: u32,
    /// Empty for a null move and for a word that is no move.
    pub uci: String,
    pub san: String,
    /// The position after the move; empty after a word that is no move.
    pub fen: String,
    pub check: bool,
    /// Comments before the move, if it begins a variation, and after it, without `[%…]` commands.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub before: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub comment: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nags: Vec<u8>,
    /// As in the file: `0.31`, `#3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eval: Option<String>,
    /// Time left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shapes: Vec<String>,
}

/// All moves, parents before their children and siblings in their order. The first is the start, without a move.
pub fn nodes(tree: &MoveTree, chess960: bool) -> Vec<NodeView> {
    let start = tree.start().position().clone();
    let mut views = vec![node_view(tree, MoveTree::ROOT, None, Some(&start), chess960)];
    let mut open: Vec<(NodeId, Option<Chess>)> = vec![(MoveTree::ROOT, Some(start))];
    while let Some((parent, before)) = open.pop() {
        let children = open.len();
        for child in tree.children(parent) {
            let step = tree.step(child).expect("a child has a move");
            let after = before.as_ref().and_then(|before| step.played(before));
            views.push(node_view(tree, child, before.as_ref(), after.as_ref(), chess960));
            open.push((child, after));
        }
        open[children..].reverse();
    }
    views
}

fn node_view(
    tree: &MoveTree,
    node: NodeId,
    before: Option<&Chess>,
    after: Option<&Chess>,
    chess960: bool,
) -> NodeView {
    let notes = tree.notes(node);
    let step = tree.step(node);
    let shapes = ["cal", "csl"].into_iter().filter_map(|name| tree.command(node, name)).flat_map(Shape::read);
    NodeView {
        id: node.index(),
        parent: tree.parent(node).unwrap_or(MoveTree::ROOT).index(),
        uci: match step {
            Some(Step::Move(m)) => Game::uci(*m, chess960),
            _ => String::new(),
        },
        san: step.map(|step| step.text(before)).unwrap_or_default(),
        fen: after
            .map(|after| Fen::from_position(after, EnPassantMode::Legal).to_string())
            .unwrap_or_default(),
        check: after.is_some_and(Position::is_check),
        before: text_of(&notes.before),
        comment: text_of(&notes.comments),
        nags: notes.nags.clone(),
        eval: tree.command(node, "eval").map(str::to_owned),
        clock: tree.command(node, "clk").map(str::to_owned),
        shapes: shapes.map(|shape| shape.to_string()).collect(),
    }
}

/// The game that leads to a position, for an engine. After a null move it starts there. `None` after a word that is no
/// move, and where the game is too long.
pub fn game_to(tree: &MoveTree, node: NodeId, start: Option<&str>) -> Option<PlayedGame> {
    let mut game = PlayedGame::new(start.map(str::to_owned)).ok()?;
    for node in tree.path(node) {
        match tree.step(node)? {
            Step::Move(m) => game.play(*m).ok()?,
            step => {
                let after = Game::from_position(step.played(game.game().position())?);
                game = PlayedGame::new(Some(after.fen())).ok()?;
            }
        }
    }
    Some(game)
}

/// A move with its number, such as "3... Nf6"; "the start" for the root.
pub fn numbered(tree: &MoveTree, node: NodeId) -> String {
    let (Some(parent), Some(step)) = (tree.parent(node), tree.step(node)) else {
        return "the start".to_owned();
    };
    let before = tree.game_at(parent);
    let san = step.text(before.as_ref().map(Game::position));
    let Some(before) = before else { return san };
    let dots = before.turn().fold_wb(".", "...");
    format!("{}{dots} {san}", before.position().fullmoves())
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::chess::pgn::read_games;

    #[test]
    fn a_tree_is_shown_with_its_notes_and_changed() {
        let text = "{start} 1. e4! {[%clk 0:01:00] best [%cal Ge4e5][%csl Rd5] [%eval 0.3]} ({no} 1. d4 d5 (1... xyz)) 1... e5 2. -- *";
        let mut tree = read_games(text.as_bytes()).0.remove(0).1.tree;
        let views = nodes(&tree, false);
        let find = |san: &str| views.iter().find(|view| view.san == san).unwrap();
        assert_eq!((views.len(), views[0].comment.as_str()), (7, "start"));
        let e4 = find("e4");
        assert_eq!((e4.comment.as_str(), &e4.nags[..], e4.eval.as_deref()), ("best", &[1][..], Some("0.3")));
        assert_eq!(
            (&e4.shapes[..], e4.clock.as_deref()),
            (&["Ge4e5".into(), "Rd5".into()][..], Some("0:01:00"))
        );
        assert_eq!((find("d4").before.as_str(), find("d4").parent), ("no", 0));
        assert_eq!((find("xyz").fen.as_str(), find("--").fen.split(' ').nth(1)), ("", Some("b")));
        let node = |san: &str| tree.node(find(san).id).unwrap();
        assert!(game_to(&tree, node("xyz"), None).is_none());
        assert_eq!(
            game_to(&tree, node("d5"), None).unwrap().position_command(),
            "position startpos moves d2d4 d7d5"
        );
        let null = game_to(&tree, node("--"), None).unwrap();
        assert!(null.position_command().starts_with("position fen "), "{}", null.position_command());
        let (e4, d4) = (node("e4"), node("d4"));
        Edit::Comment("new [%clk 9] text".into()).apply(&mut tree, e4);
        Edit::Mark(6).apply(&mut tree, e4);
        Edit::Shapes(vec!["Yg1f3".into(), "nonsense".into()]).apply(&mut tree, e4);
        assert_eq!(tree.notes(e4).comments, ["[%cal Yg1f3] [%clk 0:01:00][%eval 0.3] new text"]);
        assert_eq!(tree.notes(e4).nags, [6]);
        Edit::Promote.apply(&mut tree, d4);
        assert_eq!(tree.first_child(MoveTree::ROOT), Some(d4));
        Edit::Delete.apply(&mut tree, d4);
        assert_eq!(nodes(&tree, false).len(), 4);
    }
}
