//! A network in two precisions, compared: answers and speed.

use std::time::{Duration, Instant};

use engine::eval::{Session, Wdl};
use engine::position::Game;

use crate::export::golden::softmax;
use crate::export::quantise::positions::LabelledPosition;

/// How long each measurement takes.
const TIME: Duration = Duration::from_millis(150);

/// How the answers of the quantised network differ from the original's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QuantisationQuality {
    /// Positions compared.
    pub positions: usize,
    /// Mean Kullback–Leibler divergence of the policies over legal moves, in nats.
    pub policy_kl: f64,
    /// Mean absolute error of win, draw and loss; none of a network without a value.
    pub wdl_error: Option<f64>,
    /// Share of positions where both prefer the same legal move.
    pub same_move: f64,
    /// Share of positions where the original prefers the move that was played.
    pub top1_before: f64,
    /// The same of the quantised network.
    pub top1_after: f64,
    /// Standard error of the difference of the two, whose positions are the same.
    pub top1_error: f64,
}

/// Positions a batch.
pub const BATCH: usize = 8;

/// Compares the answers on `positions`.
///
/// # Errors
///
/// One line, if a network fails.
pub fn quality(
    original: &mut Session,
    quantised: &mut Session,
    positions: &[LabelledPosition],
) -> Result<QuantisationQuality, String> {
    let count = |is: bool| f64::from(u8::from(is));
    let mut sum = QuantisationQuality::default();
    let (mut changed, mut wdl_errors, mut valued) = (0.0, 0.0, 0usize);
    for batch in positions.chunks(BATCH) {
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
    // Of no positions nothing is known: every mean is not a number then, which the gate refuses.
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

/// What a network says of a position.
struct Probabilities {
    /// Of the legal moves.
    policy: Vec<f32>,
    /// Of win, draw and loss, if the network has a value.
    wdl: Option<[f32; 3]>,
}

fn probabilities(session: &mut Session, batch: &[Game], input: &[f32]) -> Result<Vec<Probabilities>, String> {
    let scheme = session.schemes().policy;
    let ran = session.run(input, |logits| {
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
    ran.map_err(|error| error.to_string())
}

/// Not a number if one of the probabilities isn't.
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

/// Positions per second of each session: the median of alternating measurements, one thread, batch 8.
///
/// # Errors
///
/// One line, if a network fails.
pub fn speeds(
    sessions: [&mut Session; 2],
    positions: &[LabelledPosition],
    repeats: usize,
) -> Result<[f64; 2], String> {
    let games: Vec<Game> = positions.iter().cycle().take(BATCH).map(|p| p.game.clone()).collect();
    let input = sessions[0].schemes().input.tensor(&games);
    let mut samples = [Vec::new(), Vec::new()];
    let [a, b] = sessions;
    for _ in 0..repeats {
        for (session, samples) in [&mut *a, &mut *b].into_iter().zip(&mut samples) {
            let start = Instant::now();
            let mut runs = 0;
            while start.elapsed() < TIME {
                session.run(&input, |_| ()).map_err(|error| error.to_string())?;
                runs += BATCH;
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
    fn the_divergence_is_kullbacks_and_leiblers() {
        assert_eq!(divergence(&[0.25, 0.75], &[0.25, 0.75]), 0.0);
        let expected = 0.5 * 2f64.ln() + 0.5 * (2f64 / 3.0).ln();
        assert!((divergence(&[0.5, 0.5, 0.0], &[0.25, 0.75, 0.0]) - expected).abs() < 1e-9);
    }

    #[test]
    fn a_probability_that_is_no_number_is_not_overlooked() {
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
