//! Reports of a training run: `metrics.jsonl`, TensorBoard events, and progress on stderr.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use super::events::Events;
use super::measures::{Measures, StepMeasures, TrainReport, Validation, Validations};
use crate::base::files::write_file;
use crate::data::samples::Phase;

/// Interval of the progress lines if stderr is not a terminal.
const LOG_EVERY: Duration = Duration::from_secs(15);

/// How far a run is, as its metrics say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReportedProgress {
    /// Optimiser steps.
    pub step: u64,
    /// Training samples.
    pub samples: u64,
    /// Seconds of training.
    pub time_s: f64,
    /// Steps that were skipped because they were not finite.
    pub skipped: u64,
}

/// Writes a run's metrics and shows its progress.
pub struct Reporter {
    file: File,
    events: Events,
    bar: ProgressBar,
    last_line: Option<Instant>,
    last: ReportedProgress,
    /// Time since the last report that was not spent on training.
    paused: Duration,
}

impl Reporter {
    /// Opens `metrics.jsonl` and `tensorboard/` in the run's folder, for a run of so many samples. Lines of steps after
    /// `start`, written by a run after its last checkpoint, are discarded.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn open(run: &Path, samples: u64, start: ReportedProgress) -> Result<Reporter> {
        let cannot = |path: &Path| format!("cannot write {}", path.display());
        let path = run.join("metrics.jsonl");
        let file = metrics(&path, start.step).with_context(|| cannot(&path))?;
        let path = run.join("tensorboard");
        let events = Events::open(&path, start.step).with_context(|| cannot(&path))?;
        let bar = ProgressBar::new(samples);
        bar.set_draw_target(ProgressDrawTarget::stderr());
        let style = "{bar:24} {percent:>3}% {human_pos}/{human_len} samples {msg}";
        bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
        Ok(Reporter { file, events, bar, last_line: None, last: start, paused: Duration::ZERO })
    }

    /// Writes the training metrics since the last report, with the share of the run that is done; returns the samples
    /// per second.
    ///
    /// # Errors
    /// The metrics cannot be written.
    pub fn train(
        &mut self,
        progress: ReportedProgress,
        report: &TrainReport,
        lr: f64,
        done: f64,
    ) -> Result<f64> {
        let pause = std::mem::take(&mut self.paused).as_secs_f64();
        let seconds = (progress.time_s - self.last.time_s - pause).max(1e-9);
        let rate = (progress.samples - self.last.samples) as f64 / seconds;
        self.last = progress;
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
        let left = progress.time_s * (1.0 - done) / done.max(1e-9);
        let message = format!(
            "{rate:.0}/s · policy {:.4}{} · top-1 {:.1}% · top-5 {:.1}% · {} left",
            m.policy_loss,
            wdl(" ·", m),
            100.0 * m.top1,
            100.0 * m.top5,
            indicatif::HumanDuration(Duration::from_secs_f64(left.min(1e9)))
        );
        if std::io::stderr().is_terminal() {
            self.bar.set_position(progress.samples);
            self.bar.set_message(message);
        } else if self.last_line.is_none_or(|at| at.elapsed() >= LOG_EVERY) {
            self.last_line = Some(Instant::now());
            eprintln!("{:3.0}% {} samples {message}", 100.0 * done, progress.samples);
        }
        Ok(rate)
    }

    /// Writes the metrics of a validation, which took `time`; `names` are those of the sources.
    ///
    /// # Errors
    /// The metrics cannot be written.
    pub fn validation(
        &mut self,
        progress: ReportedProgress,
        names: &[String],
        validations: &Validations,
        time: Duration,
    ) -> Result<()> {
        self.paused += time;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let sources = || names.iter().copied().zip(&validations.sources);
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
                "  validation {name}: policy {:.4}{}, top-1 {:.2}%{}, top-5 {:.2}%{}, {} samples",
                v.measures.policy_loss,
                wdl(",", &v.measures),
                100.0 * v.measures.top1,
                raw(v.raw_top1),
                100.0 * v.measures.top5,
                raw(v.raw_top5),
                v.samples
            ));
        };
        self.print(&format!(
            "step {}, {} samples, {:.0} s",
            progress.step, progress.samples, progress.time_s
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
        }
        Ok(())
    }

    /// Prints a line above the progress bar.
    pub fn print(&self, line: &str) {
        self.bar.suspend(|| eprintln!("{line}"));
    }

    fn write(&mut self, progress: ReportedProgress, line: &serde_json::Value) -> Result<()> {
        writeln!(self.file, "{line}").context("cannot write metrics.jsonl")?;
        let event = self.events.line(progress.step, line);
        event.context("cannot write TensorBoard's events")
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The WDL loss as text; empty for a network without a value head.
fn wdl(separator: &str, measures: &Measures) -> String {
    measures.wdl_loss.map_or(String::new(), |loss| format!("{separator} wdl {loss:.4}"))
}

fn rounded(x: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (x * scale).round() / scale
}

/// Opens `path` for lines after step `step`.
fn metrics(path: &Path, step: u64) -> std::io::Result<File> {
    let kept = kept_lines(path, step)?;
    write_file(path, kept.as_bytes()).map_err(std::io::Error::other)?;
    OpenOptions::new().append(true).open(path)
}

/// The complete lines of `path` up to step `step`.
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
    fn validations_do_not_count_in_the_rate() {
        let folder = tempfile::tempdir().unwrap();
        let mut reporter = Reporter::open(folder.path(), 1000, ReportedProgress::default()).unwrap();
        let at = |step, time_s| ReportedProgress { step, samples: 100 * step, time_s, skipped: 0 };
        let report = TrainReport::default();
        reporter.train(at(1, 2.0), &report, 0.1, 0.1).unwrap();
        let nine_seconds = Duration::from_secs(9);
        reporter.validation(at(1, 11.0), &[], &Validations::default(), nine_seconds).unwrap();
        reporter.train(at(2, 13.0), &report, 0.1, 0.2).unwrap();
        reporter.train(at(3, 15.0), &report, 0.1, 0.3).unwrap();
        let text = std::fs::read_to_string(folder.path().join("metrics.jsonl")).unwrap();
        let rate =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["samples_per_s"].as_f64();
        assert_eq!(text.lines().filter_map(rate).collect::<Vec<_>>(), [50.0; 3]);
    }
}
