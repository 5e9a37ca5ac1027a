//! Weaker play: what a rating allows the search, and which of its moves is then played.
//!
//! Weak players look at less (fewer visits), consider more that is no good (a flatter policy), and
//! don't always play the best of what they have seen. They do see what hangs: a move whose result is
//! clearly worse than the best is never played, whatever the dice say.

use std::hash::{BuildHasher, RandomState};

use crate::position::Game;
use crate::search::{self, MoveStats, Params, PvLine, Report, Score};

/// The weakest rating there is.
pub const WEAKEST: i64 = 800;
/// The strongest one: what the engine without limits has been measured at, in fast games.
pub const STRONGEST: i64 = 1700;
/// The skill level that limits nothing.
pub const FULL_SKILL: i64 = 20;

/// What a rating allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strength {
    /// Visits of a search.
    pub visits: u64,
    /// What the policy's temperature is multiplied with.
    pub policy: f32,
    /// Temperature of the choice: chances are `visits ^ (1 / temperature)`.
    pub choice: f64,
    /// How much worse than the best a move may be, as a difference of `atanh Q`: near an even game
    /// that is the difference in Q, but a queen is a queen also where the game is lost or won.
    pub margin: f64,
}

/// Rating, visits, policy, choice, margin. In between, visits and temperatures are interpolated by
/// their logarithms. The ratings of the second and third row are measured against Stockfish's
/// `UCI_Elo` (README), that of the last is the engine's own.
const TABLE: [(i64, f64, f64, f64, f64); 4] = [
    (WEAKEST, 40.0, 1.5, 1.3, 0.27),
    (960, 80.0, 1.3, 1.0, 0.20),
    (1270, 300.0, 1.1, 0.6, 0.10),
    (STRONGEST, 4000.0, 1.0, 0.15, 0.02),
];

impl Strength {
    /// What a rating (the scale of `UCI_Elo`) allows.
    pub fn of_elo(elo: i64) -> Strength {
        let elo = elo.clamp(WEAKEST, STRONGEST);
        let mut allowed = Strength { visits: 1, policy: 1.0, choice: 1.0, margin: 0.0 };
        for (low, high) in TABLE.iter().zip(TABLE.iter().skip(1)) {
            if (low.0..=high.0).contains(&elo) {
                let part = (elo - low.0) as f64 / (high.0 - low.0) as f64;
                let between = |low: f64, high: f64| (low.ln() + (high.ln() - low.ln()) * part).exp();
                allowed = Strength {
                    visits: between(low.1, high.1).round() as u64,
                    policy: between(low.2, high.2) as f32,
                    choice: between(low.3, high.3),
                    margin: low.4 + (high.4 - low.4) * part,
                };
            }
        }
        allowed
    }

    /// What a skill level allows; the highest one allows everything.
    pub fn of_skill(level: i64) -> Option<Strength> {
        let step = (STRONGEST - WEAKEST) / FULL_SKILL;
        (level < FULL_SKILL).then(|| Strength::of_elo(WEAKEST + step * level))
    }

    /// The search's numbers at this strength. Visits of earlier searches would make it stronger than it is
    /// allowed to be.
    pub fn limit(&self, params: &Params) -> Params {
        let policy_temperature = params.policy_temperature * self.policy;
        Params { policy_temperature, reuse: false, ..params.clone() }
    }

    /// The line of the report to play, by its place; `seed` decides among those that come into
    /// question. 0, the best, if there is nothing to choose from.
    ///
    /// A mate in one is played. A move comes into question if it isn't known to lose by force, has
    /// been looked at together with a reply (two visits), and is no worse than the margin allows.
    pub fn choose(&self, report: &Report, seed: u64) -> usize {
        let Some(best) = report.lines.first() else { return 0 };
        if best.visits == 0 || matches!(best.score, Score::Mate(1)) || is_lost(best) {
            return 0;
        }
        let seen = |line: &PvLine| line.visits >= best.visits.min(2) && !is_lost(line);
        let lines = report.lines.iter().enumerate().filter(|(_, line)| seen(line));
        let highest = lines.clone().map(|(_, line)| advantage(line)).fold(f64::NEG_INFINITY, f64::max);
        let chances: Vec<(usize, f64)> = lines
            .filter(|(_, line)| highest - advantage(line) <= self.margin)
            .map(|(index, line)| (index, (line.visits as f64).powf(1.0 / self.choice)))
            .collect();
        let mut left = unit(seed) * chances.iter().map(|(_, chance)| chance).sum::<f64>();
        for &(index, chance) in &chances {
            left -= chance;
            if left < 0.0 {
                return index;
            }
        }
        chances.first().map_or(0, |(index, _)| *index)
    }
}

/// The place of a root move that chance draws from the moves of a search, given best first: chances are
/// `visits ^ (1 / temperature)`, or `prior ^ (1 / temperature)` if none was visited, which is play by policy
/// alone. A proven win is always played, a proven loss only if there is nothing else.
pub fn draw(stats: &[MoveStats], temperature: f32, seed: u64) -> usize {
    let known = |stats: &MoveStats| stats.proof.map_or(0.0, |proof| proof.wdl().q());
    if stats.first().is_none_or(|best| known(best) > 0.0) {
        return 0;
    }
    let visited = stats.iter().any(|stats| stats.visits > 0);
    let weight = |stats: &MoveStats| match (known(stats) < 0.0, visited) {
        (true, _) => 0,
        (false, true) => stats.visits,
        (false, false) => (f64::from(stats.prior) * PRIOR_STEPS) as u64,
    };
    let weights: Vec<u64> = stats.iter().map(weight).collect();
    search::sample_by_visits(&weights, temperature, seed).unwrap_or(0)
}

/// As many steps has a prior where moves are drawn by it.
const PRIOR_STEPS: f64 = 1e9;

/// The seed of a choice in this position: another one in every game.
pub fn seed(game: &Game, game_seed: u64) -> u64 {
    let ply = game.ply() as u64;
    scramble(scramble(game.hash() ^ game_seed).wrapping_add(ply))
}

/// A seed for a game.
pub fn game_seed() -> u64 {
    RandomState::new().hash_one(0)
}

fn is_lost(line: &PvLine) -> bool {
    matches!(line.score, Score::Mate(moves) if moves <= 0)
}

/// The expected result on a scale on which an advantage adds up, however the game stands.
fn advantage(line: &PvLine) -> f64 {
    f64::from(line.wdl.q().clamp(-0.999, 0.999)).atanh()
}

/// A number from 0 to 1, 1 excluded.
fn unit(seed: u64) -> f64 {
    (scramble(seed) >> 11) as f64 / (1_u64 << 53) as f64
}

/// One step of SplitMix64 (Steele, Lea, Flood 2014).
fn scramble(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests;
