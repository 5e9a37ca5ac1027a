//! Entries of the tree's arrays. Workers change them without locks, so a reader may see a visit in some fields before
//! others; the next visit corrects derived values. Sums are fixed-point, so that not even their last bit depends on the
//! order of visits.

use std::sync::atomic::{AtomicI64, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::chess::position::PackedMove;
use crate::nets::eval::Wdl;
use crate::search::tree::proof::Proof;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeId(pub(in crate::search) u32);

pub(in crate::search) const NONE: u32 = u32::MAX;

const EXPANDING: u16 = u16::MAX;

const ADDING: u16 = 1 << 15;

/// 1.0 in the fixed-point sums of results.
const ONE: f64 = (1_u64 << 30) as f64;

pub(in crate::search) trait Counter {
    type Value;

    /// Returns the value before. Several threads may add with `shared`; otherwise only one, by a plain load and store.
    fn increase(&self, by: Self::Value, shared: bool) -> Self::Value;
}

macro_rules! counters {
    ($($atomic:ty: $value:ty),*) => {$(
        impl Counter for $atomic {
            type Value = $value;

            #[inline]
            fn increase(&self, by: $value, shared: bool) -> $value {
                if shared {
                    self.fetch_add(by, Ordering::Relaxed)
                } else {
                    let before = self.load(Ordering::Relaxed);
                    self.store(before.wrapping_add(by), Ordering::Relaxed);
                    before
                }
            }
        }
    )*};
}

counters!(AtomicU32: u32, AtomicU64: u64, AtomicI64: i64);

/// A position's visit statistics, in one cache line. Sums are for the side that moved *into* the node, so that a parent
/// compares children without a change of sign.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(in crate::search) struct Node {
    /// Sum of results in −1..1.
    wins: AtomicI64,
    squares: AtomicU64,
    draws: AtomicU64,
    /// [`Game::key`](crate::chess::position::Game::key) if the node is in the index, else 0.
    pub key: AtomicU64,
    visits: AtomicU32,
    /// Visits that ended here: 1, the evaluation; more if the node's moves were dropped or the game ends here.
    own: AtomicU32,
    /// The evaluator's value as `f32` bits, for the side that moved into the node.
    value: AtomicU32,
    fate: AtomicU32,
    pub first_move: AtomicU32,
    pub first_edge: AtomicU32,
    moves: AtomicU16,
    edges: AtomicU16,
    in_flight: AtomicU16,
    /// Edges to this node, plus its use as root or base; saturates.
    pub references: AtomicU16,
}

/// Correction of a node's sums: target minus actual, for the side that moved into the node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::search) struct SumError {
    wins: f64,
    squares: f64,
    draws: f64,
}

impl SumError {
    /// Turns `visits` visits counted as draws into results `q` with draw probability `draw`.
    pub fn of_draws(visits: u32, q: f32, draw: f32) -> SumError {
        let (visits, q) = (f64::from(visits), f64::from(q));
        SumError { wins: visits * q, squares: visits * q * q, draws: visits * (f64::from(draw) - 1.0) }
    }

    /// `share` of the node's visits came from this parent.
    pub fn for_parent(self, share: f64) -> SumError {
        SumError { wins: -self.wins * share, squares: self.squares * share, draws: self.draws * share }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::search) struct Results {
    pub visits: u32,
    wins: i64,
    squares: u64,
    draws: u64,
}

impl Results {
    /// `q` is in −1..1.
    #[inline]
    pub fn of(visits: u32, q: f32, draw: f32) -> Results {
        let (q, count) = (f64::from(q), u64::from(visits));
        Results {
            visits,
            wins: (q * ONE) as i64 * i64::from(visits),
            squares: (q * q * ONE) as u64 * count,
            draws: (f64::from(draw) * ONE) as u64 * count,
        }
    }

    #[inline]
    pub fn add(&mut self, others: &Results) {
        self.visits += others.visits;
        self.wins += others.wins;
        self.squares += others.squares;
        self.draws += others.draws;
    }

    #[inline]
    pub fn for_parent(self) -> Results {
        Results { wins: -self.wins, ..self }
    }
}

/// A position's result by rules, tables or solver; [`Fate::Open`] if they give none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::search) enum Fate {
    Open,
    Proven(Proof),
    Threefold,
    /// The second occurrence, this many plies after the first; a draw unless the first is before the root.
    Twofold(u16),
}

