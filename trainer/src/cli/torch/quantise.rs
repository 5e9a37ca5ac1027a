use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use engine::nets::onnx::Network;

use crate::base::files::{check_output, write_file};
use crate::base::network::load_network;
use crate::judge::export::{
    ErrorStatistics, PositionError, QuantisationQuality, QuantisedNetwork, SPEED_BATCH, SPEED_REPEATS,
    quantise,
};

const LISTED_LAYERS: usize = 5;

/// Quantise a network to 8 bits (int8)
///
/// On CPUs with VNNI, convolutional networks of 48 filters or more become two to three times as fast; tiny ones and
/// those of the family trm gain less or nothing. The command prints the measured speeds.
#[derive(Args, Debug)]
#[command(after_help = "Example: philidor-trainer quantise nets/mine.onnx --games data/*.h5\n\
    Writes nets/mine.int8.onnx and prints its error on positions of validation games, its worst positions and its speed.\n\
    Fails, and lists the most sensitive layers, if by more than two standard errors the policy's mean KL divergence is\n\
    above 0.01 nat, the mean absolute error of the WDL probabilities above 0.01 or the loss of top-1 accuracy above\n\
    0.5 percentage points; or if one position in a hundred has a divergence above 0.1 nat or a WDL error above 0.1.")]
pub struct QuantiseArgs {
    /// The fp32 network file, written by `export` or `convert-lc0`
    net: PathBuf,
    /// Files of games: training games for calibration, validation games for comparison
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    games: Vec<PathBuf>,
    /// The network file to write [default: NET with .int8.onnx]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Number of calibration positions from training games, equally many per source
    #[arg(long, default_value_t = 1024)]
    positions: usize,
    /// Number of positions from validation games for the comparison, equally many per source
    #[arg(long, default_value_t = 8192)]
    held_out: usize,
    /// Write the network even if a limit is exceeded
    #[arg(long)]
    force: bool,
}

impl QuantiseArgs {
    pub fn run(&self) -> Result<()> {
        let out = self.out.clone().unwrap_or_else(|| self.net.with_extension("int8.onnx"));
        check_output(&out, self.games.iter().chain([&self.net]))?;
        load_network(&self.net)?.onnx("quantise, which would round a network that is in 8 bits already,")?;
        let fp32 = std::fs::read(&self.net).with_context(|| format!("cannot read {}", self.net.display()))?;
        let quantised = quantise(&fp32, &self.games, self.positions, self.held_out)?;
        print(&quantised, fp32.len());
        ensure!(
            self.force || quantised.exceeded.is_empty(),
            "not written: {}; --force writes the network nevertheless",
            quantised.exceeded.join("; ")
        );
        let network = Network::read(quantised.int8.as_slice(), &out)?;
        write_file(&out, &quantised.int8)?;
        say!("{}", network.describe());
        Ok(())
    }
}

fn print(quantised: &QuantisedNetwork, fp32_size: usize) {
    let QuantisedNetwork { int8, quality: q, speeds: [slow, fast], worst, sensitivities, .. } = quantised;
    let errors = |ErrorStatistics { mean, error, high }: ErrorStatistics| {
        format!("{mean:.5} ± {error:.5} (mean, one standard error); 99 % of positions below {high:.4}")
    };
    say!("{} held-out positions against fp32:", q.positions);
    say!("  policy KL, nat {}", errors(q.policy_kl));
    if let Some(error) = q.wdl_error {
        say!("  WDL error      {}", errors(error));
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
    if let Some(note) = speed_note(fast / slow) {
        say!("  {note}");
    }
    say!("the largest errors:");
    for PositionError { fen, policy_kl, wdl, .. } in worst {
        let wdl = wdl.map_or(String::new(), |error| format!(", WDL {error:.4}"));
        say!("  policy KL {policy_kl:.4} nat{wdl}: {fen}");
    }
    if !sensitivities.is_empty() {
        say!("the most sensitive layers, each quantised alone:");
    }
    for layer in sensitivities.iter().take(LISTED_LAYERS) {
        let QuantisationQuality { policy_kl, wdl_error, .. } = layer.quality;
        let wdl = wdl_error.map_or(String::new(), |error| format!("WDL error {:.5}, ", error.mean));
        say!("  policy KL      {:.5} nat, {wdl}{}", policy_kl.mean, layer.layer);
    }
}

/// Advice if int8 is not faster by the tenth that `Precision auto` asks for.
fn speed_note(times: f64) -> Option<String> {
    let slower = match times {
        ..1.0 => "slower than fp32 on this machine",
        1.0..1.1 => "hardly faster than fp32 on this machine",
        _ => return None,
    };
    Some(format!("{slower}: play the fp32 file, as Precision auto does; a CPU with VNNI gains more"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::export::quantise_fixtures::{games_file, with_a_sensitive_layer};

    #[test]
    fn a_network_that_is_not_faster_is_called_so() {
        assert!(speed_note(0.8).unwrap().starts_with("slower"));
        assert!(speed_note(1.05).unwrap().starts_with("hardly faster"));
        assert_eq!(speed_note(2.5), None);
    }

    #[test]
    fn a_network_above_the_limits_is_written_only_with_force() {
        let folder = tempfile::tempdir().unwrap();
        let net = folder.path().join("net.onnx");
        std::fs::write(&net, with_a_sensitive_layer(100.0).0).unwrap();
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
