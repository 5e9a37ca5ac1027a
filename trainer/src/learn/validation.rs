//! How a network does on held-out samples: of each source, in each phase, and whether it means what it says.

use super::config::TrainConfig;
use super::loss;
use super::reliability::{Reliability, Tally};
use crate::loader::Batch;
use crate::model::{Net, Output, Weights, input::DeviceBatch, input::Expander};
use crate::samples::Phase;
use engine::encoding::planes72::ROWS;
use serde::Serialize;
use tch::{Kind, Tensor};

/// Held-out samples and whose they are.
#[derive(Default)]
pub struct HeldOut {
    /// The samples.
    pub batches: Vec<Batch>,
    /// `[n, 3]` for each batch: win, draw and loss for the mover as the games ended, whatever share of the
    /// value's target that is.
    pub results: Vec<Vec<f32>>,
    /// The names of the sources, in the order of [`Batch::source`].
    pub names: Vec<String>,
}

/// Means over the samples of a report or validation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Measures {
    /// Cross-entropy of the policy (nat).
    pub policy_loss: f64,
    /// Cross-entropy of win, draw, loss (nat), over the samples with a value target.
    pub wdl_loss: f64,
    /// Share of samples whose move is the first choice among legal moves.
    pub top1: f64,
    /// Share of samples whose move is among the first five choices among legal moves.
    pub top5: f64,
}

/// How a network does on some held-out samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Validation {
    /// Number of samples.
    pub samples: u64,
    /// Means over them.
    #[serde(flatten)]
    pub measures: Measures,
    /// Like `top1`, but among all 4672 indices.
    pub raw_top1: f64,
    /// Like `top5`, but among all 4672 indices.
    pub raw_top5: f64,
}

/// How a network does on all held-out samples, and on parts of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validations {
    /// All samples.
    pub all: Validation,
    /// Those of each source.
    pub sources: Vec<Validation>,
    /// Those of each phase, as in [`Phase::ALL`].
    pub phases: Vec<Validation>,
    /// What win, draw and loss were said to be, and what the games came to.
    pub reliability: Reliability,
}

/// Measures `weights` (fp32) on the samples.
pub fn validate(net: &Net, weights: &Weights, held_out: &HeldOut, config: &TrainConfig) -> Validations {
    let _guard = tch::no_grad_guard();
    let device = weights.device();
    let expander = Expander::new(device, Kind::Float);
    let (sources, phases) = (held_out.names.len() as i64, Phase::ALL.len() as i64);
    let mut sums = Tensor::zeros([sources + phases, MEASURED], (Kind::Float, device));
    let mut tally = Tally::new(device);
    let plain = TrainConfig { label_smoothing: 0.0, ..config.clone() };
    for (batch, results) in held_out.batches.iter().zip(&held_out.results) {
        let phase = phases_of(batch).to_device(device);
        let results = Tensor::from_slice(results).view([-1, 3]).to_device(device);
        let batch = expander.upload(batch);
        let output = net.forward(weights, &batch.planes, false);
        let groups = Tensor::cat(&[batch.source.one_hot(sources), phase.one_hot(phases)], 1);
        let measured = measures(&output, &batch, &plain);
        _ = sums.g_add_(&groups.to_kind(Kind::Float).tr().matmul(&measured));
        tally.add(&output.wdl.softmax(-1, Kind::Float), &results);
    }
    let all = sums.narrow(0, 0, sources).sum_dim_intlist([0i64].as_slice(), false, Kind::Float);
    let rows =
        |first: i64, count: i64| (first..first + count).map(|row| validation(&sums.get(row))).collect();
    Validations {
        all: validation(&all),
        sources: rows(0, sources),
        phases: rows(sources, phases),
        reliability: tally.reliability(),
    }
}

/// `[n]` i64: the index of each sample's phase.
fn phases_of(batch: &Batch) -> Tensor {
    // The first rows are the pieces now: own P N B R Q K, then theirs.
    let pieces = |rows: &[u64]| (1..5).chain(7..11).map(|row: usize| rows[row].count_ones()).sum();
    let phase = |rows: &[u64]| Phase::of_pieces(pieces(rows)) as i64;
    let phases: Vec<i64> = batch.masks.chunks_exact(ROWS).map(phase).collect();
    Tensor::from_slice(&phases)
}

/// Numbers measured of a sample.
const MEASURED: i64 = 8;

/// `[n, 8]`: one, the four measures, the two raw ones, whether there is a value target.
fn measures(output: &Output, batch: &DeviceBatch, config: &TrainConfig) -> Tensor {
    let losses = loss::losses(output, batch, config);
    let legal = loss::hits(&losses.legal_logits, &batch.policy);
    let raw = loss::hits(&output.policy, &batch.policy);
    let means = Tensor::stack(&[losses.policy.ones_like(), losses.policy, losses.wdl], 1);
    let valued = batch.wdl.sum_dim_intlist([1i64].as_slice(), true, Kind::Float);
    Tensor::cat(&[means, legal, raw, valued], 1)
}

fn validation(sums: &Tensor) -> Validation {
    let sums = Vec::<f32>::try_from(sums).expect("eight numbers");
    let mean = |i: usize| f64::from(sums[i]) / f64::from(sums[0]).max(1.0);
    let wdl_loss = f64::from(sums[2]) / f64::from(sums[7]).max(1.0);
    Validation {
        samples: sums[0] as u64,
        measures: Measures { policy_loss: mean(1), wdl_loss, top1: mean(3), top5: mean(4) },
        raw_top1: mean(5),
        raw_top5: mean(6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::encoding::planes72;
    use engine::position::Game;

    #[test]
    fn the_phase_of_a_sample_is_that_of_its_board() {
        let fens = [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "r1bqkb1r/pppppppp/8/8/8/8/PPPPPPPP/R1BQKB1R b KQkq - 0 1",
            "4k3/pppppppp/8/8/8/8/PPPPPPPP/QR2K3 b Q - 0 1",
        ];
        let games = fens.map(|fen| Game::from_fen(fen).unwrap());
        let masks = games.iter().flat_map(|game| planes72::encode(game).masks).collect();
        let phases: Vec<i64> = phases_of(&Batch { size: 3, masks, ..Batch::default() }).try_into().unwrap();
        let expected = games.map(|game| Phase::of(shakmaty::Position::board(game.position())) as i64);
        assert_eq!(phases, expected);
        assert_eq!(phases, [0, 1, 2]);
    }
}
