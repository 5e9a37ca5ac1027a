//! Visits with a split evaluator, one after the other.

use crate::chess::position::Game;
use crate::nets::eval::SplitEvaluator;
use crate::search::run::context::SearchContext;
use crate::search::tree::Tree;
#[cfg(test)]
use crate::search::tree::node::NodeId;
use crate::search::visit::expansion::{Expansion, Leaf};
use crate::search::visit::{Expanding, Path, Reached};

pub(in crate::search) struct Walker {
    path: Path,
    game: Game,
    expansion: Expansion,
    #[cfg(test)]
    pub trace: Vec<WalkedPath>,
}

#[cfg(test)]
pub(in crate::search) struct WalkedPath {
    pub steps: Vec<(NodeId, u32)>,
    /// Leading steps shared with the previous visit.
    pub begun: usize,
    /// Leading steps shared with the next visit.
    pub kept: usize,
}

/// Retries at a leaf that another worker evaluates or expands.
const MAX_WAITS: u32 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::search) enum VisitEnd {
    Applied,
    /// Abandoned: another worker is at the leaf.
    Collided,
    /// Abandoned: the memory is full.
    Full,
}

impl Walker {
    pub fn new(worker: usize) -> Walker {
        Walker {
            path: Path::new(worker),
            game: Game::new(),
            expansion: Expansion::default(),
            #[cfg(test)]
            trace: Vec::new(),
        }
    }

    /// Must precede the first visit of a search.
    pub fn start(&mut self, context: &SearchContext) {
        self.game.clone_from(&context.root);
    }

    /// Makes a series of at most `most` visits. Returns the number applied and how the last one ended.
    pub fn visit(
        &mut self,
        context: &SearchContext,
        tree: &Tree,
        evaluator: &mut dyn SplitEvaluator,
        most: u64,
    ) -> (u64, VisitEnd) {
        #[cfg(test)]
        self.trace.clear();
        self.game.rewind_to(&context.root);
        tree.begin_series(&mut self.path, tree.shared, most);
        let mut done = 0;
        #[cfg(test)]
        let mut begun = 0;
        loop {
            let reached = tree.descend(&mut self.path, &mut self.game, Expanding::AtSecondVisit);
            let end = self.end_visit(context, tree, evaluator, reached);
            done += u64::from(end == VisitEnd::Applied);
            #[cfg(test)]
            let steps = self.path.edges();
            let next = if end != VisitEnd::Applied || tree.is_proven() {
                tree.end_series(&mut self.path);
                None
            } else {
                tree.next_in_series(&mut self.path, &mut self.game)
            };
            #[cfg(test)]
            {
                let kept = next.unwrap_or(0);
                self.trace.push(WalkedPath { steps, begun: std::mem::replace(&mut begun, kept), kept });
            }
            if next.is_none() {
                return (done, end);
            }
        }
    }

    fn end_visit(
        &mut self,
        context: &SearchContext,
        tree: &Tree,
        evaluator: &mut dyn SplitEvaluator,
        mut reached: Reached,
    ) -> VisitEnd {
        let mut waits = 0;
        let end = loop {
            match reached {
                Reached::Known { wdl, transposition } => {
                    tree.finish(&mut self.path, wdl, transposition);
                    return VisitEnd::Applied;
                }
                Reached::Leaf if !tree.shared || tree.claim_leaf(&mut self.path) => {
                    self.evaluate(context, tree, evaluator);
                    return VisitEnd::Applied;
                }
                Reached::Leaf | Reached::Collision => {
                    if waits == MAX_WAITS {
                        break VisitEnd::Collided;
                    }
                    waits += 1;
                    std::hint::spin_loop();
                }
                Reached::Unexpanded => {
                    let moves = context.moves(&self.game, self.path.plies());
                    if moves.is_empty() {
                        // Another worker has just found that the game is over.
                        tree.give_up_expansion(&self.path);
                        break VisitEnd::Collided;
                    }
                    self.ask_policy(context, evaluator, &moves);
                    if !tree.expand(&self.path, &self.expansion) {
                        break VisitEnd::Full;
                    }
                }
                Reached::Full => break VisitEnd::Full,
            }
            reached = tree.descend(&mut self.path, &mut self.game, Expanding::AtSecondVisit);
        };
        tree.cancel(&self.path);
        end
    }

    fn evaluate(&mut self, context: &SearchContext, tree: &Tree, evaluator: &mut dyn SplitEvaluator) {
        let plies = self.path.plies();
        if let Some(known) = context.known(&self.game, plies, plies == 0 || self.game.has_legal_move()) {
            tree.apply(&mut self.path, known);
            return;
        }
        let wdl = context.adjusted(&self.game, evaluator.value(&self.game));
        if plies == 0 {
            // The root's moves are needed even after a single visit.
            self.ask_policy(context, evaluator, &context.root_moves);
            tree.apply(&mut self.path, Leaf::Expanded(wdl, &self.expansion));
        } else {
            tree.apply(&mut self.path, Leaf::Valued(wdl));
        }
    }

