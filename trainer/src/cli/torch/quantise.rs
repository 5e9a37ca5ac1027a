//! `quantise`: a network file in 8 bits.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use engine::nets::onnx::Network;

use crate::base::files::write_file;
use crate::base::network::load_network;
use crate::judge::export::{QuantisationQuality, QuantisedNetwork, SPEED_BATCH, SPEED_REPEATS, quantise};

/// Number of layers that are listed if a limit is exceeded.
const LISTED_LAYERS: usize = 5;

/// Quantise a network to 8 bits (int8)
///
/// On CPUs with VNNI, convolutional networks of 48 filters or more become two to three times as fast; tiny ones and
/// those of the family trm gain less or nothing. The command prints the speeds that it measures.
#[derive(Args, Debug)]
#[command(after_help = "Example: philidor-trainer quantise nets/mine.onnx --games data/*.h5\n\
    Writes nets/mine.int8.onnx and prints its quantisation error, on positions of validation games, and its speed.\n\
    Fails, and lists the most sensitive layers, if the policy's mean KL divergence exceeds 0.01 nat, the mean absolute\n\
    error of the WDL probabilities exceeds 0.01, or the top-1 accuracy falls by more than 0.5 percentage points.")]
pub struct QuantiseArgs {
    /// The fp32 network file, written by `export` or `convert-lc0`
    net: PathBuf,
    /// Files of games: training games for calibration, validation games for comparison
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    games: Vec<PathBuf>,
    /// The network file to write [default: NET with .int8.onnx]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Number of calibration positions from training games, equally many of each source
    #[arg(long, default_value_t = 1024)]
    positions: usize,
    /// Number of positions from validation games for the comparison, equally many of each source
    #[arg(long, default_value_t = 8192)]
    held_out: usize,
    /// Write the network even if a limit is exceeded
    #[arg(long)]
    force: bool,
}

impl QuantiseArgs {
    /// Quantises, prints the comparison, writes the result and loads it as the engine does.
    ///
    /// # Errors
    /// If a file cannot be read or written, ONNX Runtime fails, or the quantisation error exceeds a limit.
    pub fn run(&self) -> Result<()> {
        load_network(&self.net)?.onnx("quantise (`export` writes its integers too)")?;
        let fp32 = std::fs::read(&self.net).with_context(|| format!("cannot read {}", self.net.display()))?;
        let quantised = quantise(&fp32, &self.games, self.positions, self.held_out)?;
        print(&quantised, fp32.len());
        ensure!(
            self.force || quantised.exceeded.is_empty(),
            "not written: {}; --force writes the network nevertheless",
            quantised.exceeded.join("; ")
        );
        let out = self.out.clone().unwrap_or_else(|| self.net.with_extension("int8.onnx"));
        write_file(&out, &quantised.int8)?;
        say!("{}", Network::load(&out)?.describe());
        Ok(())
    }
}

fn print(quantised: &QuantisedNetwork, fp32_size: usize) {
    let QuantisedNetwork { int8, quality: q, speeds: [slow, fast], sensitivities, .. } = quantised;
    say!("{} held-out positions against fp32:", q.positions);
    say!("  policy KL      {:.5} nat, mean", q.policy_kl);
    if let Some(error) = q.wdl_error {
        say!("  WDL error      {error:.5}, mean absolute");
    }
    say!(
        "  top-1          {:.2} % instead of {:.2} % (difference {:+.2} ± {:.2} points, one standard error)",
        100.0 * q.top1_after,
        100.0 * q.top1_before,
        100.0 * (q.top1_after - q.top1_before),
        100.0 * q.top1_error
    );
    say!("  same best move {:.1} %", 100.0 * q.same_move);
    say!("  size           {:.2} MB instead of {:.2} MB", int8.len() as f64 / 1e6, fp32_size as f64 / 1e6);
    say!(
        "  speed          {:.2} times: {fast:.0} positions/s instead of {slow:.0} (batch {}, one thread, \
         median of {SPEED_REPEATS})",
        fast / slow,
        SPEED_BATCH
    );
    if !sensitivities.is_empty() {
        say!("the most sensitive layers, each quantised alone:");
    }
    for layer in sensitivities.iter().take(LISTED_LAYERS) {
        let QuantisationQuality { policy_kl, wdl_error, .. } = layer.quality;
        let wdl = wdl_error.map_or(String::new(), |error| format!("WDL error {error:.5}, "));
        say!("  policy KL      {policy_kl:.5} nat, {wdl}{}", layer.layer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::export::quantise_fixtures::{games_file, with_a_sensitive_layer};

    #[test]
    fn a_network_above_the_limits_is_written_only_with_force() {
        let folder = tempfile::tempdir().unwrap();
        let net = folder.path().join("net.onnx");
        std::fs::write(&net, with_a_sensitive_layer().0).unwrap();
        let games = vec![games_file(folder.path(), "games", 900)];
        let out = folder.path().join("out.int8.onnx");
        let args =
            QuantiseArgs { net, games, out: Some(out.clone()), positions: 64, held_out: 64, force: false };
        let refused = args.run().unwrap_err().to_string();
        assert!(refused.starts_with("not written: ") && refused.contains("--force"), "{refused}");
        assert!(!out.exists());
        QuantiseArgs { force: true, ..args }.run().unwrap();
        assert!(out.exists());
    }
}
