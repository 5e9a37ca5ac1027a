use std::ops::ControlFlow;

use shakmaty::san::SanPlus;
use shakmaty::{Chess, KnownOutcome, Move, Outcome};
use thiserror::Error;

use super::comments::tidy;
use super::lines::unix_lines;
use super::moves::{is_chess960, read_variation};
use super::reader::{GameVisitor, Token, each_game};
use super::tags::{Tags, decoded, encoded, text_of};
use super::tree::{MoveTree, NodeId, Step};
use crate::chess::position::Game;

#[derive(Clone, Debug)]
pub struct PgnGame {
    pub tags: Tags,
    pub tree: MoveTree,
    /// At the end of the moves, if it is written there.
    pub result: Option<Outcome>,
    /// Where the game starts, from 1.
    pub line: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("game {game}, line {line}: {why}")]
pub struct BrokenPgn {
    /// From 1, as `line`.
    pub game: usize,
    pub line: u64,
    pub why: String,
}

/// The numbers of games count from 1.
pub fn read_games(text: &[u8]) -> (Vec<(usize, PgnGame)>, Vec<BrokenPgn>) {
    let (mut games, mut broken) = (Vec::new(), Vec::new());
    each_game(&unix_lines(text), 1, &mut TreeVisitor::default(), |read| {
        let number = games.len() + broken.len() + 1;
        match read.output.map_err(|error| error.to_string()).flatten() {
            Ok(game) => games.push((number, PgnGame { line: read.game_line, ..game })),
            Err(why) => broken.push(BrokenPgn { game: number, line: read.line, why }),
        }
    });
    (games, broken)
}

impl PgnGame {
    /// `comment` is called with each ply, from 0.
    pub fn from_moves<'a>(
        tags: impl IntoIterator<Item = (&'a str, String)>,
        start: Game,
        moves: impl IntoIterator<Item = Move>,
        mut comment: impl FnMut(usize) -> Option<String>,
        result: Outcome,
    ) -> PgnGame {
        let tags = tags.into_iter().map(|(name, value)| (name.as_bytes().to_owned(), encoded(&value)));
        let mut tree = MoveTree::new(start);
        let mut node = MoveTree::ROOT;
        for (ply, m) in moves.into_iter().enumerate() {
            node = tree.add(node, Step::Move(m));
            if let Some(comment) = comment(ply) {
                tree.add_comment(node, &comment);
            }
        }
        PgnGame { tags: tags.collect(), tree, result: Some(result), line: 1 }
    }

    /// The value without escapes; `None` if missing, empty or `?`.
    pub fn tag(&self, name: &str) -> Option<String> {
        let (_, value) = self.tags.iter().find(|(key, _)| key == name.as_bytes())?;
        let text = decoded(value).trim().to_owned();
        (!text.is_empty() && text != "?").then_some(text)
    }

    /// Sets a tag that is missing.
    pub fn add_tag(&mut self, name: &str, value: &str) {
        if !self.tags.iter().any(|(key, _)| key == name.as_bytes()) {
            self.tags.push((name.as_bytes().to_owned(), encoded(value)));
        }
    }

    /// As written after the moves, or else as tagged.
    pub fn outcome(&self) -> Outcome {
        let tagged = || match self.tag("Result").as_deref() {
            Some("1-0") => Outcome::Known(KnownOutcome::Decisive { winner: shakmaty::Color::White }),
            Some("0-1") => Outcome::Known(KnownOutcome::Decisive { winner: shakmaty::Color::Black }),
            Some("1/2-1/2") => Outcome::Known(KnownOutcome::Draw),
            _ => Outcome::Unknown,
        };
        self.result.unwrap_or_else(tagged)
    }

    pub fn start(&self) -> &Game {
        self.tree.start()
    }

    /// The main line up to the first null move.
    pub fn moves(&self) -> Vec<Move> {
        self.tree.moves()
    }
}

#[derive(Default)]
struct TreeVisitor {
    tags: Tags,
    tree: Option<MoveTree>,
    result: Option<Outcome>,
    /// The main line, and the open variations.
    lines: Vec<Line>,
}

/// A line that is being read.
struct Line {
    node: NodeId,
    /// After the last move, and before it: there a variation begins. `None` after an unread word.
    position: Option<Chess>,
    before: Option<Chess>,
    has_moves: bool,
    /// Read before the first move of a variation.
    comments: Vec<String>,
    nags: Vec<u8>,
}

