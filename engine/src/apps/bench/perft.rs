use std::io::{self, Write};
use std::time::Instant;

use shakmaty::{Chess, Move, Position};

use crate::chess::position::Game;

pub fn count(position: &Chess, depth: u32) -> u64 {
    shakmaty::perft(position, depth)
}

/// Counts by first move, in generation order; empty for depth 0.
pub fn divide(position: &Chess, depth: u32) -> impl Iterator<Item = (Move, u64)> {
    let moves = if depth == 0 { Vec::new() } else { position.legal_moves().to_vec() };
    moves.into_iter().map(move |m| {
        let mut next = position.clone();
        next.play_unchecked(m);
        (m, count(&next, depth - 1))
    })
}

pub fn print(game: &Game, depth: u32, chess960: bool, out: &mut impl Write) -> io::Result<()> {
    let start = Instant::now();
    let mut total = u64::from(depth == 0);
    for (m, nodes) in divide(game.position(), depth) {
        writeln!(out, "{}: {nodes}", Game::uci(m, chess960))?;
        // Seen at once, because the next may take a while.
        out.flush()?;
        total += nodes;
    }
    let seconds = start.elapsed().as_secs_f64().max(1e-6);
    writeln!(out, "\n{total} nodes {:.0} nps", total as f64 / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_initial_position() {
        for (depth, nodes) in [(0, 1), (1, 20), (2, 400), (3, 8902)] {
            assert_eq!(count(Game::new().position(), depth), nodes);
        }
    }

    #[test]
    fn the_parts_sum_to_the_whole() {
        let game = Game::from_fen(super::super::POSITIONS[1]).unwrap();
        let parts: Vec<_> = divide(game.position(), 3).collect();
        assert_eq!(parts.len(), 48);
        assert_eq!(parts.iter().map(|(_, nodes)| nodes).sum::<u64>(), 97_862);
        assert_eq!(divide(game.position(), 0).count(), 0);
    }

    #[test]
    fn depth_zero_is_the_position_itself() {
        let mut text = Vec::new();
        print(&Game::new(), 0, false, &mut text).unwrap();
        assert!(String::from_utf8(text).unwrap().contains("1 nodes"));
    }
}
