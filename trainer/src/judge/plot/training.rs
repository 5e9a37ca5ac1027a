use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::figure;
use super::figure::{Axes, Curve, Panel};
use crate::data::samples::Phase;
use crate::judge::metrics_line::measured;

const COLUMNS: usize = 4;

pub fn plot_runs(runs: &[PathBuf], out: &Path) -> Result<()> {
    let runs: Result<Vec<RunMetrics>> = runs.iter().map(|run| RunMetrics::read(run)).collect();
    figure::write(out, &panels(&runs?), COLUMNS)
}

struct RunMetrics {
    name: String,
    lines: Vec<Value>,
}

impl RunMetrics {
    /// Skips and logs lines without metrics.
    fn read(folder: &Path) -> Result<RunMetrics> {
        let path = folder.join("metrics.jsonl");
        let text = std::fs::read_to_string(&path).with_context(|| {
            format!("cannot read {}; is {} the folder of a run?", path.display(), folder.display())
        })?;
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
        let (lines, broken) = parse(&text);
        for number in broken {
            log::warn!(
                "{}:{number}: no JSON object with `samples`, as `train` writes it; skipped",
                path.display()
            );
        }
        ensure!(
            !lines.is_empty(),
            "{} has no metrics of `train` yet: the first come after `report_steps` steps",
            path.display()
        );
        Ok(RunMetrics { name, lines })
    }

    /// A measure over millions of training samples. `pointer` is the JSON pointer (RFC 6901) of its object in a line,
    /// empty for the line itself. A missing value leaves a gap.
    fn curve(&self, label: &str, pointer: &str, key: &str) -> Curve {
        let point = |line: &Value| {
            let measures = line.pointer(pointer)?;
            measures.get(key)?;
            Some((line["samples"].as_f64()? / 1e6, measured(measures, key).unwrap_or(f64::NAN)))
        };
        Curve { label: label.to_owned(), points: self.lines.iter().filter_map(point).collect() }
    }

    fn sources(&self) -> BTreeSet<&String> {
        self.lines.iter().filter_map(|line| line["sources"].as_object()).flat_map(|all| all.keys()).collect()
    }

    /// Observed against predicted frequency at the last validation.
    fn reliability(&self, quantity: &str) -> Curve {
        let last = self.lines.iter().rev().find_map(|line| line["reliability"][quantity]["bins"].as_array());
        let point = |bin: &Value| Some((bin[0].as_f64()?, bin[1].as_f64()?));
        Curve { label: String::new(), points: last.into_iter().flatten().filter_map(point).collect() }
    }
}

fn parse(text: &str) -> (Vec<Value>, Vec<usize>) {
    let mut broken = Vec::new();
    let mut line = |(number, line): (usize, &str)| {
        let value = serde_json::from_str::<Value>(line).ok().filter(|value| value["samples"].is_u64());
        if value.is_none() {
            broken.push(number);
        }
        value
    };
    let lines = (1..).zip(text.lines()).filter_map(&mut line).collect();
    (lines, broken)
}

fn panels(runs: &[RunMetrics]) -> Vec<Panel> {
    let over_samples = |title: &str, curves: &dyn Fn(&RunMetrics) -> Vec<Curve>| {
        panel(title, "million samples", Axes::Fitted, runs, curves)
    };
    let learnt = |title: &str, key: &str| {
        over_samples(title, &|run| {
            let mut curves = vec![run.curve("training", "", key)];
            let held_out =
                |source: &&String| run.curve(source, &format!("/sources/{}", escaped(source)), key);
            curves.extend(run.sources().iter().map(held_out));
            curves.push(run.curve("all held out", "/validation", key));
            curves
        })
    };
    let by_phase = |title: &str, key: &str| {
        over_samples(title, &|run| {
            Phase::ALL.map(Phase::name).map(|name| run.curve(name, &format!("/phases/{name}"), key)).into()
        })
    };
    let single = |title: &str, key: &str| over_samples(title, &|run| vec![run.curve("", "", key)]);
    let mut all = vec![
        learnt("policy loss (nat)", "policy_loss"),
        learnt("WDL loss (nat)", "wdl_loss"),
        learnt("top-1 among legal moves", "top1"),
        learnt("top-5 among legal moves", "top5"),
        by_phase("top-1, held out, by phase", "top1"),
        by_phase("WDL loss, held out, by phase", "wdl_loss"),
        single("learning rate", "lr"),
        single("samples/s", "samples_per_s"),
    ];
    for (title, key) in [("expected score", "score"), ("win", "win"), ("draw", "draw"), ("loss", "loss")] {
        let title = format!("{title}: observed over predicted");
        all.push(panel(&title, "predicted", Axes::Unit, runs, &|run| vec![run.reliability(key)]));
    }
    // Networks without a value head have no WDL curves.
    all.retain(|panel| panel.curves.iter().any(|curve| curve.points.iter().any(|point| point.1.is_finite())));
    all
}

