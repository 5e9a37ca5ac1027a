use std::cell::RefCell;
use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, bail};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use jiff::Timestamp;
use ureq::Body;

use super::client::{FetchError, HttpClient};
use super::month::Month;
use engine::chess::pgn::game_starts;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// <https://www.chess.com/news/view/published-data-api>
    ChessCom,
    /// <https://lichess.org/api#tag/Games/operation/apiGamesUser>
    Lichess,
}

impl ValueEnum for Site {
    fn value_variants<'a>() -> &'a [Site] {
        &[Site::ChessCom, Site::Lichess]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

impl Site {
    pub fn name(self) -> &'static str {
        match self {
            Site::ChessCom => "chess.com",
            Site::Lichess => "lichess",
        }
    }

    pub fn base_url(self) -> &'static str {
        match self {
            Site::ChessCom => "https://api.chess.com",
            Site::Lichess => "https://lichess.org",
        }
    }

    /// On Lichess only games from `since` on.
    fn url(self, base: &str, user: &str, month: Month, since: Timestamp) -> String {
        match self {
            Site::ChessCom => format!("{base}/pub/player/{user}/games/{}/pgn", month.path()),
            Site::Lichess => format!(
                "{base}/api/games/user/{user}?since={}&until={}&sort=dateAsc&evals=true&opening=true",
                since.as_millisecond(),
                month.next().start().as_millisecond() - 1
            ),
        }
    }

    pub fn lists_months(self) -> bool {
        self == Site::ChessCom
    }

    /// Filters `months` by whether the player played, if the site lists that. An unknown player is a
    /// [`FetchError::Missing`].
    pub fn months_played(
        self,
        client: &mut HttpClient<'_>,
        base: &str,
        user: &str,
        months: Vec<Month>,
    ) -> Result<Vec<Month>, FetchError> {
        if !self.lists_months() {
            return Ok(months);
        }
        let mut played = String::new();
        let url = || format!("{base}/pub/player/{user}/games/archives");
        client.get(url, "application/json", |body| {
            played = body.read_to_string()?;
            Ok(())
        })?;
        Ok(months.into_iter().filter(|month| played.contains(&format!("/{}\"", month.path()))).collect())
    }

    /// Writes a month's games to the file `part` as they arrive. On Lichess, continues after the games in `part`.
    pub fn month(
        self,
        client: &mut HttpClient<'_>,
        base: &str,
        user: &str,
        month: Month,
        part: &Path,
        mut arrived: impl FnMut(usize) -> bool,
    ) -> Result<Vec<u8>, FetchError> {
        let before = if self == Site::Lichess { std::fs::read(part).unwrap_or_default() } else { Vec::new() };
        let text = RefCell::new(complete_games(before));
        let url = || {
            let since = last_moment(&text.borrow()).unwrap_or(month.start());
            self.url(base, user, month, since)
        };
        let fetched = client.get(url, "application/x-chess-pgn", |body| {
            let mut text = text.borrow_mut();
            if self == Site::ChessCom {
                text.clear();
            }
            let received = receive(body, &mut text, part, &mut arrived);
            if received.is_err() {
                *text = complete_games(std::mem::take(&mut text));
            }
            received
        });
        let text = text.into_inner();
        if text.is_empty() {
            // The next download starts from the beginning.
            let _ = std::fs::remove_file(part);
        }
        fetched?;
        Ok(without_duplicates(&text))
    }
}

/// Appends to `text` and rewrites the file `part` with it.
fn receive(
    body: &mut Body,
    text: &mut Vec<u8>,
    part: &Path,
    arrived: &mut impl FnMut(usize) -> bool,
) -> anyhow::Result<()> {
    let unwritable = || format!("cannot write {}", part.display());
    let mut file = File::create(part)
        .and_then(|mut file| file.write_all(text).map(|()| file))
        .with_context(unwritable)?;
    let mut reader = body.as_reader();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = reader.read(&mut buffer).context("the connection was lost")?;
        if read == 0 {
            return Ok(());
        }
        text.extend_from_slice(&buffer[..read]);
        file.write_all(&buffer[..read]).with_context(unwritable)?;
        if !text.trim_ascii_start().starts_with(b"[") {
            text.clear();
            bail!("the response is no PGN");
        }
        if !arrived(read) {
            bail!("interrupted");
        }
    }
}

/// Drops the last game, which may be incomplete.
fn complete_games(mut text: Vec<u8>) -> Vec<u8> {
    let last = game_starts(&text).pop().unwrap_or(0);
    text.truncate(last);
    text
}

fn last_moment(text: &[u8]) -> Option<Timestamp> {
    let last = &text[*game_starts(text).last()?..];
    let date = tag(last, "UTCDate")?.replace('.', "-");
    format!("{date}T{}Z", tag(last, "UTCTime")?).parse().ok()
}

fn tag(game: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(game);
    let start = format!("[{name} \"");
    let value = text.lines().find_map(|line| line.strip_prefix(&start))?;
    Some(value.split('"').next()?.to_owned())
}

/// Identifies games by address, or else by text.
fn without_duplicates(text: &[u8]) -> Vec<u8> {
    let mut starts = game_starts(text);
    starts.push(text.len());
    let mut seen = HashSet::new();
    let games = starts.windows(2).map(|bounds| &text[bounds[0]..bounds[1]]);
    let unseen = games.filter(|game| {
        let address = tag(game, "Site").filter(|site| site.contains("://"));
        seen.insert(address.unwrap_or_else(|| String::from_utf8_lossy(game).trim().to_owned()))
    });
    unseen.flatten().copied().collect()
}
