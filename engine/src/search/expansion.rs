//! What an evaluator answers, as it enters the tree.

use pulp::{Arch, NullaryFnOnce};
use shakmaty::{Move, Position};

use super::node::Candidate;
use super::noise::Noise;
use super::proof::Proof;
use crate::eval::{Answer, Wdl};
use crate::position::{Game, PackedMove};
use crate::tables::TableResult;

/// What is applied at a leaf.
#[derive(Clone, Copy, Debug)]
pub enum Leaf<'a> {
    /// The game is over.
    Terminal(Proof),
    /// The result by endgame tables.
    Table(TableResult),
    /// A draw by repetition.
    Repeated {
        /// Plies since the position first occurred; `None` at threefold repetition.
        ago: Option<u16>,
    },
    /// An evaluated position with its moves.
    Expanded(Wdl, &'a Expansion),
    /// An evaluated position whose moves are not known yet.
    Valued(Wdl),
    /// The same with the value of the position elsewhere in the tree.
    Known(Wdl),
}

/// The moves of a position with their priors, highest first. The memory is used again and again.
#[derive(Clone, Debug, Default)]
pub struct Expansion {
    moves: Vec<(PackedMove, f32)>,
    // For sorting: the moves in their old order, a key of each, and their new places.
    unsorted: Vec<(PackedMove, f32)>,
    keys: Vec<i32>,
    places: Vec<i32>,
}

/// Keys that are compared at once.
const LANES: usize = 16;

/// Writes for each of the keys, which differ, how many are greater: its place in falling order. For the few moves of a
/// position, comparing all with all several at a time takes a third of the time of sorting them.
struct CountGreater<'a> {
    keys: &'a mut Vec<i32>,
    places: &'a mut Vec<i32>,
}

// Compiled for the machine's instructions, which a closure's body is not.
impl NullaryFnOnce for CountGreater<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let CountGreater { keys, places } = self;
        let count = keys.len();
        keys.resize(count.next_multiple_of(LANES), i32::MIN);
        places.resize(keys.len(), 0);
        let others = &keys[..count];
        for (keys, places) in keys.as_chunks::<LANES>().0.iter().zip(places.as_chunks_mut::<LANES>().0) {
            // Sums of their own stay in a register.
            let mut greater = [0; LANES];
            for other in others {
                for (greater, key) in greater.iter_mut().zip(keys) {
                    *greater += i32::from(other > key);
                }
            }
            *places = greater;
        }
    }
}

/// A key by which moves are sorted: the prior as the tree keeps it, then the complement of the move's number, so that equal
/// priors stay in the order of move generation, which is the same on every machine.
fn sort_key(number: usize, prior: f32) -> i32 {
    const { assert!(u16::MAX as i32 <= i32::MAX >> NUMBER_BITS) };
    debug_assert!(number < 1 << NUMBER_BITS);
    let last = (1 << NUMBER_BITS) - 1;
    ((Candidate::steps_of(prior) << NUMBER_BITS) | (last - number as u32)) as i32
}

/// A list of moves has fewer than two to the power of this.
const NUMBER_BITS: u32 = 9;

impl Expansion {
    /// `moves` with an evaluator's answer, its priors flattened by `temperature`.
    pub fn new(moves: &[Move], answer: &Answer, temperature: f32) -> Expansion {
        let mut expansion = Expansion::default();
        expansion.set(moves, &answer.priors, temperature);
        expansion
    }

    /// Replaces the moves; `priors` are raised to `1 / temperature` and normalised.
    pub fn set(&mut self, moves: &[Move], priors: &[f32], temperature: f32) {
        let exponent = 1.0 / temperature;
        let flat = |prior: f32| if exponent == 1.0 { prior } else { libm::powf(prior, exponent) };
        self.moves.clear();
        self.moves.extend(moves.iter().zip(priors).map(|(m, prior)| (PackedMove::new(*m), flat(*prior))));
        let total: f32 = self.moves.iter().map(|(_, prior)| prior).sum();
        for (_, prior) in &mut self.moves {
            *prior = if total > 0.0 { *prior / total } else { 1.0 / moves.len() as f32 };
        }
        self.sort();
    }

    /// Multiplies the priors and normalises them.
    pub(super) fn scale(&mut self, factor: impl Fn(PackedMove) -> f32) {
        self.moves.iter_mut().for_each(|(packed, prior)| *prior *= factor(*packed));
        let total: f32 = self.moves.iter().map(|(_, prior)| prior).sum();
        self.moves.iter_mut().for_each(|(_, prior)| *prior /= total);
        self.sort();
    }

    fn sort(&mut self) {
        let Expansion { moves, unsorted, keys, places } = self;
        keys.clear();
        keys.extend(moves.iter().enumerate().map(|(number, (_, prior))| sort_key(number, *prior)));
        Arch::new().dispatch(CountGreater { keys, places });
        std::mem::swap(moves, unsorted);
        moves.clone_from(unsorted);
        for (entry, place) in unsorted.iter().zip(&*places) {
            moves[*place as usize] = *entry;
        }
    }

    /// Mixes noise into the priors.
    pub(super) fn mix(&mut self, noise: Noise) {
        let shares = noise.shares(self.moves.len());
        for ((_, prior), share) in self.moves.iter_mut().zip(shares) {
            *prior = (1.0 - noise.epsilon) * *prior + noise.epsilon * share;
        }
        self.sort();
    }

    /// The moves with their priors, highest first.
    pub(super) fn moves(&self) -> &[(PackedMove, f32)] {
        &self.moves
    }
}

/// The leaf if the game is over at `game`, which is `plies` from the root; `has_move`: there is a legal move.
///
/// Besides the rules of chess, a position that has occurred since the root is a draw: a side that could avoid the
/// repetition the first time can do so the second time.
pub(super) fn finished(game: &Game, has_move: bool, plies: usize) -> Option<Leaf<'static>> {
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
            expansion.moves().iter().zip(&expected).map(|(found, wanted)| (found.0, wanted.0)).unzip();
        assert_eq!(found, wanted);
        assert!(
            expansion.moves().iter().zip(&expected).all(|(found, wanted)| (found.1 - wanted.1).abs() < 1e-6)
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
            let found: Vec<PackedMove> = expansion.moves().iter().map(|(packed, _)| *packed).collect();
            assert_eq!(found, moves.iter().copied().map(PackedMove::new).collect::<Vec<_>>(), "{count}");
            // Each a little better than the one before.
            let rising: Vec<f32> = (0..count).map(|number| 1.0 + number as f32).collect();
            expansion.set(&moves, &rising, 1.0);
            let found: Vec<PackedMove> = expansion.moves().iter().map(|(packed, _)| *packed).collect();
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
        let priors: Vec<f32> = expansion.moves().iter().map(|(_, prior)| *prior).collect();
        assert!((priors.iter().sum::<f32>() - 1.0).abs() < 1e-4);
        // As finely as the tree keeps them.
        assert!(priors.is_sorted_by_key(|prior| Reverse(Candidate::steps_of(*prior))) && priors[0] > 0.1);
    }
}
