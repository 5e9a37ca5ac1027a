//! Reports of a training run: `metrics.jsonl`, TensorBoard events, and progress on stderr.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::{HumanCount, HumanDuration};
use serde_json::json;

use super::events::Events;
use super::measures::{Measures, StepMeasures, TrainReport, Validation, Validations};
use super::pulse::{Bounds, Pulse};
use crate::base::files::write_file;
use crate::base::progress::{grouped, until_end};
use crate::config::RunConfig;
use crate::data::samples::Phase;
use crate::learn::run::TrainProgress;

const PARTS: u64 = 1000;

pub struct Reporter {
    file: File,
    events: Events,
    pulse: Pulse,
    config: RunConfig,
    /// At the start of this session.
    start: TrainProgress,
    /// At the last report.
    last: TrainProgress,
    /// Time since the last report that was not spent on training.
    paused: Duration,
    losses: String,
}

/// What is known while the first step after `start` takes its time.
fn bounds(config: RunConfig, start: TrainProgress) -> Bounds {
    Box::new(move |seconds| {
        let rate = config.step_samples as f64 / seconds;
        let now = TrainProgress { time_s: start.time_s + seconds, ..start.clone() };
        let left = until_end(Duration::from_secs_f64(now.seconds_left(&config, rate).min(1e9)));
        format!("below {rate:.1} samples/s, at least {} left", HumanDuration(left))
    })
}

impl Reporter {
    /// Discards lines of steps after `start`, which were written after the last checkpoint.
    pub fn open(run: &Path, config: &RunConfig, start: &TrainProgress) -> Result<Reporter> {
        let path = run.join("metrics.jsonl");
        let file = metrics(&path, start.step).with_context(|| format!("cannot write {}", path.display()))?;
        let events = Events::open(&run.join("tensorboard"), start.step);
        let pulse = Pulse::new(PARTS, bounds(*config, start.clone()));
        let (start, last) = (start.clone(), start.clone());
        let (config, paused, losses) = (*config, Duration::ZERO, String::new());
        Ok(Reporter { file, events, pulse, config, start, last, paused, losses })
    }

    /// Counts the share of a step that is done.
    pub fn during(&self, share: f64, progress: &TrainProgress) {
        self.tick(&within(share, progress, &self.config));
    }

    pub fn tick(&self, progress: &TrainProgress) {
        if self.pulse.is_due() {
            self.show(progress, self.rate(progress));
        }
    }

    /// Samples per second of this session.
    fn rate(&self, progress: &TrainProgress) -> f64 {
        (progress.samples - self.start.samples) as f64 / (progress.time_s - self.start.time_s).max(1e-9)
    }

    fn show(&self, progress: &TrainProgress, rate: f64) {
        let done = self.config.progress(progress.samples, progress.time_s);
        self.pulse.show((PARTS as f64 * done) as u64, &self.line(progress, rate));
    }

    fn line(&self, progress: &TrainProgress, rate: f64) -> String {
        let left = until_end(Duration::from_secs_f64(progress.seconds_left(&self.config, rate).min(1e9)));
        let left = HumanDuration(left);
        let rate = if rate < 10.0 { format!("{rate:.1}") } else { HumanCount(rate as u64).to_string() };
        let percent = 100.0 * self.config.progress(progress.samples, progress.time_s);
        let samples = grouped(progress.samples, "sample");
        format!("{percent:3.0}% {samples} · {rate}/s{} · {left} left", self.losses)
    }

