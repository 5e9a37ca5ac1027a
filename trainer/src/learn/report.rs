//! What a run tells: `metrics.jsonl`, and a progress line on stderr.

use super::checkpoint::Progress;
use super::config::TrainConfig;
use super::learner::TrainReport;
use super::validation::Validation;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Map, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Without a terminal, a line of progress this often.
const LOG_EVERY: Duration = Duration::from_secs(15);

/// Writes a run's metrics and shows its progress.
pub struct Reporter {
    file: File,
    bar: ProgressBar,
    last_line: Option<Instant>,
    last: Progress,
}

impl Reporter {
    /// Appends to `path`, after the lines up to `start`: what a run that died wrote after its last
    /// checkpoint is written anew.
    ///
    /// # Errors
    /// One line: the file can't be written.
    pub fn open(path: &Path, config: &TrainConfig, start: &Progress) -> Result<Reporter, String> {
        let at = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
        let kept = kept_lines(path, start.step).map_err(at)?;
        let mut file = OpenOptions::new().create(true).write(true).truncate(true).open(path).map_err(at)?;
        file.write_all(kept.as_bytes()).map_err(at)?;
        let bar = ProgressBar::new(config.samples);
        bar.set_draw_target(ProgressDrawTarget::stderr());
        let style = "{bar:24} {percent:>3}% {human_pos}/{human_len} samples {msg}";
        bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
        Ok(Reporter { file, bar, last_line: None, last: start.clone() })
    }

    /// A report on training.
    ///
    /// # Errors
    /// One line: the metrics can't be written.
    pub fn train(
        &mut self,
        progress: &Progress,
        report: &TrainReport,
        lr: f64,
        config: &TrainConfig,
    ) -> Result<(), String> {
        let seconds = (progress.time_s - self.last.time_s).max(1e-9);
        let rate = (progress.samples - self.last.samples) as f64 / seconds;
        self.last = progress.clone();
        let m = &report.measures;
        self.write(&json!({
            "step": progress.step, "samples": progress.samples, "time_s": rounded(progress.time_s, 3),
            "lr": lr, "policy_loss": rounded(m.policy_loss, 5), "wdl_loss": rounded(m.wdl_loss, 5),
            "top1": rounded(m.top1, 5), "top5": rounded(m.top5, 5),
            "samples_per_s": rounded(rate, 1), "skipped": progress.skipped,
        }))?;
        let done = config.progress(progress.samples, progress.time_s);
        let left = progress.time_s * (1.0 - done) / done.max(1e-9);
        let message = format!(
            "{rate:.0}/s · policy {:.4} · wdl {:.4} · top-1 {:.1}% · top-5 {:.1}% · {} left",
            m.policy_loss,
            m.wdl_loss,
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
        Ok(())
    }

    /// A validation: one entry a source, then the total.
    ///
    /// # Errors
    /// One line: the metrics can't be written.
    pub fn validation(
        &mut self,
        progress: &Progress,
        names: &[String],
        validations: &[Validation],
    ) -> Result<(), String> {
        let Some((total, parts)) = validations.split_last() else { return Ok(()) };
        let sources: Map<_, _> = names.iter().cloned().zip(parts.iter().map(|part| json!(part))).collect();
        self.write(&json!({
            "step": progress.step, "samples": progress.samples, "time_s": rounded(progress.time_s, 3),
            "validation": total, "sources": sources,
        }))?;
        let line = |name: &str, v: &Validation| {
            self.say(&format!(
                "  validation {name}: policy {:.4}, wdl {:.4}, top-1 {:.2}% (raw {:.2}%), top-5 {:.2}% (raw {:.2}%), {} samples",
                v.measures.policy_loss,
                v.measures.wdl_loss,
                100.0 * v.measures.top1,
                100.0 * v.raw_top1,
                100.0 * v.measures.top5,
                100.0 * v.raw_top5,
                v.samples
            ));
        };
        self.say(&format!("step {}, {} samples, {:.0} s", progress.step, progress.samples, progress.time_s));
        for (name, part) in names.iter().zip(parts) {
            line(name, part);
        }
        line("all", total);
        Ok(())
    }

    /// A line above the progress bar.
    pub fn say(&self, line: &str) {
        self.bar.suspend(|| eprintln!("{line}"));
    }

    fn write(&mut self, value: &serde_json::Value) -> Result<(), String> {
        writeln!(self.file, "{value}").map_err(|error| format!("cannot write metrics.jsonl: {error}"))
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn rounded(x: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (x * scale).round() / scale
}

/// The whole lines of `path` that report on step `step` or an earlier one.
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
