//! Comparison of a quantised network with the original: quantisation error and speed.

use std::time::{Duration, Instant};

use anyhow::Result;
use engine::chess::position::Game;
use engine::nets::eval::Wdl;
use engine::nets::onnx::OnnxSession;

use super::positions::LabelledPosition;
use crate::judge::export::golden::softmax;

/// Duration of each speed measurement.
const TIME: Duration = Duration::from_millis(150);

/// Quantisation error: differences between the outputs of the quantised network and the original's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QuantisationQuality {
    /// Number of positions compared.
    pub positions: usize,
    /// Mean Kullback–Leibler divergence of the policies over legal moves, in nats.
    pub policy_kl: f64,
    /// Mean absolute error of the WDL probabilities; `None` for a network without a value head.
    pub wdl_error: Option<f64>,
    /// Share of positions where both assign the highest probability to the same legal move.
    pub same_move: f64,
    /// Top-1 accuracy of the original: share of positions where the played move has the highest probability.
    pub top1_before: f64,
    /// Top-1 accuracy of the quantised network.
    pub top1_after: f64,
    /// Standard error of the difference of the two (paired by position).
    pub top1_error: f64,
}

/// Number of measurements of each network's speed.
pub const SPEED_REPEATS: usize = 9;

/// Positions per batch, in comparisons and in speed measurements.
pub const SPEED_BATCH: usize = 8;

/// Compares the outputs on `positions`.
///
/// # Errors
/// If ONNX Runtime fails.
pub fn quality(
    original: &mut OnnxSession,
    quantised: &mut OnnxSession,
    positions: &[LabelledPosition],
) -> Result<QuantisationQuality> {
    let count = |is: bool| f64::from(u8::from(is));
    let mut sum = QuantisationQuality::default();
    let (mut changed, mut wdl_errors, mut valued) = (0.0, 0.0, 0usize);
    for batch in positions.chunks(SPEED_BATCH) {
        let games: Vec<Game> = batch.iter().map(|position| position.game.clone()).collect();
        let input = original.schemes().input.tensor(&games);
        let before = probabilities(original, &games, &input)?;
        let after = probabilities(quantised, &games, &input)?;
        for (position, (p, q)) in batch.iter().zip(before.iter().zip(&after)) {
            if let (Some(p), Some(q)) = (p.wdl, q.wdl) {
                valued += 1;
                wdl_errors += p.iter().zip(&q).map(|(a, b)| f64::from((a - b).abs())).sum::<f64>() / 3.0;
            }
            let played = position.game.legal_moves().iter().position(|m| *m == position.played);
            let [first, second] = [&p.policy, &q.policy].map(|policy| best(policy));
            sum.positions += 1;
            sum.policy_kl += divergence(&p.policy, &q.policy);
            sum.same_move += count(first == second);
            sum.top1_before += count(first == played);
            sum.top1_after += count(second == played);
            changed += count((first == played) != (second == played));
        }
    }
    // Without positions every mean is NaN, which exceeds the limits.
    let total = sum.positions as f64;
    let difference = (sum.top1_after - sum.top1_before) / total;
    Ok(QuantisationQuality {
        positions: sum.positions,
        policy_kl: sum.policy_kl / total,
        wdl_error: (valued > 0).then(|| wdl_errors / valued as f64),
        same_move: sum.same_move / total,
        top1_before: sum.top1_before / total,
        top1_after: sum.top1_after / total,
        // Each position adds 1, 0 or −1 to the difference: the variance of their mean.
        top1_error: ((changed / total - difference * difference) / total).sqrt(),
    })
}

/// A network's output for a position.
struct Probabilities {
    /// Probabilities of the legal moves.
    policy: Vec<f32>,
    /// Probabilities of win, draw and loss, if the network has a value head.
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

/// Kullback–Leibler divergence D(p‖q), nat; NaN if a probability is NaN.
fn divergence(p: &[f32], q: &[f32]) -> f64 {
    let term = |(p, q): (&f32, &f32)| {
        let (p, q) = (f64::from(*p), f64::from(*q));
        let least = if q < 1e-12 { 1e-12 } else { q };
        if p == 0.0 { q * 0.0 } else { p * (p / least).ln() }
    };
    p.iter().zip(q).map(term).sum()
}

/// The index of the highest probability.
fn best(p: &[f32]) -> Option<usize> {
    (0..p.len()).max_by(|a, b| p[*a].total_cmp(&p[*b]))
}

/// Positions per second of each session: median of `repeats` alternating measurements on one thread, in batches of
/// [`SPEED_BATCH`].
///
/// # Errors
/// If ONNX Runtime fails.
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
mod tests {
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

    #[test]
    fn the_best_move_is_the_most_probable() {
        assert_eq!(best(&[0.2, 0.5, 0.3]), Some(1));
        assert_eq!(best(&[]), None);
    }
}