impl Fate {
    fn pack(self) -> u32 {
        let tagged = |tag: u32, plies: u16| tag << 16 | u32::from(plies);
        match self {
            Fate::Open => 0,
            Fate::Proven(Proof::Win(plies)) => tagged(1, plies),
            Fate::Proven(Proof::Draw) => tagged(2, 0),
            Fate::Proven(Proof::Loss(plies)) => tagged(3, plies),
            Fate::Threefold => tagged(4, 0),
            Fate::Twofold(ago) => tagged(5, ago),
        }
    }

    fn unpack(bits: u32) -> Fate {
        let plies = bits as u16;
        match bits >> 16 {
            0 => Fate::Open,
            1 => Fate::Proven(Proof::Win(plies)),
            2 => Fate::Proven(Proof::Draw),
            3 => Fate::Proven(Proof::Loss(plies)),
            4 => Fate::Threefold,
            _ => Fate::Twofold(plies),
        }
    }
}

impl Node {
    pub fn reset(&self) {
        self.forget_visits();
        self.key.store(0, Ordering::Relaxed);
        self.value.store(0, Ordering::Relaxed);
        self.first_move.store(NONE, Ordering::Relaxed);
        self.first_edge.store(NONE, Ordering::Relaxed);
        self.moves.store(0, Ordering::Relaxed);
        self.edges.store(0, Ordering::Relaxed);
        self.in_flight.store(0, Ordering::Relaxed);
        self.references.store(1, Ordering::Relaxed);
    }

    pub fn forget_visits(&self) {
        self.wins.store(0, Ordering::Relaxed);
        self.squares.store(0, Ordering::Relaxed);
        self.draws.store(0, Ordering::Relaxed);
        self.visits.store(0, Ordering::Relaxed);
        self.own.store(0, Ordering::Relaxed);
        self.fate.store(0, Ordering::Relaxed);
    }

    #[inline]
    pub fn visits(&self) -> u32 {
        self.visits.load(Ordering::Relaxed)
    }

    #[inline]
    pub fn own(&self) -> u32 {
        self.own.load(Ordering::Relaxed)
    }

    #[inline]
    pub fn in_flight(&self) -> u32 {
        u32::from(self.in_flight.load(Ordering::Relaxed))
    }

    /// Returns whether the new visit is the only one in flight.
    pub fn add_virtual_loss(&self) -> bool {
        self.in_flight.fetch_add(1, Ordering::Acquire) == 0
    }

    pub fn remove_virtual_loss(&self) {
        self.in_flight.fetch_sub(1, Ordering::Release);
    }

    #[inline]
    pub fn add(&self, q: f32, draw: f32, shared: bool) {
        self.add_results(&Results::of(1, q, draw), shared);
    }

    #[inline]
    pub fn add_results(&self, results: &Results, shared: bool) {
        self.wins.increase(results.wins, shared);
        self.squares.increase(results.squares, shared);
        self.draws.increase(results.draws, shared);
        self.visits.increase(results.visits, shared);
    }

    /// The correction to mean result `q`, for the side that moved into the node, and mean draw probability `draw`.
    pub fn error_against(&self, q: f32, draw: f32) -> SumError {
        let visits = f64::from(self.visits());
        let (q, draw) = (f64::from(q), f64::from(draw));
        SumError {
            wins: visits * q - self.wins.load(Ordering::Relaxed) as f64 / ONE,
            squares: visits * q * q - self.squares.load(Ordering::Relaxed) as f64 / ONE,
            draws: visits * draw - self.draws.load(Ordering::Relaxed) as f64 / ONE,
        }
    }

    /// Corrects the sums without counting a visit.
    pub fn correct(&self, error: SumError, shared: bool) {
        // Saturating: concurrent corrections must not make a sum negative.
        let unsigned = |sum: &AtomicU64, by: f64| {
            let steps = (by * ONE) as i64;
            if shared {
                let add = |sum: u64| Some(sum.saturating_add_signed(steps));
                let _ = sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
            } else {
                sum.store(sum.load(Ordering::Relaxed).saturating_add_signed(steps), Ordering::Relaxed);
            }
        };
        self.wins.increase((error.wins * ONE) as i64, shared);
        unsigned(&self.squares, error.squares);
        unsigned(&self.draws, error.draws);
    }

