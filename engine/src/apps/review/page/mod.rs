//! The review as self-contained HTML without scripts.

mod board;
mod collection;
mod curve;
mod player;

use std::fmt::{self, Display, Formatter};
use std::io::{self, Write};
use std::time::Duration;

use shakmaty::{Color, KnownOutcome, Outcome, Position};

use self::board::{Arrow, Board};
pub use self::collection::{Collection, EXERCISES};
use self::curve::Curve;
use super::annotate::remark;
use super::game_review::{GameReview, PlayerSummary, ReviewedMove, numbered};
use super::judgement::{Class, Mark};
use super::material::Phase;
use super::player::PlayerReport;
use crate::base::words::counted;
use crate::chess::pgn::PgnGame;

const STYLE: &str = include_str!("style.css");
/// By Colin M.L. Burnett, under GPL-2.0-or-later among others.
const PIECES: &str = include_str!("../../../../data/pieces.svg");
/// Per game, for the largest changes of expected points.
const BOARDS: usize = 12;

#[derive(Clone, Copy, Debug)]
pub struct PageTitle<'a> {
    /// The file's name.
    pub games: &'a str,
    /// With its limits.
    pub judge: &'a str,
}

/// The page of one game; `report` is on a player, by name.
pub fn write(
    title: &PageTitle<'_>,
    report: Option<(&str, &PlayerReport)>,
    review: &GameReview<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_head(&format!("Review of {}", title.games), out)?;
    write_subtitle(title, std::slice::from_ref(review), out)?;
    if let Some((name, report)) = report {
        player::write(name, report, out)?;
    }
    write_game(1, review, report.is_some(), out)?;
    write_foot(out)
}

fn write_head(heading: &str, out: &mut dyn Write) -> io::Result<()> {
    let heading = Escaped(heading);
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{heading}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<svg class=\"pieces\" aria-hidden=\"true\">\n{PIECES}{}</svg>\n\
         <header>\n<h1>{heading}</h1>\n",
        board::squares(),
    )
}

/// Ends the header.
fn write_subtitle(title: &PageTitle<'_>, reviews: &[GameReview<'_>], out: &mut dyn Write) -> io::Result<()> {
    let moves: usize = reviews.iter().map(|review| review.moves.len()).sum();
    writeln!(
        out,
        "<p class=\"faint\">{}, {}, by {}</p>\n</header>",
        counted(reviews.len() as u64, "game"),
        counted(moves as u64, "move"),
        Escaped(title.judge),
    )
}

fn write_foot(out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"</body>\n</html>\n")
}

/// With `as_exercises`, the page opens with the answers hidden.
fn write_game(
    number: usize,
    review: &GameReview<'_>,
    as_exercises: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let game = review.game;
    let tags = ["Event", "Site", "Round"].iter().filter_map(|name| game.tag(name));
    let place: Vec<String> = tags.chain(date(game)).collect();
    writeln!(
        out,
        "<section id=\"game-{number}\">\n<h2>{} <span class=\"faint\">{}</span></h2>\n<p class=\"faint\">{}</p>",
        Escaped(&players(game)),
        result(game),
        Escaped(&place.join(", ")),
    )?;
    if let Some(opening) = review.opening {
        writeln!(out, "<p>{}</p>", Escaped(&opening.to_string()))?;
    }
    if review.moves.is_empty() {
        return out.write_all(b"<p>No moves were evaluated.</p>\n</section>\n");
    }
    let moments = moments(review);
    write!(out, "<div class=\"overview\">\n{}", Curve { number, review, moments: &moments })?;
    write_players(review, out)?;
    out.write_all(b"</div>\n")?;
    if !moments.is_empty() {
        let checked = if as_exercises { " checked" } else { "" };
        writeln!(
            out,
            "<h3>Critical moments</h3>\n<div class=\"exercises\">\n<label class=\"hide\"><input type=\"checkbox\"\
             {checked}> Find the better moves first: hide the answers</label>\n<div class=\"moments\">"
        )?;
        for played in &moments {
            write_moment(number, played, None, out)?;
        }
        out.write_all(b"</div>\n</div>\n")?;
    }
    write_moves(review, out)?;
    out.write_all(b"</section>\n")
}

