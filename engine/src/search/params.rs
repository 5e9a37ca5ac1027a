//! Parameters and limits of a search.

use shakmaty::Move;

use super::noise::Noise;

/// Parameters of the search. The defaults are lc0's (`src/search/classic/params.cc`) unless noted.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Exploration.
    pub puct: Puct,
    /// First-play urgency (FPU): Q of an unvisited move is the parent's Q minus this value times √(sum of the priors of
    /// visited moves).
    pub fpu: f32,
    /// Softmax temperature of the policy: priors are raised to `1 / temperature` and normalised.
    pub policy_temperature: f32,
    /// Transpositions share one node (Czech, Korus, Kersting: Monte-Carlo Graph Search, 2020). On by our own
    /// measurement: see `docs/search.md`.
    pub transpositions: bool,
    /// Reuse the tree of the last search if it contains the new root.
    pub reuse: bool,
    /// Back up proven values (mate, stalemate, dead positions, tables) (Winands, Björnsson, Saito: Monte-Carlo Tree
    /// Search Solver, 2008).
    pub solver: bool,
    /// A position that occurs for the second time since the root is a draw.
    pub twofold_draws: bool,
    /// Smart pruning: root moves that cannot become the most visited within the visits left get no more of them. The
    /// greater, the sooner; 0 is off.
    pub smart_pruning: f32,
    /// Contempt: reduces Q by `contempt · max(W − L, 0) · P(draw)` (NeuralMatePlay). 0 is off, the default.
    pub contempt: f32,
    /// Uncertainty weight: multiplies U by `1 + weight · √(W · L)` (NeuralMatePlay). 0 is off, the default.
    pub uncertainty: f32,
    /// Draw-sibling FPU: no FPU reduction at a node where a move draws for certain (NeuralMatePlay). Off by default.
    pub draw_sibling_fpu: bool,
    /// Virtual loss per in-flight visit: 1 counts it as a loss, 0 leaves Q unchanged. Our own default: see
    /// `docs/search.md`.
    pub virtual_loss: f32,
    /// Positions that a worker evaluates at once, at most. Our own default: see `docs/search.md`.
    pub batch: usize,
}

/// Exploration in PUCT (Rosin 2011; Silver et al. 2017): `c + factor · ln((N + base) / base)` at a node
/// with N visits (Silver et al. 2018).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Puct {
    /// Exploration of a new node.
    pub c: f32,
    /// Visits from which on exploration grows noticeably.
    pub base: f32,
    /// How fast it grows.
    pub factor: f32,
}

impl Default for Puct {
    fn default() -> Puct {
        Puct { c: 1.745, base: 38_739.0, factor: 3.894 }
    }
}

impl Default for Params {
    fn default() -> Params {
        Params {
            puct: Puct::default(),
            fpu: 0.33,
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

/// When a search ends by itself, and what it searches. The default has no limit and searches all moves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// After this many visits, without those of a reused tree.
    pub visits: Option<u64>,
    /// When the mean path length of the visits reaches this many plies.
    pub depth: Option<u32>,
    /// The root moves to search; empty for all.
    pub root_moves: Vec<Move>,
    /// Noise on the root's priors, for self-play.
    pub noise: Option<Noise>,
    /// All root moves are of interest, not only the best: no smart pruning, and a proven root ends the search only when
    /// all its moves are proven or it is mate in one.
    pub all_moves: bool,
}
