//! Random numbers that depend only on a seed, a game and a ply: equal runs generate equal games.

use fastrand::Rng;
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub fn game_rng(seed: u64, number: u64, ply: u64) -> Rng {
    let bytes = [number.to_le_bytes(), ply.to_le_bytes()].concat();
    Rng::with_seed(xxh3_64_with_seed(&bytes, seed))
}

/// Purposes of random numbers, each with an independent stream; [`game_rng`] has that of UCI engine games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RngStream {
    /// Self-play: the noise of a search.
    Search,
    /// Self-play: the choice among visited moves.
    Move,
    /// Self-play: whether a lost game is played on.
    PlayedOn,
    /// Self-play: the choice of the network.
    Network,
    /// A match: the choices of a classical player.
    Classical,
    /// Reinforcement learning: the games of the run.
    Games,
    /// Reinforcement learning: the samples of an iteration.
    Samples,
    /// Reinforcement learning: the matches of an iteration.
    Matches,
    /// Reinforcement learning: the choice of the older opponent.
    Older,
    /// The choice of the search of a unit that is repeated as a check.
    Recheck,
}

pub fn stream_rng(stream: RngStream, seed: u64, number: u64, ply: u64) -> Rng {
    let bytes = [&number.to_le_bytes()[..], &ply.to_le_bytes(), &[stream as u8]].concat();
    Rng::with_seed(xxh3_64_with_seed(&bytes, seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_independent() {
        let streams = [
            RngStream::Search,
            RngStream::Move,
            RngStream::PlayedOn,
            RngStream::Network,
            RngStream::Classical,
        ];
        let plies = [0, 1, 2, u64::MAX - 1, u64::MAX];
        let draw = |stream, ply| stream_rng(stream, 1, 0, ply).u64(..);
        let tagged = streams.iter().flat_map(|stream| plies.map(|ply| draw(*stream, ply)));
        let all: std::collections::BTreeSet<u64> =
            tagged.chain(plies.map(|ply| game_rng(1, 0, ply).u64(..))).collect();
        assert_eq!(all.len(), (streams.len() + 1) * plies.len());
        assert_eq!(draw(RngStream::Move, 1), draw(RngStream::Move, 1));
    }
}