/// With several runs, labels begin with the run's name.
fn panel(
    title: &str,
    x: &'static str,
    axes: Axes,
    runs: &[RunMetrics],
    curves: &dyn Fn(&RunMetrics) -> Vec<Curve>,
) -> Panel {
    let named = |run: &RunMetrics, curve: Curve| match runs.len() {
        1 => curve,
        _ => Curve { label: format!("{} {}", run.name, curve.label).trim_end().to_owned(), ..curve },
    };
    let curves = runs.iter().flat_map(|run| curves(run).into_iter().map(move |curve| named(run, curve)));
    Panel { title: title.to_owned(), x, axes, curves: curves.collect() }
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run_folder(name: &str) -> tempfile::TempDir {
        let train = |samples: u64, loss: f64| json!({"step": samples / 10, "samples": samples, "lr": 0.001, "policy_loss": loss, "top1": 0.3});
        let measures = json!({"policy_loss": 2.5, "top1": 0.25});
        let bins = json!({"error": 0.1, "bins": [[0.1, 0.2, 5], [0.9, 0.8, 5]]});
        let validation = json!({"step": 2, "samples": 20, "validation": measures, "sources": {"a/b": measures},
            "phases": {"endgame": measures}, "reliability": {"win": bins}});
        let text = format!("{}\n{{\"step\": 1,\n{validation}\n{}\n[1]\n", train(10, 3.0), train(20, 2.0));
        let folder = tempfile::Builder::new().prefix(name).tempdir().unwrap();
        std::fs::write(folder.path().join("metrics.jsonl"), text).unwrap();
        folder
    }

    #[test]
    fn broken_lines_are_named_and_skipped() {
        let text = std::fs::read_to_string(run_folder("run").path().join("metrics.jsonl")).unwrap();
        let (lines, broken) = parse(&text);
        assert_eq!((lines.len(), &broken[..]), (3, &[2, 5][..]));
    }

    #[test]
    fn curves_are_read_from_the_lines() {
        let folder = run_folder("run");
        let run = RunMetrics::read(folder.path()).unwrap();
        let all = panels(std::slice::from_ref(&run));
        let labels: Vec<&str> = all[0].curves.iter().map(|curve| curve.label.as_str()).collect();
        assert_eq!(labels, ["training", "a/b", "all held out"]);
        assert_eq!(all[0].curves[0].points, [(1e-5, 3.0), (2e-5, 2.0)]);
        assert_eq!(all[0].curves[1].points, [(2e-5, 2.5)], "a source with a slash in its name");
        let of = |title: &str| all.iter().find(|panel| panel.title.starts_with(title)).unwrap();
        assert_eq!(of("win").curves[0].points, [(0.1, 0.2), (0.9, 0.8)]);
        assert_eq!(of("top-1, held out").curves[2].points, [(2e-5, 0.25)]);
        assert!(all.iter().all(|panel| !panel.title.starts_with("WDL")), "there is none to draw");
    }

    #[test]
    fn what_was_not_measured_is_a_gap() {
        let folder = tempfile::tempdir().unwrap();
        let line = |samples: u64, policy: Value, top1: Value| json!({"samples": samples, "policy_loss": policy, "top1": top1, "wdl_loss": 0.9});
        let lines = [
            line(1_000_000, json!(2.0), json!(0.3)),
            line(2_000_000, Value::Null, Value::Null),
            line(3_000_000, json!(0.0), json!(0.0)),
            line(4_000_000, json!(1.5), json!(0.4)),
        ];
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(folder.path().join("metrics.jsonl"), text).unwrap();
        let run = RunMetrics::read(folder.path()).unwrap();
        let points = run.curve("training", "", "policy_loss").points;
        let known: Vec<bool> = points.iter().map(|point| point.1.is_finite()).collect();
        assert_eq!(known, [true, false, false, true]);
        assert_eq!(run.curve("training", "", "wdl_loss").points[1], (2.0, 0.9));
    }

    #[test]
    fn runs_are_drawn_into_one_picture() {
        let (first, second) = (run_folder("first"), run_folder("second"));
        let out = first.path().join("plot.svg");
        plot_runs(&[first.path().into(), second.path().into()], &out).unwrap();
        let text = std::fs::read_to_string(&out).unwrap();
        for name in [first.path(), second.path()].map(|path| path.file_name().unwrap().to_string_lossy()) {
            assert!(text.contains(&format!("{name} training")), "{name}");
        }
        let missing = plot_runs(&[first.path().join("nothing")], &out);
        assert!(missing.unwrap_err().to_string().contains("nothing"), "the folder is named");
    }
}
