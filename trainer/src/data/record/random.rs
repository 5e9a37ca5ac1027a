//! Random numbers that depend only on seed, game and ply, so that equal runs generate equal games.

use fastrand::Rng;
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub fn game_rng(seed: u64, number: u64, ply: u64) -> Rng {
    let bytes = [number.to_le_bytes(), ply.to_le_bytes()].concat();
    Rng::with_seed(xxh3_64_with_seed(&bytes, seed))
}

/// Purposes with independent random numbers. [`game_rng`] is the stream of UCI engine games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RngStream {
    /// Self-play: a search's noise.
    Search,
    /// Self-play: choice among visited moves.
    Move,
    /// Self-play: whether a lost game is played on.
    PlayedOn,
    /// Self-play: choice of the network.
    Network,
    /// Match: choices of a classical player.
    Classical,
    /// RL: games of the run.
    Games,
    /// RL: samples of an iteration.
    Samples,
    /// RL: matches of an iteration.
    Matches,
    /// RL: choice of the older opponent.
    Older,
    /// Choice of the search that is repeated to check a unit.
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
