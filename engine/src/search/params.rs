//! The numbers that steer a search.

use shakmaty::Move;

/// How the tree grows. The defaults are Leela's (lc0 `src/search/classic/params.cc`) unless said.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Exploration: `c` in PUCT (Rosin 2011; Silver et al. 2017).
    pub cpuct: f32,
    /// Visits at which exploration begins to grow: `c + factor · ln((N + base) / base)` (Silver et al. 2018).
    pub cpuct_base: f32,
    /// How fast exploration grows.
    pub cpuct_factor: f32,
    /// First-play urgency: an unvisited move's Q is its parent's less this times √(visited prior).
    pub fpu_value: f32,
    /// Priors are raised to `1 / temperature` and normalised: above 1 flattens them.
    pub policy_temperature: f32,
    /// What a visit that has not come back yet counts for: 1 is a loss, 0 leaves Q as it is.
    pub virtual_loss: f32,
    /// Positions a worker gathers before it asks its evaluator. Our own default: see the README.
    pub batch: usize,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            cpuct: 1.745,
            cpuct_base: 38_739.0,
            cpuct_factor: 3.894,
            fpu_value: 0.33,
            policy_temperature: 1.359,
            virtual_loss: 1.0,
            batch: 8,
        }
    }
}

impl Params {
    /// Exploration at a node with this many visits.
    pub fn exploration(&self, visits: u32) -> f32 {
        self.cpuct + self.cpuct_factor * ((visits as f32 + self.cpuct_base) / self.cpuct_base).ln()
    }
}

/// When a search ends by itself; the default is never.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// After this many visits.
    pub visits: Option<u64>,
    /// When the playouts' paths are this long on average, in plies.
    pub depth: Option<u32>,
    /// The root moves to search; empty for all.
    pub root_moves: Vec<Move>,
}
