//! Limited strength: fewer visits, a flatter policy, and a random choice among moves nearly as good as the best. From
//! about 1500 on, a clearly worse move is never played.

use std::hash::{BuildHasher, RandomState};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::chess::position::Game;
use crate::search::{self, MoveStats, Params, PvLine, Report, Score};

pub const WEAKEST: i64 = 800;
/// Rating with 60,000 visits per move, about that of the unlimited engine at 5 s + 0.05 s.
pub const STRONGEST: i64 = 2450;
pub const FULL_SKILL: i64 = 20;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strength {
    pub visits: u64,
    pub policy: f32,
    /// Temperature of the choice: probabilities are proportional to `visits^(1 / choice)`.
    pub choice: f64,
    /// Most that a move may lose against the best one on the scale of `atanh Q`, where losing a piece exceeds the
    /// margin even in won and lost positions.
    pub margin: f64,
    /// Least share of the most visited move's visits. Two visits are always needed, so that a reply is evaluated.
    pub seen: f64,
}

/// Rating, visits, policy, choice, margin, seen; visits and temperatures are interpolated logarithmically. The first
/// two rows were measured against the next one at 1 s + 0.01 s, the others against Stockfish's `UCI_Elo` at 5 s + 0.05
/// s. The weakest levels need more visits, to have many moves to choose from.
const TABLE: [(i64, f64, f64, f64, f64, f64); 10] = [
    (WEAKEST, 87.0, 6.5, 7.95, 1.93, 0.0),
    (1010, 60.0, 4.4, 4.4, 1.26, 0.0),
    (1260, 40.0, 3.0, 2.5, 0.60, 0.0),
    (1510, 40.0, 1.5, 1.3, 0.27, 0.0),
    (1650, 80.0, 1.3, 1.0, 0.20, 0.0),
    (1825, 300.0, 1.1, 0.6, 0.10, 0.0),
    (2015, 1200.0, 1.05, 0.35, 0.05, 0.0),
    (2145, 5000.0, 1.0, 0.15, 0.02, 0.0),
    (2295, 20_000.0, 1.0, 0.05, 0.01, 0.5),
    (STRONGEST, 60_000.0, 1.0, 0.02, 0.0, 1.0),
];

impl Strength {
    pub fn of_elo(elo: i64) -> Strength {
        let elo = elo.clamp(WEAKEST, STRONGEST);
        let mut allowed = Strength { visits: 1, policy: 1.0, choice: 1.0, margin: 0.0, seen: 0.0 };
        for (low, high) in TABLE.iter().zip(TABLE.iter().skip(1)) {
            if (low.0..=high.0).contains(&elo) {
                let part = (elo - low.0) as f64 / (high.0 - low.0) as f64;
                let between = |low: f64, high: f64| (low.ln() + (high.ln() - low.ln()) * part).exp();
                allowed = Strength {
                    visits: between(low.1, high.1).round() as u64,
                    policy: between(low.2, high.2) as f32,
                    choice: between(low.3, high.3),
                    margin: low.4 + (high.4 - low.4) * part,
                    seen: low.5 + (high.5 - low.5) * part,
                };
            }
        }
        allowed
    }

    pub fn of_skill(level: i64) -> Option<Strength> {
        let step = (STRONGEST - WEAKEST) / FULL_SKILL;
        (level < FULL_SKILL).then(|| Strength::of_elo(WEAKEST + step * level))
    }

    /// Tree reuse is off, because the kept visits would exceed the limit.
    pub fn limit(&self, params: &Params) -> Params {
        Params {
            policy_temperature: params.policy_temperature * self.policy,
            root_policy_temperature: params.root_policy_temperature * self.policy,
            reply_policy_temperature: params.reply_policy_temperature * self.policy,
            reuse: false,
            // The levels were measured with series of 16. A longer series takes a large part of a level's visits.
            series: params.series.min(16),
            ..params.clone()
        }
    }

    /// Draws the index of the line to play by `visits^(1 / choice)` among moves that are not proven lost, have enough
    /// visits and are within the margin. Returns 0 for a mate in one, or if no move qualifies.
    pub fn choose(&self, report: &Report, seed: u64) -> usize {
        let Some(best) = report.lines.first() else { return 0 };
        if best.visits == 0 || matches!(best.score, Score::Mate(1)) || is_lost(best) {
            return 0;
        }
        let least = best.visits.min(2).max((best.visits as f64 * self.seen).ceil() as u64);
        let seen = |line: &PvLine| line.visits >= least && !is_lost(line);
        let lines = report.lines.iter().enumerate().filter(|(_, line)| seen(line));
        let highest = lines.clone().map(|(_, line)| advantage(line)).fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<(usize, f64)> = lines
            .filter(|(_, line)| highest - advantage(line) <= self.margin)
            .map(|(index, line)| (index, (line.visits as f64).powf(1.0 / self.choice)))
            .collect();
        let mut left = SmallRng::seed_from_u64(seed).random::<f64>()
            * weights.iter().map(|(_, weight)| weight).sum::<f64>();
        for &(index, weight) in &weights {
            left -= weight;
            if left < 0.0 {
                return index;
            }
        }
        weights.first().map_or(0, |(index, _)| *index)
    }
}

/// Draws the index of a root move by `visits^(1 / temperature)`, or by prior if none was visited. `stats` are best
/// first. A proven win is always played, a proven loss only if nothing else is left.
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

const PRIOR_STEPS: f64 = 1e9;

/// Differs between positions and, by `game_seed`, between games.
pub fn seed(game: &Game, game_seed: u64) -> u64 {
    // SmallRng mixes the bits.
    (game.hash() ^ game_seed).wrapping_add(game.ply() as u64)
}

pub fn game_seed() -> u64 {
    RandomState::new().hash_one(0)
}

fn is_lost(line: &PvLine) -> bool {
    matches!(line.score, Score::Mate(moves) if moves <= 0)
}

/// Returns `atanh Q`: a piece counts about as much in won and lost positions as in even ones.
fn advantage(line: &PvLine) -> f64 {
    f64::from(line.wdl.q().clamp(-0.999, 0.999)).atanh()
}

#[cfg(test)]
mod tests;
