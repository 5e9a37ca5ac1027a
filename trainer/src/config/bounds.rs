//! Upper bounds of settings. Larger values are mistakes that would exhaust memory or never end.

use std::fmt::Display;

use anyhow::{Result, ensure};

/// Visits or UCT rollouts per search.
pub const MAX_VISITS: u64 = 1_000_000;
/// Parallel games per thread.
pub const MAX_AT_ONCE: u64 = 16_384;
/// Leaves that a game adds to a batch.
pub const MAX_LEAVES: u64 = 256;
/// Also bounds the number of UCI engines.
pub const MAX_THREADS: u64 = 256;
pub const MAX_GAMES: u64 = 1_000_000_000;
/// MiB per thread.
pub const MAX_CACHE: u64 = 1 << 16;
/// Plies of a game; `games/1` counts them in 16 bits.
pub const MAX_PLIES: u64 = u16::MAX as u64;
pub const MAX_RANDOM_PLIES: u64 = 200;
pub const MAX_DEPTH: u64 = 245;
/// Most moves that an engine is asked for; the dataset `policy/len` has 8 bits.
pub const MAX_MULTIPV: u64 = u8::MAX as u64;
/// A year.
pub const MAX_SECONDS: u64 = 31_536_000;
/// Positions per batch in inference and in the overfitting test.
pub const MAX_BATCH: u64 = 1 << 16;
/// Bytes of all search trees together.
const MAX_TREES: u128 = 256 << 30;

/// Checks `(key, least, value, most)`. The error begins with the key.
pub(super) fn in_range(settings: &[(&str, u64, u64, u64)]) -> Result<()> {
    for (key, least, value, most) in settings {
        ensure!(value >= least, "{key} is {value}, must be at least {least}");
        ensure!(value <= most, "{key} is {value}, must be at most {most}");
    }
    Ok(())
}

/// `f32` or `f64`, which an error prints with its own digits.
pub(super) trait Number: Copy + Display + Into<f64> {}

impl<T: Copy + Display + Into<f64>> Number for T {}

/// Checks `(key, value, most)`: from 0 to `most`. The error begins with the key.
pub(super) fn shares<T: Number>(settings: &[(&str, T, T)]) -> Result<()> {
    for (key, value, most) in settings {
        ensure!((0.0..=(*most).into()).contains(&(*value).into()), "{key} is {value}, must be 0 to {most}");
    }
    Ok(())
}

/// Checks `(key, value)`: finite and 0 or more. The error begins with the key.
pub(super) fn not_negative<T: Number>(settings: &[(&str, T)]) -> Result<()> {
    for (key, value) in settings {
        ensure!((0.0..f64::INFINITY).contains(&(*value).into()), "{key} is {value}, must not be negative");
    }
    Ok(())
}

/// Checks `(key, value)`: finite and above 0. The error begins with the key.
pub(super) fn positive<T: Number>(settings: &[(&str, T)]) -> Result<()> {
    for (key, value) in settings {
        let number: f64 = (*value).into();
        ensure!(number.is_finite() && number > 0.0, "{key} is {value}, must be positive");
    }
    Ok(())
}

/// Checks the batch size and the memory of all trees, for `games` games per worker, each with `leaves` positions per
/// batch and a tree of `tree` bytes. 0 `workers` is one per core.
pub(super) fn fit_together(games: usize, leaves: usize, workers: usize, tree: usize) -> Result<()> {
    let batch = games as u64 * leaves as u64;
    ensure!(batch <= MAX_BATCH, "games times leaves is {batch}, must be at most {MAX_BATCH}");
    let trees = games as u128 * super::worker_count(workers) as u128 * tree as u128;
    ensure!(
        trees <= MAX_TREES,
        "games times workers times visits take {} GiB, must be at most {}",
        trees >> 30,
        MAX_TREES >> 30
    );
    Ok(())
}
