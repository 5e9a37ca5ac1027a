//! The report on a player.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::{Escaped, percent};
use crate::apps::review::material::Phase;
use crate::apps::review::player::{Chances, PlayerReport, Tally};
use crate::base::words::counted;

const CLOCKS: [&str; 3] =
    ["At least half of the time left", "At least a tenth left", "Less than a tenth left"];

pub fn write(name: &str, report: &PlayerReport, out: &mut dyn Write) -> io::Result<()> {
    let [won, drawn, lost] = report.results;
    writeln!(
        out,
        "<section class=\"player\">\n<h2>{}</h2>\n<p>{}: {won} won, {drawn} drawn, {lost} lost.</p>",
        Escaped(name),
        counted(report.games as u64, "game"),
    )?;
    write_tallies(report, out)?;
    out.write_all(b"<ul>\n")?;
    let Chances { had, used } = report.won_positions;
    if had > 0 {
        writeln!(out, "<li>Winning positions: in {}; {used} won.</li>", counted(had as u64, "game"))?;
    }
    let Chances { had, used } = report.mates;
    if had > 0 {
        writeln!(out, "<li>Forced mates: in {}; kept in {used}.</li>", counted(had as u64, "position"))?;
    }
    if !report.errors.is_empty() {
        let errors: Vec<String> =
            report.errors.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        writeln!(out, "<li>What the errors allowed: {}.</li>", errors.join(", "))?;
    }
    out.write_all(b"</ul>\n")?;
    write_line(report, out)?;
    out.write_all(b"</section>\n")
}

fn write_tallies(report: &PlayerReport, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(
        b"<table>\n<thead><tr><th></th><th>Moves</th><th>Accuracy</th><th>Opponents</th><th>?!</th><th>?</th>\
          <th>??</th></tr></thead>\n<tbody>\n",
    )?;
    let mut row = |name: &str, tally: &Tally| {
        if tally.moves == 0 {
            return Ok(());
        }
        let Tally { moves, inaccuracies, mistakes, blunders, .. } = tally;
        writeln!(
            out,
            "<tr><th>{}</th><td>{moves}</td><td>{}</td><td>{}</td><td>{inaccuracies}</td><td>{mistakes}</td>\
             <td>{blunders}</td></tr>",
            Escaped(name),
            percent(tally.accuracy()),
            percent(tally.opponents_accuracy()),
        )
    };
    row("All moves", &report.all)?;
    for (name, tally) in ["As White", "As Black"].iter().zip(&report.colours) {
        row(name, tally)?;
    }
    for (phase, tally) in Phase::ALL.iter().zip(&report.phases) {
        row(phase.name(), tally)?;
    }
    for (name, tally) in CLOCKS.iter().zip(&report.clocks) {
        row(name, tally)?;
    }
    for (name, games, tally) in &report.openings {
        row(&format!("{name}, {}", counted(*games as u64, "game")), tally)?;
    }
    out.write_all(b"</tbody>\n</table>\n")
}

/// Accuracy game by game.
fn write_line(report: &PlayerReport, out: &mut dyn Write) -> io::Result<()> {
    let known: Vec<(usize, f64)> =
        report.by_game.iter().enumerate().filter_map(|(game, accuracy)| Some((game, (*accuracy)?))).collect();
    if known.len() < 2 {
        return Ok(());
    }
    let least = known.iter().map(|(_, accuracy)| *accuracy).fold(100.0, f64::min);
    let bottom = (10.0 * (least / 10.0).floor()).min(90.0);
    let (mut line, mut dots) = (String::new(), String::new());
    for (index, (game, accuracy)) in known.iter().enumerate() {
        let (x, y) = (10 * game + 5, 100.0 * (100.0 - accuracy) / (100.0 - bottom));
        let command = if index == 0 { 'M' } else { 'L' };
        let _ = write!(line, "{command}{x} {y:.1}");
        let _ = write!(dots, "M{x} {y:.1}h0.01");
    }
    writeln!(
        out,
        "<figure class=\"curve\">\n<svg class=\"games-line\" viewBox=\"0 0 {} 100\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"Accuracy by game\"><path d=\"{line}\"/><path class=\"dots\" d=\"{dots}\"/></svg>\n\
         <figcaption class=\"faint\">Accuracy by game, from {bottom} to 100 %.</figcaption>\n</figure>",
        10 * report.by_game.len(),
    )
}
