//! Compares a network's expected points with those of deep searches.
//!
//! Columns of a truth file, separated by tabs: kind, FEN, moves from there in UCI notation, expected points of the side
//! to move (0 to 1). `#` lines are ignored. Networks see the moves as history.
//!
//! A flat value may order positions as well as a sharp one, but the search's constants suit only one sharpness. So each
//! network is also judged after raising WDL to the power that fits the truth best ([`fitted_power`]).

use std::path::Path;

use anyhow::{Context, Result, ensure};
use engine::chess::position::Game;
use engine::chess::wdl::Wdl;
use serde_json::{Value, json};
use shakmaty::{Position, Role};

use super::judged_network::JudgedNetwork;
use super::report::markdown;
use crate::data::samples::Phase;

#[derive(Clone, Debug)]
pub struct TruthPosition {
    /// Groups positions.
    pub kind: String,
    pub game: Game,
    /// Of the side to move, 0 to 1.
    pub points: f64,
}

pub fn read(file: &Path) -> Result<Vec<TruthPosition>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let lines =
        text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let positions: Result<Vec<TruthPosition>> = lines
        .map(|(at, line)| parse(line).with_context(|| format!("{}, line {}", file.display(), at + 1)))
        .collect();
    let positions = positions?;
    ensure!(!positions.is_empty(), "{} holds no position", file.display());
    Ok(positions)
}

fn parse(line: &str) -> Result<TruthPosition> {
    let mut columns = line.split('\t');
    let mut column = |name: &str| columns.next().with_context(|| format!("the column {name} is missing"));
    let (kind, fen, moves) = (column("kind")?, column("FEN")?, column("moves")?);
    let text = column("expected points")?.trim();
    let points = text.parse().ok().filter(|points| (0.0..=1.0).contains(points));
    let points = points.with_context(|| format!("the expected points must be 0 to 1, not \"{text}\""))?;
    let game = Game::from_uci(Some(fen), moves.split_whitespace())?;
    ensure!(game.outcome().is_none(), "the game is over");
    Ok(TruthPosition { kind: kind.trim().to_owned(), game, points })
}

#[derive(Clone, Debug)]
pub struct ValueReport {
    networks: Vec<String>,
    /// Per network: the power of WDL that fits all positions best.
    powers: Vec<f64>,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    name: String,
    positions: usize,
    networks: Vec<PartOfNetwork>,
}

#[derive(Clone, Copy, Debug)]
struct PartOfNetwork {
    /// Mean squared error of the expected points.
    error: f64,
    /// The error with the power that fits this part best.
    fitted: f64,
    power: f64,
    /// Kendall's τ-b.
    rank: f64,
}

/// Parts are all positions, each kind, each phase, and each kind by whether a capture wins material.
pub fn measure(positions: &[TruthPosition], networks: &mut [JudgedNetwork]) -> Result<ValueReport> {
    let games: Vec<Game> = positions.iter().map(|position| position.game.clone()).collect();
    let mut answers = Vec::new();
    for network in networks.iter_mut() {
        ensure!(network.has_value, "{} has no value head", network.name);
        answers.push(network.predict(&games)?.into_iter().map(|p| p.wdl).collect::<Vec<Wdl>>());
    }
    let points: Vec<f64> = positions.iter().map(|position| position.points).collect();
    let of = |name: &str, chosen: &[usize]| Part {
        name: name.to_owned(),
        positions: chosen.len(),
        networks: answers.iter().map(|wdl| PartOfNetwork::of(wdl, &points, chosen)).collect(),
    };
    let mut parts = Vec::new();
    let mut add = |name: &str, belongs: &dyn Fn(&TruthPosition) -> bool| {
        let chosen: Vec<usize> = (0..positions.len()).filter(|&i| belongs(&positions[i])).collect();
        // A rank correlation of fewer positions is meaningless.
        if chosen.len() >= 3 {
            parts.push(of(name, &chosen));
        }
    };
    add("all", &|_| true);
    let mut kinds: Vec<&str> = positions.iter().map(|position| position.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        add(kind, &|position| position.kind == kind);
        add(&format!("{kind}, can win material"), &|p| p.kind == kind && can_win_material(&p.game));
        add(&format!("{kind}, quiet"), &|p| p.kind == kind && !can_win_material(&p.game));
    }
    for phase in Phase::ALL {
        add(phase.name(), &|p| Phase::of(p.game.position().board()) as u8 == phase as u8);
    }
    let everything: Vec<usize> = (0..points.len()).collect();
    Ok(ValueReport {
        networks: networks.iter().map(|network| network.name.clone()).collect(),
        powers: answers.iter().map(|wdl| fitted_power(wdl, &points, &everything)).collect(),
        parts,
    })
}

