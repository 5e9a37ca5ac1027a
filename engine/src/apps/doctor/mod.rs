//! `philidor doctor`: looks at the machine, measures every installed network and gives advice. Writes nothing without
//! `--write`.

mod machine;
mod measure;
mod advice;
mod report;

use std::io::{self, Write};
use std::time::{Duration, Instant};

use serde::Serialize;
use thiserror::Error;

use self::advice::{GuiAdvice, Problem};
use self::machine::{Machine, Runtime};
use self::measure::{Checks, Measurements};
use crate::apps::bench::version::VERSION;
use crate::nets::onnx::PrecisionCache;

/// No measurement begins later than this, so that all take less than a minute.
const TIME: Duration = Duration::from_secs(40);

#[derive(Clone, Copy, Debug, Default, clap::Args)]
#[command(after_help = "Example: philidor doctor")]
pub struct DoctorConfig {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Store which precision of each network is faster, so that the first start need not measure it
    #[arg(long)]
    pub write: bool,
}

#[derive(Debug, Error)]
pub enum DoctorError {
    #[error("the embedded network fails: {0}")]
    Network(String),
    #[error("--write: {0}")]
    Write(io::Error),
    #[error("{0}")]
    Output(#[from] io::Error),
}

#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    version: String,
    program: String,
    machine: Machine,
    onnx_runtime: Runtime,
    measured: Measurements,
    gui: GuiAdvice,
    problems: Vec<Problem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<String>,
    seconds: f64,
}

pub fn run(config: DoctorConfig, out: &mut impl Write) -> Result<(), DoctorError> {
    if config.write {
        // The measurements take longer.
        PrecisionCache::of_user().check().map_err(DoctorError::Write)?;
    }
    let diagnosis = diagnose(config, Instant::now() + TIME, &Checks::on_stderr())?;
    if config.json {
        serde_json::to_writer_pretty(&mut *out, &diagnosis).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", report::text(&diagnosis))?;
        if config.write && diagnosis.written.is_none() {
            writeln!(out, "\nWritten: nothing, because {}", diagnosis.why_unwritten())?;
        }
    }
    Ok(())
}

impl Diagnosis {
    fn why_unwritten(&self) -> &'static str {
        if self.onnx_runtime.error.is_some() {
            "ONNX Runtime does not load"
        } else if !self.measured.skipped.is_empty() || !self.measured.failed.is_empty() {
            "not every network was measured"
        } else {
            "no network here has two precisions"
        }
    }
}

fn diagnose(config: DoctorConfig, deadline: Instant, checks: &Checks<'_>) -> Result<Diagnosis, DoctorError> {
    let start = Instant::now();
    checks.add(2);
    let machine = checks.run("the machine", Machine::look);
    let onnx_runtime = checks.run("ONNX Runtime", Runtime::look);
    // Without a file, the cache stores nothing.
    let cache = if config.write { PrecisionCache::of_user() } else { PrecisionCache::default() };
    let measured = Measurements::take(&machine, onnx_runtime.error.is_none(), &cache, deadline, checks)
        .map_err(DoctorError::Network)?;
    checks.finish();
    let program =
        std::env::current_exe().map_or_else(|_| "philidor".into(), |path| path.display().to_string());
    let gui = GuiAdvice::new(program.clone(), &machine, &measured);
    let problems = advice::problems(&machine, &onnx_runtime, &measured);
    let written = cache.path().filter(|path| measured.has_pair() && path.exists());
    Ok(Diagnosis {
        version: VERSION.to_owned(),
        program,
        machine,
        onnx_runtime,
        gui,
        problems,
        written: written.map(|path| path.display().to_string()),
        measured,
        seconds: start.elapsed().as_secs_f64(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn the_embedded_network_is_always_measured_and_nothing_is_written_unasked() {
        let said = RefCell::new(Vec::new());
        let say = |line| said.borrow_mut().push(line);
        let checks = Checks::said_by(Some(&say));
        let diagnosis = diagnose(DoctorConfig::default(), Instant::now(), &checks).unwrap();
        let said = said.into_inner();
        assert!(said.len() > 2 && said[0] == "check 1 of 2: the machine …", "{said:?}");
        assert!(said.iter().any(|line| line.contains("check 3 of") && line.contains("onnx")), "{said:?}");
        assert!(diagnosis.measured.networks.iter().any(|network| network.rate > 0.0), "{diagnosis:?}");
        assert_eq!(diagnosis.written, None);
        assert!(diagnosis.gui.threads >= 1 && diagnosis.gui.hash >= 16);
        let text = report::text(&diagnosis);
        for heading in ["Machine", "Speed", "In a GUI", "Problems"] {
            assert!(text.contains(heading), "{text}");
        }
        let json = serde_json::to_value(&diagnosis).unwrap();
        for key in ["version", "program", "machine", "onnx_runtime", "measured", "gui", "problems"] {
            assert!(json.get(key).is_some(), "{json}");
        }
    }
}
