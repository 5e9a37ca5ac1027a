//! Random numbers that depend only on a seed, a game and a ply: the same run, the same games.

use fastrand::Rng;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The dice for ply `ply` of game `number`.
pub fn game_rng(seed: u64, number: u64, ply: u64) -> Rng {
    let bytes = [number.to_le_bytes(), ply.to_le_bytes()].concat();
    Rng::with_seed(xxh3_64_with_seed(&bytes, seed))
}

/// What dice are thrown for beside the moves of mined games and their starts: a throw for one purpose says nothing of
/// those for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RngStream {
    /// Self-play: how a search goes.
    Search,
    /// Self-play: which of the visited moves is played.
    Move,
    /// Self-play: whether a lost game is played on.
    PlayedOn,
    /// Self-play: which network plays.
    Network,
    /// A match: what a classical player thinks.
    Classical,
    /// The cycle: an iteration's games, …
    Games,
    /// … its samples, …
    Samples,
    /// … its matches, …
    Matches,
    /// … and against which older network one of them is.
    Older,
}

/// The dice for ply `ply` of game `number`, thrown for this purpose.
pub fn stream_rng(purpose: RngStream, seed: u64, number: u64, ply: u64) -> Rng {
    let bytes = [&number.to_le_bytes()[..], &ply.to_le_bytes(), &[purpose as u8]].concat();
    Rng::with_seed(xxh3_64_with_seed(&bytes, seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_throw_is_for_one_purpose_only() {
        let purposes = [
            RngStream::Search,
            RngStream::Move,
            RngStream::PlayedOn,
            RngStream::Network,
            RngStream::Classical,
        ];
        let plies = [0, 1, 2, u64::MAX - 1, u64::MAX];
        let throw = |purpose, ply| stream_rng(purpose, 1, 0, ply).u64(..);
        let tagged = purposes.iter().flat_map(|purpose| plies.map(|ply| throw(*purpose, ply)));
        let all: std::collections::BTreeSet<u64> =
            tagged.chain(plies.map(|ply| game_rng(1, 0, ply).u64(..))).collect();
        assert_eq!(all.len(), (purposes.len() + 1) * plies.len());
        assert_eq!(throw(RngStream::Move, 1), throw(RngStream::Move, 1));
    }
}
