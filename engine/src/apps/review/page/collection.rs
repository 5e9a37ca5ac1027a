//! The pages of several games: an index, one page for each game, and a player's exercises.

use std::io::{self, Write};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{
    Escaped, PageTitle, accuracies, anchor, players, result, swing, write_foot, write_game, write_head,
    write_moment, write_subtitle,
};
use crate::apps::review::game_review::{GameReview, ReviewedMove};
use crate::apps::review::judgement::Mark;
use crate::apps::review::player::PlayerReport;
use crate::base::words::counted;

pub const EXERCISES: &str = "exercises.html";
/// The largest errors of a player.
const MOST_EXERCISES: usize = 100;

#[derive(Clone, Copy)]
pub struct Collection<'a> {
    pub title: PageTitle<'a>,
    /// File name of the index.
    pub index: &'a str,
    /// Name of the folder beside the index that has the other pages.
    pub folder: &'a str,
    /// On a player, by name.
    pub report: Option<(&'a str, &'a PlayerReport)>,
    pub reviews: &'a [GameReview<'a>],
}

impl<'a> Collection<'a> {
    /// Of a game's page, numbered from 1.
    pub fn file(number: usize) -> String {
        format!("{number:04}.html")
    }

    pub fn write_index(&self, out: &mut dyn Write) -> io::Result<()> {
        write_head(&format!("Review of {}", self.title.games), out)?;
        write_subtitle(&self.title, self.reviews, out)?;
        if let Some((name, report)) = self.report {
            super::player::write(name, report, out)?;
            let exercises = self.exercises();
            if !exercises.is_empty() {
                let count = counted(exercises.len() as u64, "exercise");
                let address = self.address(EXERCISES);
                writeln!(out, "<p><a href=\"{address}\">{count} from these games</a></p>")?;
            }
        }
        writeln!(
            out,
            "<nav>\n<table>\n<thead><tr><th>Game</th><th>Result</th><th>Accuracy</th><th>??</th></tr></thead>\n\
             <tbody>"
        )?;
        for (index, review) in self.reviews.iter().enumerate() {
            let [white, black] = &review.players;
            writeln!(
                out,
                "<tr><td><a href=\"{}\">{}</a> <small class=\"faint\">{}</small></td><td>{}</td><td>{}</td>\
                 <td>{} – {}</td></tr>",
                self.address(&Self::file(index + 1)),
                Escaped(&players(review.game)),
                Escaped(review.opening.map_or("", |opening| opening.family())),
                result(review.game),
                accuracies(white, black),
                white.blunders,
                black.blunders,
            )?;
        }
        out.write_all(b"</tbody>\n</table>\n</nav>\n")?;
        write_foot(out)
    }

    /// `number` is from 1.
    pub fn write_game(&self, number: usize, out: &mut dyn Write) -> io::Result<()> {
        let review = &self.reviews[number - 1];
        write_head(&format!("Game {number} of {}", self.title.games), out)?;
        write_subtitle(&self.title, std::slice::from_ref(review), out)?;
        let mut links = vec![(self.back(), "All games")];
        if number > 1 {
            links.push((Self::file(number - 1), "Earlier game"));
        }
        if number < self.reviews.len() {
            links.push((Self::file(number + 1), "Next game"));
        }
        let links: Vec<String> =
            links.iter().map(|(address, words)| format!("<a href=\"{address}\">{words}</a>")).collect();
        writeln!(out, "<nav>{}</nav>", links.join(" · "))?;
        write_game(number, review, self.report.is_some(), out)?;
        write_foot(out)
    }

    /// The player's errors as positions to solve, the largest first.
    pub fn write_exercises(&self, out: &mut dyn Write) -> io::Result<()> {
        let exercises = self.exercises();
        let player = self.report.map_or("", |(name, _)| name);
        write_head(&format!("Exercises from games of {player}"), out)?;
        writeln!(
            out,
            "<p class=\"faint\">{}, the largest errors first</p>\n</header>\n<nav><a href=\"{}\">All games</a></nav>\n\
             <div class=\"exercises\">\n<label class=\"hide\"><input type=\"checkbox\" checked> Hide the answers</label>\n\
             <div class=\"moments\">",
            counted(exercises.len() as u64, "position"),
            self.back(),
        )?;
        for (number, played) in exercises {
            let game = players(self.reviews[number - 1].game);
            let address = format!("{}#{}", Self::file(number), anchor(number, played));
            write_moment(number, played, Some((&game, &address)), out)?;
        }
        out.write_all(b"</div>\n</div>\n")?;
        write_foot(out)
    }

    /// With the numbers of their games.
    fn exercises(&self) -> Vec<(usize, &'a ReviewedMove)> {
        let is_large = |played: &&ReviewedMove| {
            played.mark.is_some_and(|mark| mark.is_error() && mark != Mark::Inaccuracy)
        };
        let of_game = |(index, review): (usize, &'a GameReview<'a>)| {
            review.moves.iter().filter(is_large).map(move |played| (index + 1, played))
        };
        let mut errors: Vec<(usize, &'a ReviewedMove)> =
            self.reviews.iter().enumerate().flat_map(of_game).collect();
        errors.sort_by(|(_, a), (_, b)| swing(b).total_cmp(&swing(a)));
        errors.truncate(MOST_EXERCISES);
        errors
    }

    /// Of a page in the folder, from the index.
    fn address(&self, file: &str) -> String {
        format!("{}/{file}", encoded(self.folder))
    }

    /// Of the index, from the folder.
    fn back(&self) -> String {
        format!("../{}", encoded(self.index))
    }
}

fn encoded(name: &str) -> String {
    const SPECIAL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');
    utf8_percent_encode(name, SPECIAL).to_string()
}