    /// Returns the samples per second since the last report.
    pub fn train(&mut self, progress: &TrainProgress, report: &TrainReport, lr: f64) -> Result<f64> {
        let pause = std::mem::take(&mut self.paused).as_secs_f64();
        let seconds = (progress.time_s - self.last.time_s - pause).max(1e-9);
        let rate = (progress.samples - self.last.samples) as f64 / seconds;
        self.last = progress.clone();
        let m = &report.measures;
        let mut line = json!({
            "step": progress.step, "samples": progress.samples, "time_s": rounded(progress.time_s, 3),
            "lr": lr, "policy_loss": rounded(m.policy_loss, 5),
            "top1": rounded(m.top1, 5), "top5": rounded(m.top5, 5),
            "samples_per_s": rounded(rate, 1), "skipped": progress.skipped,
        });
        if let Some(loss) = m.wdl_loss {
            line["wdl_loss"] = rounded(loss, 5).into();
        }
        self.write(progress, &line)?;
        self.losses = format!(
            " · policy {}{} · top-1 {}% · top-5 {}%",
            shown(m.policy_loss, 4),
            wdl(" ·", m),
            shown(100.0 * m.top1, 1),
            shown(100.0 * m.top5, 1),
        );
        self.show(progress, rate);
        Ok(rate)
    }

    pub fn validation(
        &mut self,
        progress: &TrainProgress,
        validations: &Validations,
        time: Duration,
    ) -> Result<()> {
        self.paused += time;
        let sources = || validations.names.iter().map(String::as_str).zip(&validations.sources);
        let phases = || Phase::ALL.map(Phase::name).into_iter().zip(&validations.phases);
        let line = json!({
            "step": progress.step, "samples": progress.samples, "time_s": rounded(progress.time_s, 3),
            "validation": validations.all, "sources": sources().collect::<BTreeMap<_, _>>(),
            "phases": phases().collect::<BTreeMap<_, _>>(), "reliability": validations.calibration,
        });
        self.write(progress, &line)?;
        let raw =
            |share: Option<f64>| share.map_or(String::new(), |share| format!(" (raw {:.2}%)", 100.0 * share));
        let line = |name: &str, v: &Validation| {
            self.print(&format!(
                "  validation {name}: policy {}{}, top-1 {}%{}, top-5 {}%{}, {}",
                shown(v.measures.policy_loss, 4),
                wdl(",", &v.measures),
                shown(100.0 * v.measures.top1, 2),
                raw(v.raw_top1),
                shown(100.0 * v.measures.top5, 2),
                raw(v.raw_top5),
                grouped(v.samples, "sample")
            ));
        };
        self.print(&format!(
            "step {}, {}, {:.0} s",
            progress.step,
            grouped(progress.samples, "sample"),
            progress.time_s
        ));
        for (name, part) in sources().chain(phases()).chain([("all", &validations.all)]) {
            line(name, part);
        }
        if !validations.all.steps.is_empty() {
            let top1 = |step: &StepMeasures| format!("{:.2}", 100.0 * step.top1);
            let steps: Vec<String> = validations.all.steps.iter().map(top1).collect();
            self.print(&format!("  top-1 by step: {} %", steps.join(" ")));
        }
        if let Some(r) = &validations.calibration {
            self.print(&format!(
                "  calibration error: score {:.4}, win {:.4}, draw {:.4}, loss {:.4}",
                r.score.error, r.win.error, r.draw.error, r.loss.error
            ));
            if r.missing > 0 {
                self.print(&format!("  {} predictions were not finite and are in no bin", r.missing));
            }
        }
        Ok(())
    }

    /// Prints above the progress bar.
    pub fn print(&self, line: &str) {
        self.pulse.print(line);
    }

    fn write(&mut self, progress: &TrainProgress, line: &serde_json::Value) -> Result<()> {
        writeln!(self.file, "{line}").context("cannot write metrics.jsonl")?;
        self.events.line(progress.step, line);
        Ok(())
    }
}

/// Progress with the share of a step that is done.
fn within(share: f64, progress: &TrainProgress, config: &RunConfig) -> TrainProgress {
    let samples = progress.samples + (share * config.step_samples as f64) as u64;
    TrainProgress { samples, ..progress.clone() }
}

