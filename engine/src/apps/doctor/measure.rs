use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::machine::Machine;
use crate::apps::bench::speed::{NATIVE_SEARCH_VISITS, search_rate};
use crate::nets::catalogue::{self, Catalogue};
use crate::nets::onnx::{Network, NetworkPair, PrecisionCache};
use crate::nets::sparse::SparseNetwork;
use crate::search::{Params, Pool};
use crate::setup::EngineBuilder;
use crate::setup::settings::Settings;

const TIME: Duration = Duration::from_millis(1200);
/// Visits per search in ONNX Runtime, where the slowest network does a few hundred per second.
const VISITS: u64 = 300;
const MEMORY: usize = 128 << 20;
const TICK: Duration = Duration::from_millis(200);

/// Speed with one worker.
#[derive(Clone, Debug, Serialize)]
pub(super) struct NetworkSpeed {
    pub file: String,
    pub precision: String,
    /// Our kernels with their instruction set, or ONNX Runtime.
    pub by: String,
    pub rate: f64,
}

fn embedded_pool(workers: usize) -> Result<Pool, String> {
    let settings = Settings { threads: workers, hash: MEMORY >> 20, ..Settings::default() };
    let engine = EngineBuilder::new(settings).build().map_err(|error| error.to_string())?;
    engine.into_pool().map_err(|error| error.to_string())
}

/// Says each check as it begins: in a bar on a terminal, else in a line on stderr.
pub(super) struct Checks<'a> {
    bar: ProgressBar,
    say: Option<&'a dyn Fn(String)>,
}

