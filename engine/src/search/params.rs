use std::sync::{Arc, Mutex, PoisonError};

use libm::{logf, powf};
use shakmaty::Move;

use super::noise::Noise;
use crate::chess::tables::RankedResult;

/// The defaults are lc0's (`src/search/classic/params.cc`) unless noted. Fields of type `T` have other defaults for
/// native networks ([`Params::native`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Params<T = f32> {
    pub puct: Puct<T>,
    /// First-play urgency: an unvisited move's Q is the parent's minus `fpu · √(sum of visited moves' priors)`.
    pub fpu: T,
    /// Priors are raised to `1 / temperature` and normalised.
    pub policy_temperature: T,
    pub root_policy_temperature: T,
    /// For the root's children (Monty).
    pub reply_policy_temperature: T,
    /// Transpositions share one node (Czech, Korus, Kersting: Monte-Carlo Graph Search, 2020). Measured in
    /// `docs/search.md`.
    pub transpositions: bool,
    /// Reuses the last search's tree if it contains the new root.
    pub reuse: bool,
    /// Backs up proven results (Winands, Björnsson, Saito: Monte-Carlo Tree Search Solver, 2008).
    pub solver: bool,
    /// Searches for forced mates at the root and on the most visited line, in about 10 % of the time; needs `solver`.
    pub mates: bool,
    /// Scores a position's second occurrence since the root as a draw.
    pub twofold_draws: bool,
    /// Stops visiting root moves that cannot become the most visited. Greater values prune sooner; 0 is off.
    pub smart_pruning: f32,
    /// Reduces Q by `contempt · max(W − L, 0) · P(draw)` (NeuralMatePlay). 0 is off.
    pub contempt: f32,
    /// Multiplies U by `1 + uncertainty · √(W · L)` (NeuralMatePlay). 0 is off.
    pub uncertainty: f32,
    /// No FPU reduction if a visited sibling certainly draws (NeuralMatePlay).
    pub draw_sibling_fpu: bool,
    /// Weight of [`towards_mate`](crate::chess::endgames::towards_mate) against a [bare
    /// king](crate::chess::endgames::is_bare_king). 0 is off. Default from `docs/search.md`.
    pub progress: f32,
    /// Most visits in a series: consecutive visits below a node before its parent gets their results. 1 is off,
    /// [`Params::MOST_SERIES`] the maximum. Batches have no series.
    pub series: u32,
    /// 1 counts a visit in flight as a loss, 0 leaves Q unchanged. Default from `docs/search.md`.
    pub virtual_loss: f32,
    /// Most positions per batch of a worker. Default from `docs/search.md`.
    pub batch: usize,
}

/// PUCT (Rosin 2011; Silver et al. 2017). At a node with N visits, M of them to its moves, a move's U is `c(N) · prior
/// · M^exponent / (1 + visits of the move)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Puct<T = f32> {
    /// `c(N) = c + factor · ln((N + base) / base)` (Silver et al. 2018).
    pub c: T,
    pub base: f32,
    pub factor: f32,
    /// 0.5 in AlphaZero, 0.62 in Princhess.
    pub exponent: T,
    /// Multiplies c by `1 + deviation · (σ / 0.5 − 1)`, where σ is the standard deviation of the node's results (Monty,
    /// after KataGo's dynamic c). 0 is off.
    pub deviation: T,
    /// Factor on c at the root.
    pub root: T,
    /// Each worker but the first multiplies c by a factor of its own in 1 − jitter..1 + jitter (Princhess). 0 is off.
    pub jitter: T,
}

/// The σ that leaves c unchanged.
const TYPICAL_DEVIATION: f32 = 0.5;

/// Weight of the typical σ, in visits, when a node's σ is estimated.
const DEVIATION_PRIOR: f32 = 10.0;

impl Default for Puct {
    fn default() -> Puct {
        Puct {
            c: 1.745,
            base: 38_739.0,
            factor: 3.894,
            exponent: 0.5,
            deviation: 0.0,
            root: 1.0,
            jitter: 0.0,
        }
    }
}

impl Default for Params {
    fn default() -> Params {
        Params {
            puct: Puct::default(),
            fpu: 0.33,
            policy_temperature: 1.359,
            root_policy_temperature: 1.359,
            reply_policy_temperature: 1.359,
            transpositions: true,
            reuse: true,
            solver: true,
            mates: true,
            twofold_draws: true,
            smart_pruning: 1.44,
            contempt: 0.0,
            uncertainty: 0.0,
            draw_sibling_fpu: false,
            progress: 0.6,
            series: 64,
            virtual_loss: 0.1,
            batch: 8,
        }
    }
}

impl Params {
    pub const MOST_SERIES: u32 = 127;

