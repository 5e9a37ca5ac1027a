//! Games in memory, and their positions as samples.

use engine::chess::position::{Game, PackedMove};
use engine::nets::encoding::moves1::{self, Rows};
use engine::nets::encoding::sparse1::View;
use fastrand::Rng;
use shakmaty::{MoveList, Position};

use super::samples::{SparseSamples, SparseTargets};
use crate::config::SparseSourceConfig;
use crate::data::record::{GameView, NO_EVAL, wdl_of_search};
use crate::data::samples::{Phase, ValueTarget, puzzle};

#[derive(Clone, Copy, Debug)]
struct Head {
    ply: u64,
    share: u64,
    start: u32,
    plies: u16,
    result: i8,
    puzzle: bool,
    recorded: bool,
}

/// Compact games: four bytes per ply, and nine more where policies are recorded.
#[derive(Clone, Debug, Default)]
pub struct GameStore {
    heads: Vec<Head>,
    starts: Vec<String>,
    moves: Vec<u16>,
    evals: Vec<i16>,
    /// Number of moves in each ply's policy, only for games with recorded policies.
    policies: Vec<u8>,
    /// The search's q and d, for the same plies as `policies`.
    values: Vec<(i16, u16)>,
    shares: Vec<(u16, u16)>,
    policy_at: Vec<u64>,
    targets: u64,
}

/// How a position becomes a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SparseRecipe {
    pub target: ValueTarget,
    /// Policy weight of the move played where a policy is recorded, which gets the rest.
    pub policy_lambda: f32,
    /// Share of samples without history, like set-up positions.
    pub forget: f64,
    /// Share of the policy target spread evenly over the legal moves where the target is the move played alone.
    pub smoothing: f32,
    pub policy_weight: f32,
    pub value_weight: f32,
}

impl Default for SparseRecipe {
    fn default() -> SparseRecipe {
        SparseSourceConfig::default().recipe()
    }
}

impl SparseSourceConfig {
    pub fn recipe(&self) -> SparseRecipe {
        SparseRecipe {
            target: ValueTarget { lambda: self.value_lambda as f32 },
            policy_lambda: self.policy_lambda as f32,
            forget: self.history_dropout,
            smoothing: self.label_smoothing as f32,
            policy_weight: self.policy_weight as f32,
            value_weight: self.value_weight as f32,
        }
    }
}

impl GameStore {
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// Number of positions to learn from, without those of a puzzle's opponent.
    pub fn targets(&self) -> u64 {
        self.targets
    }

    pub fn push(&mut self, game: &GameView<'_>) {
        let plies = game.moves.len().min(usize::from(u16::MAX));
        if plies == 0 {
            return;
        }
        let start = game.start.map_or(0, |fen| {
            self.starts.push(fen.to_owned());
            self.starts.len() as u32
        });
        let searches = &game.searches;
        let recorded = searches.len.len() >= plies;
        self.policy_at.push(self.policies.len() as u64);
        self.heads.push(Head {
            ply: self.moves.len() as u64,
            share: self.shares.len() as u64,
            start,
            plies: plies as u16,
            result: game.result,
            puzzle: game.puzzle,
            recorded,
        });
        self.moves.extend_from_slice(&game.moves[..plies]);
        let evals = &game.evals[..game.evals.len().min(plies)];
        self.evals.extend_from_slice(evals);
        self.evals.resize(self.moves.len(), NO_EVAL);
        if recorded {
            self.policies.extend_from_slice(&searches.len[..plies]);
            self.values.extend((0..plies).map(|ply| (searches.q[ply], searches.d[ply])));
            self.shares.extend((0..plies).flat_map(|ply| searches.shares(ply)));
        }
        self.targets += self.positions(self.len() - 1) as u64;
    }

    /// Returns the number of a game's training positions: those with a policy if policies are recorded, else all, but
    /// every second of a puzzle.
    pub fn positions(&self, game: usize) -> usize {
        let head = &self.heads[game];
        match self.recorded(game) {
            Some(policies) => policies.iter().filter(|len| **len > 0).count(),
            None => usize::from(head.plies).div_ceil(if head.puzzle { 2 } else { 1 }),
        }
    }

    /// Returns the number of moves in each ply's policy, if policies are recorded.
    fn recorded(&self, game: usize) -> Option<&[u8]> {
        let (head, at) = (&self.heads[game], self.policy_at[game] as usize);
        head.recorded.then(|| &self.policies[at..at + usize::from(head.plies)])
    }

