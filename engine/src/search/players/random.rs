use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use shakmaty::{Move, MoveList};

use crate::nets::eval::Wdl;
use crate::search::{PvLine, Report, Score, SearchCounters, SearchView};

#[derive(Clone, Debug, Default)]
pub struct ShuffledMoves(MoveList);

impl ShuffledMoves {
    pub fn new(moves: &MoveList, seed: u64) -> ShuffledMoves {
        let mut shuffled = moves.clone();
        shuffled.shuffle(&mut SmallRng::seed_from_u64(seed));
        ShuffledMoves(shuffled)
    }
}

impl SearchView for ShuffledMoves {
    fn visits(&self) -> u64 {
        self.0.len().min(1) as u64
    }

    fn best(&self) -> Option<Move> {
        self.0.first().copied()
    }

    fn report(&self, multipv: usize) -> Report {
        let line = |m: &Move| PvLine { pv: vec![*m], score: Score::Cp(0), wdl: Wdl::DRAW, visits: 0 };
        Report {
            visits: self.visits(),
            counters: SearchCounters::default(),
            depth: 1,
            seldepth: 1,
            hashfull: 0,
            tbhits: 0,
            lines: self.0.iter().take(multipv).map(line).collect(),
        }
    }
}
