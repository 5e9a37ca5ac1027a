//! Whether a quantised network is still the network that it was made from, and which layers are to blame if not.

use std::cmp::Ordering;

use engine::eval::Session;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::export::quantise::Quantiser;
use crate::export::quantise::compare::{QuantisationQuality, quality};
use crate::export::quantise::positions::{LabelledPosition, thinned};

/// The largest mean divergence of the policies, in nats.
const POLICY_KL: f64 = 0.01;

/// The largest mean absolute error of win, draw and loss.
const WDL_ERROR: f64 = 0.01;

/// The most that the share of moves played that are preferred may fall.
const TOP1_LOSS: f64 = 0.005;

/// Positions that the layers are compared on.
const POSITIONS: usize = 1024;

/// What a network is refused for, a line each.
pub fn refusals(quality: &QuantisationQuality) -> Vec<String> {
    let top1_loss = quality.top1_before - quality.top1_after;
    let wdl = quality.wdl_error.map(|error| ("WDL error", error, WDL_ERROR));
    let limits = [("policy KL", quality.policy_kl, POLICY_KL), ("loss of top-1", top1_loss, TOP1_LOSS)];
    // Not `>`: a number that isn't one must be refused too.
    let refused = limits.into_iter().chain(wdl).filter(|(_, value, limit)| {
        !matches!(value.partial_cmp(limit), Some(Ordering::Less | Ordering::Equal))
    });
    refused.map(|(what, value, limit)| format!("{what} {value:.5} is above {limit}")).collect()
}

/// A layer, and the policy's mean divergence (nat) if it is the only one in integers.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerSensitivity {
    /// Its node in the network file, and its size.
    pub layer: String,
    /// What it costs.
    pub quality: QuantisationQuality,
}

/// All layers that are computed in integers, the worst first.
///
/// # Errors
///
/// One line, if a network fails.
pub fn blame(
    original: &mut Session,
    quantiser: &Quantiser,
    positions: &[LabelledPosition],
) -> Result<Vec<LayerSensitivity>, String> {
    let positions = thinned(positions, POSITIONS);
    let layers = quantiser.layers();
    let bar = layers_bar(layers.len());
    let mut all = Vec::with_capacity(layers.len());
    for layer in layers {
        let mut alone = Session::open(&quantiser.alone(layer)).map_err(|error| error.to_string())?;
        let quality = quality(original, &mut alone, &positions)?;
        all.push(LayerSensitivity { layer: quantiser.describe(layer), quality });
        bar.inc(1);
    }
    bar.finish_and_clear();
    // As the limits of both are alike, so are their units.
    let cost = |blame: &LayerSensitivity| blame.quality.policy_kl.max(blame.quality.wdl_error.unwrap_or(0.0));
    all.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    Ok(all)
}

/// A progress bar for something that goes layer by layer.
pub fn layers_bar(layers: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(layers as u64), ProgressDrawTarget::stderr());
    bar.set_style(
        ProgressStyle::with_template("{bar:24} {pos}/{len} layers, {eta} left").expect("a template"),
    );
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_refuses_and_so_does_what_is_no_number() {
        let good = QuantisationQuality {
            policy_kl: 0.01,
            wdl_error: Some(0.01),
            top1_before: 0.5,
            top1_after: 0.496,
            ..QuantisationQuality::default()
        };
        assert!(refusals(&good).is_empty());
        let bad = [
            (QuantisationQuality { policy_kl: 0.0101, ..good }, "policy KL"),
            (QuantisationQuality { wdl_error: Some(0.0101), ..good }, "WDL error"),
            (QuantisationQuality { wdl_error: Some(f64::NAN), ..good }, "WDL error"),
            (QuantisationQuality { top1_after: f64::NAN, ..good }, "top-1"),
            (QuantisationQuality { top1_after: 0.494, ..good }, "top-1"),
            (QuantisationQuality { policy_kl: f64::NAN, ..good }, "policy KL"),
        ];
        for (quality, what) in bad {
            let refused = refusals(&quality);
            assert!(refused.len() == 1 && refused[0].contains(what), "{quality:?}: {refused:?}");
        }
        assert!(
            refusals(&QuantisationQuality { wdl_error: None, ..good }).is_empty(),
            "a network without a value"
        );
        let better = QuantisationQuality { top1_after: 0.6, ..good };
        assert!(refusals(&better).is_empty());
    }
}
