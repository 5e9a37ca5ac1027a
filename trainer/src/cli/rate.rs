use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result, ensure};
use clap::Args;
use comfy_table::{CellAlignment, Table, presets::ASCII_MARKDOWN};
use engine::base::words::counted;
use serde_json::{Value, json};

use crate::config::Sprt;
use crate::data::import::read_text;
use crate::play::arena::{EloEstimate, MatchResults, PlayerRecord, Rating, Tournament, rate, read_pgn};

/// Rate the players of any games (PGN): score, Elo with 95 % intervals, pentanomial counts, sequential tests
///
/// Two games form a pair if the same two players played them with reversed colours in one round on one opening, as
/// fastchess, scripts/match.py and most programs write them. Intervals come from the observed variance of pairs and of
/// unpaired games. Two players are compared with each other; three or more, or any with --anchor, are rated on one
/// scale (Bradley-Terry model, with half a drawn game added per pair of players that met).
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  philidor-trainer rate runs/match.pgn\n  \
    philidor-trainer rate runs/match.pgn --player New --sprt 0,5\n  \
    philidor-trainer rate runs/*.pgn --anchor 'Stockfish 1800=1800'")]
pub struct RateArgs {
    /// Files of games (PGN; plain, .gz, .zst, .bz2), or - for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Fix this player's rating, and rate the others on its scale; can be repeated [default: the mean of those connected with
    /// the first player is 0]
    #[arg(long, value_name = "NAME=ELO")]
    anchor: Vec<Anchor>,
    /// The player whose results against all others are shown in pairs and tested [default: White in the first game]
    #[arg(long, value_name = "NAME")]
    player: Option<String>,
    /// Sequential test of the player's results: is it stronger by ELO1, or only by ELO0?
    #[arg(long, value_name = "ELO0,ELO1")]
    sprt: Option<Sprt>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// More are counted.
const NAMES_LISTED: usize = 10;

/// As in `A, B and 3 others`.
fn some_of(names: &[&str]) -> String {
    match names.len().saturating_sub(NAMES_LISTED) {
        0 => names.join(", "),
        others => format!("{} and {}", names[..NAMES_LISTED].join(", "), counted(others, "other")),
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Anchor {
    name: String,
    elo: f64,
}

impl FromStr for Anchor {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Anchor> {
        let (name, elo) = text.rsplit_once('=').context("expected NAME=ELO")?;
        let elo: f64 = elo.trim().parse().with_context(|| format!("\"{elo}\" is no number"))?;
        // Beyond, an expected score is 1 in floating point.
        ensure!(elo.abs() <= 5000.0, "the rating must be -5000 to 5000");
        Ok(Anchor { name: name.trim().to_owned(), elo })
    }
}

struct Rated {
    tournament: Tournament,
    /// The player whose pairs are shown.
    player: usize,
    /// On one scale, in the order of `tournament.players`.
    ratings: Vec<Rating>,
}

impl RateArgs {
    pub fn run(&self) -> Result<()> {
        let rated = self.rated()?;
        let text = if self.json { format!("{:#}\n", self.to_json(&rated)) } else { self.text(&rated) };
        match std::io::stdout().lock().write_all(text.as_bytes()) {
            // The reader closed the pipe.
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn rated(&self) -> Result<Rated> {
        let mut files = Vec::new();
        for path in &self.files {
            let text = read_text(path).with_context(|| format!("cannot read {}", path.display()))?;
            files.push(read_pgn(&text, &path.display().to_string())?);
        }
        let tournament = Tournament::new(&files);
        ensure!(!tournament.meetings.is_empty(), "there is no finished game in these files");
        let index = |name: &str| {
            let names: Vec<&str> = tournament.players.iter().map(|player| player.name.as_str()).collect();
            let same = names.iter().position(|known| *known == name);
            same.or_else(|| names.iter().position(|known| known.to_lowercase() == name.to_lowercase()))
                .with_context(|| format!("there is no game of {name}: the players are {}", some_of(&names)))
        };
        let player = self.player.as_deref().map_or(Ok(0), index)?;
        let mut anchors: Vec<(&str, f64)> = Vec::new();
        for anchor in &self.anchor {
            let name = tournament.players[index(&anchor.name)?].name.as_str();
            ensure!(anchors.iter().all(|(other, _)| *other != name), "--anchor gives {name} two ratings");
            anchors.push((name, anchor.elo));
        }
        let mut ratings = rate(&tournament.meetings, &anchors);
        // Players without a finished game have no rating.
        let place = |rating: &Rating| tournament.players.iter().position(|player| player.name == rating.name);
        ratings.sort_by_key(place);
        Ok(Rated { tournament, player, ratings })
    }

    fn is_scale(&self, rated: &Rated) -> bool {
        !self.anchor.is_empty() || rated.tournament.players.len() > 2
    }

    fn opponents<'a>(&self, rated: &'a Rated) -> &'a str {
        match &rated.tournament.players[..] {
            [one, other] => {
                if rated.player == 0 {
                    &other.name
                } else {
                    &one.name
                }
            }
            _ => "all others",
        }
    }

    fn text(&self, rated: &Rated) -> String {
        let (players, scale) = (&rated.tournament.players, self.is_scale(rated));
        let rating = |player: &PlayerRecord| rated.ratings.iter().find(|rating| rating.name == player.name);
        let mut order: Vec<&PlayerRecord> = players.iter().collect();
        if scale {
            order.sort_by(|a, b| {
                let [a, b] =
                    [a, b].map(|player| rating(player).map_or(f64::NEG_INFINITY, |rating| rating.elo));
                b.total_cmp(&a)
            });
        }
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN);
        table.set_header(["player", "games", "+", "=", "−", "score", "Elo"]);
        for player in order {
            let results = &player.results;
            let elo = match (scale, rating(player)) {
                (false, _) => results.estimate().to_string(),
                (true, Some(Rating { elo, error, .. })) if *error == 0.0 => format!("{elo:.0}"),
                (true, Some(Rating { elo, error, .. })) if error.is_finite() => {
                    format!("{elo:.0} ± {error:.0}")
                }
                (true, _) => "unknown".into(),
            };
            let [wins, draws, losses] = results.games.map(|n| n.to_string());
            let score = format!("{:.1} %", 100.0 * results.score());
            let cells = [player.name.clone(), results.total().to_string(), wins, draws, losses, score, elo];
            table.add_row(cells);
        }
        for column in 1..7 {
            table.column_mut(column).expect("there are seven").set_cell_alignment(CellAlignment::Right);
        }
        let mut text = format!("{table}\n\n");
        let mut line = |line: String| text.push_str(&(line + "\n"));
        let anchors: Vec<String> = self.anchor.iter().map(|a| format!("{} = {}", a.name, a.elo)).collect();
        line(match anchors.join(", ") {
            anchors if !anchors.is_empty() => {
                format!("Elo by Bradley and Terry's model, {anchors}; ± is 95 %.")
            }
            _ if scale => {
                "Elo by Bradley and Terry's model, the mean of those connected is 0; ± is 95 %.".into()
            }
            _ => "Elo is the difference from the opponent; ± is 95 %.".into(),
        });
        let unconnected = rated.tournament.unconnected();
        if scale && !unconnected.is_empty() {
            line(format!(
                "{} never met {}, not even through others: their ratings cannot be compared.",
                some_of(&unconnected),
                players[0].name
            ));
        }
        let PlayerRecord { name, results, .. } = &players[rated.player];
        let pairs = results.pairs.map(|n| n.to_string()).join(" ");
        let ([wins, draws, losses], estimate) = (results.games, results.estimate());
        line(format!(
            "{name} against {}: +{wins} ={draws} -{losses}, {:.1} %, Elo {estimate}",
            self.opponents(rated),
            100.0 * estimate.score
        ));
        line(format!("pairs by points 0, ½, 1, 1½, 2: {pairs}"));
        let single: u64 = results.single.iter().sum();
        if single > 0 {
            line(format!("games without a partner: {single}"));
        }
        if let Some(sprt) = &self.sprt {
            line(sprt.summary(results));
        }
        for player in players {
            if player.unfinished > 0 {
                line(format!("{}: {} unfinished games are left out", player.name, player.unfinished));
            }
            for (termination, games) in &player.forfeits {
                line(format!("{} lost {games} by: {termination}", player.name));
            }
        }
        text
    }

    fn to_json(&self, rated: &Rated) -> Value {
        let players = &rated.tournament.players;
        let player = |player: &PlayerRecord| {
            let rating = rated.ratings.iter().find(|rating| rating.name == player.name);
            let mut json = described(&player.results);
            json["name"] = json!(player.name);
            json["unfinished"] = json!(player.unfinished);
            json["forfeits"] = json!(player.forfeits);
            json["rating"] = json!(
                rating
                    .filter(|rating| rating.error.is_finite())
                    .map(|rating| json!({ "elo": rating.elo, "error": rating.error }))
            );
            json
        };
        let meetings = rated.tournament.meetings.iter().map(|meeting| {
            let mut json = described(&meeting.results);
            json["first"] = json!(meeting.first);
            json["second"] = json!(meeting.second);
            json
        });
        let own = &players[rated.player];
        let sprt = self.sprt.as_ref().map(|sprt| {
            json!({
                "player": own.name, "elo0": sprt.elo0, "elo1": sprt.elo1, "llr": sprt.llr(&own.results),
                "lower": sprt.bounds().lower, "upper": sprt.bounds().upper, "decision": sprt.decision(&own.results),
            })
        });
        json!({
            "players": players.iter().map(player).collect::<Vec<_>>(),
            "matches": meetings.collect::<Vec<_>>(),
            "anchors": self.anchor.iter().map(|a| json!({ "name": a.name, "elo": a.elo })).collect::<Vec<_>>(),
            "sprt": sprt,
        })
    }
}

/// Infinite numbers become null.
fn described(results: &MatchResults) -> Value {
    let EloEstimate { score, elo, low, high } = results.estimate();
    let [wins, draws, losses] = results.games;
    json!({
        "games": results.total(), "wins": wins, "draws": draws, "losses": losses, "score": score,
        "pairs": results.pairs, "single": results.single.iter().sum::<u64>(),
        "elo": elo, "low": low, "high": high,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: RateArgs,
    }

    /// In three rounds A wins twice against B, draws twice, then wins and loses. A fourth round has no end.
    fn games() -> String {
        let game = |round: u64, white: &str, black: &str, result: &str, termination: &str| {
            format!(
                "[Event \"x\"]\n[Round \"{round}\"]\n[White \"{white}\"]\n[Black \"{black}\"]\n[Result \"{result}\"]\n\
                 [Termination \"{termination}\"]\n\n1. e4 {result}\n\n"
            )
        };
        [
            game(1, "A", "B", "1-0", "normal"),
            game(1, "B", "A", "0-1", "time forfeit"),
            game(2, "A", "B", "1/2-1/2", "normal"),
            game(2, "B", "A", "1/2-1/2", "adjudication"),
            game(3, "A", "B", "1-0", "normal"),
            game(3, "B", "A", "1-0", "normal"),
            game(4, "A", "B", "*", "unterminated"),
        ]
        .concat()
    }

    fn args(more: &[&str]) -> (tempfile::TempDir, RateArgs) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("games.pgn");
        std::fs::write(&file, games()).unwrap();
        let file = file.display().to_string();
        let line = ["rate", &file].into_iter().chain(more.iter().copied());
        let args = Line::try_parse_from(line).map(|line| line.args).unwrap();
        (folder, args)
    }

    #[test]
    fn two_players_are_compared_with_each_other() {
        let (_folder, args) = args(&["--sprt", "0,35"]);
        let rated = args.rated().unwrap();
        let json = args.to_json(&rated);
        let player = &json["players"][0];
        assert_eq!((&player["name"], &player["games"], &player["wins"]), (&json!("A"), &json!(6), &json!(3)));
        // Pairs of 2, 1 and 1 points: mean 2/3, variance (1/9 + 2/36) / 3 = 1/18.
        assert_eq!(player["pairs"], json!([0, 0, 2, 0, 1]));
        assert!((player["elo"].as_f64().unwrap() - 400.0 * 2f64.log10()).abs() < 1e-9);
        let low = 2.0 / 3.0 - 1.959_964 * (1f64 / 54.0).sqrt();
        assert!((player["low"].as_f64().unwrap() - 400.0 * (low / (1.0 - low)).log10()).abs() < 1e-6);
        assert_eq!(
            (&player["unfinished"], &json["players"][1]["forfeits"]["time forfeit"]),
            (&json!(1), &json!(1))
        );
        assert_eq!(json["sprt"]["decision"], "open");
        let text = args.text(&rated);
        assert!(text.contains("| A      |     6 | 3 | 2 | 1 | 66.7 % |"), "{text}");
        assert!(text.contains("pairs by points 0, ½, 1, 1½, 2: 0 0 2 0 1\nundecided: LLR "), "{text}");
        assert!(text.contains("B lost 1 by: time forfeit"), "{text}");
    }

    #[test]
    fn an_anchor_has_the_rating_that_it_is_given() {
        let (_folder, args) = args(&["--anchor", "B=1800", "--player", "B"]);
        let rated = args.rated().unwrap();
        let json = args.to_json(&rated);
        assert_eq!(json["players"][1]["rating"], json!({ "elo": 1800.0, "error": 0.0 }));
        // Four points of six and half a drawn game: 4.25 to 2.25.
        let elo = json["players"][0]["rating"]["elo"].as_f64().unwrap();
        assert!((elo - 1800.0 - 400.0 * (4.25f64 / 2.25).log10()).abs() < 1e-6, "{elo}");
        assert!(args.text(&rated).contains("B against A: +1 =2 -3, 33.3 %"), "{}", args.text(&rated));
        for (more, why) in [
            (["--anchor", "C=1"], "there is no game of C: the players are A, B"),
            (["--player", "C"], "there is no game of C"),
        ] {
            let (_folder, args) = self::args(&more);
            let error = args.rated().err().expect("an error").to_string();
            assert!(error.contains(why), "{error}");
        }
        for bad in [["--anchor", "B"], ["--anchor", "B=x"], ["--sprt", "5,0"]] {
            assert!(Line::try_parse_from(["rate", "x.pgn"].into_iter().chain(bad)).is_err());
        }
    }
}
