//! A run as a picture: what its `metrics.jsonl` tell.

use std::path::Path;

use serde_json::Value;

use super::gate::Role;
use super::state::START;
use crate::arena::{Rating, Tally};
use crate::plot::{Axes, Curve, Panel, figure};

/// Panels a row.
const COLUMNS: usize = 3;

/// Draws the run in `folder` into its `curves.svg`.
///
/// # Errors
///
/// One line: the file can't be written.
pub fn draw(folder: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(folder.join("metrics.jsonl")).unwrap_or_default();
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    figure::write(&folder.join("curves.svg"), &panels(&lines), COLUMNS).map_err(|error| format!("{error:#}"))
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
    let score = |role: Role| {
        curve(role.name(), &|line| {
            let tally: Tally = serde_json::from_value(line["arena"][role.name()].clone()).ok()?;
            Some(100.0 * tally.score())
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
        over_iterations("score in the arena, %", Role::ALL.map(score).into()),
        over_iterations("loss", vec![at("policy", "/learn/policy_loss"), at("WDL", "/learn/wdl_loss")]),
        over_iterations("divergence from the first network", vec![at("KL", "/kl")]),
        over_iterations(
            "results of self-play, %",
            vec![share("White", 0), share("draw", 1), share("Black", 2)],
        ),
        over_iterations("positions to learn from", vec![at("buffer", "/buffer")]),
    ]
}

/// The last fit of all ratings, by the iteration that a network comes from, and the bounds of their intervals.
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
    vec![of("network", 0.0), of("least", -1.0), of("most", 1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rl::nets::Nets;
    use serde_json::json;

    #[test]
    fn ratings_are_drawn_by_iteration() {
        let rating = |name: &str, elo: f64| Rating { name: name.into(), elo, error: 10.0, games: 4.0 };
        let all = [
            rating("random", 0.0),
            rating(&Nets::name(10), 300.0),
            rating(START, 20.0),
            rating(&Nets::name(5), 150.0),
        ];
        let lines = [json!({"iteration": 10, "ratings": all}), json!({"iteration": 11})];
        let curves = ratings(&lines);
        assert_eq!(curves[0].points, [(0.0, 20.0), (5.0, 150.0), (10.0, 300.0)]);
        assert_eq!(curves[2].points[2], (10.0, 310.0));
        let folder = tempfile::tempdir().unwrap();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(folder.path().join("metrics.jsonl"), text).unwrap();
        draw(folder.path()).unwrap();
        assert!(std::fs::read_to_string(folder.path().join("curves.svg")).unwrap().contains("Elo"));
    }
}