    /// Tuned defaults (`docs/results/decisions.md`) of native networks, which have [separate value and
    /// policy](crate::nets::eval::SplitEvaluator).
    pub fn native() -> Params {
        Params {
            puct: Puct {
                c: 0.72,
                exponent: 0.66,
                deviation: 1.0,
                root: 1.28,
                jitter: 0.2,
                ..Puct::default()
            },
            fpu: 0.224,
            policy_temperature: 1.49,
            root_policy_temperature: 1.77,
            reply_policy_temperature: 1.2,
            ..Params::default()
        }
    }
}

/// User settings; `None` takes the default of the network in play.
pub type ParamSettings = Params<Option<f32>>;

impl ParamSettings {
    pub fn unset() -> ParamSettings {
        let defaults = Params::default();
        combine(&defaults, &defaults, |_, _| None)
    }

    pub fn resolve(&self, native: bool) -> Params {
        let defaults = if native { Params::native() } else { Params::default() };
        combine(self, &defaults, |set, default| set.unwrap_or(default))
    }
}

impl From<Params> for ParamSettings {
    fn from(params: Params) -> ParamSettings {
        combine(&params, &params, |value, _| Some(value))
    }
}

fn combine<A: Copy, B: Copy, C>(
    first: &Params<A>,
    second: &Params<B>,
    each: impl Fn(A, B) -> C,
) -> Params<C> {
    Params {
        puct: Puct {
            c: each(first.puct.c, second.puct.c),
            base: first.puct.base,
            factor: first.puct.factor,
            exponent: each(first.puct.exponent, second.puct.exponent),
            deviation: each(first.puct.deviation, second.puct.deviation),
            root: each(first.puct.root, second.puct.root),
            jitter: each(first.puct.jitter, second.puct.jitter),
        },
        fpu: each(first.fpu, second.fpu),
        policy_temperature: each(first.policy_temperature, second.policy_temperature),
        root_policy_temperature: each(first.root_policy_temperature, second.root_policy_temperature),
        reply_policy_temperature: each(first.reply_policy_temperature, second.reply_policy_temperature),
        transpositions: first.transpositions,
        reuse: first.reuse,
        solver: first.solver,
        mates: first.mates,
        twofold_draws: first.twofold_draws,
        smart_pruning: first.smart_pruning,
        contempt: first.contempt,
        uncertainty: first.uncertainty,
        draw_sibling_fpu: first.draw_sibling_fpu,
        progress: first.progress,
        series: first.series,
        virtual_loss: first.virtual_loss,
        batch: first.batch,
    }
}

// Uses libm: the system's logarithms and powers differ in the last bit between machines.
impl Puct {
    #[inline]
    pub fn at(&self, visits: u32) -> f32 {
        if self.factor == 0.0 {
            return self.c;
        }
        self.c + self.factor * logf((visits as f32 + self.base) / self.base)
    }

    /// 1 for the first worker; the golden ratio spreads the others over the jitter range.
    pub fn of_worker(&self, worker: usize) -> f32 {
        const GOLDEN: f64 = 0.618_033_988_749_895;
        if self.jitter == 0.0 || worker == 0 {
            return 1.0;
        }
        1.0 + self.jitter * (2.0 * (worker as f64 * GOLDEN).fract() - 1.0) as f32
    }

    #[inline]
    pub fn growth(&self, visits: f32) -> f32 {
        if self.exponent == 0.5 { visits.sqrt() } else { powf(visits, self.exponent) }
    }

    #[inline]
    pub fn spread(&self, visits: u32, variance: impl FnOnce() -> f32) -> f32 {
        if self.deviation == 0.0 {
            return 1.0;
        }
        let (visits, prior) = (visits as f32, DEVIATION_PRIOR);
        let typical = TYPICAL_DEVIATION * TYPICAL_DEVIATION;
        let variance = (visits * variance() + prior * typical) / (visits + prior);
        1.0 + self.deviation * (variance.sqrt() / TYPICAL_DEVIATION - 1.0)
    }
}

/// Caches [`Puct::at`] and [`Puct::growth`] by visits: logarithm and power dominate the cost of selection.
#[derive(Debug, Default)]
pub(super) struct ExplorationTable {
    puct: Option<Puct>,
    at: Vec<f32>,
    growth: Vec<f32>,
}

impl ExplorationTable {
    const VISITS: u32 = 1 << 14;