    /// Adds samples of the game's training [positions](GameStore::positions) whose index `wanted` accepts. Stops at an
    /// illegal move.
    pub fn sample(
        &self,
        game: usize,
        wanted: impl Fn(usize) -> bool,
        recipe: &SparseRecipe,
        rng: &mut Rng,
        out: &mut SparseSamples,
    ) {
        let head = &self.heads[game];
        let mut rows = [Rows { a: 0, b: 0 }; 256];
        self.walk(game, wanted, rng, |position, ply, shares, rng| {
            let searched = head.recorded.then(|| self.values[self.policy_at[game] as usize + ply]);
            let searched = searched.map(|(q, d)| wdl_of_search(q, d));
            let at = head.ply as usize + ply;
            let (eval, played) = (Some(self.evals[at]), PackedMove(self.moves[at]));
            let labels = Labels { eval, searched, result: head.result, played, shares, recipe };
            labels.push(position, rng, &mut rows, out)
        });
    }

    /// Calls `each` with the game's training [positions](GameStore::positions) whose index `wanted` accepts, their
    /// plies and recorded policies, until it returns `None`.
    pub fn walk(
        &self,
        game: usize,
        wanted: impl Fn(usize) -> bool,
        rng: &mut Rng,
        mut each: impl FnMut(&Game, usize, &[(u16, u16)], &mut Rng) -> Option<()>,
    ) {
        let head = &self.heads[game];
        let first = head.ply as usize;
        let step = if head.puzzle { 2 } else { 1 };
        let Some(last) = (0..self.positions(game)).rev().find(|index| wanted(*index)) else { return };
        let Some(mut position) = self.start(head, rng) else { return };
        let policies = self.recorded(game);
        let mut share = head.share as usize;
        let mut index = 0;
        for ply in 0..usize::from(head.plies) {
            let len = policies.map_or(0, |policies| usize::from(policies[ply]));
            let shares = &self.shares[share..share + len];
            share += len;
            if if policies.is_some() { len > 0 } else { ply.is_multiple_of(step) } {
                if wanted(index) && each(&position, ply, shares, rng).is_none() {
                    return;
                }
                if index == last {
                    return;
                }
                index += 1;
            }
            position.play(PackedMove(self.moves[first + ply]).to_legal_move(position.position()));
        }
    }

    /// Returns the start position; a puzzle gets an invented history.
    fn start(&self, head: &Head, rng: &mut Rng) -> Option<Game> {
        let Some(start) = (head.start as usize).checked_sub(1) else { return Some(Game::new()) };
        let fen = &self.starts[start];
        if head.puzzle { puzzle::with_context(fen, rng).ok() } else { Game::from_fen(fen).ok() }
    }
}

/// Training labels of one position.
struct Labels<'a> {
    eval: Option<i16>,
    /// WDL for the side to move, by a search or an engine.
    searched: Option<[f32; 3]>,
    result: i8,
    played: PackedMove,
    shares: &'a [(u16, u16)],
    recipe: &'a SparseRecipe,
}

impl Labels<'_> {
    /// Adds the sample. Returns `None` without adding if the target move is illegal.
    fn push(
        &self,
        game: &Game,
        rng: &mut Rng,
        rows: &mut [Rows; 256],
        out: &mut SparseSamples,
    ) -> Option<()> {
        let recipe = self.recipe;
        // Move generation takes most of the time, so it is left out where the policy has no weight.
        let moves = if recipe.policy_weight > 0.0 { game.legal_moves() } else { MoveList::new() };
        let find = |m: PackedMove| {
            let m = m.to_legal_move(game.position());
            moves.iter().position(|legal| *legal == m)
        };
        let mut smoothing = recipe.smoothing;
        let mut shares: Vec<f32> = Vec::new();
        let lambda = recipe.policy_lambda;
        let best = match if lambda < 1.0 { self.shares } else { &[] } {
            _ if moves.is_empty() => 0,
            [] => find(self.played)?,
            [(only, _)] if lambda == 0.0 => {
                smoothing = 0.0;
                find(PackedMove(*only))?
            }
            recorded => {
                smoothing = 0.0;
                let total: f32 = recorded.iter().map(|(_, share)| f32::from(*share)).sum();
                shares.resize(moves.len(), 0.0);
                for (m, share) in recorded {
                    shares[find(PackedMove(*m))?] += (1.0 - lambda) * f32::from(*share) / total.max(1.0);
                }
                if lambda > 0.0 {
                    shares[find(self.played)?] += lambda;
                }
                (0..shares.len()).max_by(|a, b| shares[*a].total_cmp(&shares[*b]))?
            }
        };
        let forgets = recipe.forget > 0.0 && rng.f64() < recipe.forget;
        let view = if forgets { View::new(game.position(), None, 0) } else { View::of(game) };
        moves1::rows(&view, &moves, &mut rows[..moves.len()]);
        let wdl = match self.searched {
            Some(searched) => recipe.target.for_mover_searched(game.turn(), self.result, searched),
            None => recipe.target.for_mover(game.turn(), self.result, self.eval),
        };
        let result = ValueTarget::RESULT.for_mover(game.turn(), self.result, None);
        let targets = SparseTargets {
            best: best as u16,
            wdl: wdl.unwrap_or_default(),
            policy_weight: recipe.policy_weight,
            value_weight: if wdl.is_some() { recipe.value_weight } else { 0.0 },
            smoothing,
            result: result.unwrap_or_default(),
            phase: Phase::of(game.position().board()),
        };
        let rows = rows[..moves.len()].iter().map(|row| [row.a, row.b]);
        out.push(&view.features(), rows, &shares, targets);
        Some(())
    }
}