impl Checks<'_> {
    pub fn on_stderr() -> Checks<'static> {
        let is_terminal = std::io::stderr().is_terminal();
        let checks =
            Checks::said_by((!is_terminal).then_some(&|line| _ = writeln!(std::io::stderr(), "{line}")));
        if is_terminal {
            checks.bar.enable_steady_tick(TICK);
        }
        checks
    }

    pub fn said_by(say: Option<&dyn Fn(String)>) -> Checks<'_> {
        let template = "{wide_bar} {pos}/{len} checks, {msg}, {eta} left";
        let bar = ProgressBar::new(0);
        bar.set_style(ProgressStyle::with_template(template).expect("a valid template"));
        Checks { bar, say }
    }

    pub fn add(&self, count: usize) {
        self.bar.inc_length(count as u64);
    }

    pub fn run<T>(&self, name: impl Display, check: impl FnOnce() -> T) -> T {
        if let Some(say) = self.say {
            say(format!("check {} of {}: {name} …", self.bar.position() + 1, self.bar.length().unwrap_or(0)));
        }
        self.bar.set_message(name.to_string());
        let found = check();
        self.bar.inc(1);
        found
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Measurements {
    /// Fastest first.
    pub networks: Vec<NetworkSpeed>,
    /// Workers and positions per second of the embedded network.
    pub workers: Vec<(usize, f64)>,
    /// Networks in two precisions, and the one that `Precision auto` chooses here.
    pub precisions: Vec<(String, String)>,
    pub failed: Vec<(String, String)>,
    pub skipped: Vec<String>,
}

impl Measurements {
    /// Measures the embedded network, then others until `deadline`. Stores the faster precisions in `cache`.
    pub fn take(
        machine: &Machine,
        has_runtime: bool,
        cache: &PrecisionCache,
        deadline: Instant,
        checks: &Checks<'_>,
    ) -> Result<Measurements, String> {
        let mut all = Measurements {
            networks: Vec::new(),
            workers: Vec::new(),
            precisions: Vec::new(),
            failed: Vec::new(),
            skipped: Vec::new(),
        };
        let others =
            Catalogue::shipped().networks.into_iter().filter(|net| net.file != catalogue::EMBEDDED_FILE);
        let others: Vec<_> = others.filter_map(|net| Some((catalogue::find(&net.file)?, net.file))).collect();
        let others = if has_runtime { others } else { Vec::new() };
        checks.add(others.len());
        all.embedded(machine, deadline, checks)?;
        for (path, file) in others {
            if Instant::now() >= deadline {
                all.skipped.push(file);
            } else if let Err(error) = checks.run(&file, || all.by_onnx_runtime(&file, &path, cache)) {
                all.failed.push((file, error));
            }
        }
        all.networks.sort_by(|a, b| b.rate.total_cmp(&a.rate));
        Ok(all)
    }

    fn embedded(&mut self, machine: &Machine, deadline: Instant, checks: &Checks<'_>) -> Result<(), String> {
        let network = SparseNetwork::embedded();
        let most = machine.cores.min(machine.processors);
        let several: Vec<usize> = [2, 4, 8, 16, 32, 64]
            .into_iter()
            .filter(|n| *n < most)
            .chain([most])
            .filter(|n| *n > 1)
            .collect();
        let evaluators = network.evaluators();
        checks.add(evaluators.len() + several.len());
        let rate = |mut pool: Pool| {
            search_rate(&mut pool, NATIVE_SEARCH_VISITS / 5, TIME).map_err(|error| error.to_string())
        };
        for (index, evaluator) in evaluators.into_iter().enumerate() {
            if index > 0 && Instant::now() >= deadline {
                break;
            }
            let by = evaluator.instructions().to_owned();
            // No UCI option selects the SIMD instruction set, so the pool is built directly.
            let pool = Pool::new(vec![Box::new(evaluator)], Params::native(), MEMORY);
            let rate = checks.run(format!("{}, {by}", catalogue::EMBEDDED_FILE), || rate(pool))?;
            self.networks.push(NetworkSpeed {
                file: catalogue::EMBEDDED_FILE.to_owned(),
                precision: "integers".to_owned(),
                by: format!("our kernels, {by}"),
                rate,
            });
        }
        self.workers.extend(self.networks.first().map(|best| (1, best.rate)));
        for workers in several {
            if Instant::now() < deadline {
                let name = format!("{} with {workers} workers", catalogue::EMBEDDED_FILE);
                let rate = checks.run(name, || rate(embedded_pool(workers)?))?;
                self.workers.push((workers, rate));
            }
        }
        Ok(())
    }

    fn by_onnx_runtime(&mut self, file: &str, path: &Path, cache: &PrecisionCache) -> Result<(), String> {
        let network = Network::load(path).map_err(|error| error.to_string())?;
        let precision = network.card().precision.clone();
        let params = Params::default();
        let evaluator = network.evaluator(params.batch).map_err(|error| error.to_string())?;
        let (int8, batch) = (precision == "int8", params.batch);
        let mut pool = Pool::new(vec![evaluator], params, MEMORY);
        let rate = search_rate(&mut pool, VISITS, TIME).map_err(|error| error.to_string())?;
        self.networks.push(NetworkSpeed {
            file: file.to_owned(),
            precision,
            by: "ONNX Runtime".to_owned(),
            rate,
        });
        let other = path.with_file_name(file.replace(".int8.onnx", ".onnx"));
        if int8 && other.is_file() {
            let pair = NetworkPair::beside(path).map_err(|error| error.to_string())?;
            let chosen = pair.choose(None, batch, cache).map_err(|error| error.to_string())?;
            let name = file.trim_end_matches(".int8.onnx").to_owned();
            self.precisions.push((name, chosen.network.card().precision.clone()));
        }
        Ok(())
    }

    pub fn has_pair(&self) -> bool {
        !self.precisions.is_empty()
    }

    /// Returns the fewest workers that reach 90 % of the best speed.
    pub fn best_workers(&self) -> usize {
        let best = self.workers.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        self.workers.iter().find(|(_, rate)| *rate >= 0.9 * best).map_or(1, |(workers, _)| *workers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_workers_only_where_they_bring_something() {
        let measured = |workers: &[(usize, f64)]| Measurements {
            networks: Vec::new(),
            workers: workers.to_vec(),
            precisions: Vec::new(),
            failed: Vec::new(),
            skipped: Vec::new(),
        };
        assert_eq!(measured(&[(1, 100.0), (2, 160.0)]).best_workers(), 2);
        assert_eq!(measured(&[(1, 100.0), (2, 105.0)]).best_workers(), 1);
        assert_eq!(measured(&[(1, 100.0), (2, 180.0), (4, 330.0), (8, 340.0)]).best_workers(), 4);
        assert_eq!(measured(&[]).best_workers(), 1);
    }
}
