//! The report on a player.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::{Escaped, percent};
use crate::apps::review::level::Peers;
use crate::apps::review::material::Phase;
use crate::apps::review::player::{Chances, PlayerReport, Tally};
use crate::base::words::counted;

const COLOURS: [&str; 2] = ["As White", "As Black"];
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
    let peers = report.peers();
    write_level(report, peers, out)?;
    write_tallies(report, peers, out)?;
    out.write_all(b"<ul>\n")?;
    write_errors(report, peers, out)?;
    let used = |chances: Chances| 100.0 * chances.used as f64 / chances.had as f64;
    if let chances @ Chances { had: 1.., .. } = report.won_positions {
        let games = counted(chances.had as u64, "game");
        let others = beside(used(chances), peers.map(|peers| peers.won));
        writeln!(out, "<li>Winning positions: in {games}; {} won{others}.</li>", chances.used)?;
    }
    if let chances @ Chances { had: 1.., .. } = report.mates {
        let positions = counted(chances.had as u64, "position");
        let others = beside(used(chances), peers.map(|peers| peers.mates));
        writeln!(out, "<li>Forced mates: in {positions}; kept in {}{others}.</li>", chances.used)?;
    }
    for (what, kinds) in [("allowed", &report.errors), ("missed", &report.missed)] {
        let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        if !kinds.is_empty() {
            writeln!(out, "<li>What the errors {what}: {}.</li>", kinds.join(", "))?;
        }
    }
    out.write_all(b"</ul>\n")?;
    write_line(report, out)?;
    out.write_all(b"</section>\n")
}

fn write_level(report: &PlayerReport, peers: Option<&Peers>, out: &mut dyn Write) -> io::Result<()> {
    if let Some(rating) = report.rating {
        writeln!(out, "<p>Rating in the games: {rating:.0} in the mean.</p>")?;
    }
    if let Some(estimated) = report.level {
        writeln!(out, "<p>Level that the accuracy suggests: {estimated} on Lichess.</p>")?;
    }
    if let Some(peers) = peers {
        let by = if report.rating.is_some() { "" } else { " by the suggested level" };
        writeln!(out, "<p>Others{by}: players rated {}.</p>", peers.name)?;
    }
    Ok(())
}

/// As in ` (75 %; others 64 %)`.
fn beside(own: f64, others: Option<f64>) -> String {
    others.map_or(String::new(), |others| format!(" ({own:.0} %; others {others:.0} %)"))
}

/// Errors in 100 moves.
fn write_errors(report: &PlayerReport, peers: Option<&Peers>, out: &mut dyn Write) -> io::Result<()> {
    let Tally { moves, inaccuracies, mistakes, blunders, .. } = report.all;
    let (Some(peers), 1..) = (peers, moves) else { return Ok(()) };
    let [inaccuracies, mistakes, blunders] =
        [inaccuracies, mistakes, blunders].map(|count| 100.0 * count as f64 / moves as f64);
    writeln!(
        out,
        "<li>In 100 moves: {inaccuracies:.1} ?!, {mistakes:.1} ?, {blunders:.1} ?? (others {:.1} ??).</li>",
        peers.blunders
    )
}

struct Row<'a> {
    name: String,
    tally: &'a Tally,
    others: Option<f64>,
}

/// The table's rows, without those that have no moves.
fn rows<'a>(report: &'a PlayerReport, peers: Option<&Peers>) -> Vec<Row<'a>> {
    let row = |name: &str, tally, others| Row { name: name.to_owned(), tally, others };
    let mut rows = vec![row("All moves", &report.all, peers.map(|peers| peers.accuracy))];
    for (index, tally) in report.colours.iter().enumerate() {
        rows.push(row(COLOURS[index], tally, peers.map(|peers| peers.colours[index])));
    }
    for (index, tally) in report.phases.iter().enumerate() {
        rows.push(row(Phase::ALL[index].name(), tally, peers.map(|peers| peers.phases[index])));
    }
    for (index, tally) in report.clocks.iter().enumerate() {
        rows.push(row(CLOCKS[index], tally, peers.map(|peers| peers.clocks[index])));
    }
    let opening = |(name, games, tally): &'a (String, usize, Tally)| {
        row(&format!("{name}, {}", counted(*games as u64, "game")), tally, None)
    };
    rows.extend(report.openings.iter().map(opening));
    rows.retain(|row| row.tally.moves > 0);
    rows
}

fn write_tallies(report: &PlayerReport, peers: Option<&Peers>, out: &mut dyn Write) -> io::Result<()> {
    let rows = rows(report, peers);
    let shown = |row: &Row| [row.tally.accuracy(), row.tally.opponents_accuracy(), row.others];
    let least = rows.iter().flat_map(shown).flatten().fold(100.0, f64::min);
    let bottom = (10.0 * (least / 10.0).floor()).min(90.0);
    writeln!(
        out,
        "<div class=\"wide\">\n<table>\n<thead><tr><th></th><th>Moves</th><th>Accuracy</th><th>Opponents</th><th>Others</th>\
         <th class=\"chart\">{bottom} to 100 %</th><th>?!</th><th>?</th><th>??</th></tr></thead>\n<tbody>"
    )?;
    for row in &rows {
        let Tally { moves, inaccuracies, mistakes, blunders, .. } = row.tally;
        let [own, opponents, others] = shown(row);
        writeln!(
            out,
            "<tr><th>{}</th><td>{moves}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"chart\">{}</td><td>{inaccuracies}</td>\
             <td>{mistakes}</td><td>{blunders}</td></tr>",
            Escaped(&row.name),
            percent(own),
            percent(opponents),
            percent(others),
            bar(bottom, [own, opponents, others]),
        )?;
    }
    out.write_all(
        b"</tbody>\n</table>\n</div>\n<p class=\"faint\">Bars: the player's accuracy; <span class=\"mistake\">orange</span>: the \
          opponents' in these games; dark: that of the others.</p>\n",
    )
}

/// The player's accuracy as a bar, the opponents' and the others' as strokes.
fn bar(bottom: f64, [own, opponents, others]: [Option<f64>; 3]) -> String {
    let x = |accuracy: f64| 100.0 * (accuracy - bottom) / (100.0 - bottom);
    let mut text =
        "<svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
            .to_owned();
    if let Some(own) = own {
        let _ = write!(text, "<rect width=\"{:.1}\" height=\"10\"/>", x(own));
    }
    for (class, accuracy) in [("opponents", opponents), ("others", others)] {
        if let Some(accuracy) = accuracy {
            let _ = write!(text, "<path class=\"{class}\" d=\"M{:.1} 0v10\"/>", x(accuracy));
        }
    }
    text + "</svg>"
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