impl Line {
    fn new(node: NodeId, position: Option<Chess>) -> Line {
        Line {
            node,
            before: position.clone(),
            position,
            has_moves: false,
            comments: Vec::new(),
            nags: Vec::new(),
        }
    }
}

impl TreeVisitor {
    fn tree(&mut self) -> &mut MoveTree {
        self.tree.as_mut().expect("a game has begun")
    }

    fn line(&mut self) -> &mut Line {
        self.lines.last_mut().expect("the main line's")
    }

    fn step(&mut self, step: Step) {
        let depth = self.lines.len();
        let Line { node: parent, position, has_moves, .. } = self.line();
        let (parent, first) = (*parent, !*has_moves);
        let after = position.as_ref().and_then(|position| step.played(position));
        let node = self.tree().add(parent, step);
        // A variation may stand before the main line's first move.
        if depth == 1 && first {
            self.tree().put(node, 0);
        }
        let line = self.line();
        line.before = std::mem::replace(&mut line.position, after);
        (line.node, line.has_moves) = (node, true);
        let (before, nags) = (std::mem::take(&mut line.comments), std::mem::take(&mut line.nags));
        if !before.is_empty() || !nags.is_empty() {
            let notes = self.tree().notes_mut(node);
            (notes.before, notes.nags) = (before, nags);
        }
    }

    fn read_step(&mut self, word: &[u8]) -> Step {
        let read = self.line().position.as_ref().and_then(|position| read_variation(word, position));
        read.unwrap_or_else(|| Step::Unread(text_of(word).into()))
    }

    fn comment(&mut self, comment: &str) {
        let is_main = self.lines.len() == 1;
        let line = self.line();
        if line.has_moves || is_main {
            let node = line.node;
            self.tree().add_comment(node, comment);
        } else {
            line.comments.extend(Some(tidy(comment)).filter(|comment| !comment.is_empty()));
        }
    }

    fn nag(&mut self, nag: u8) {
        let line = self.line();
        if line.has_moves {
            let node = line.node;
            self.tree().add_nag(node, nag);
        } else if !line.nags.contains(&nag) {
            line.nags.push(nag);
        }
    }

    fn begin(&mut self) {
        let Line { node, before, has_moves, .. } = self.line();
        let (node, before, has_moves) = (*node, before.clone(), *has_moves);
        // A bracket at the start of a line is in place of the same move.
        let parent = if has_moves { self.tree().parent(node).unwrap_or(node) } else { node };
        self.lines.push(Line::new(parent, before));
    }

    /// Comments of a variation without moves belong to the move before it.
    fn close(&mut self) {
        let line = self.lines.pop().expect("the reader ignores brackets that close nothing");
        line.comments.iter().for_each(|comment| self.comment(comment));
    }
}

impl GameVisitor for TreeVisitor {
    type Output = Result<PgnGame, String>;