/// Draws `count` samples uniformly from all positions without replacement; deterministic for a seed.
pub fn choose(games: &GameStore, count: usize, recipe: &SparseRecipe, seed: u64) -> SparseSamples {
    let mut rng = Rng::with_seed(seed);
    // Selection sampling (Knuth, volume 2, 3.4.2, algorithm S).
    let (mut left, mut wanted) = (games.targets(), (count as u64).min(games.targets()));
    let mut out = SparseSamples::default();
    for game in 0..games.len() {
        let chosen: Vec<bool> = (0..games.positions(game))
            .map(|_| {
                let take = rng.u64(..left) < wanted;
                left -= 1;
                wanted -= u64::from(take);
                take
            })
            .collect();
        games.sample(game, |index| chosen[index], recipe, &mut rng.fork(), &mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::samples::SparseBatch;
    use super::*;
    use crate::data::record::SearchColumns;

    /// 1. e4 e5 2. Nf3 Nc6 3. Bb5 a6, packed.
    const MOVES: [u16; 6] =
        [12 | 28 << 6, 52 | 36 << 6, 6 | 21 << 6, 57 | 42 << 6, 5 | 33 << 6, 48 | 40 << 6];

    fn sampled(games: &GameStore, recipe: &SparseRecipe) -> SparseBatch {
        let mut samples = SparseSamples::default();
        (0..games.len())
            .for_each(|game| games.sample(game, |_| true, recipe, &mut Rng::with_seed(1), &mut samples));
        samples.batch(0..samples.len())
    }

    #[test]
    fn without_a_policy_that_counts_there_are_no_moves() {
        let mut games = GameStore::default();
        games.push(&GameView { moves: &MOVES, evals: &[0, 100], result: -1, ..GameView::default() });
        let [with, without] = [1.0, 0.0]
            .map(|policy_weight| sampled(&games, &SparseRecipe { policy_weight, ..SparseRecipe::default() }));
        assert!(with.has_policies() && !without.has_policies());
        assert!((0..6).all(|sample| without.moves(sample).is_empty() && !with.moves(sample).is_empty()));
        assert_eq!(
            (&with.features, &with.wdl, &with.value_weight),
            (&without.features, &without.wdl, &without.value_weight)
        );
    }

    #[test]
    fn a_sample_is_the_position_before_its_move() {
        let mut games = GameStore::default();
        games.push(&GameView {
            moves: &MOVES,
            evals: &[0, 30_000, NO_EVAL],
            result: -1,
            ..GameView::default()
        });
        let recipe = SparseRecipe { target: ValueTarget { lambda: 0.3 }, ..SparseRecipe::default() };
        let batch = sampled(&games, &recipe);
        assert_eq!((batch.len(), games.targets()), (6, 6));
        let mut game = Game::new();
        for (ply, packed) in MOVES.iter().enumerate() {
            assert_eq!(batch.features(ply), &*View::of(&game).features());
            let (moves, m) = (game.legal_moves(), PackedMove(*packed).to_legal_move(game.position()));
            assert_eq!(batch.moves(ply).len(), moves.len());
            assert_eq!(moves[usize::from(batch.best[ply])], m);
            game.play(m);
        }
        assert_eq!(batch.wdl[1], [0.3, 0.0, 0.7], "Black won, but is mated in the evaluation");
        assert_eq!(batch.wdl[2], [0.0, 0.0, 1.0], "no evaluation");
        assert_eq!(batch.value_weight, [1.0; 6]);
    }

    #[test]
    fn a_recorded_policy_is_mixed_with_the_move_played() {
        let mut games = GameStore::default();
        let mut columns = SearchColumns::default();
        // Not the move played.
        columns.push(0, 32768, [(11 | 27 << 6, 65535)].into_iter());
        columns.pad(1);
        games.push(&GameView { moves: &MOVES[..1], searches: columns.get(0..1), ..GameView::default() });
        let shares = |policy_lambda| {
            let recipe = SparseRecipe { policy_lambda, smoothing: 0.5, ..SparseRecipe::default() };
            let batch = sampled(&games, &recipe);
            let played = Game::default().legal_moves().iter().position(|m| PackedMove::new(*m).0 == MOVES[0]);
            let shares = &batch.shares[batch.moves(0)];
            let most = usize::from(batch.best[0]);
            (shares[most], shares[played.unwrap()])
        };
        assert_eq!([shares(0.0), shares(0.25), shares(0.75)], [(1.0, 0.0), (0.75, 0.25), (0.75, 0.75)]);
        assert_eq!(shares(1.0), (0.525, 0.525), "smoothed over twenty moves, as the move played alone is");
    }

    #[test]
    fn recorded_policies_are_the_targets() {
        let mut games = GameStore::default();
        // Ply 0 has one move that was not played, ply 1 nothing, ply 2 two moves.
        let mut columns = SearchColumns::default();
        columns.push(0, 32768, [(11 | 27 << 6, 65535)].into_iter());
        columns.pad(2);
        columns.push(-16384, 32768, [(6 | 21 << 6, 100), (5 | 33 << 6, 300)].into_iter());
        columns.pad(4);
        for result in [2, 1] {
            let moves = &MOVES[..4];
            games.push(&GameView { moves, result, searches: columns.get(0..4), ..GameView::default() });
        }
        let recipe =
            SparseRecipe { smoothing: 0.5, target: ValueTarget { lambda: 0.25 }, ..SparseRecipe::default() };
        let batch = sampled(&games, &recipe);
        assert_eq!((batch.len(), games.targets()), (4, 4));
        let greatest = |sample: usize| {
            let shares = &batch.shares[batch.moves(sample)];
            (shares[usize::from(batch.best[sample])], shares.iter().filter(|share| **share > 0.0).count())
        };
        assert_eq!([greatest(0), greatest(1)], [(1.0, 1), (0.75, 2)]);
        assert_eq!([greatest(2), greatest(3)], [(1.0, 1), (0.75, 2)]);
        // The search's value, with the result where it is known: three quarters of a draw in half of the games, then
        // White's win.
        let expected = [[0.25, 0.5, 0.25], [0.0, 0.5, 0.5]];
        for (sample, (result, searched)) in
            [(0.0, expected[0]), (0.0, expected[1]), (1.0, expected[0]), (1.0, expected[1])]
                .into_iter()
                .enumerate()
        {
            let known = 0.25 * result;
            let wdl = [0, 1, 2].map(|k| (1.0 - known) * searched[k] + if k == 0 { known } else { 0.0 });
            for (got, wanted) in batch.wdl[sample].into_iter().zip(wdl) {
                assert!((got - wanted).abs() < 1e-3, "{sample}: {:?}", batch.wdl[sample]);
            }
        }
        // Chosen by their index among the recorded positions.
        let mut second = SparseSamples::default();
        games.sample(0, |index| index == 1, &recipe, &mut Rng::with_seed(1), &mut second);
        assert_eq!(second.batch(0..1).features(0), batch.features(1));
    }

    #[test]
    fn of_a_puzzle_every_second_move_is_learnt() {
        let fen = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4";
        let mut games = GameStore::default();
        games.push(&GameView {
            start: Some(fen),
            moves: &[39 | 53 << 6],
            result: 2,
            puzzle: true,
            ..GameView::default()
        });
        games.push(&GameView { moves: &MOVES, result: 2, puzzle: true, ..GameView::default() });
        assert_eq!((games.targets(), sampled(&games, &SparseRecipe::default()).len()), (4, 4));
    }

    #[test]
    fn forgotten_games_have_no_last_move() {
        let mut games = GameStore::default();
        games.push(&GameView { moves: &MOVES, result: 0, ..GameView::default() });
        let counts = |forget| {
            let batch = sampled(&games, &SparseRecipe { forget, ..SparseRecipe::default() });
            (1..6).map(|ply| batch.features(ply).len()).collect::<Vec<_>>()
        };
        let (known, forgotten) = (counts(0.0), counts(1.0));
        assert!(known.iter().zip(&forgotten).all(|(known, forgotten)| *known == forgotten + 2));
    }

    #[test]
    fn chosen_positions_are_as_many_as_asked_for_and_always_the_same() {
        let mut games = GameStore::default();
        for plies in 1..7 {
            games.push(&GameView { moves: &MOVES[..plies], result: 0, ..GameView::default() });
        }
        let batch = |count, seed| choose(&games, count, &SparseRecipe::default(), seed).batch(0..count);
        assert_eq!(batch(21, 1).len(), 21);
        assert_eq!(batch(9, 1), batch(9, 1));
        assert_ne!(batch(9, 1), batch(9, 2));
    }
}