/// Empty without a value head.
fn wdl(separator: &str, measures: &Measures) -> String {
    measures.wdl_loss.map_or(String::new(), |loss| format!("{separator} wdl {}", shown(loss, 4)))
}

/// NaN is a dash.
fn shown(measure: f64, digits: usize) -> String {
    if measure.is_nan() { "–".into() } else { format!("{measure:.digits$}") }
}

fn rounded(x: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (x * scale).round() / scale
}

fn metrics(path: &Path, step: u64) -> std::io::Result<File> {
    let kept = kept_lines(path, step)?;
    write_file(path, kept.as_bytes()).map_err(std::io::Error::other)?;
    OpenOptions::new().append(true).open(path)
}

fn kept_lines(path: &Path, step: u64) -> std::io::Result<String> {
    let mut kept = String::new();
    if step == 0 || !path.exists() {
        return Ok(kept);
    }
    for line in BufReader::new(File::open(path)?).lines() {
        let line = line?;
        let value: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        if value["step"].as_u64().is_some_and(|at| at <= step) {
            kept.push_str(&line);
            kept.push('\n');
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_null() {
        let folder = tempfile::tempdir().unwrap();
        let config = RunConfig { samples: 1000, ..RunConfig::default() };
        let mut reporter = Reporter::open(folder.path(), &config, &TrainProgress::default()).unwrap();
        let none = f64::NAN;
        let measures = Measures { policy_loss: none, wdl_loss: Some(0.5), top1: none, top5: none };
        let progress = TrainProgress { step: 1, samples: 100, time_s: 2.0, ..TrainProgress::default() };
        reporter.train(&progress, &TrainReport { measures, ..TrainReport::default() }, 0.1).unwrap();
        let text = std::fs::read_to_string(folder.path().join("metrics.jsonl")).unwrap();
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(line["policy_loss"].is_null() && line["top1"].is_null(), "{line}");
        assert_eq!(line["wdl_loss"], 0.5);
        assert_eq!(measures.loss(2.0), 1.0, "the best checkpoint is that of what was measured");
    }

    #[test]
    fn rate_and_time_left_are_known_during_the_first_step() {
        let folder = tempfile::tempdir().unwrap();
        let config = RunConfig { samples: 1000, step_samples: 500, ..RunConfig::default() };
        let reporter = Reporter::open(folder.path(), &config, &TrainProgress::default()).unwrap();
        let now = within(0.25, &TrainProgress { time_s: 10.0, ..TrainProgress::default() }, &config);
        assert_eq!(reporter.line(&now, reporter.rate(&now)), " 12% 125 samples · 12/s · 70 seconds left");
        let many = TrainProgress { samples: 1_234_567, time_s: 100.0, ..TrainProgress::default() };
        assert!(reporter.line(&many, 11_968.7).starts_with("100% 1,234,567 samples · 11,968/s · "));
    }

    #[test]
    fn validations_do_not_count_in_the_rate() {
        let folder = tempfile::tempdir().unwrap();
        let config = RunConfig { samples: 1000, ..RunConfig::default() };
        let mut reporter = Reporter::open(folder.path(), &config, &TrainProgress::default()).unwrap();
        let at =
            |step, time_s| TrainProgress { step, samples: 100 * step, time_s, ..TrainProgress::default() };
        let report = TrainReport::default();
        reporter.train(&at(1, 2.0), &report, 0.1).unwrap();
        let nine_seconds = Duration::from_secs(9);
        reporter.validation(&at(1, 11.0), &Validations::default(), nine_seconds).unwrap();
        reporter.train(&at(2, 13.0), &report, 0.1).unwrap();
        reporter.train(&at(3, 15.0), &report, 0.1).unwrap();
        let text = std::fs::read_to_string(folder.path().join("metrics.jsonl")).unwrap();
        let rate =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["samples_per_s"].as_f64();
        assert_eq!(text.lines().filter_map(rate).collect::<Vec<_>>(), [50.0; 3]);
    }
}
