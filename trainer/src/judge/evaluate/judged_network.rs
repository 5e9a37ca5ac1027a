use std::path::Path;

use anyhow::{Context, Result, bail};
use engine::base::words::counted;
use engine::chess::position::Game;
use engine::nets::encoding::{PolicyIndex, az4672};
use engine::nets::eval::{Evaluator, Request, Schemes, ValueScheme, Wdl};
use engine::nets::onnx::{OnnxSession, OnnxSparseEvaluator, StepLimits};
use engine::nets::sparse::SparseFile;
use engine::search::{EndReason, Limits, Params, Pool, Score};
use shakmaty::Move;

use crate::base::network::{Backend, LoadedNet, load_network, network_file};

pub const BATCH: usize = 64;

/// Bytes per tree, ample for a few thousand visits.
const TREE_MEMORY: usize = 64 << 20;

#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    pub wdl: Wdl,
    /// If false, `wdl` is the engine's estimate from material.
    pub has_value: bool,
    /// Legal moves with their priors, most probable first.
    pub policy: Vec<(Move, f32)>,
    /// The same priors by `az4672/1` index, which a position and its mirror image share.
    pub indices: Vec<(PolicyIndex, f32)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchResult {
    pub best: Move,
    /// The root's WDL for the side to move.
    pub wdl: Wdl,
    /// Moves to a proven mate by the side to move.
    pub mate: Option<u32>,
}

pub struct JudgedNetwork {
    pub name: String,
    evaluator: Box<dyn Evaluator>,
    search: Option<(Pool, u64)>,
    raw: Option<OnnxSession>,
    pub has_value: bool,
}

impl JudgedNetwork {
    /// `searcher` comes with the visits per search.
    pub fn new(
        name: &str,
        evaluator: Box<dyn Evaluator>,
        searcher: Option<(Box<dyn Evaluator>, u64)>,
    ) -> JudgedNetwork {
        // The tree of another position is of no use.
        let params = Params { reuse: false, ..Params::default() };
        let search =
            searcher.map(|(evaluator, nodes)| (Pool::new(vec![evaluator], params, TREE_MEMORY), nodes));
        JudgedNetwork { name: name.to_owned(), evaluator, search, raw: None, has_value: true }
    }

    /// Loads a network file or `embedded`. Each search has `nodes` visits (0: no search) and one thread, so that
    /// results are reproducible.
    pub fn load(net: &Path, nodes: u64) -> Result<JudgedNetwork> {
        let network = load_network(net)?;
        let open = |batch| Backend::evaluator(&network, batch);
        let searcher = (nodes > 0).then(|| open(Params::default().batch)).transpose()?;
        let name = net.display().to_string();
        let judged = JudgedNetwork::new(&name, open(BATCH)?, searcher.map(|evaluator| (evaluator, nodes)));
        Ok(JudgedNetwork { has_value: network.has_value(), ..judged })
    }

    /// Runs in ONNX Runtime even if the family has native kernels. Cannot search.
    pub fn load_in_onnx(net: &Path) -> Result<JudgedNetwork> {
        let name = format!("{}, ONNX Runtime", net.display());
        let bytes = network_file(net)?;
        if SparseFile::recognise(&bytes).is_none() {
            return Ok(JudgedNetwork { name, ..JudgedNetwork::load(net, 0)? });
        }
        let evaluator =
            OnnxSparseEvaluator::open(&bytes, BATCH).with_context(|| net.display().to_string())?;
        Ok(JudgedNetwork::new(&name, Box::new(evaluator), None))
    }

    /// Can [rank](JudgedNetwork::raw_ranks) moves among all outputs, but not search. `sparse` networks have no ranks,
    /// because they have outputs for legal moves only.
    pub fn load_raw(net: &Path) -> Result<JudgedNetwork> {
        let raw = match load_network(net)? {
            LoadedNet::Onnx(network) => Some(network.session()?),
            LoadedNet::Native(network) => {
                log::warn!(
                    "--raw: {} has outputs for legal moves only: its column has no raw accuracy",
                    network.name()
                );
                None
            }
        };
        Ok(JudgedNetwork { raw, ..JudgedNetwork::load(net, 0)? })
    }

    /// Runs a recursive network for `steps` steps. Cannot search.
    pub fn load_with_steps(net: &Path, steps: usize) -> Result<JudgedNetwork> {
        let limits = StepLimits { steps, ..StepLimits::default() };
        let network = load_network(net)?.onnx("--think-steps")?;
        let evaluator = network.evaluator_with(BATCH, limits)?;
        let judged =
            JudgedNetwork::new(&format!("{}, {}", net.display(), counted(steps, "step")), evaluator, None);
        let has_value = network.schemes().value == ValueScheme::Wdl;
        Ok(JudgedNetwork { has_value, ..judged })
    }

    /// Ranks of the moves among all outputs: from 1, last in ties, 0 for NaN. Empty unless loaded by
    /// [`load_raw`](JudgedNetwork::load_raw).
    pub fn raw_ranks(&mut self, games: &[Game], played: &[Move]) -> Result<Vec<usize>> {
        let Some(session) = &mut self.raw else { return Ok(Vec::new()) };
        let Schemes { input, policy, .. } = session.schemes();
        let rank = |((game, m), logits): ((&Game, &Move), &[f32])| {
            let own = logits[policy.index(game.turn(), *m).offset()];
            logits.iter().filter(|logit| **logit >= own).count()
        };
        let ran = session.run(&input.tensor(games), |logits| {
            games.iter().zip(played).zip(logits.policy.chunks_exact(policy.size())).map(rank).collect()
        });
        ran.with_context(|| self.name.clone())
    }