impl PartOfNetwork {
    fn of(wdl: &[Wdl], points: &[f64], chosen: &[usize]) -> PartOfNetwork {
        let power = fitted_power(wdl, points, chosen);
        let expected: Vec<f64> = chosen.iter().map(|&i| expected_points(wdl[i], 1.0)).collect();
        let truth: Vec<f64> = chosen.iter().map(|&i| points[i]).collect();
        PartOfNetwork {
            error: error(wdl, points, chosen, 1.0),
            fitted: error(wdl, points, chosen, power),
            power,
            rank: rank_correlation(&expected, &truth),
        }
    }
}

type Measure = fn(&PartOfNetwork) -> f64;

impl ValueReport {
    pub fn table(&self) -> String {
        let mut head: Vec<String> = ["positions", "number", "measure"].map(str::to_owned).into();
        head.extend(self.networks.iter().cloned());
        let mut rows = Vec::new();
        for part in &self.parts {
            let measures: [(&str, Measure); 4] = [
                ("squared error", |n| n.error),
                ("the same, fitted", |n| n.fitted),
                ("by the power", |n| n.power),
                ("rank correlation", |n| n.rank),
            ];
            for (at, (measure, number)) in measures.into_iter().enumerate() {
                let first = |text: String| if at == 0 { text } else { String::new() };
                let mut row =
                    vec![first(part.name.clone()), first(part.positions.to_string()), measure.into()];
                row.extend(part.networks.iter().map(|network| format!("{:.4}", number(network))));
                rows.push(row);
            }
        }
        markdown(head, rows)
    }

    pub fn json(&self) -> Value {
        let part = |part: &Part| {
            let networks: Value = self
                .networks
                .iter()
                .zip(&part.networks)
                .map(|(name, n)| {
                    let numbers =
                        json!({ "error": n.error, "fitted": n.fitted, "power": n.power, "rank": n.rank });
                    (name.clone(), numbers)
                })
                .collect();
            json!({ "part": part.name, "positions": part.positions, "networks": networks })
        };
        let powers: Value = self
            .networks
            .iter()
            .zip(&self.powers)
            .map(|(name, power)| (name.clone(), json!(power)))
            .collect();
        json!({ "powers": powers, "parts": self.parts.iter().map(part).collect::<Vec<_>>() })
    }
}

fn expected_points(wdl: Wdl, power: f64) -> f64 {
    let [win, draw, loss] = [wdl.win, wdl.draw, wdl.loss].map(|p| f64::from(p).max(1e-9).powf(power));
    (win + draw / 2.0) / (win + draw + loss)
}

fn error(wdl: &[Wdl], points: &[f64], chosen: &[usize], power: f64) -> f64 {
    let square = |&i: &usize| (expected_points(wdl[i], power) - points[i]).powi(2);
    chosen.iter().map(square).sum::<f64>() / chosen.len() as f64
}

/// The power of win, draw and loss that predicts `points` best, between 1/10 and 10. Above 1 the network's values are
/// flatter than the truth, below 1 sharper.
fn fitted_power(wdl: &[Wdl], points: &[f64], chosen: &[usize]) -> f64 {
    let at = |log: f64| error(wdl, points, chosen, log.exp2());
    // A coarse scan first, because the error can have several minima.
    let coarse = (-12..=12).map(|step| f64::from(step) / 4.0);
    let middle = coarse.min_by(|a, b| at(*a).total_cmp(&at(*b))).unwrap_or(0.0);
    let (mut low, mut high) = (middle - 0.25, middle + 0.25);
    for _ in 0..20 {
        let third = (high - low) / 3.0;
        if at(low + third) < at(high - third) { high -= third } else { low += third }
    }
    f64::midpoint(low, high).exp2()
}

/// Kendall's τ-b: concordant minus discordant pairs, over the geometric mean of both sides' untied pairs.
fn rank_correlation(a: &[f64], b: &[f64]) -> f64 {
    let (mut agreement, mut untied_a, mut untied_b) = (0.0, 0.0, 0.0);
    for i in 0..a.len() {
        for j in 0..i {
            let order = |x: &[f64]| f64::from(i8::from(x[i] > x[j]) - i8::from(x[i] < x[j]));
            let (in_a, in_b) = (order(a), order(b));
            agreement += in_a * in_b;
            untied_a += in_a.abs();
            untied_b += in_b.abs();
        }
    }
    agreement / f64::sqrt(untied_a * untied_b)
}

