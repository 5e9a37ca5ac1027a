//! How the results of leaves enter the tree.

use pulp::{Arch, Simd, WithSimd};
use shakmaty::{Move, Position};

use crate::chess::position::{Game, PackedMove};
use crate::chess::tables::TableResult;
use crate::nets::eval::{Answer, Wdl};
use crate::search::noise::Noise;
use crate::search::tree::node::MovePrior;
use crate::search::tree::proof::Proof;

#[derive(Clone, Copy, Debug)]
pub enum Leaf<'a> {
    Terminal(Proof),
    /// By endgame tables.
    Table(TableResult),
    /// By repetition.
    Repeated {
        /// Plies since the position first occurred; `None` at threefold repetition.
        ago: Option<u16>,
    },
    /// Evaluated, with its moves.
    Expanded(Wdl, &'a Expansion),
    /// Evaluated; its moves are not known yet.
    Valued(Wdl),
}

/// A position's moves with their priors. The memory is reused.
#[derive(Clone, Debug, Default)]
pub struct Expansion {
    /// In the order of move generation, as `priors`.
    moves: Vec<PackedMove>,
    priors: Vec<f32>,
    /// As the tree keeps them, highest prior first.
    sorted: Vec<MovePrior>,
    // Each move's sort key, and its place by falling key.
    keys: Vec<u32>,
    places: Vec<u32>,
}

/// Most SIMD lanes of any machine.
const LANES: usize = 16;

/// Writes each prior's sort key and its place: the number of greater keys. For a position's few moves, comparing all
/// pairs with SIMD takes a third of the time of sorting.
struct CountGreater<'a> {
    priors: &'a [f32],
    keys: &'a mut [u32],
    places: &'a mut [u32],
}

impl WithSimd for CountGreater<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let CountGreater { priors, keys, places } = self;
        for (number, (key, prior)) in keys.iter_mut().zip(priors).enumerate() {
            *key = sort_key(number as u32, *prior);
        }
        const { assert!(LANES.is_multiple_of(S::U32_LANES)) };
        let (key_vectors, _) = S::as_simd_u32s(keys);
        let (place_vectors, _) = S::as_mut_simd_u32s(places);
        let (zero, one) = (simd.splat_u32s(0), simd.splat_u32s(1));
        for (some_keys, greater) in key_vectors.iter().zip(place_vectors) {
            *greater = zero;
            for key in &keys[..priors.len()] {
                let is_greater = simd.greater_than_u32s(simd.splat_u32s(*key), *some_keys);
                *greater = simd.add_u32s(*greater, simd.select_u32s(is_greater, one, zero));
            }
        }
    }
}

/// The prior as the tree keeps it, then the complement of the move's number: equal priors stay in the order of move
/// generation, which is the same on every machine.
#[inline(always)]
fn sort_key(number: u32, prior: f32) -> u32 {
    const { assert!(u16::MAX as u32 <= u32::MAX >> NUMBER_BITS) };
    let last = (1 << NUMBER_BITS) - 1;
    MovePrior::steps_of(prior) << NUMBER_BITS | (last - number)
}

/// Bits of a move's number in its list.
const NUMBER_BITS: u32 = 9;

impl Expansion {
    pub fn new(moves: &[Move], answer: &Answer, temperature: f32) -> Expansion {
        let mut expansion = Expansion::default();
        expansion.set(moves, &answer.priors, temperature);
        expansion
    }

    /// Replaces the moves; `priors` are raised to `1 / temperature` and normalised.
    pub fn set(&mut self, moves: &[Move], priors: &[f32], temperature: f32) {
        debug_assert_eq!(moves.len(), priors.len());
        let exponent = 1.0 / temperature;
        let flat = |prior: f32| if exponent == 1.0 { prior } else { libm::powf(prior, exponent) };
        self.fill(moves, |own| {
            for (own, prior) in own.iter_mut().zip(priors) {
                *own = flat(*prior);
            }
            normalise(own);
        });
    }

    /// Replaces the moves. `write` overwrites zeros with a prior per move, of sum 1.
    pub(in crate::search) fn fill(&mut self, moves: &[Move], write: impl FnOnce(&mut [f32])) {
        self.moves.clear();
        self.moves.extend(moves.iter().copied().map(PackedMove::new));
        self.priors.clear();
        self.priors.resize(moves.len(), 0.0);
        write(&mut self.priors);
        let total: f32 = self.priors.iter().sum();
        debug_assert!(moves.is_empty() || (total - 1.0).abs() < 1e-3, "{:?}", self.priors);
        self.sort();
    }

    fn sort(&mut self) {
        let Expansion { moves, priors, sorted, keys, places } = self;
        debug_assert!(moves.len() < 1 << NUMBER_BITS);
        let room = moves.len().next_multiple_of(LANES);
        keys.resize(room, 0);
        places.resize(room, 0);
        Arch::new().dispatch(CountGreater { priors, keys, places });
        sorted.resize(moves.len(), MovePrior::default());
        for ((packed, key), place) in moves.iter().zip(keys).zip(places) {
            sorted[*place as usize] = MovePrior::of_steps(*packed, *key >> NUMBER_BITS);
        }
    }

    pub(in crate::search) fn mix(&mut self, noise: Noise) {
        // Shares go to the sorted moves, as in a reused tree.
        let shares = noise.shares(self.moves.len());
        for (prior, place) in self.priors.iter_mut().zip(&self.places) {
            *prior = (1.0 - noise.epsilon) * *prior + noise.epsilon * shares[*place as usize];
        }
        self.sort();
    }

