use std::time::{Duration, Instant};

use anyhow::Result;
use engine::chess::position::Game;
use engine::nets::eval::Wdl;
use engine::nets::onnx::OnnxSession;

use super::positions::LabelledPosition;
use crate::judge::export::golden::softmax;

const TIME: Duration = Duration::from_millis(150);

/// The tail is one in this many positions.
const TAIL: usize = 100;

#[derive(Clone, Debug, PartialEq)]
pub struct PositionError {
    pub fen: String,
    /// KL divergence of the quantised policy from the original's, over legal moves, in nats.
    pub policy_kl: f64,
    /// Mean absolute error of the three WDL probabilities; `None` without a value head.
    pub wdl: Option<f64>,
    pub same_move: bool,
    pub right_before: bool,
    pub right_after: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ErrorStatistics {
    pub mean: f64,
    pub error: f64,
    /// 99th percentile, but never the maximum, so that a single position does not decide.
    pub high: f64,
}

impl ErrorStatistics {
    /// Mean and error are NaN if there are no values or one is NaN.
    fn of(values: impl Iterator<Item = f64>) -> ErrorStatistics {
        let mut values: Vec<f64> = values.collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        values.sort_by(f64::total_cmp);
        let high = (values.len() - values.len() / TAIL).min(values.len().saturating_sub(1)).max(1);
        let high = values.get(high - 1).copied().unwrap_or(f64::NAN);
        ErrorStatistics { mean, error: (variance / count).sqrt(), high }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QuantisationQuality {
    pub positions: usize,
    pub policy_kl: ErrorStatistics,
    /// `None` without a value head.
    pub wdl_error: Option<ErrorStatistics>,
    /// Share of positions where both networks prefer the same legal move.
    pub same_move: f64,
    /// Top-1 accuracy of the original on the moves played.
    pub top1_before: f64,
    pub top1_after: f64,
    /// Standard error of the accuracies' difference, paired by position.
    pub top1_error: f64,
}

impl QuantisationQuality {
    /// Without positions the means are NaN, which exceeds every limit.
    pub fn of(errors: &[PositionError]) -> QuantisationQuality {
        let total = errors.len() as f64;
        let share = |is: fn(&PositionError) -> bool| errors.iter().filter(|e| is(e)).count() as f64 / total;
        let (top1_before, top1_after) = (share(|e| e.right_before), share(|e| e.right_after));
        let changed = share(|e| e.right_before != e.right_after);
        let valued = errors.iter().any(|error| error.wdl.is_some());
        let wdl = errors.iter().filter_map(|error| error.wdl);
        QuantisationQuality {
            positions: errors.len(),
            policy_kl: ErrorStatistics::of(errors.iter().map(|error| error.policy_kl)),
            wdl_error: valued.then(|| ErrorStatistics::of(wdl)),
            same_move: share(|e| e.same_move),
            top1_before,
            top1_after,
            // Each position adds 1, 0 or −1 to the difference, so `changed` is the mean of the squares.
            top1_error: ((changed - (top1_after - top1_before).powi(2)) / total).sqrt(),
        }
    }
}

pub const SPEED_REPEATS: usize = 9;

pub const SPEED_BATCH: usize = 8;

pub fn errors(
    original: &mut OnnxSession,
    quantised: &mut OnnxSession,
    positions: &[LabelledPosition],
) -> Result<Vec<PositionError>> {
    let mut errors = Vec::with_capacity(positions.len());
    for batch in positions.chunks(SPEED_BATCH) {
        let games: Vec<Game> = batch.iter().map(|position| position.game.clone()).collect();
        let input = original.schemes().input.tensor(&games);
        let before = probabilities(original, &games, &input)?;
        let after = probabilities(quantised, &games, &input)?;
        errors.extend(batch.iter().zip(before.iter().zip(&after)).map(|(at, (p, q))| error(at, p, q)));
    }
    Ok(errors)
}

pub fn quality(
    original: &mut OnnxSession,
    quantised: &mut OnnxSession,
    positions: &[LabelledPosition],
) -> Result<QuantisationQuality> {
    Ok(QuantisationQuality::of(&errors(original, quantised, positions)?))
}

fn error(position: &LabelledPosition, p: &Probabilities, q: &Probabilities) -> PositionError {
    let played = position.game.legal_moves().iter().position(|m| *m == position.played);
    let [first, second] = [&p.policy, &q.policy].map(|policy| best(policy));
    let difference = |(p, q): ([f32; 3], [f32; 3])| {
        p.iter().zip(&q).map(|(a, b)| f64::from((a - b).abs())).sum::<f64>() / 3.0
    };
    PositionError {
        fen: position.game.fen(),
        policy_kl: divergence(&p.policy, &q.policy),
        wdl: p.wdl.zip(q.wdl).map(difference),
        same_move: first == second,
        right_before: first == played,
        right_after: second == played,
    }
}

/// In descending order of the larger of policy KL and WDL error.
pub fn worst(errors: &[PositionError], count: usize) -> Vec<PositionError> {
    let size = |error: &PositionError| error.policy_kl.max(error.wdl.unwrap_or(0.0));
    let mut sorted: Vec<&PositionError> = errors.iter().collect();
    sorted.sort_by(|a, b| size(b).total_cmp(&size(a)));
    sorted.into_iter().take(count).cloned().collect()
}

struct Probabilities {
    /// Over legal moves.
    policy: Vec<f32>,
    wdl: Option<[f32; 3]>,
}

fn probabilities(session: &mut OnnxSession, batch: &[Game], input: &[f32]) -> Result<Vec<Probabilities>> {
    let scheme = session.schemes().policy;
    let probabilities = session.run(input, |logits| {
        let values = logits.wdl.as_chunks::<3>().0;
        let policies = logits.policy.chunks_exact(scheme.size());
        let read = |(index, (game, policy)): (usize, (&Game, &[f32]))| {
            let logit = |m: &shakmaty::Move| policy[scheme.index(game.turn(), *m).offset()];
            let legal: Vec<f32> = game.legal_moves().iter().map(logit).collect();
            let wdl = values.get(index).map(|logits| {
                let Wdl { win, draw, loss } = Wdl::from_logits(*logits);
                [win, draw, loss]
            });
            Probabilities { policy: softmax(&legal), wdl }
        };
        batch.iter().zip(policies).enumerate().map(read).collect()
    });
    Ok(probabilities?)
}

/// D(p‖q) in nats; NaN if a probability is NaN.
fn divergence(p: &[f32], q: &[f32]) -> f64 {
    let term = |(p, q): (&f32, &f32)| {
        let (p, q) = (f64::from(*p), f64::from(*q));
        let least = if q < 1e-12 { 1e-12 } else { q };
        if p == 0.0 { q * 0.0 } else { p * (p / least).ln() }
    };
    p.iter().zip(q).map(term).sum()
}

fn best(p: &[f32]) -> Option<usize> {
    (0..p.len()).max_by(|a, b| p[*a].total_cmp(&p[*b]))
}

/// Speed of each session on one thread: the median of `repeats` alternating runs in batches of [`SPEED_BATCH`].
pub fn speeds(
    sessions: [&mut OnnxSession; 2],
    positions: &[LabelledPosition],
    repeats: usize,
) -> Result<[f64; 2]> {
    let games: Vec<Game> = positions.iter().cycle().take(SPEED_BATCH).map(|p| p.game.clone()).collect();
    let input = sessions[0].schemes().input.tensor(&games);
    let mut samples = [Vec::new(), Vec::new()];
    let [a, b] = sessions;
    for _ in 0..repeats {
        for (session, samples) in [&mut *a, &mut *b].into_iter().zip(&mut samples) {
            let start = Instant::now();
            let mut runs = 0;
            while start.elapsed() < TIME {
                session.run(&input, |_| ())?;
                runs += SPEED_BATCH;
            }
            samples.push(runs as f64 / start.elapsed().as_secs_f64());
        }
    }
    Ok(samples.map(|mut samples| {
        samples.sort_by(f64::total_cmp);
        samples.get(samples.len() / 2).copied().unwrap_or(0.0)
    }))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn the_divergence_is_kullback_leibler() {
        assert_eq!(divergence(&[0.25, 0.75], &[0.25, 0.75]), 0.0);
        let expected = 0.5 * 2f64.ln() + 0.5 * (2f64 / 3.0).ln();
        assert!((divergence(&[0.5, 0.5, 0.0], &[0.25, 0.75, 0.0]) - expected).abs() < 1e-9);
    }

    #[test]
    fn a_nan_probability_makes_the_divergence_nan() {
        assert_eq!(divergence(&[1.0, 0.0], &[0.0, 1.0]), -(1e-12f64.ln()));
        for (p, q) in
            [([f32::NAN, 0.5], [0.5, 0.5]), ([0.5, 0.5], [f32::NAN, 0.5]), ([1.0, 0.0], [1.0, f32::NAN])]
        {
            assert!(divergence(&p, &q).is_nan(), "{p:?} {q:?}");
        }
    }

    /// Of 200 positions, `bad` have a KL of 1 nat and lose the played move; the others equal the original.
    pub(crate) fn sample(bad: usize) -> Vec<PositionError> {
        let error = |number: usize| {
            let is_bad = number < bad;
            PositionError {
                fen: format!("position {number}"),
                policy_kl: if is_bad { 1.0 } else { 0.001 },
                wdl: Some(0.001),
                same_move: !is_bad,
                right_before: number.is_multiple_of(2),
                right_after: number.is_multiple_of(2) && !is_bad,
            }
        };
        (0..200).map(error).collect()
    }

    #[test]
    fn statistics_are_means_errors_and_a_quantile_that_no_single_position_decides() {
        let quality = QuantisationQuality::of(&sample(1));
        assert!((quality.policy_kl.mean - 1.199 / 200.0).abs() < 1e-12);
        assert!((quality.policy_kl.error - 0.005).abs() < 1e-4, "{quality:?}");
        assert_eq!((quality.policy_kl.high, quality.top1_before), (0.001, 0.5));
        assert_eq!(QuantisationQuality::of(&sample(3)).policy_kl.high, 1.0);
        assert_eq!(ErrorStatistics::of([3.0, 1.0].into_iter()).high, 1.0);
        assert_eq!(ErrorStatistics::of([3.0].into_iter()).high, 3.0);
        assert!(QuantisationQuality::of(&[]).policy_kl.mean.is_nan());
        let worst: Vec<String> = worst(&sample(2), 3).into_iter().map(|error| error.fen).collect();
        assert_eq!(worst, ["position 0", "position 1", "position 2"]);
    }

    #[test]
    fn the_best_move_is_the_most_probable() {
        assert_eq!(best(&[0.2, 0.5, 0.3]), Some(1));
        assert_eq!(best(&[]), None);
    }
}
