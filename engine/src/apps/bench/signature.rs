//! Node count and checksum of single-worker searches with fixed visits: the same on every machine.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{POSITIONS, search};
use crate::chess::position::{Game, PackedMove};
use crate::nets::eval::Evaluator;
use crate::nets::eval::hashed;
use crate::nets::eval::hashed::CountingEvaluator;
use crate::nets::sparse::SparseNetwork;
use crate::search::{Params, Pool, Puct, Report};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
pub struct SignatureConfig {
    /// Visits per position and evaluator
    #[arg(long, default_value_t = SignatureConfig::default().visits, value_parser = clap::value_parser!(u64).range(1..))]
    pub visits: u64,
}

impl Default for SignatureConfig {
    fn default() -> SignatureConfig {
        SignatureConfig { visits: 5000 }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub nodes: u64,
    /// FNV-1a of all root moves and visits.
    pub checksum: u64,
    pub nps: u64,
    /// Without a network, one visit at a time.
    pub single_visits_per_second: u64,
    /// Without a network, in batches.
    pub batched_visits_per_second: u64,
    /// With the embedded network.
    pub network_visits_per_second: u64,
    pub network: String,
}

/// For measuring the tree alone.
fn plain() -> Params {
    Params {
        puct: Puct { factor: 0.0, ..Puct::default() },
        policy_temperature: 1.0,
        root_policy_temperature: 1.0,
        reply_policy_temperature: 1.0,
        mates: false,
        ..Params::default()
    }
}

const MEMORY: usize = 64 << 20;

pub fn compute(config: SignatureConfig, out: &mut impl Write) -> io::Result<Signature> {
    let nodes = Arc::new(AtomicU64::new(0));
    let mut checksum = Fnv::default();
    let mut search_all = |name: &str, evaluator: Box<dyn Evaluator>, params: Params| -> io::Result<_> {
        let mut pool = Pool::new(vec![evaluator], params, MEMORY);
        let (mut visits, mut time) = (0, Duration::ZERO);
        for (fen, number) in POSITIONS.iter().zip(1..) {
            let game = Game::from_fen(fen).expect("the fixed positions are valid");
            let (outcome, taken) = search(&mut pool, &game, config.visits);
            let report = outcome.report;
            add(&mut checksum, &report);
            (visits, time) = (visits + report.visits, time + taken);
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
        Ok((visits, time))
    };
    let [uniform, batched] = hashed::signature_evaluators(&nodes);
    let (visits, time) = search_all("uniform", uniform, plain())?;
    let (batched_visits, batched_time) = search_all("hashed", batched, plain())?;
    let network = SparseNetwork::embedded();
    let evaluator = Box::new(CountingEvaluator::new(network.evaluator(), Arc::clone(&nodes)));
    let (network_visits, network_time) = search_all("network", evaluator, Params::native())?;
    let nodes = nodes.load(Ordering::Relaxed);
    Ok(Signature {
        nodes,
        checksum: checksum.0,
        nps: per_second(nodes, time + batched_time + network_time),
        single_visits_per_second: per_second(visits, time),
        batched_visits_per_second: per_second(batched_visits, batched_time),
        network_visits_per_second: per_second(network_visits, network_time),
        network: network.describe(),
    })
}

fn per_second(count: u64, time: Duration) -> u64 {
    (count as f64 / time.as_secs_f64().max(1e-6)) as u64
}

/// Ends with `N nodes M nps`, as OpenBench expects.
pub fn print(config: SignatureConfig, out: &mut impl Write) -> io::Result<()> {
    let signature = compute(config, out)?;
    writeln!(out, "the tree alone: {} visits/s", signature.single_visits_per_second)?;
    writeln!(out, "the tree alone, in batches: {} visits/s", signature.batched_visits_per_second)?;
    writeln!(out, "{}: {} visits/s", signature.network, signature.network_visits_per_second)?;
    writeln!(out, "checksum {:016x}", signature.checksum)?;
    writeln!(out, "{} nodes {} nps", signature.nodes, signature.nps)
}

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
            let signature = compute(SignatureConfig { visits }, &mut text).unwrap();
            assert_eq!(text.iter().filter(|&&byte| byte == b'\n').count(), 3 * POSITIONS.len());
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
