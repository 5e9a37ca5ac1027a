//! The numbers that steer a search.

use shakmaty::Move;

use super::noise::Noise;

/// How the tree grows. The defaults are Leela's (lc0 `src/search/classic/params.cc`) unless said.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// How much is explored.
    pub puct: Puct,
    /// Whether [`Params::root_puct`] counts at the root.
    pub root_has_own_puct: bool,
    /// How much is explored at the root, if that differs.
    pub root_puct: Puct,
    /// What an unvisited move is taken to be worth.
    pub fpu: Fpu,
    /// Whether [`Params::root_fpu`] counts at the root.
    pub root_has_own_fpu: bool,
    /// What an unvisited move is taken to be worth at the root, if that differs.
    pub root_fpu: Fpu,
    /// Priors are raised to `1 / temperature` and normalised: above 1 flattens them.
    pub policy_temperature: f32,
    /// Positions that are reached by several ways share one node (Czech, Korus, Kersting: Monte-Carlo
    /// Graph Search, 2020). On by our own measurement: see the README.
    pub transpositions: bool,
    /// The tree of the last search is gone on with where the new position stands in it.
    pub reuse: bool,
    /// What is proven (mate, stalemate, dead positions, tables) travels up (Winands, Björnsson, Saito:
    /// Monte-Carlo Tree Search Solver, 2008).
    pub solver: bool,
    /// A position that stands for the second time since the root is a draw.
    pub twofold_draws: bool,
    /// Root moves that can't be overtaken any more get no more visits; the greater, the sooner; 0 is off.
    pub smart_pruning: f32,
    /// While winning, drawish moves are worth less by `contempt · max(W − L, 0) · P(draw)`
    /// (NeuralMatePlay). Off.
    pub contempt: f32,
    /// Sharp moves are explored more: `U · (1 + weight · √(W · L))` (NeuralMatePlay). Off.
    pub uncertainty: f32,
    /// Next to a move that draws for certain, unvisited moves are not taken to be worse than their
    /// parent (NeuralMatePlay). Off.
    pub draw_sibling_fpu: bool,
    /// What a visit that has not come back yet counts for: 1 is a loss, 0 leaves Q as it is. Our own default: see the
    /// README.
    pub virtual_loss: f32,
    /// Positions a worker gathers before it asks its evaluator. Our own default: see the README.
    pub batch: usize,
}

/// Exploration in PUCT (Rosin 2011; Silver et al. 2017): `c + factor · ln((N + base) / base)` at a node
/// with N visits (Silver et al. 2018).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Puct {
    /// Exploration of a new node.
    pub c: f32,
    /// Visits at which exploration begins to grow.
    pub base: f32,
    /// How fast it grows.
    pub factor: f32,
}

/// First-play urgency: what an unvisited move is taken to be worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fpu {
    /// What the value means.
    pub strategy: FpuStrategy,
    /// The value.
    pub value: f32,
}

/// How first-play urgency is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FpuStrategy {
    /// The parent's Q less the value times √(visited prior).
    #[default]
    Reduction,
    /// The value itself, −1 (lost) to 1 (won).
    Absolute,
}

impl Default for Puct {
    fn default() -> Puct {
        Puct { c: 1.745, base: 38_739.0, factor: 3.894 }
    }
}

impl Default for Fpu {
    fn default() -> Fpu {
        Fpu { strategy: FpuStrategy::Reduction, value: 0.33 }
    }
}

impl Default for Params {
    fn default() -> Params {
        Params {
            puct: Puct::default(),
            root_has_own_puct: false,
            root_puct: Puct::default(),
            fpu: Fpu::default(),
            root_has_own_fpu: false,
            root_fpu: Fpu { value: 1.0, ..Fpu::default() },
            policy_temperature: 1.359,
            transpositions: true,
            reuse: true,
            solver: true,
            twofold_draws: true,
            smart_pruning: 1.33,
            contempt: 0.0,
            uncertainty: 0.0,
            draw_sibling_fpu: false,
            virtual_loss: 0.1,
            batch: 8,
        }
    }
}

impl Puct {
    /// Exploration at a node with this many visits.
    pub fn at(&self, visits: u32) -> f32 {
        self.c + self.factor * ((visits as f32 + self.base) / self.base).ln()
    }
}

/// When a search ends by itself, and what it is about; the default is never, and everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// After this many visits, not counting those of a tree that is gone on with.
    pub visits: Option<u64>,
    /// When the playouts' paths are this long on average, in plies.
    pub depth: Option<u32>,
    /// The root moves to search; empty for all.
    pub root_moves: Vec<Move>,
    /// Noise on the root's priors, for self-play.
    pub noise: Option<Noise>,
    /// Every root move is of interest, not only the best: none is left out by smart pruning, and a proven
    /// win doesn't end the search before all of them are proven or it is a mate in one.
    pub all_moves: bool,
}
