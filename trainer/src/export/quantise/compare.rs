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
        let mut answers = [Vec::new(), Vec::new()];
        for (session, answers) in [&mut *original, &mut *quantised].into_iter().zip(&mut answers) {
            *answers = session
                .run(&input, |logits| {
                    let policies = logits.policy.chunks_exact(az4672::SIZE);
                    let wdls = logits.wdl.chunks_exact(3);
                    let of = |((game, policy), wdl): ((&Game, &[f32]), &[f32])| {
                        let index = |m: &shakmaty::Move| az4672::index(game.turn(), *m).offset();
                        let legal: Vec<f32> = game.legal_moves().iter().map(|m| policy[index(m)]).collect();
                        (softmax(&legal), softmax(wdl))
                    };
                    batch.iter().zip(policies).zip(wdls).map(of).collect::<Vec<_>>()
                })
                .map_err(|error| error.to_string())?;
        }
        let [original, quantised] = &answers;
        for ((p, p_wdl), (q, q_wdl)) in original.iter().zip(quantised) {
            sum.positions += 1;
            sum.policy_kl += divergence(p, q);
            sum.wdl_error +=
                p_wdl.iter().zip(q_wdl).map(|(a, b)| f64::from((a - b).abs())).sum::<f64>() / 3.0;
            sum.top1 += f64::from(u8::from(best(p) == best(q)));
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