/// Marked moves other than inaccuracies.
fn moments<'r>(review: &'r GameReview<'_>) -> Vec<&'r ReviewedMove> {
    let critical = |played: &&ReviewedMove| played.mark.is_some_and(|mark| mark != Mark::Inaccuracy);
    let mut moments: Vec<&ReviewedMove> = review.moves.iter().filter(critical).collect();
    moments.sort_by(|a, b| swing(b).total_cmp(&swing(a)));
    moments.truncate(BOARDS);
    moments.sort_by_key(|played| played.ply);
    moments
}

fn swing(played: &ReviewedMove) -> f64 {
    (played.before.white - played.after.white).abs()
}

fn write_players(review: &GameReview<'_>, out: &mut dyn Write) -> io::Result<()> {
    let [white, black] = &review.players;
    writeln!(out, "<table>\n<thead><tr><th></th><th>White</th><th>Black</th></tr></thead>\n<tbody>")?;
    let mut row = |name: &str, of: &dyn Fn(&PlayerSummary) -> String| {
        writeln!(out, "<tr><th>{name}</th><td>{}</td><td>{}</td></tr>", of(white), of(black))
    };
    row("Accuracy", &|player| percent(player.accuracy))?;
    if white.level.is_some() || black.level.is_some() {
        row("Estimated level", &|player| player.level.map_or("–".to_owned(), |level| level.to_string()))?;
    }
    row("Inaccuracies ?!", &|player| player.inaccuracies.to_string())?;
    row("Mistakes ?", &|player| player.mistakes.to_string())?;
    row("Blunders ??", &|player| player.blunders.to_string())?;
    row("Missed wins", &|player| player.missed_wins.to_string())?;
    row("Unclear", &|player| player.unclear.to_string())?;
    for (index, phase) in [Phase::Opening, Phase::Middlegame, Phase::Endgame].into_iter().enumerate() {
        if white.phases[index].is_some() || black.phases[index].is_some() {
            row(phase.name(), &|player| percent(player.phases[index]))?;
        }
    }
    if white.spent.is_some() || black.spent.is_some() {
        row("Time", &|player| player.spent.map_or("–".to_owned(), clock))?;
    }
    out.write_all(b"</tbody>\n</table>\n")
}

/// `game` is the game's name and the address of the same board there.
fn write_moment(
    number: usize,
    played: &ReviewedMove,
    game: Option<(&str, &str)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(mark) = played.mark else { return Ok(()) };
    let mover = played.position.turn();
    let better = played.best.first().copied().filter(|_| mark.is_error());
    let arrows = [
        Some(Arrow { m: played.m, class: if mark.is_error() { "played" } else { "better" } }),
        better.map(|m| Arrow { m, class: "better" }),
    ];
    let board = Board {
        position: &played.position,
        last_move: played.last_move,
        arrows: arrows.into_iter().flatten().collect(),
        label: format!("Position with {} to move", mover.fold_wb("White", "Black")),
    };
    writeln!(
        out,
        "<figure id=\"{}\">\n{board}\n<figcaption>\n<p class=\"task\">{} {} <label><input type=\"checkbox\"> Show \
         the answer</label></p>\n<div class=\"answer\">\n<p><strong class=\"{}\">{}{}</strong> {}</p>",
        anchor(number, played),
        mover.fold_wb("White", "Black"),
        task(played, mark),
        class(mark),
        Escaped(&played.san),
        mark.symbol(),
        Escaped(&remark(played).unwrap_or_default()),
    )?;
    writeln!(
        out,
        "<p>{}’s expected points: {} → {}</p>",
        mover.fold_wb("White", "Black"),
        value(played, true),
        value(played, false),
    )?;
    if let Some(reason) = &played.reason {
        writeln!(out, "<p>{}</p>", Escaped(&reason.words()))?;
    }
    let has_answer = mark.is_error() && !played.answer.is_empty();
    if has_answer && played.reason.as_ref().is_none_or(|reason| reason.is_missed) {
        writeln!(out, "<p class=\"faint\">Answer: {}</p>", Escaped(&played.answer))?;
    }
    if better.is_some() {
        let line = numbered(&played.position, &played.best_san);
        writeln!(out, "<p class=\"faint\">Better: {}</p>", Escaped(&line))?;
    }
    if let Some(spent) = played.spent {
        writeln!(out, "<p class=\"faint\">{}, thought for {}</p>", played.phase.name(), clock(spent))?;
    } else {
        writeln!(out, "<p class=\"faint\">{}</p>", played.phase.name())?;
    }
    if let Some((game, address)) = game {
        writeln!(out, "<p class=\"faint\"><a href=\"{address}\">{}</a></p>", Escaped(game))?;
    }
    out.write_all(b"</div>\n</figcaption>\n</figure>\n")
}

