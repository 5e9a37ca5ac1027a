//! Bounds of settings that cost memory or time: beyond them they are mistakes, and would end in a panic or never.

use anyhow::{Result, ensure};

/// Most visits of a search, and most rollouts.
pub const MAX_VISITS: u64 = 1_000_000;
/// Most games at once on a thread.
pub const MAX_AT_ONCE: u64 = 16_384;
/// Most positions that a game adds to a batch.
pub const MAX_LEAVES: u64 = 256;
/// Most threads of a kind, and most UCI engines at once.
pub const MAX_THREADS: u64 = 256;
/// Most games of a command.
pub const MAX_GAMES: u64 = 1_000_000_000;
/// Largest cache of a thread, MiB.
pub const MAX_CACHE: u64 = 1 << 16;
/// Most plies of a game: `games/1` counts them in 16 bits.
pub const MAX_PLIES: u64 = u16::MAX as u64;
/// Most random plies before a game.
pub const MAX_RANDOM_PLIES: u64 = 200;
/// Deepest search by depth, plies.
pub const MAX_DEPTH: u64 = 245;
/// Most moves of a position that an engine is asked for: `policy/len` counts them in 8 bits.
pub const MAX_MULTIPV: u64 = u8::MAX as u64;
/// Most seconds to wait for something: a year.
pub const MAX_SECONDS: u64 = 31_536_000;
/// Most positions of a batch that is evaluated or overfitted at once.
pub const MAX_BATCH: u64 = 1 << 16;
/// Most bytes of all trees together.
const MAX_TREES: u128 = 256 << 30;

/// Checks settings: their keys, and their least, actual and largest values.
///
/// # Errors
///
/// A value is out of range; the message begins with its key.
pub(super) fn in_range(settings: &[(&str, u64, u64, u64)]) -> Result<()> {
    for (key, least, value, most) in settings {
        ensure!(value >= least, "{key} is {value}, must be at least {least}");
        ensure!(value <= most, "{key} is {value}, must be at most {most}");
    }
    Ok(())
}

/// Checks what games that are played at once need together: `games` of them on each of `workers` threads (0 for one per
/// core), each with a tree of `tree` bytes and up to `leaves` positions in a batch.
///
/// # Errors
///
/// It is too much; the message names the keys.
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
