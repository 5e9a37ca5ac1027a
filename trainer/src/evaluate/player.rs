//! A network as it is judged: by its first impression, and by what it finds in a search.

use std::path::Path;

use crossbeam_channel::{Sender, bounded};
use engine::encoding::{PolicyIndex, az4672};
use engine::eval::{Evaluator, Network, Request, Schemes, Session, Thinking, Value, Wdl};
use engine::position::Game;
use engine::search::{Ended, Limits, Outcome, Params, Pool, Score, Verdict, View, Watch};
use shakmaty::Move;

use crate::gameplay::load_network;

/// Positions that a network is asked about at once.
pub const BATCH: usize = 64;

/// Bytes for a search's tree: far more than the few thousand visits that positions are judged by.
const TREE_MEMORY: usize = 64 << 20;

/// What a network says of a position without any search.
#[derive(Clone, Debug, PartialEq)]
pub struct Opinion {
    /// For the mover.
    pub wdl: Wdl,
    /// Whether that is the network's own: one without a value has the engine's lesson say it.
    pub valued: bool,
    /// The legal moves with their share of the policy, the likeliest first.
    pub policy: Vec<(Move, f32)>,
    /// The policy by index, in the same order: the same for a position and its mirror image.
    pub indices: Vec<(PolicyIndex, f32)>,
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The move that it would play.
    pub best: Move,
    /// What it expects, for the mover.
    pub wdl: Wdl,
    /// The mate that it announces, in moves.
    pub mate: Option<u32>,
}

/// A network, ready to be asked.
pub struct Player {
    /// The heading of its column.
    pub name: String,
    evaluator: Box<dyn Evaluator>,
    search: Option<(Pool, u64)>,
    /// What tells of all outputs.
    raw: Option<Session>,
    /// Whether the network has a value.
    pub valued: bool,
}

impl Player {
    /// A player who answers with `evaluator` and, if there is a `searcher`, searches with that for so many
    /// visits.
    pub fn new(
        name: &str,
        evaluator: Box<dyn Evaluator>,
        searcher: Option<(Box<dyn Evaluator>, u64)>,
    ) -> Player {
        // Every position is a game of its own: nothing is kept of the last tree.
        let params = Params { reuse: false, ..Params::default() };
        let search =
            searcher.map(|(evaluator, nodes)| (Pool::new(vec![evaluator], params, TREE_MEMORY), nodes));
        Player { name: name.to_owned(), evaluator, search, raw: None, valued: true }
    }

    /// The player of a network file, or of `embedded` or `embedded.int8`, the networks of this program; `nodes`
    /// 0 is no search. One worker searches, so that the same network finds the same every time.
    ///
    /// # Errors
    ///
    /// One line: the network can't be used.
    pub fn load(net: &Path, nodes: u64) -> Result<Player, String> {
        let network = load_network(net).map_err(|error| format!("{error:#}"))?;
        let open = |batch| network.evaluator(batch).map_err(|error| error.to_string());
        let searcher = (nodes > 0).then(|| open(Params::default().batch)).transpose()?;
        let name = net.display().to_string();
        let player = Player::new(&name, open(BATCH)?, searcher.map(|evaluator| (evaluator, nodes)));
        Ok(player.of(&network))
    }

    /// The same without a search, which can also [tell](Player::raw_ranks) of all outputs.
    ///
    /// # Errors
    ///
    /// One line: the network can't be used.
    pub fn load_raw(net: &Path) -> Result<Player, String> {
        let mut player = Player::load(net, 0)?;
        player.raw = Some(
            load_network(net)
                .map_err(|error| format!("{error:#}"))?
                .session()
                .map_err(|error| error.to_string())?,
        );
        Ok(player)
    }

    /// The same without a search, who thinks about each position in so many steps, if the network thinks in steps.
    ///
    /// # Errors
    ///
    /// One line: the network can't be used.
    pub fn load_thinking(net: &Path, steps: usize) -> Result<Player, String> {
        let thinking = Thinking { steps, ..Thinking::default() };
        let network = load_network(net).map_err(|error| format!("{error:#}"))?;
        let evaluator = network.thinker(BATCH, thinking).map_err(|error| error.to_string())?;
        Ok(Player::new(&format!("{}, {steps} steps", net.display()), evaluator, None).of(&network))
    }

    fn of(self, network: &Network) -> Player {
        Player { valued: network.schemes().value == Value::Wdl, ..self }
    }

    /// Where the moves played in these positions stand among all outputs of the network, legal or not: from 1, ties
    /// before it, 0 for what is no number. Nothing of a player that wasn't made for it.
    ///
    /// # Errors
    ///
    /// One line: the network can't be run.
    pub fn raw_ranks(&mut self, games: &[Game], played: &[Move]) -> Result<Vec<usize>, String> {
        let Some(session) = &mut self.raw else { return Ok(Vec::new()) };
        let Schemes { input, policy, .. } = session.schemes();
        let rank = |((game, m), logits): ((&Game, &Move), &[f32])| {
            let own = logits[policy.index(game.turn(), *m).offset()];
            logits.iter().filter(|logit| **logit >= own).count()
        };
        let ran = session.run(&input.tensor(games), |logits| {
            games.iter().zip(played).zip(logits.policy.chunks_exact(policy.size())).map(rank).collect()
        });
        ran.map_err(|error| format!("{}: {error}", self.name))
    }