/// Follows the mover's name.
fn task(played: &ReviewedMove, mark: Mark) -> String {
    match mark.is_error() {
        true => format!("played {}. Find a better move.", Escaped(&played.san)),
        false => "to move.".to_owned(),
    }
}

/// The mover's expected points, and a forced mate.
fn value(played: &ReviewedMove, before: bool) -> String {
    let value = if before { played.before } else { played.after };
    let percent = format!("{:.0} %", value.of(played.position.turn()));
    match value.mate {
        Some(mate) if mate.moves == 0 => "mate".to_owned(),
        Some(mate) => {
            let winner = mate.winner.fold_wb("White", "Black");
            format!("{percent} ({winner} mates in {})", mate.moves)
        }
        None => percent,
    }
}

fn write_moves(review: &GameReview<'_>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"<details>\n<summary>All moves</summary>\n<p class=\"moves\">")?;
    for (index, played) in review.moves.iter().enumerate() {
        // Black's moves are numbered only where White's is missing.
        let san = match played.san.split_once("... ") {
            Some((_, san)) if index > 0 => san,
            _ => &played.san,
        };
        let san = Escaped(san);
        match played.mark {
            Some(mark) => write!(
                out,
                "<strong class=\"{}\" title=\"{}\">{san}{}</strong>",
                class(mark),
                played.class.name(),
                mark.symbol()
            )?,
            None if !played.wanted => out.write_all(san.to_string().as_bytes())?,
            None if played.class == Class::Unclear => write!(out, "{san} <small>(unclear)</small>")?,
            None => write!(out, "<span title=\"{}\">{san}</span>", played.class.name())?,
        }
        let eval = played.after.comment().map_or(String::new(), |eval| format!("\u{a0}{eval}"));
        writeln!(out, "<small class=\"faint\">{eval}</small>")?;
    }
    out.write_all(b"</p>\n</details>\n")
}

fn anchor(number: usize, played: &ReviewedMove) -> String {
    format!("game-{number}-ply-{}", played.ply + 1)
}

fn class(mark: Mark) -> &'static str {
    match mark {
        Mark::Brilliant => "brilliant",
        Mark::Good => "good",
        Mark::Inaccuracy => "inaccuracy",
        Mark::Mistake => "mistake",
        Mark::Blunder => "blunder",
    }
}

fn players(game: &PgnGame) -> String {
    let name = |color: Color| {
        let (tag, elo) = color.fold_wb(("White", "WhiteElo"), ("Black", "BlackElo"));
        let name = game.tag(tag).unwrap_or_else(|| tag.to_owned());
        game.tag(elo).map_or(name.clone(), |elo| format!("{name} ({elo})"))
    };
    format!("{} – {}", name(Color::White), name(Color::Black))
}

fn result(game: &PgnGame) -> String {
    match game.outcome() {
        Outcome::Known(KnownOutcome::Draw) => "½–½".to_owned(),
        Outcome::Known(KnownOutcome::Decisive { winner }) => winner.fold_wb("1–0", "0–1").to_owned(),
        Outcome::Unknown => "*".to_owned(),
    }
}

/// `1858` of `1858.??.??`.
fn date(game: &PgnGame) -> Option<String> {
    let date = game.tag("Date")?;
    let known = date.split(".?").next().unwrap_or_default();
    (!known.starts_with('?')).then(|| known.to_owned())
}

/// As in `85 – 18 %`.
fn accuracies(white: &PlayerSummary, black: &PlayerSummary) -> String {
    match (white.accuracy, black.accuracy) {
        (None, None) => "–".to_owned(),
        (Some(white), Some(black)) => format!("{white:.0} – {black:.0} %"),
        (white, black) => format!("{} – {}", percent(white), percent(black)),
    }
}

fn percent(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.0} %"))
}

