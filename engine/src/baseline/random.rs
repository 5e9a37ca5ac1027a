//! The player who plays anything.

use shakmaty::{Move, MoveList};

use crate::eval::Wdl;
use crate::search::{Counters, Line, Progress, Report, Score};

/// The legal moves, in the order in which they were drawn.
#[derive(Clone, Debug, Default)]
pub struct Drawn(MoveList);

impl Drawn {
    /// Draws them.
    pub fn new(moves: &MoveList, seed: u64) -> Drawn {
        let mut drawn = moves.clone();
        fastrand::Rng::with_seed(seed).shuffle(&mut drawn);
        Drawn(drawn)
    }
}

impl Progress for Drawn {
    fn visits(&self) -> u64 {
        self.0.len().min(1) as u64
    }

    fn best(&self) -> Option<Move> {
        self.0.first().copied()
    }

    fn report(&self, multipv: usize) -> Report {
        let line = |m: &Move| Line { pv: vec![*m], score: Score::Cp(0), wdl: Wdl::DRAW, visits: 0 };
        Report {
            visits: self.visits(),
            counters: Counters::default(),
            depth: 1,
            seldepth: 1,
            hashfull: 0,
            tbhits: 0,
            lines: self.0.iter().take(multipv).map(line).collect(),
        }
    }
}