    /// Keeps the last table: building one takes as long as a short search.
    pub fn shared(puct: &Puct) -> Arc<ExplorationTable> {
        static LAST: Mutex<Option<Arc<ExplorationTable>>> = Mutex::new(None);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(table) if table.puct == Some(*puct) => Arc::clone(table),
            _ => Arc::clone(last.insert(Arc::new(ExplorationTable::new(puct)))),
        }
    }

    fn new(puct: &Puct) -> ExplorationTable {
        let visits = 0..ExplorationTable::VISITS;
        ExplorationTable {
            puct: Some(*puct),
            at: visits.clone().map(|visits| puct.at(visits)).collect(),
            growth: visits.map(|visits| puct.growth(visits as f32)).collect(),
        }
    }

    /// `below` counts the visits of the moves.
    #[inline]
    pub fn of(&self, puct: &Puct, visits: u32, below: u32) -> f32 {
        let at = self.at.get(visits as usize).copied().unwrap_or_else(|| puct.at(visits));
        let growth = self.growth.get(below as usize).copied();
        at * growth.unwrap_or_else(|| puct.growth(below as f32))
    }
}

/// The default is an infinite search of all moves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Excludes visits of a reused tree.
    pub visits: Option<u64>,
    /// Mean path length in plies.
    pub depth: Option<u32>,
    /// Empty for all.
    pub root_moves: Vec<Move>,
    /// Tablebase results of root moves: they rank the moves and replace the search's values in reports.
    pub known: Vec<RankedResult>,
    pub noise: Option<Noise>,
    /// Searches for a mate in this many moves; its proof or refutation ends the search.
    pub mate: Option<u32>,
    /// Disables smart pruning. A proven root ends the search only if all moves are proven or it is mate in one.
    pub all_moves: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_set_is_the_networks_default() {
        let unset = ParamSettings::unset();
        assert_ne!(Params::native(), Params::default());
        assert_eq!((unset.resolve(true), unset.resolve(false)), (Params::native(), Params::default()));
    }

    #[test]
    fn what_is_set_is_kept_whatever_the_network() {
        let mut settings = ParamSettings { batch: 32, ..ParamSettings::unset() };
        settings.puct.c = Some(Params::native().puct.c);
        settings.puct.deviation = Some(1.0);
        let general = settings.resolve(false);
        let puct = Puct { c: 0.72, deviation: 1.0, ..Puct::default() };
        assert_eq!(general, Params { puct, batch: 32, ..Params::default() });
        settings.puct.c = Some(1.745);
        assert_eq!(settings.resolve(true).puct, Puct { c: 1.745, ..Params::native().puct });
        for params in [Params::native(), Params::default()] {
            let settings = ParamSettings::from(params.clone());
            assert_eq!((settings.resolve(true), settings.resolve(false)), (params.clone(), params));
        }
    }

    #[test]
    fn factors_by_hand() {
        let puct = Puct { exponent: 1.0, deviation: 0.8, ..Puct::default() };
        assert_eq!(puct.growth(7.0), 7.0);
        // σ 0.25 in 30 visits and 0.5 in 10: variance (30/16 + 10/4)/40 = 0.109375, σ 0.3307.
        assert!((puct.spread(30, || 0.0625) - (1.0 + 0.8 * (0.3307 / 0.5 - 1.0))).abs() < 1e-3);
        assert!((puct.spread(0, || 9.0) - 1.0).abs() < 1e-6, "no visits: the typical deviation");
        let plain = Puct::default();
        assert_eq!((plain.growth(9.0), plain.spread(5, || 3.0)), (3.0, 1.0));
    }

    #[test]
    fn the_table_is_that_of_its_parameters() {
        let most = ExplorationTable::VISITS;
        for exponent in [0.5, 0.62, 0.7, 0.5] {
            let puct = Puct { exponent, ..Puct::default() };
            let table = ExplorationTable::shared(&puct);
            for visits in [0, 1, 7, most - 1, most, 1_000_000] {
                let expected = puct.at(visits + 1) * puct.growth(visits as f32);
                assert_eq!(table.of(&puct, visits + 1, visits), expected, "{exponent} {visits}");
            }
        }
        let puct = Puct::default();
        assert_eq!(
            ExplorationTable::default().of(&puct, 5, 4),
            puct.at(5) * puct.growth(4.0),
            "an empty one"
        );
    }

    #[test]
    fn each_worker_has_its_own_exploration() {
        let puct = Puct { jitter: 0.1, ..Puct::default() };
        assert_eq!((puct.of_worker(0), Puct::default().of_worker(3)), (1.0, 1.0));
        // Worker 1: 0.618 · 2 − 1 = 0.236. Worker 2: 1.236 mod 1 = 0.236, and 0.236 · 2 − 1 = −0.528.
        assert!((puct.of_worker(1) - 1.0236).abs() < 1e-4 && (puct.of_worker(2) - 0.9472).abs() < 1e-4);
        let factors: Vec<f32> = (0..64).map(|worker| puct.of_worker(worker)).collect();
        assert!(factors.iter().all(|factor| (0.9..=1.1).contains(factor)));
        assert!(factors.iter().enumerate().all(|(n, factor)| !factors[..n].contains(factor)));
    }
}
