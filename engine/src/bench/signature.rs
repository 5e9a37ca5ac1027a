//! The signature: fixed positions, fixed visits, one worker, the same numbers everywhere.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::speed::{self, SpeedError};
use super::{POSITIONS, hashed, search};
use crate::eval::{Pair, Precision};
use crate::position::{Game, PackedMove};
use crate::search::{Params, Pool, Puct, Report};

/// How the signature is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
pub struct Config {
    /// Visits per position and evaluator
    #[arg(long, default_value_t = Config::default().visits)]
    pub visits: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config { visits: 5000 }
    }
}

/// What it comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Nodes that the playouts walked through: their paths' lengths, summed.
    pub nodes: u64,
    /// Over every root move and its visits, in the order of the reports.
    pub checksum: u64,
    /// Nodes per second.
    pub nps: u64,
    /// Visits per second, with evaluators that take next to no time.
    pub visits_per_second: u64,
}

/// The defaults of the search without its two transcendental functions: logarithm and power differ
/// in the last bit between machines, sums and square roots don't.
fn params() -> Params {
    Params { puct: Puct { factor: 0.0, ..Puct::default() }, policy_temperature: 1.0, ..Params::default() }
}

/// Visits per position where the network is measured: it is slower by orders of magnitude.
const NETWORK_VISITS: u64 = 1000;

/// Memory of each search, in bytes; far more than it needs.
const MEMORY: usize = 64 << 20;

/// Takes the signature and prints a line per position to `out`.
///
/// # Errors
///
/// If `out` can't be written.
///
/// # Panics
///
/// If one of the fixed positions can't be set up, which a test rules out.
pub fn take(config: Config, out: &mut impl Write) -> io::Result<Signature> {
    let nodes = Arc::new(AtomicU64::new(0));
    let mut checksum = Fnv::default();
    let mut visits = 0;
    let start = Instant::now();
    for (name, evaluator) in hashed::of_the_signature(&nodes) {
        let mut pool = Pool::new(vec![evaluator], params(), MEMORY);
        for (fen, number) in POSITIONS.iter().zip(1..) {
            let game = Game::from_fen(fen).expect("the fixed positions are positions");
            let report = search(&mut pool, &game, config.visits).report;
            add(&mut checksum, &report);
            visits += report.visits;
            let best = report.lines.first().and_then(|line| line.pv.first());
            let best = best.map_or_else(String::new, |&m| Game::uci(m, false));
            writeln!(
                out,
                "{name} {number:>2}/{}: {best:<5} visits {:>5} nodes {:>8} checksum {:016x}",
                POSITIONS.len(),
                report.visits,
                nodes.load(Ordering::Relaxed),
                checksum.0
            )?;
        }
    }
    let nodes = nodes.load(Ordering::Relaxed);
    let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX).max(1);
    let per_second = |count: u64| count.saturating_mul(1_000_000) / micros;
    Ok(Signature {
        nodes,
        checksum: checksum.0,
        nps: per_second(nodes),
        visits_per_second: per_second(visits),
    })
}

/// Takes the signature, measures the embedded network, and prints both: the checksum, the network's
/// speed, and last `N nodes M nps`, as OpenBench wants it.
///
/// # Errors
///
/// If `out` can't be written.
pub fn print(config: Config, out: &mut impl Write) -> io::Result<()> {
    let Signature { nodes, checksum, nps, visits_per_second } = take(config, out)?;
    writeln!(out, "the tree alone: {visits_per_second} visits/s")?;
    for precision in Precision::ALL {
        match network_speed(precision) {
            Ok(line) => writeln!(out, "{line}")?,
            Err(error) => writeln!(out, "no {precision} network to measure: {error}")?,
        }
    }
    writeln!(out, "checksum {checksum:016x}")?;
    writeln!(out, "{nodes} nodes {nps} nps")
}

/// The embedded network's speed in one precision, in a line.
fn network_speed(precision: Precision) -> Result<String, SpeedError> {
    let network = Pair::embedded().exactly(precision).map_err(SpeedError::Network)?;
    let visits = speed::visits_per_second(&network, NETWORK_VISITS)?;
    Ok(format!("{}: {visits:.0} visits/s", network.describe()))
}

/// FNV-1a, 64 bits.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn add(checksum: &mut Fnv, report: &Report) {
    checksum.add(&report.visits.to_le_bytes());
    for line in &report.lines {
        if let Some(&m) = line.pv.first() {
            checksum.add(&PackedMove::new(m).0.to_le_bytes());
        }
        checksum.add(&line.visits.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_agree_and_other_visits_differ() {
        let run = |visits| {
            let mut text = Vec::new();
            let signature = take(Config { visits }, &mut text).unwrap();
            assert_eq!(text.iter().filter(|&&byte| byte == b'\n').count(), 2 * POSITIONS.len());
            (signature.nodes, signature.checksum)
        };
        assert_eq!(run(40), run(40));
        assert_ne!(run(40).1, run(41).1);
    }

    #[test]
    fn fnv_gives_its_published_values() {
        let of = |text: &str| {
            let mut fnv = Fnv::default();
            fnv.add(text.as_bytes());
            fnv.0
        };
        assert_eq!(of(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(of("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(of("foobar"), 0x8594_4171_f739_67e8);
    }
}