    fn begin(&mut self, tags: Tags) -> Result<Chess, Self::Output> {
        let value = |name: &[u8]| tags.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_slice());
        let variant = value(b"Variant").unwrap_or_default();
        if is_chess960(variant).is_none() {
            return Err(Err(format!("the variant {} is not chess", text_of(variant))));
        }
        let fen = value(b"FEN").map(decoded).filter(|fen| !fen.trim().is_empty());
        let start = match fen.map_or(Ok(Game::new()), |fen| Game::from_fen(&fen)) {
            Ok(start) => start,
            Err(error) => return Err(Err(error.to_string())),
        };
        let position = start.position().clone();
        let line = Line::new(MoveTree::ROOT, Some(position.clone()));
        *self = TreeVisitor { tags, tree: Some(MoveTree::new(start)), result: None, lines: vec![line] };
        Ok(position)
    }

    fn play(&mut self, m: Move, _: SanPlus, _: &Chess) -> ControlFlow<Self::Output> {
        self.step(Step::Move(m));
        ControlFlow::Continue(())
    }

    fn token(&mut self, token: Token<'_>, _: usize, _: &Chess) -> ControlFlow<Self::Output> {
        match token {
            Token::Move(word) => {
                let step = self.read_step(word);
                self.step(step);
            }
            Token::Nag(nag) => self.nag(nag),
            Token::Comment(comment) => self.comment(&text_of(comment)),
            Token::Begin => TreeVisitor::begin(self),
            Token::End => self.close(),
            Token::Result(outcome) if self.lines.len() == 1 => self.result = Some(outcome),
            Token::Result(Outcome::Unknown) => (),
            Token::Result(outcome) => self.comment(outcome.as_str()),
        }
        ControlFlow::Continue(())
    }

    fn end(&mut self, _: &Chess) -> Self::Output {
        let mut tree = self.tree.take().expect("a game has begun");
        tree.settle();
        Ok(PgnGame { tags: std::mem::take(&mut self.tags), tree, result: self.result, line: 0 })
    }

    fn allows_null_moves(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::Notes;
    use super::*;

    #[test]
    fn everything_in_a_game_is_kept() {
        let text = b"[Event \"a \\\"b\\\"\"]\n[White \"M\xfcller\"]\n[Site \"?\"]\n\n{ before } 1. e4 $14 {first}{} \
            (1. d4 d5 (1... Nf6 ; Indian\n) 2. c4) 1... e5! 2. Nf3 {last} 1-0\n";
        let (games, broken) = read_games(text);
        assert!(broken.is_empty(), "{broken:?}");
        let [(1, game)] = games.as_slice() else { panic!("{games:?}") };
        assert_eq!(game.tag("Event").as_deref(), Some("a \"b\""));
        assert_eq!(game.tag("White").as_deref(), Some("M\u{fc}ller"), "Latin-1");
        assert_eq!((game.tag("Site"), game.tag("Black"), game.line), (None, None, 1));
        let tree = &game.tree;
        let main: Vec<_> = tree.main_line().collect();
        assert_eq!((main.len(), tree.walk().count()), (3, 7));
        assert_eq!(tree.notes(MoveTree::ROOT).comments, ["before"]);
        assert_eq!(
            tree.notes(main[0]),
            &Notes { nags: vec![14], comments: vec!["first".into()], ..Notes::default() }
        );
        assert_eq!(
            (&tree.notes(main[1]).nags, &tree.notes(main[2]).comments[..]),
            (&vec![1], &["last".into()][..])
        );
        let d4 = tree.children(MoveTree::ROOT).nth(1).unwrap();
        let d5 = tree.first_child(d4).unwrap();
        let nf6 = tree.next_sibling(d5).unwrap();
        assert_eq!(tree.notes(nf6).comments, ["Indian"]);
        assert_eq!(
            tree.game_at(nf6).unwrap().fen(),
            "rnbqkb1r/pppppppp/5n2/8/3P4/8/PPP1PPPP/RNBQKBNR w KQkq - 1 2"
        );
        let long = format!("1. e4 {{{}}} *", "very long ".repeat(5000));
        let (games, _) = read_games(long.as_bytes());
        let tree = &games[0].1.tree;
        assert_eq!(tree.notes(tree.first_child(MoveTree::ROOT).unwrap()).comments[0].len(), 49_999);
    }

    #[test]
    fn broken_games_are_named_by_number_and_line_and_the_others_are_read() {
        let text = "[Event \"1\"]\n\n1. e4 e5 *\n\n[Event \"2\"]\n\n1. e4 e5\n2. Ke3 *\n\n[Event \"3\"]\n[Variant \
            \"Atomic\"]\n\n1. e4 *\n\n[Event \"4\"]\n[FEN \"nonsense\"]\n\n*\n\n[Event \"5\"]\n\n1. e4 (1. d4 *\n\n\
            [Event \"6\"]\n\n1. d4 *\n";
        let (games, broken) = read_games(text.as_bytes());
        assert_eq!(
            games.iter().map(|(number, game)| (*number, game.line)).collect::<Vec<_>>(),
            [(1, 1), (6, 24)]
        );
        let errors: Vec<String> = broken.iter().map(BrokenPgn::to_string).collect();
        assert_eq!(errors[0], "game 2, line 8: illegal or ambiguous move 2.Ke3");
        assert!(
            errors[1].starts_with("game 3, line ") && errors[1].ends_with("Atomic is not chess"),
            "{errors:?}"
        );
        assert!(errors[2].starts_with("game 4, ") && errors[2].contains("not a FEN"), "{errors:?}");
        assert!(errors[3].contains("not closed") && broken.len() == 4, "{errors:?}");
    }
}