    /// Adds the evaluator's value as a visit that ended here.
    pub fn add_own(&self, q: f32, draw: f32, shared: bool) {
        self.value.store(q.to_bits(), Ordering::Relaxed);
        self.own.increase(1, shared);
        self.add(q, draw, shared);
    }

    /// For the side that moved into the node; `None` before the first visit.
    pub fn value(&self) -> Option<f32> {
        (self.visits() > 0).then(|| f32::from_bits(self.value.load(Ordering::Relaxed)))
    }

    #[inline]
    pub fn fate(&self) -> Fate {
        Fate::unpack(self.fate.load(Ordering::Relaxed))
    }

    pub fn set_fate(&self, fate: Fate) {
        self.fate.store(fate.pack(), Ordering::Relaxed);
    }

    /// For the side to move.
    #[inline]
    pub fn proof(&self) -> Option<Proof> {
        match self.fate() {
            Fate::Proven(proof) => Some(proof),
            _ => None,
        }
    }

    /// 0 unless the node is expanded.
    #[inline]
    pub fn moves(&self) -> usize {
        match self.moves.load(Ordering::Acquire) {
            EXPANDING => 0,
            moves => usize::from(moves),
        }
    }

    #[inline]
    pub fn is_expanded(&self) -> bool {
        self.moves() > 0
    }

