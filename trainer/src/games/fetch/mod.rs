//! A player's games of a month, from the public interfaces of Chess.com and Lichess.

mod month;
mod polite;
mod site;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;

use self::month::Month;
use self::polite::{Client, FetchError, Pause};
use self::site::Site;
use super::blocks::game_starts;
use crate::files::{make_folder, write_file};
use crate::interrupt;

/// How often somebody who waits looks whether he should go on waiting.
const GLANCE: Duration = Duration::from_millis(100);

/// Fetch a player's games of a month as PGN from Chess.com or Lichess, politely
///
/// One request at a time, with pauses; asked to wait (429), it waits. A month that is there isn't fetched again, unless
/// it wasn't over then. Ctrl-C loses nothing; the same line goes on.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  philidor-trainer fetch-games lichess DrNykterstein 2024-05\n  \
    philidor-trainer fetch-games chess.com hikaru 2024-01 --until 2024-06 --contact me@example.org")]
pub struct FetchGamesArgs {
    /// Where from
    site: Site,
    /// The player's name there
    #[arg(value_parser = user)]
    user: String,
    /// The month, in UTC, as 2024-05
    month: Month,
    /// The last month, to fetch several
    #[arg(long)]
    until: Option<Month>,
    /// Folder for the files SITE-USER-MONTH.pgn
    #[arg(long, default_value = "data")]
    out: PathBuf,
    /// An address at which the site can reach you if something is wrong; told to it with each request
    #[arg(long)]
    contact: Option<String>,
    /// Seconds between two requests
    #[arg(long, default_value_t = 1)]
    gap: u64,
    /// How often something is asked for before it is given up
    #[arg(long, default_value_t = 6)]
    tries: u32,
    /// Another server with the same interface
    #[arg(long)]
    base_url: Option<String>,
}

fn user(name: &str) -> Result<String, String> {
    let fine =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if fine { Ok(name.to_lowercase()) } else { Err("names are letters, digits, _ and -".to_owned()) }
}

impl FetchGamesArgs {
    /// Fetches; says what came of each month.
    ///
    /// # Errors
    ///
    /// One line: what the site doesn't know or doesn't give, or what can't be written.
    pub fn run(&self) -> Result<(), String> {
        let stop = interrupt::flag()?;
        self.fetch(&mut |time| wait(time, &stop), &stop, SystemTime::now(), &mut |line| println!("{line}"))
    }

    fn fetch(
        &self,
        pause: &mut Pause<'_>,
        stop: &AtomicBool,
        now: SystemTime,
        say: &mut dyn FnMut(String),
    ) -> Result<(), String> {
        let months = self.months(now)?;
        make_folder(&self.out)?;
        let (there, missing): (Vec<Month>, Vec<Month>) =
            months.into_iter().partition(|month| is_whole(&self.path(*month), *month));
        there.iter().for_each(|month| say(format!("{}: there already", self.path(*month).display())));
        if missing.is_empty() {
            return Ok(());
        }
        let mut name = concat!("philidor-trainer/", env!("CARGO_PKG_VERSION")).to_owned();
        if let Some(contact) = &self.contact {
            name += &format!(" ({contact})");
        }
        let mut client = Client::new(&name, Duration::from_secs(self.gap), self.tries, pause);
        let base = self.base_url.as_deref().unwrap_or(self.site.base_url()).trim_end_matches('/');
        let unknown = |error| match error {
            FetchError::Missing(_) => format!("{} knows no player {}", self.site.name(), self.user),
            error => error.to_string(),
        };
        let played =
            self.site.months_played(&mut client, base, &self.user, missing.clone()).map_err(unknown)?;
        for month in missing {
            let path = self.path(month);
            let games = if played.contains(&month) {
                self.fetch_month(&mut client, base, month, &path, stop).map_err(unknown)?
            } else {
                0
            };
            let so_far = if month.was_over(now) { "" } else { " so far" };
            say(format!("{}: {games} games{so_far}", path.display()));
        }
        Ok(())
    }

    fn months(&self, now: SystemTime) -> Result<Vec<Month>, String> {
        let last = self.until.unwrap_or(self.month);
        if last < self.month {
            return Err(format!("--until {last} is before {}", self.month));
        }
        let present = Timestamp::try_from(now).map(Month::of).map_err(|error| error.to_string())?;
        if last > present {
            return Err(format!("{last} has not begun yet"));
        }
        Ok(std::iter::successors(Some(self.month), |month| Some(month.next()))
            .take_while(|month| *month <= last)
            .collect())
    }

    fn path(&self, month: Month) -> PathBuf {
        self.out.join(format!("{}-{}-{month}.pgn", self.site.name().replace('.', ""), self.user))
    }

    /// Fetches a month's games into a file, and gives their number.
    fn fetch_month(
        &self,
        client: &mut Client<'_>,
        base: &str,
        month: Month,
        path: &Path,
        stop: &AtomicBool,
    ) -> Result<usize, FetchError> {
        let part = path.with_extension("pgn.part");
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner} {msg}: {bytes}, {bytes_per_sec}");
        bar.set_style(style.expect("a fixed template"));
        bar.set_message(month.to_string());
        let fetched = self.site.month(client, base, &self.user, month, &part, |bytes| {
            bar.inc(bytes as u64);
            !stop.load(Ordering::Relaxed)
        });
        bar.finish_and_clear();
        let text = fetched?;
        let games = if text.trim_ascii().is_empty() { 0 } else { game_starts(&text).len() };
        if games > 0 {
            let unwritable = |why| FetchError::Failed { url: path.display().to_string(), why };
            write_file(path, &text).map_err(unwritable)?;
        }
        let _ = std::fs::remove_file(&part);
        Ok(games)
    }
}

/// Whether a file was fetched when the month was over.
fn is_whole(path: &Path, month: Month) -> bool {
    path.metadata().and_then(|meta| meta.modified()).is_ok_and(|moment| month.was_over(moment))
}

/// Waits, but not when `stop` is raised.
fn wait(time: Duration, stop: &AtomicBool) -> bool {
    let until = Instant::now() + time;
    while !stop.load(Ordering::Relaxed) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        thread::sleep(left.min(GLANCE));
    }
    false
}