/// 1:02:03 or 2:03.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// Escapes HTML, also in attributes.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                other => f.write_fmt(format_args!("{other}"))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apps::review::evidence::{Evidence, Moves, SearchKey};
    use crate::apps::review::game_review::positions_of;
    use crate::apps::review::judge::JudgedLine;
    use crate::apps::review::judgement::PositionValue;
    use crate::chess::pgn::read_games;

    #[test]
    fn what_is_not_known_is_left_out() {
        let date_of = |tag: &str| {
            let (games, _) = read_games(format!("[Date \"{tag}\"]\n\n*").as_bytes());
            date(&games[0].1)
        };
        assert_eq!(date_of("1858.??.??").as_deref(), Some("1858"));
        assert_eq!(date_of("2026.01.??").as_deref(), Some("2026.01"));
        assert_eq!((date_of("2026.01.02").as_deref(), date_of("????.??.??")), (Some("2026.01.02"), None));
        let player = |accuracy| PlayerSummary { accuracy, ..PlayerSummary::default() };
        let shown = |white, black| accuracies(&player(white), &player(black));
        assert_eq!(
            (shown(None, None), shown(Some(84.6), Some(18.0))),
            ("–".to_owned(), "85 – 18 %".to_owned())
        );
        assert_eq!(shown(Some(100.0), None), "100 % – –");
    }

    #[test]
    fn names_from_the_file_are_text_and_nothing_is_loaded() {
        let pgn = "[White \"<script>alert(1)</script>\"]\n[Black \"A & \\\"B\\\"\"]\n[Result \"0-1\"]\n\n\
            1. f3 {[%clk 0:01:00]} e5 2. g4 {[%clk 0:00:48]} Qh4# 0-1";
        let (games, _) = read_games(pgn.as_bytes());
        let game = &games[0].1;
        let values = [54.0, 45.0, 43.0, 0.0].map(|white| PositionValue { white, mate: None });
        let mut evidence: Vec<Evidence> = values
            .iter()
            .zip(positions_of(game))
            .map(|(value, now)| {
                let mut found = Evidence::default();
                for level in 0..2 {
                    let line = JudgedLine { value: *value, wdl: None, pv: vec![now.legal_moves()[0]] };
                    let moves = Moves::Only(line.pv[0]);
                    found.add(SearchKey { level, moves }, vec![line.clone()]);
                    found.add(SearchKey::all(level), vec![line]);
                }
                found
            })
            .collect();
        evidence.push(Evidence::default());
        let review = GameReview::new(game, &evidence, None);
        let title = PageTitle { games: "<b>.pgn", judge: "us" };
        let text = |write: &dyn Fn(&mut dyn Write) -> io::Result<()>| {
            let mut page = Vec::new();
            write(&mut page).unwrap();
            String::from_utf8(page).unwrap()
        };
        let page = text(&|out| write(&title, None, &review, out));
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt; – A &amp; &quot;B&quot;"), "{page}");
        assert!(page.contains("<h1>Review of &lt;b&gt;.pgn</h1>") && !page.contains("<script"));
        for outside in ["src=", "url(", "@import", "<link", "onload", "javascript:"] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("Answer: 2... e4") && page.contains("Better: 2. a3"), "nothing is proven");
        assert!(page.contains("thought for 0:12") && page.contains("Barnes Opening: Fool's Mate"));
        assert!(page.contains("href=\"#game-1-ply-3\"") && page.contains("id=\"game-1-ply-3\""));
        let reviews = [review.clone(), review];
        let report = PlayerReport::default();
        let all = Collection {
            title,
            index: "a b.html",
            folder: "a#.pages",
            report: Some(("A & \"B\"", &report)),
            reviews: &reviews,
        };
        let index = text(&|out| all.write_index(out));
        assert!(index.contains("href=\"a%23.pages/0002.html\"") && index.contains("2 exercises"), "{index}");
        let second = text(&|out| all.write_game(2, out));
        assert!(second.contains("../a%20b.html") && second.contains("0001.html"), "{second}");
        assert!(second.contains("id=\"game-2-ply-3\"") && !second.contains("0003.html"));
        let exercises = text(&|out| all.write_exercises(out));
        assert_eq!(exercises.matches("<figure").count(), 2, "2. g4?? of both games");
        assert!(exercises.contains("href=\"0002.html#game-2-ply-3\""), "{exercises}");
        for page in [index, second, exercises] {
            assert!(page.contains("A &amp; &quot;B&quot;") && !page.contains("<script"), "{page}");
        }
    }
}