    fn ask_policy(
        &mut self,
        context: &SearchContext,
        evaluator: &mut dyn SplitEvaluator,
        moves: &[shakmaty::Move],
    ) {
        let temperature = context.temperature(self.path.plies());
        self.expansion.fill(moves, |priors| evaluator.policy(&self.game, moves, temperature, priors));
        if let Some(noise) = context.limits.noise.filter(|_| self.path.plies() == 0) {
            self.expansion.mix(noise);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::tables::Tables;
    use crate::nets::sparse::SparseNetwork;
    use crate::search::visit::series::SERIES_SHARE;
    use crate::search::{Limits, Params};

    /// Another worker has counted its visit to the ended game but not recorded the result yet.
    #[test]
    fn an_ended_game_that_was_visited_is_not_expanded_again_and_again() {
        let stalemate = Game::from_fen("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1").unwrap();
        let mut tree = Tree::empty(1 << 20);
        let (limits, tables) = (Limits::default(), Tables::default());
        let (context, _) = SearchContext::start(&mut tree, stalemate, limits, Params::native(), tables, 2);
        tree.node(tree.root).add(0.0, 1.0, true);
        let (mut walker, mut evaluator) = (Walker::new(0), SparseNetwork::embedded().evaluator());
        walker.start(&context);
        for _ in 0..3 {
            assert_eq!(walker.visit(&context, &tree, &mut evaluator, 1), (0, VisitEnd::Collided));
        }
    }

    fn visited(params: Params, workers: usize, visits: u64) -> (Tree, u64) {
        let game =
            Game::from_fen("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1").unwrap();
        let mut tree = Tree::empty(1 << 25);
        let (limits, tables) = (Limits::default(), Tables::default());
        let (context, _) = SearchContext::start(&mut tree, game, limits, params, tables, workers);
        let (mut walker, mut evaluator) = (Walker::new(0), SparseNetwork::embedded().evaluator());
        walker.start(&context);
        let (mut done, mut walks) = (0, 0);
        while done < visits {
            let (more, end) = walker.visit(&context, &tree, &mut evaluator, visits - done);
            assert_eq!(end, VisitEnd::Applied);
            (done, walks) = (done + more, walks + 1);
        }
        (tree, walks)
    }

    #[test]
    fn a_position_that_was_proven_outside_the_tree_is_searched_when_it_is_the_root() {
        let (mut tree, _) = visited(Params::native(), 1, 3000);
        let line = tree.most_visited(50, 2);
        let mut game = tree.root_game().clone();
        line.iter().for_each(|m| game.play(*m));
        tree.prove_after(&line, 5);
        assert_eq!((line.len(), tree.check_at_rest()), (2, Ok(())));
        let variation = tree.report(1).lines[0].pv.clone();
        assert!(!variation.starts_with(&line) || variation == line, "{variation:?}");
        assert!(tree.start(&game, &[], Params::native(), 1), "the tree is kept");
        assert_eq!(tree.root_proof(), None);
    }

    #[test]
    fn no_node_is_visited_more_often_in_a_row_than_its_visits_allow() {
        let game = Game::new();
        let mut tree = Tree::empty(1 << 25);
        let (limits, tables) = (Limits::default(), Tables::default());
        let params = Params { series: 40, ..Params::native() };
        let (context, _) = SearchContext::start(&mut tree, game, limits, params, tables, 2);
        let (mut walker, mut evaluator) = (Walker::new(0), SparseNetwork::embedded().evaluator());
        walker.start(&context);
        let (mut done, mut longest) = (0, 0);
        for most in [1, 7, 40, 100].into_iter().cycle() {
            let before = done;
            let (visits, end) = walker.visit(&context, &tree, &mut evaluator, most);
            assert_eq!(end, VisitEnd::Applied);
            assert!(visits == walker.trace.len() as u64 && visits <= most.min(40));
            done += visits;
            // The consecutive visits per edge of the path.
            let mut row: Vec<(u32, u32)> = Vec::new();
            let mut ended = |(edge, visits): (u32, u32)| {
                longest = longest.max(visits);
                let at_first = tree.nodes.edge(edge).visits() - visits;
                assert!(visits <= 1 + at_first / SERIES_SHARE, "{visits} in a row after {at_first}");
            };
            for path in &walker.trace {
                row.drain(path.begun..).for_each(&mut ended);
                row.extend(path.steps[path.begun..].iter().map(|(_, edge)| (*edge, 0)));
                row.iter_mut().for_each(|(_, visits)| *visits += 1);
            }
            row.drain(..).for_each(&mut ended);
            assert!(visits <= 1 + before / u64::from(SERIES_SHARE));
            if done > 8_000 {
                break;
            }
        }
        assert!(longest > 30, "{longest}");
        assert_eq!((u64::from(tree.node(tree.root).visits()), tree.check_at_rest()), (done, Ok(())));
    }

    #[test]
    fn series_leave_every_sum_as_single_visits_do() {
        let params = |series| Params { series, transpositions: false, solver: false, ..Params::native() };
        for workers in [1, 2] {
            for (series, most_walks) in [(1, 6000), (16, 2000), (64, 1000)] {
                let (tree, walks) = visited(params(series), workers, 6000);
                assert!(walks <= most_walks && (series > 1 || walks == 6000), "{series}: {walks} walks");
                let mut open = vec![tree.root];
                while let Some(id) = open.pop() {
                    let node = tree.node(id);
                    let children = || tree.nodes.edges_of(id).map(|edge| (edge, tree.node(edge.child())));
                    let (below, q) = children().fold((0, 0.0), |(below, q), (edge, child)| {
                        // Visits to a known value do not reach the children.
                        assert!(edge.visits() == child.visits() || child.own() == child.visits());
                        assert_eq!(edge.in_flight(), 0);
                        (below + edge.visits(), q - f64::from(child.q()) * f64::from(edge.visits()))
                    });
                    assert_eq!((node.visits(), node.in_flight()), (node.own() + below, 0));
                    if below > 0 && children().all(|(_, child)| child.proof().is_none()) {
                        let own = f64::from(node.value().unwrap()) * f64::from(node.own());
                        let error = f64::from(node.q()) * f64::from(node.visits()) - own - q;
                        assert!(error.abs() < 0.01, "{error} in a node of {} visits", node.visits());
                    }
                    open.extend(tree.nodes.edges_of(id).map(|edge| edge.child()));
                }
            }
        }
    }
}