    /// Returns true to exactly one worker, which must expand the node or give up with `set_moves(0)`.
    pub fn claim(&self) -> bool {
        self.moves.compare_exchange(0, EXPANDING, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Publishes moves that are already written.
    pub fn set_moves(&self, moves: usize) {
        self.moves.store(moves as u16, Ordering::Release);
    }

    #[inline]
    pub fn edges(&self) -> usize {
        usize::from(self.edges.load(Ordering::Acquire) & !ADDING)
    }

    /// Spins for the sole right to add an edge, held until [`Node::unlock`]. Returns the number of edges.
    pub fn lock(&self) -> usize {
        loop {
            let edges = self.edges.load(Ordering::Relaxed) & !ADDING;
            let locked =
                self.edges.compare_exchange_weak(edges, edges | ADDING, Ordering::Acquire, Ordering::Relaxed);
            if locked.is_ok() {
                return usize::from(edges);
            }
            std::hint::spin_loop();
        }
    }

    pub fn unlock(&self, edges: usize) {
        self.edges.store(edges as u16, Ordering::Release);
    }

    /// All visits now count as ended here.
    pub fn forget_moves(&self) {
        self.moves.store(0, Ordering::Relaxed);
        self.edges.store(0, Ordering::Relaxed);
        self.first_move.store(NONE, Ordering::Relaxed);
        self.first_edge.store(NONE, Ordering::Relaxed);
        self.own.store(self.visits(), Ordering::Relaxed);
    }

    /// Proven result, else mean, −1..1, for the side that moved into the node; 0 before the first visit.
    #[inline]
    pub fn q(&self) -> f32 {
        match (self.fate(), self.visits()) {
            (Fate::Proven(proof), _) => -proof.wdl().q(),
            (_, 0) => 0.0,
            (_, visits) => (self.wins.load(Ordering::Relaxed) as f64 / (ONE * f64::from(visits))) as f32,
        }
    }

    #[inline]
    pub fn variance(&self) -> f32 {
        let share = 1.0 / (ONE * f64::from(self.visits().max(1)));
        let mean = self.wins.load(Ordering::Relaxed) as f64 * share;
        let square = self.squares.load(Ordering::Relaxed) as f64 * share;
        (square - mean * mean).max(0.0) as f32
    }

    /// Proven, else mean, for the side that moved into the node.
    pub fn wdl_for_parent(&self) -> Wdl {
        match self.proof() {
            Some(proof) => proof.wdl().flipped(),
            None => self.mean_for_parent(),
        }
    }

    /// The mean of the visits, also of a proven node, for the side that moved into it; a draw before the first visit.
    pub fn mean_for_parent(&self) -> Wdl {
        let visits = self.visits();
        if visits == 0 {
            return Wdl::DRAW;
        }
        let mean = |sum: f64| (sum / (ONE * f64::from(visits))) as f32;
        let draw = mean(self.draws.load(Ordering::Relaxed) as f64);
        let q = mean(self.wins.load(Ordering::Relaxed) as f64);
        let win = ((1.0 - draw + q) / 2.0).clamp(0.0, 1.0);
        Wdl { win, draw, loss: (1.0 - draw - win).max(0.0) }
    }
}

/// An entry of a chain of blocks. A block's first entry, its head, holds the id of the next block.
pub(in crate::search) trait Chained {
    fn next_block(&self) -> &AtomicU32;
}

/// A move in the low 16 bits and its prior in the high 16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::search) struct MovePrior(u32);

impl MovePrior {
    #[inline]
    pub fn new(packed: PackedMove, prior: f32) -> MovePrior {
        MovePrior::of_steps(packed, MovePrior::steps_of(prior))
    }

    /// The prior is `steps` / 65535.
    #[inline]
    pub fn of_steps(packed: PackedMove, steps: u32) -> MovePrior {
        MovePrior(u32::from(packed.0) | steps << 16)
    }

    /// Rounds a prior in 0..1 to units of 1/65535, at least 1: a legal move never has prior 0.
    #[inline(always)]
    pub fn steps_of(prior: f32) -> u32 {
        // Adding 2²³ rounds to an integer, which the low mantissa bits then hold.
        const MAGIC: f32 = (1 << 23) as f32;
        let rounded = (prior.max(0.0) * f32::from(u16::MAX) + MAGIC).to_bits() & ((1 << 23) - 1);
        rounded.clamp(1, u16::MAX.into())
    }

    #[inline]
    pub fn packed(self) -> PackedMove {
        PackedMove(self.0 as u16)
    }

    #[inline]
    pub fn prior(self) -> f32 {
        self.steps() as f32 * (1.0 / f32::from(u16::MAX))
    }

    #[inline]
    pub fn steps(self) -> u32 {
        self.0 >> 16
    }
}

/// A legal move with its prior, or the head of a block.
#[derive(Debug, Default)]
pub(in crate::search) struct Candidate(AtomicU32);

impl Chained for Candidate {
    fn next_block(&self) -> &AtomicU32 {
        &self.0
    }
}

impl Chained for Edge {
    fn next_block(&self) -> &AtomicU32 {
        &self.child
    }
}

impl Candidate {
    #[inline]
    pub fn get(&self) -> MovePrior {
        MovePrior(self.0.load(Ordering::Relaxed))
    }

    #[inline]
    pub fn set(&self, value: MovePrior) {
        self.0.store(value.0, Ordering::Relaxed);
    }

    #[inline]
    pub fn packed(&self) -> PackedMove {
        self.get().packed()
    }

    #[inline]
    pub fn prior(&self) -> f32 {
        self.get().prior()
    }
}

/// A visited move: its child and what it counts of it; or the head of a block.
#[derive(Debug, Default)]
pub(in crate::search) struct Edge {
    counts: AtomicU64,
    /// The node after the move; in a head, the next block or [`NONE`].
    child: AtomicU32,
    /// The child's mean result at the last visit along this edge, as `f32` bits.
    q: AtomicU32,
}

/// An edge's counts, accessed as one word. From the lowest bit: 32 bits of visits along this edge (the child may have
/// more, through transpositions), 24 of visits in flight, then [`Known`]. In a node's first head, the visits are
/// instead the sum of its visited moves' priors in units of 1/65535.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::search) struct EdgeCounts(u64);

const IN_FLIGHT: u64 = 1 << 32;

const KNOWN: u32 = 56;

impl EdgeCounts {
    #[inline]
    pub fn visits(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    pub fn are_visits_alone(self) -> bool {
        self.0 < IN_FLIGHT
    }

    #[inline]
    pub fn in_flight(self) -> u32 {
        (self.0 >> 32) as u32 & 0xff_ffff
    }

    #[inline]
    pub fn known(self) -> Known {
        match self.0 >> KNOWN {
            0 => Known::Nothing,
            1 => Known::Won,
            2 => Known::Drawn,
            _ => Known::Lost,
        }
    }
}

/// A child's proven result for the side that makes the move, cached in the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::search) enum Known {
    Nothing,
    Won,
    Drawn,
    Lost,
}

impl Edge {
    pub fn reset(&self, child: u32) {
        self.counts.store(0, Ordering::Relaxed);
        self.child.store(child, Ordering::Relaxed);
        self.q.store(0, Ordering::Relaxed);
    }

    #[inline]
    pub fn counts(&self) -> EdgeCounts {
        EdgeCounts(self.counts.load(Ordering::Relaxed))
    }

    #[inline]
    pub fn child(&self) -> NodeId {
        NodeId(self.child.load(Ordering::Relaxed))
    }

    #[inline]
    pub fn visits(&self) -> u32 {
        self.counts().visits()
    }

    /// Adds `visits`, or prior mass in a first head, and removes `in_flight` virtual losses. Returns the visits before.
    #[inline]
    pub fn add_visits(&self, visits: u32, in_flight: u32, shared: bool) -> u32 {
        let change = u64::from(visits).wrapping_sub(u64::from(in_flight) * IN_FLIGHT);
        EdgeCounts(self.counts.increase(change, shared)).visits()
    }

    #[inline]
    pub fn q(&self) -> f32 {
        f32::from_bits(self.q.load(Ordering::Relaxed))
    }

    /// For a node's first head: the prior mass of visited moves, in units of 1/65535.
    pub fn set_priors(&self, visited: u32) {
        self.counts.store(visited.into(), Ordering::Relaxed);
    }

    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.counts().in_flight()
    }

    #[inline]
    pub fn known(&self) -> Known {
        self.counts().known()
    }

    pub fn add_virtual_loss(&self, visits: u32) {
        self.counts.fetch_add(u64::from(visits) * IN_FLIGHT, Ordering::Relaxed);
    }

    pub fn remove_virtual_loss(&self, visits: u32) {
        self.counts.fetch_sub(u64::from(visits) * IN_FLIGHT, Ordering::Relaxed);
    }

    #[inline]
    pub fn refresh(&self, child: &Node) {
        self.q.store(child.q().to_bits(), Ordering::Relaxed);
        let known = match child.proof() {
            None => return,
            Some(Proof::Loss(_)) => 1,
            Some(Proof::Draw) => 2,
            Some(Proof::Win(_)) => 3,
        };
        if self.counts.load(Ordering::Relaxed) >> KNOWN != known {
            self.set_known(known);
        }
    }

    #[cold]
    fn set_known(&self, known: u64) {
        let mask = (1 << KNOWN) - 1;
        let replace = |counts: u64| Some(counts & mask | known << KNOWN);
        let _ = self.counts.fetch_update(Ordering::Relaxed, Ordering::Relaxed, replace);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_as_small_as_documented() {
        assert_eq!((size_of::<Node>(), size_of::<Edge>(), size_of::<Candidate>()), (64, 16, 4));
    }

    #[test]
    fn a_prior_keeps_its_precision_in_sixteen_bits() {
        for prior in [0.0, 1e-4, 0.25, 0.5, 1.0] {
            let kept = MovePrior::new(PackedMove(7), prior);
            assert!((kept.prior() - prior).abs() < 2e-5);
            assert_eq!(kept.packed(), PackedMove(7));
        }
    }

    #[test]
    fn fates_are_packed_and_unpacked() {
        for fate in [
            Fate::Open,
            Fate::Proven(Proof::Win(3)),
            Fate::Proven(Proof::table_win(1000)),
            Fate::Proven(Proof::Draw),
            Fate::Proven(Proof::Loss(0)),
            Fate::Threefold,
            Fate::Twofold(4),
        ] {
            assert_eq!(Fate::unpack(fate.pack()), fate);
        }
    }

    #[test]
    fn means_and_variance_by_hand() {
        let node = Node::default();
        node.reset();
        for (q, draw) in [(1.0, 0.0), (-1.0, 0.0), (0.5, 0.5), (0.5, 0.5)] {
            node.add(q, draw, false);
        }
        assert_eq!((node.visits(), node.q()), (4, 0.25));
        assert_eq!(node.variance(), 2.5 / 4.0 - 0.0625);
        let wdl = node.wdl_for_parent();
        assert_eq!((wdl.win, wdl.draw, wdl.loss), (0.5, 0.25, 0.25));
    }

    #[test]
    fn concurrent_visits_are_all_counted() {
        let node = Node::default();
        node.reset();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| node.add(0.25, 0.5, true)));
            }
        });
        assert_eq!((node.visits(), node.q()), (40_000, 0.25));
    }
}