    /// Visits per search; 0 without search.
    pub fn nodes(&self) -> u64 {
        self.search.as_ref().map_or(0, |(_, nodes)| *nodes)
    }

    /// Each position must have a legal move.
    pub fn predict(&mut self, games: &[Game]) -> Result<Vec<Prediction>> {
        let mut predictions = Vec::with_capacity(games.len());
        for batch in games.chunks(self.evaluator.max_batch()) {
            let legal: Vec<_> = batch.iter().map(Game::legal_moves).collect();
            let requests: Vec<Request<'_>> =
                batch.iter().zip(&legal).map(|(game, moves)| Request { game, moves }).collect();
            let answers = self.evaluator.evaluate(&requests);
            let answers = answers.with_context(|| self.name.clone())?;
            for (request, answer) in requests.iter().zip(answers) {
                let mut policy: Vec<_> = request.moves.iter().copied().zip(answer.priors).collect();
                policy.sort_by(|a, b| b.1.total_cmp(&a.1));
                let turn = request.game.turn();
                let indices = policy.iter().map(|(m, prior)| (az4672::index(turn, *m), *prior)).collect();
                predictions.push(Prediction { wdl: answer.wdl, has_value: self.has_value, policy, indices });
            }
        }
        Ok(predictions)
    }

    /// `None` without search. The position must have a legal move.
    pub fn search(&mut self, game: &Game) -> Result<Option<SearchResult>> {
        let Some((pool, nodes)) = &mut self.search else { return Ok(None) };
        let outcome = pool.search(game, Limits { visits: Some(*nodes), ..Limits::default() });
        if outcome.end_reason == EndReason::Failed {
            let why = outcome.error.unwrap_or_else(|| "the search failed".into());
            bail!("{}: {why}", self.name);
        }
        let line = outcome.report.lines.first().expect("a position with a legal move has a line");
        let mate = match line.score {
            Score::Mate(moves) => u32::try_from(moves).ok(),
            Score::Cp(_) => None,
        };
        Ok(Some(SearchResult { best: line.pv[0], wdl: line.wdl, mate }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::nets::eval::Uniform;

    fn uniform(nodes: u64) -> JudgedNetwork {
        let searcher: Option<(Box<dyn Evaluator>, u64)> =
            (nodes > 0).then(|| (Box::new(Uniform) as _, nodes));
        JudgedNetwork::new("uniform", Box::new(Uniform), searcher)
    }

    #[test]
    fn a_prediction_holds_every_legal_move_once_the_most_probable_first() {
        let prediction = uniform(0).predict(&[Game::new()]).unwrap().remove(0);
        assert_eq!(prediction.policy.len(), 20);
        assert!(prediction.policy.is_sorted_by(|a, b| a.1 >= b.1));
        assert!((prediction.policy.iter().map(|(_, prior)| prior).sum::<f32>() - 1.0).abs() < 1e-5);
        assert_eq!(prediction.indices[3].0, az4672::index(Game::new().turn(), prediction.policy[3].0));
    }

    #[test]
    fn a_search_finds_a_mate_that_the_network_does_not_know() {
        let game = Game::from_fen("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1").unwrap();
        let found = uniform(200).search(&game).unwrap().unwrap();
        assert_eq!((Game::uci(found.best, false).as_str(), found.mate), ("a1a8", Some(1)));
        assert_eq!(found.wdl, Wdl::WIN);
        assert_eq!(uniform(0).search(&game).unwrap(), None);
    }

    #[test]
    fn being_mated_is_not_reported_as_a_mate() {
        let game = Game::from_fen("7k/8/5KQ1/8/8/8/8/7r b - - 0 1").unwrap();
        assert_eq!(uniform(3000).search(&game).unwrap().unwrap().mate, None);
    }

    #[test]
    fn the_rank_among_all_outputs_is_no_better_than_among_the_legal_moves() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../nets/resnet.onnx");
        let mut network = JudgedNetwork::load_raw(&file).unwrap();
        let game = Game::new();
        let prediction = network.predict(std::slice::from_ref(&game)).unwrap().remove(0);
        let moves: Vec<Move> = prediction.policy.iter().map(|(m, _)| *m).collect();
        let games = vec![game; moves.len()];
        let ranks = network.raw_ranks(&games, &moves).unwrap();
        assert!(ranks.is_sorted() && ranks.iter().zip(1..).all(|(rank, among_legal)| *rank >= among_legal));
        assert!(ranks[0] > 0 && ranks[19] <= 4672, "{ranks:?}");
        assert!(uniform(0).raw_ranks(&games, &moves).unwrap().is_empty());
        let mut sparse = JudgedNetwork::load_raw(Path::new("embedded")).unwrap();
        assert!(sparse.raw_ranks(&games, &moves).unwrap().is_empty(), "it has no other outputs");
    }

    #[test]
    fn a_network_that_is_not_there_is_named() {
        let error = format!("{:#}", JudgedNetwork::load(Path::new("no/such.onnx"), 0).err().unwrap());
        assert!(error.contains("no/such.onnx"), "{error}");
    }
}