/// Whether a capture takes a more valuable piece or cannot be answered by a recapture.
fn can_win_material(game: &Game) -> bool {
    let value = |role| match role {
        Role::Pawn => 1,
        Role::Knight | Role::Bishop => 3,
        Role::Rook => 5,
        Role::Queen => 9,
        Role::King => 100,
    };
    game.legal_moves().iter().any(|m| {
        let Some(taken) = m.capture() else { return false };
        if value(taken) > value(m.role()) {
            return true;
        }
        let mut after = game.position().clone();
        after.play_unchecked(*m);
        !after.legal_moves().iter().any(|reply| reply.is_capture() && reply.to() == m.to())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::nets::eval::Uniform;

    const LINE: &str = "H\trnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\te2e4 e7e5\t0.53\t30";

    #[test]
    fn lines_hold_a_position_with_its_history() {
        let position = parse(LINE).unwrap();
        assert_eq!((position.kind.as_str(), position.game.ply(), position.points), ("H", 2, 0.53));
        for (line, why) in [
            (LINE.replace("0.53", "53"), "must be 0 to 1, not \"53\""),
            (LINE.replace("e7e5", "e7e4"), "e7e4"),
            ("H\tx".into(), "the column moves is missing"),
            (LINE.replace(" w KQkq", ""), "FEN"),
        ] {
            let error = format!("{:#}", parse(&line).unwrap_err());
            assert!(error.contains(why), "{line}: {error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.tsv");
        std::fs::write(&file, format!("# head\n{LINE}\n\nH\t8\n")).unwrap();
        let error = format!("{:#}", read(&file).unwrap_err());
        assert!(error.contains("t.tsv, line 4: the column moves is missing"), "{error}");
        std::fs::write(&file, "# head\n").unwrap();
        assert!(read(&file).unwrap_err().to_string().contains("holds no position"));
    }

    /// Values that are the truth to the power 1/2 need the power 2.
    #[test]
    fn the_power_that_made_values_flat_is_found() {
        let truth = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8], [0.4, 0.5, 0.1]];
        let points: Vec<f64> = truth.iter().map(|p| p[0] + p[1] / 2.0).collect();
        let flat = truth.map(|p: [f64; 3]| {
            let roots = p.map(f64::sqrt);
            let sum: f64 = roots.iter().sum();
            Wdl { win: (roots[0] / sum) as f32, draw: (roots[1] / sum) as f32, loss: (roots[2] / sum) as f32 }
        });
        let power = fitted_power(&flat, &points, &[0, 1, 2, 3]);
        assert!((power - 2.0).abs() < 1e-3, "{power}");
        assert!(error(&flat, &points, &[0, 1, 2, 3], power) < 1e-8);
        assert!(error(&flat, &points, &[0, 1, 2, 3], 1.0) > 0.001);
    }

    #[test]
    fn rank_correlation_counts_pairs() {
        // Two of three pairs have the same order.
        assert!((rank_correlation(&[1.0, 2.0, 3.0], &[1.0, 9.0, 4.0]) - 1.0 / 3.0).abs() < 1e-12);
        // With a tie in `a`: two pairs agree, of two untied in `a` and three in `b`.
        assert!((rank_correlation(&[1.0, 1.0, 2.0], &[1.0, 2.0, 3.0]) - 2.0 / 6f64.sqrt()).abs() < 1e-12);
        assert_eq!(rank_correlation(&[1.0, 2.0], &[5.0, 4.0]), -1.0);
    }

    #[test]
    fn captures_that_win_are_found() {
        for (fen, wins) in [
            ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", false),
            // A pawn takes a knight; a rook takes a defended pawn; a rook takes a loose pawn.
            ("4k3/8/4p3/3n4/4P3/8/8/4K3 w - - 0 1", true),
            ("4k3/8/4p3/3p4/8/8/8/3RK3 w - - 0 1", false),
            ("4k3/8/8/3p4/8/8/8/3RK3 w - - 0 1", true),
        ] {
            assert_eq!(can_win_material(&Game::from_fen(fen).unwrap()), wins, "{fen}");
        }
    }

    #[test]
    fn every_part_is_reported_for_every_network() {
        let positions = vec![parse(LINE).unwrap(); 4];
        let mut networks = [JudgedNetwork::new("uniform", Box::new(Uniform), None)];
        let report = measure(&positions, &mut networks).unwrap();
        let json = report.json();
        assert_eq!(json["parts"][0]["part"], "all");
        // The uniform evaluator predicts a draw: 0.5 against 0.53.
        let error = json["parts"][0]["networks"]["uniform"]["error"].as_f64().unwrap();
        assert!((error - 0.0009).abs() < 1e-6, "{error}");
        assert!(report.table().contains("H, quiet"), "{}", report.table());
    }
}
