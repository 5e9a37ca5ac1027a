//! A network whose answers are the targets, also for positions that no game shows, so that a run keeps what its initial
//! weights know.

use std::path::Path;

use anyhow::{Context, Result, bail};
use engine::chess::position::Game;
use engine::nets::encoding::moves1::{self, Rows};
use engine::nets::encoding::sparse1::View;
use engine::nets::eval::SplitEvaluator;
use engine::nets::sparse::SparseNetwork;
use fastrand::Rng;
use shakmaty::{MoveList, Position};

use super::games::{GameStore, SparseRecipe};
use super::samples::{SparseSamples, SparseTargets};
use crate::base::network::{LoadedNet, load_network};
use crate::data::samples::Phase;

#[derive(Clone, Debug)]
pub struct SparseTeacher {
    network: SparseNetwork,
    /// Most random moves before a position.
    random_moves: usize,
}

impl SparseTeacher {
    /// Loads a network file of the family `sparse`, or `embedded`.
    pub fn load(name: &str, random_moves: usize) -> Result<SparseTeacher> {
        match load_network(Path::new(name)).context("teacher")? {
            LoadedNet::Native(network) => Ok(SparseTeacher { network, random_moves }),
            LoadedNet::Onnx(_) => bail!("teacher: {name} is not of the family sparse"),
        }
    }

    /// As [`GameStore::sample`], but each position follows up to `random_moves` random moves.
    pub fn sample(
        &self,
        games: &GameStore,
        game: usize,
        wanted: impl Fn(usize) -> bool,
        recipe: &SparseRecipe,
        rng: &mut Rng,
        out: &mut SparseSamples,
    ) {
        let mut evaluator = self.network.evaluator();
        let mut rows = [Rows { a: 0, b: 0 }; 256];
        games.walk(game, wanted, rng, |position, _, _, rng| {
            let mut game = position.clone();
            for _ in 0..rng.usize(..=self.random_moves) {
                let Some(m) = rng.choice(game.legal_moves()) else { break };
                game.play(m);
            }
            if recipe.forget > 0.0 && rng.f64() < recipe.forget {
                game = Game::from_position(game.position().clone());
            }
            let legal = game.legal_moves();
            if legal.is_empty() {
                return Some(());
            }
            // Without policy weight no moves are needed.
            let moves = if recipe.policy_weight > 0.0 { legal } else { MoveList::new() };
            let mut shares = vec![0.0; moves.len()];
            let wdl = if moves.is_empty() {
                evaluator.value(&game)
            } else {
                evaluator.evaluate_into(&game, &moves, &mut shares)
            };
            let best = (0..shares.len()).max_by(|a, b| shares[*a].total_cmp(&shares[*b])).unwrap_or(0);
            let view = View::of(&game);
            moves1::rows(&view, &moves, &mut rows[..moves.len()]);
            let targets = SparseTargets {
                best: best as u16,
                wdl: [wdl.win, wdl.draw, wdl.loss],
                policy_weight: recipe.policy_weight,
                value_weight: recipe.value_weight,
                smoothing: 0.0,
                result: [0.0; 3],
                phase: Phase::of(game.position().board()),
            };
            out.push(
                &view.features(),
                rows[..moves.len()].iter().map(|row| [row.a, row.b]),
                &shares,
                targets,
            );
            Some(())
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::data::record::GameView;

    /// 1. e4 e5 2. Nf3 Nc6 3. Bb5 a6, packed.
    const MOVES: [u16; 6] =
        [12 | 28 << 6, 52 | 36 << 6, 6 | 21 << 6, 57 | 42 << 6, 5 | 33 << 6, 48 | 40 << 6];

    fn samples(random_moves: usize, recipe: &SparseRecipe) -> SparseSamples {
        let mut games = GameStore::default();
        for _ in 0..20 {
            games.push(&GameView { moves: &MOVES, evals: &[500; 6], result: 1, ..GameView::default() });
        }
        let teacher = SparseTeacher::load("embedded", random_moves).unwrap();
        let (mut rng, mut out) = (Rng::with_seed(1), SparseSamples::default());
        (0..games.len()).for_each(|game| teacher.sample(&games, game, |_| true, recipe, &mut rng, &mut out));
        out
    }

    #[test]
    fn its_answers_are_the_targets_whatever_is_recorded() {
        let batch = samples(0, &SparseRecipe::default()).batch(0..6);
        let mut evaluator = SparseNetwork::embedded().evaluator();
        let mut game = Game::new();
        for (sample, packed) in MOVES.into_iter().enumerate() {
            let moves = game.legal_moves();
            let mut priors = vec![0.0; moves.len()];
            let wdl = evaluator.evaluate_into(&game, &moves, &mut priors);
            assert_eq!(batch.wdl[sample], [wdl.win, wdl.draw, wdl.loss]);
            assert_eq!(batch.shares[batch.moves(sample)], priors);
            assert!(priors.iter().all(|prior| *prior <= priors[usize::from(batch.best[sample])]));
            game.play(engine::chess::position::PackedMove(packed).to_legal_move(game.position()));
        }
        assert_eq!((batch.results[0], batch.totals), ([0.0; 3], [6.0, 6.0]));
    }

    #[test]
    fn random_moves_lead_to_positions_that_no_game_shows() {
        let different = |random_moves| {
            let recipe = SparseRecipe { policy_weight: 0.0, ..SparseRecipe::default() };
            let batch = samples(random_moves, &recipe).batch(0..120);
            assert!(!batch.has_policies());
            (0..120).map(|sample| batch.features(sample).to_vec()).collect::<HashSet<_>>().len()
        };
        assert_eq!(different(0), 6);
        assert!(different(4) > 80, "{}", different(4));
    }

    #[test]
    fn a_network_of_another_family_is_refused() {
        let resnet = concat!(env!("CARGO_MANIFEST_DIR"), "/../nets/resnet.int8.onnx");
        let error = format!("{:#}", SparseTeacher::load(resnet, 0).unwrap_err());
        assert!(error.contains("not of the family sparse"), "{error}");
        assert!(SparseTeacher::load("nowhere.onnx", 0).is_err());
    }
}