    /// Visits of each search; 0 if this player doesn't search.
    pub fn nodes(&self) -> u64 {
        self.search.as_ref().map_or(0, |(_, nodes)| *nodes)
    }

    /// What the network says of these positions, each with a legal move.
    ///
    /// # Errors
    ///
    /// One line: the network can't be run.
    pub fn opinions(&mut self, games: &[Game]) -> Result<Vec<Opinion>, String> {
        let mut opinions = Vec::with_capacity(games.len());
        for batch in games.chunks(self.evaluator.max_batch()) {
            let legal: Vec<_> = batch.iter().map(Game::legal_moves).collect();
            let requests: Vec<Request<'_>> =
                batch.iter().zip(&legal).map(|(game, moves)| Request { game, moves }).collect();
            let answers = self.evaluator.evaluate(&requests);
            let answers = answers.map_err(|error| format!("{}: {error}", self.name))?;
            for (request, answer) in requests.iter().zip(answers) {
                let mut policy: Vec<_> = request.moves.iter().copied().zip(answer.priors).collect();
                policy.sort_by(|a, b| b.1.total_cmp(&a.1));
                let turn = request.game.turn();
                let indices = policy.iter().map(|(m, share)| (az4672::index(turn, *m), *share)).collect();
                opinions.push(Opinion { wdl: answer.wdl, valued: self.valued, policy, indices });
            }
        }
        Ok(opinions)
    }

    /// What a search of a position with a legal move finds; `None` if this player doesn't search.
    ///
    /// # Errors
    ///
    /// One line: the network can't be run.
    pub fn search(&mut self, game: &Game) -> Result<Option<Found>, String> {
        let Some((pool, nodes)) = &mut self.search else { return Ok(None) };
        let (sender, receiver) = bounded(1);
        let limits = Limits { visits: Some(*nodes), ..Limits::default() };
        pool.start(game.clone(), limits, Box::new(End(sender)));
        let outcome = receiver.recv().expect("a search tells of its end");
        if outcome.ended == Ended::Failed {
            let why = outcome.error.unwrap_or_else(|| "the search failed".into());
            return Err(format!("{}: {why}", self.name));
        }
        let line = outcome.report.lines.first().expect("a position with a legal move has a line");
        let mate = match line.score {
            Score::Mate(moves) => u32::try_from(moves).ok(),
            Score::Cp(_) => None,
        };
        Ok(Some(Found { best: line.pv[0], wdl: line.wdl, mate }))
    }
}

/// Waits for the end of a search.
struct End(Sender<Outcome>);

impl Watch for End {
    fn round(&mut self, _view: &View<'_>) -> Verdict {
        Verdict::Continue
    }

    fn done(&mut self, outcome: Outcome) {
        // Nobody listens any more only if the program is ending.
        _ = self.0.send(outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::eval::Uniform;

    fn uniform(nodes: u64) -> Player {
        let searcher: Option<(Box<dyn Evaluator>, u64)> =
            (nodes > 0).then(|| (Box::new(Uniform) as _, nodes));
        Player::new("uniform", Box::new(Uniform), searcher)
    }

    #[test]
    fn an_opinion_holds_every_legal_move_once_the_likeliest_first() {
        let opinion = uniform(0).opinions(&[Game::new()]).unwrap().remove(0);
        assert_eq!(opinion.policy.len(), 20);
        assert!(opinion.policy.is_sorted_by(|a, b| a.1 >= b.1));
        assert!((opinion.policy.iter().map(|(_, share)| share).sum::<f32>() - 1.0).abs() < 1e-5);
        assert_eq!(opinion.indices[3].0, az4672::index(Game::new().turn(), opinion.policy[3].0));
    }

    #[test]
    fn a_search_finds_a_mate_that_no_network_has_to_know_of() {
        let game = Game::from_fen("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1").unwrap();
        let found = uniform(200).search(&game).unwrap().unwrap();
        assert_eq!((Game::uci(found.best, false).as_str(), found.mate), ("a1a8", Some(1)));
        assert_eq!(found.wdl, Wdl::WIN);
        assert_eq!(uniform(0).search(&game).unwrap(), None);
    }

    #[test]
    fn being_mated_is_no_mate_announced() {
        let game = Game::from_fen("7k/8/5KQ1/8/8/8/8/7r b - - 0 1").unwrap();
        assert_eq!(uniform(3000).search(&game).unwrap().unwrap().mate, None);
    }

    #[test]
    fn the_rank_among_all_outputs_is_no_better_than_among_the_legal_moves() {
        let mut player = Player::load_raw(Path::new("embedded")).unwrap();
        let game = Game::new();
        let opinion = player.opinions(std::slice::from_ref(&game)).unwrap().remove(0);
        let moves: Vec<Move> = opinion.policy.iter().map(|(m, _)| *m).collect();
        let games = vec![game; moves.len()];
        let ranks = player.raw_ranks(&games, &moves).unwrap();
        assert!(ranks.is_sorted() && ranks.iter().zip(1..).all(|(rank, among_legal)| *rank >= among_legal));
        assert!(ranks[0] > 0 && ranks[19] <= 4672, "{ranks:?}");
        assert!(uniform(0).raw_ranks(&games, &moves).unwrap().is_empty());
    }

    #[test]
    fn a_network_that_is_not_there_is_named() {
        let error = Player::load(Path::new("no/such.onnx"), 0).err().unwrap();
        assert!(error.contains("no/such.onnx"), "{error}");
    }
}
