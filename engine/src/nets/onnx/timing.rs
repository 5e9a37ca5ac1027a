use web_time::{Duration, Instant};

use super::session::OnnxSession;
use crate::chess::position::Game;
use crate::nets::eval::{EvalError, Precision};

/// Least times of a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrecisionTiming {
    pub fp32_ms: f64,
    pub int8_ms: f64,
}

/// A smaller speed-up is not worth int8's lower accuracy.
const MIN_SPEEDUP: f64 = 1.1;

/// Measuring time, unless batches take longer.
const TIME: Duration = Duration::from_millis(60);

/// On a busy machine most runs are interrupted; of ten, at least one hardly is.
const MIN_RUNS: usize = 10;

/// Of a slow network fewer runs have to do, which begin within this time.
const SLOW_TIME: Duration = Duration::from_secs(1);
const SLOW_RUNS: usize = 3;

/// Larger batches take longer and compare no differently.
const LARGEST_BATCH: usize = 32;

pub fn measured_batch(batch: usize) -> usize {
    batch.clamp(1, LARGEST_BATCH)
}

impl PrecisionTiming {
    /// Alternates between the sessions, so that a change of clock speed affects both.
    pub fn measure(
        fp32: &mut OnnxSession,
        int8: &mut OnnxSession,
        batch: usize,
    ) -> Result<PrecisionTiming, EvalError> {
        let positions = vec![Game::new(); measured_batch(batch)];
        let input = fp32.schemes().input.tensor(&positions);
        // The first run allocates memory.
        fp32.run(&input, |_| ())?;
        int8.run(&input, |_| ())?;
        let (mut slow, mut fast) = (Vec::new(), Vec::new());
        let begin = Instant::now();
        while goes_on(slow.len(), begin.elapsed()) {
            for (session, times) in [(&mut *fp32, &mut slow), (&mut *int8, &mut fast)] {
                let start = Instant::now();
                session.run(&input, |_| ())?;
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
        Ok(PrecisionTiming::of(&slow, &fast))
    }

    /// Of all runs, in milliseconds. Other programs only lengthen a run, so the least time is the network's own.
    fn of(fp32: &[f64], int8: &[f64]) -> PrecisionTiming {
        let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
        PrecisionTiming { fp32_ms: least(fp32), int8_ms: least(int8) }
    }

    pub fn better(self) -> Precision {
        if self.int8_ms * MIN_SPEEDUP <= self.fp32_ms { Precision::Int8 } else { Precision::Fp32 }
    }
}

/// After so many runs of each session.
fn goes_on(runs: usize, elapsed: Duration) -> bool {
    elapsed < TIME || runs < SLOW_RUNS || (runs < MIN_RUNS && elapsed < SLOW_TIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_network_is_measured_less_often() {
        let runs = |ms: u64| (0..).find(|runs| !goes_on(*runs, Duration::from_millis(ms * *runs as u64)));
        assert_eq!([1, 6, 50, 100, 200, 600].map(runs), [60, 10, 10, 10, 5, 3].map(Some));
    }

    #[test]
    fn interrupted_runs_do_not_count() {
        let timing = PrecisionTiming::of(&[43.0, 3.0, 41.0], &[45.0, 47.0, 1.5]);
        assert_eq!(timing, PrecisionTiming { fp32_ms: 3.0, int8_ms: 1.5 });
    }

    #[test]
    fn int8_must_be_a_tenth_faster() {
        let better = |fp32_ms, int8_ms| PrecisionTiming { fp32_ms, int8_ms }.better();
        assert_eq!(better(3.0, 1.0), Precision::Int8);
        assert_eq!(better(1.1, 1.0), Precision::Int8);
        assert_eq!(better(1.05, 1.0), Precision::Fp32, "less than a tenth");
        assert_eq!(better(1.0, 2.0), Precision::Fp32);
    }
}