    /// Highest prior first.
    pub(in crate::search) fn moves(&self) -> &[MovePrior] {
        &self.sorted
    }
}

/// If the sum is zero, all become equal.
fn normalise(priors: &mut [f32]) {
    let (total, count): (f32, _) = (priors.iter().sum(), priors.len() as f32);
    priors.iter_mut().for_each(|prior| *prior = if total > 0.0 { *prior / total } else { 1.0 / count });
}

/// Returns a leaf if the game is over at `game`, `plies` below the root. `has_move`: there is a legal move.
///
/// A second occurrence since the root is a draw too: a side that could avoid the repetition the first time can do so
/// the second time.
pub(in crate::search) fn finished(game: &Game, has_move: bool, plies: usize) -> Option<Leaf<'static>> {
    if !has_move {
        let proof = if game.position().is_check() { Proof::Loss(0) } else { Proof::Draw };
        return Some(Leaf::Terminal(proof));
    }
    if game.position().halfmoves() >= 100 || game.position().is_insufficient_material() {
        return Some(Leaf::Terminal(Proof::Draw));
    }
    if game.repetitions() >= 2 {
        return Some(Leaf::Repeated { ago: None });
    }
    let ago = game.recurrence().filter(|ago| *ago <= plies);
    ago.map(|ago| Leaf::Repeated { ago: Some(ago as u16) })
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use shakmaty::{Role, Square};

    use super::*;

    fn finished_after(moves: &str, plies: usize) -> Option<Leaf<'static>> {
        let game = Game::from_uci(None, moves.split_whitespace()).unwrap();
        finished(&game, game.has_legal_move(), plies)
    }

    #[test]
    fn the_second_occurrence_since_the_root_is_a_draw() {
        let round = "g1f3 g8f6 f3g1 f6g8";
        let twofold = finished_after(round, 4);
        assert!(matches!(twofold, Some(Leaf::Repeated { ago: Some(4) })), "the root itself is repeated");
        assert!(finished_after(round, 3).is_none(), "its only occurrence was before the root");
        let third = finished_after(&format!("{round} {round}"), 1);
        assert!(matches!(third, Some(Leaf::Repeated { ago: None })), "threefold, wherever the others were");
    }

    #[test]
    fn mate_is_a_loss_for_the_side_to_move_and_is_checked_first() {
        let mate = finished_after("f2f3 e7e5 g2g4 d8h4", 4);
        assert!(matches!(mate, Some(Leaf::Terminal(Proof::Loss(0)))));
        assert!(finished_after("f2f3 e7e5 g2g4", 3).is_none());
    }

    #[test]
    fn moves_are_sorted_by_their_priors_and_equal_ones_stay_in_order() {
        let game = Game::new();
        let moves = game.legal_moves();
        let priors: Vec<f32> = (0..20).map(|index| [0.05, 0.07, 0.0, 0.08][index % 4]).collect();
        let expansion = Expansion::new(&moves, &Answer { wdl: Wdl::DRAW, priors: priors.clone() }, 1.0);
        let mut expected: Vec<(PackedMove, f32)> =
            moves.iter().zip(priors).map(|(m, prior)| (PackedMove::new(*m), prior)).collect();
        expected.sort_by(|a, b| b.1.total_cmp(&a.1));
        let (found, wanted): (Vec<_>, Vec<_>) =
            expansion.moves().iter().zip(&expected).map(|(found, wanted)| (found.packed(), wanted.0)).unzip();
        assert_eq!(found, wanted);
        assert!(
            expansion
                .moves()
                .iter()
                .zip(&expected)
                .all(|(found, wanted)| found.steps() == MovePrior::steps_of(wanted.1))
        );
    }

    /// A position that can be set up has 270 moves.
    #[test]
    fn no_move_is_lost_however_many_have_the_same_prior() {
        for count in [1, 15, 16, 17, 33, 256, 270] {
            let square = |number: usize| Square::new(number as u32);
            let any = |number: usize| {
                let (from, to) = (square(number / 64), square(number % 64));
                Move::Normal { role: Role::Queen, from, capture: None, to, promotion: None }
            };
            let moves: Vec<Move> = (0..count).map(any).collect();
            let mut expansion = Expansion::default();
            expansion.set(&moves, &vec![0.25; count], 1.0);
            let found: Vec<PackedMove> = expansion.moves().iter().map(|m| m.packed()).collect();
            assert_eq!(found, moves.iter().copied().map(PackedMove::new).collect::<Vec<_>>(), "{count}");
            let rising: Vec<f32> = (0..count).map(|number| 1.0 + number as f32).collect();
            expansion.set(&moves, &rising, 1.0);
            let found: Vec<PackedMove> = expansion.moves().iter().map(|m| m.packed()).collect();
            assert_eq!(
                found,
                moves.iter().rev().copied().map(PackedMove::new).collect::<Vec<_>>(),
                "{count}"
            );
        }
    }

    #[test]
    fn noise_moves_priors_and_keeps_their_sum() {
        let game = Game::new();
        let moves = game.legal_moves();
        let answer = Answer { wdl: Wdl::DRAW, priors: vec![0.05; 20] };
        let mut expansion = Expansion::new(&moves, &answer, 1.0);
        expansion.mix(Noise { epsilon: 0.5, alpha: 0.3, seed: 3 });
        assert!((expansion.priors.iter().sum::<f32>() - 1.0).abs() < 1e-4);
        // Sorted at the tree's precision.
        let kept = expansion.moves();
        assert!(kept.is_sorted_by_key(|m| Reverse(m.steps())) && kept[0].prior() > 0.1);
    }
}
