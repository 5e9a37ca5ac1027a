//! A network in two precisions, compared: answers and speed.

use std::time::{Duration, Instant};

use engine::encoding::az4672;
use engine::eval::Session;
use engine::position::Game;

use super::ranges::planes;
use crate::export::golden::softmax;

/// How long each measurement takes.
const TIME: Duration = Duration::from_millis(150);

/// How the answers of the quantised network differ from the original's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quality {
    /// Positions compared.
    pub positions: usize,
    /// Mean Kullback–Leibler divergence of the policies over legal moves, in nats.
    pub policy_kl: f64,
    /// Mean absolute error of win, draw and loss.
    pub wdl_error: f64,
    /// Share of positions where both prefer the same move.
    pub top1: f64,
}

/// Positions a batch.
pub const BATCH: usize = 8;

/// Compares the answers on `games`.
///
/// # Errors
///
/// One line, if a network fails.
pub fn quality(original: &mut Session, quantised: &mut Session, games: &[Game]) -> Result<Quality, String> {
    let mut sum = Quality::default();
    for batch in games.chunks(BATCH) {
        let input = planes(batch);
        let before = probabilities(original, batch, &input)?;
        let after = probabilities(quantised, batch, &input)?;
        for (p, q) in before.iter().zip(&after) {
            let wdl_error: f64 = p.wdl.iter().zip(&q.wdl).map(|(a, b)| f64::from((a - b).abs())).sum();
            sum.positions += 1;
            sum.policy_kl += divergence(&p.policy, &q.policy);
            sum.wdl_error += wdl_error / 3.0;
            sum.top1 += f64::from(u8::from(best(&p.policy) == best(&q.policy)));
        }
    }
    let mean = |sum: f64, count: usize| sum / count.max(1) as f64;
    Ok(Quality {
        policy_kl: mean(sum.policy_kl, sum.positions),
        wdl_error: mean(sum.wdl_error, sum.positions),
        top1: mean(sum.top1, sum.positions),
        ..sum
    })
}

/// What a network says of a position.
struct Probabilities {
    /// Of the legal moves.
    policy: Vec<f32>,
    /// Of win, draw and loss.
    wdl: Vec<f32>,
}

fn probabilities(session: &mut Session, batch: &[Game], input: &[f32]) -> Result<Vec<Probabilities>, String> {
    let read = |(game, (policy, wdl)): (&Game, (&[f32], &[f32]))| {
        let logit = |m: &shakmaty::Move| policy[az4672::index(game.turn(), *m).offset()];
        let legal: Vec<f32> = game.legal_moves().iter().map(logit).collect();
        Probabilities { policy: softmax(&legal), wdl: softmax(wdl) }
    };
    let ran = session.run(input, |logits| {
        let each = logits.policy.chunks_exact(az4672::SIZE).zip(logits.wdl.chunks_exact(3));
        batch.iter().zip(each).map(read).collect()
    });
    ran.map_err(|error| error.to_string())
}

fn divergence(p: &[f32], q: &[f32]) -> f64 {
    let term = |(p, q): (&f32, &f32)| match *p > 0.0 {
        true => f64::from(*p) * (f64::from(*p) / f64::from(*q).max(1e-12)).ln(),
        false => 0.0,
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
pub fn speeds(sessions: [&mut Session; 2], games: &[Game], repeats: usize) -> Result<[f64; 2], String> {
    let games: Vec<Game> = games.iter().cycle().take(BATCH).cloned().collect();
    let input = planes(&games);
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
    fn the_best_move_is_the_most_probable() {
        assert_eq!(best(&[0.2, 0.5, 0.3]), Some(1));
        assert_eq!(best(&[]), None);
    }
}
