use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::gate::OpponentRole;
use super::state::START;
use crate::judge::plot::{Axes, Curve, Panel, figure};
use crate::play::arena::{MatchResults, Rating};

const COLUMNS: usize = 3;

pub fn is_run(folder: &Path) -> bool {
    folder.join("state.json").is_file()
}

pub fn draw_curves(folder: &Path, out: &Path) -> Result<()> {
    let text = std::fs::read_to_string(folder.join("metrics.jsonl")).unwrap_or_default();
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    ensure!(!lines.is_empty(), "{} has no metrics yet: the first come after an iteration", folder.display());
    figure::write(out, &panels(&lines), COLUMNS)
}

fn panels(lines: &[Value]) -> Vec<Panel> {
    let over_iterations = |title: &str, curves: Vec<Curve>| Panel {
        title: title.to_owned(),
        x: "iteration",
        axes: Axes::Fitted,
        curves,
    };
    let curve = |label: &str, value: &dyn Fn(&Value) -> Option<f64>| {
        let point = |line: &Value| Some((line["iteration"].as_f64()?, value(line)?));
        Curve { label: label.to_owned(), points: lines.iter().filter_map(point).collect() }
    };
    let at = |label: &str, pointer: &str| curve(label, &|line| line.pointer(pointer)?.as_f64());
    let score = |role: OpponentRole| {
        curve(role.name(), &|line| {
            let results: MatchResults = serde_json::from_value(line["arena"][role.name()].clone()).ok()?;
            Some(100.0 * results.score())
        })
    };
    let share = |label: &str, index: usize| {
        curve(label, &|line| {
            let results = line.pointer("/play/games/results")?.as_array()?;
            let all: f64 = results.iter().filter_map(Value::as_f64).sum();
            (all > 0.0).then_some(100.0 * results.get(index)?.as_f64()? / all)
        })
    };
    vec![
        over_iterations("Elo, 95 %", ratings(lines)),
        over_iterations("score in the arena, %", OpponentRole::ALL.map(score).into()),
        over_iterations("loss", vec![at("policy", "/learn/policy_loss"), at("WDL", "/learn/wdl_loss")]),
        over_iterations("KL divergence from the first network", vec![at("KL", "/kl")]),
        over_iterations(
            "results of self-play, %",
            vec![share("White", 0), share("draw", 1), share("Black", 2)],
        ),
        over_iterations("positions in the buffer", vec![at("buffer", "/buffer")]),
    ]
}

/// The latest ratings, with 95 % intervals.
fn ratings(lines: &[Value]) -> Vec<Curve> {
    let last = lines.iter().rev().find_map(|line| {
        serde_json::from_value::<Vec<Rating>>(line["ratings"].clone()).ok().filter(|all| !all.is_empty())
    });
    let iteration = |name: &str| if name == START { Some(0.0) } else { name.parse().ok() };
    let mut points: Vec<(f64, Rating)> =
        last.into_iter().flatten().filter_map(|rating| Some((iteration(&rating.name)?, rating))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let of = |label: &str, side: f64| Curve {
        label: label.to_owned(),
        points: points.iter().map(|(x, rating)| (*x, rating.elo + side * rating.error)).collect(),
    };
    vec![of("network", 0.0), of("low", -1.0), of("high", 1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::rl::networks::RunNetworks;
    use serde_json::json;

    #[test]
    fn ratings_are_drawn_by_iteration() {
        let rating = |name: &str, elo: f64| Rating { name: name.into(), elo, error: 10.0, games: 4.0 };
        let all = [
            rating("random", 0.0),
            rating(&RunNetworks::name(10), 300.0),
            rating(START, 20.0),
            rating(&RunNetworks::name(5), 150.0),
        ];
        let lines = [json!({"iteration": 10, "ratings": all}), json!({"iteration": 11})];
        let curves = ratings(&lines);
        assert_eq!(curves[0].points, [(0.0, 20.0), (5.0, 150.0), (10.0, 300.0)]);
        assert_eq!(curves[2].points[2], (10.0, 310.0));
        let folder = tempfile::tempdir().unwrap();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(folder.path().join("metrics.jsonl"), text).unwrap();
        draw_curves(folder.path(), &folder.path().join("curves.svg")).unwrap();
        assert!(std::fs::read_to_string(folder.path().join("curves.svg")).unwrap().contains("Elo"));
    }
}
