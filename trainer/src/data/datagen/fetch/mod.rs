//! Downloads a player's games by month, from the public interfaces of Chess.com and Lichess.

mod month;
mod client;
mod site;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{anyhow, ensure};
use engine::base::words::counted;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use jiff::Timestamp;

use self::client::{FetchError, HttpClient, Pause};
use crate::base::files::{make_folder, write_file};
use crate::base::progress::say_regularly;
use engine::chess::pgn::game_starts;

pub use month::Month;
pub use site::Site;

const POLL_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub struct Fetch {
    pub site: Site,
    /// In lower case.
    pub user: String,
    /// First month, in UTC.
    pub month: Month,
    pub until: Option<Month>,
    pub out: PathBuf,
    /// Address at which the site can reach the user.
    pub contact: Option<String>,
    /// Seconds between two requests.
    pub gap: u64,
    pub tries: u32,
    pub base_url: Option<String>,
}

impl Fetch {
    /// `report` receives a line per month.
    pub fn run(&self, stop: &AtomicBool, report: &mut dyn FnMut(String)) -> anyhow::Result<()> {
        self.fetch(&mut |time| wait(time, stop), stop, SystemTime::now(), report)
    }

    fn fetch(
        &self,
        pause: &mut Pause<'_>,
        stop: &AtomicBool,
        now: SystemTime,
        report: &mut dyn FnMut(String),
    ) -> anyhow::Result<()> {
        let months = self.months(now)?;
        make_folder(&self.out)?;
        let (present, missing): (Vec<Month>, Vec<Month>) =
            months.into_iter().partition(|month| is_complete(&self.path(*month), *month));
        present.iter().for_each(|month| report(format!("{}: present", self.path(*month).display())));
        if missing.is_empty() {
            return Ok(());
        }
        let mut name = concat!("philidor-trainer/", env!("CARGO_PKG_VERSION")).to_owned();
        if let Some(contact) = &self.contact {
            name += &format!(" ({contact})");
        }
        let mut client = HttpClient::new(&name, Duration::from_secs(self.gap), self.tries, pause);
        let base = self.base_url.as_deref().unwrap_or(self.site.base_url()).trim_end_matches('/');
        let (site, user) = (self.site.name(), &self.user);
        let no_player = |error| match error {
            FetchError::Missing(_) => anyhow!("{site} has no player {user}"),
            error => error.into(),
        };
        let no_month = |error, month: Month| match error {
            FetchError::Missing(url) if self.site.lists_months() => {
                anyhow!("{site} lists games of {user} in {month}, but does not have them: {url} is not found")
            }
            error => no_player(error),
        };
        let played = self.site.months_played(&mut client, base, user, missing.clone()).map_err(no_player)?;
        for month in missing {
            let path = self.path(month);
            let games = if played.contains(&month) {
                self.fetch_month(&mut client, base, month, &path, stop)
                    .map_err(|error| no_month(error, month))?
            } else {
                0
            };
            let so_far = if month.was_over(now) { "" } else { " so far" };
            report(format!("{}: {}{so_far}", path.display(), counted(games, "game")));
        }
        Ok(())
    }

    fn months(&self, now: SystemTime) -> anyhow::Result<Vec<Month>> {
        let last = self.until.unwrap_or(self.month);
        ensure!(last >= self.month, "--until {last} is before {}", self.month);
        let present = Month::of(Timestamp::try_from(now)?);
        ensure!(last <= present, "{last} has not begun yet");
        Ok(std::iter::successors(Some(self.month), |month| Some(month.next()))
            .take_while(|month| *month <= last)
            .collect())
    }

    fn path(&self, month: Month) -> PathBuf {
        self.out.join(format!("{}-{}-{month}.pgn", self.site.name().replace('.', ""), self.user))
    }

    fn fetch_month(
        &self,
        client: &mut HttpClient<'_>,
        base: &str,
        month: Month,
        path: &Path,
        stop: &AtomicBool,
    ) -> Result<usize, FetchError> {
        let part = path.with_extension("pgn.part");
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner} {msg}: {bytes}, {bytes_per_sec}");
        bar.set_style(style.expect("a valid template"));
        bar.set_message(month.to_string());
        say_regularly(&bar, |bar| {
            format!("{}, {}/s", HumanBytes(bar.position()), HumanBytes(bar.per_sec() as u64))
        });
        let fetched = self.site.month(client, base, &self.user, month, &part, |bytes| {
            bar.inc(bytes as u64);
            !stop.load(Ordering::Relaxed)
        });
        bar.finish_and_clear();
        let text = fetched?;
        let games = if text.trim_ascii().is_empty() { 0 } else { game_starts(&text).len() };
        if games > 0 {
            let unwritable = |error| FetchError::Unwritable(format!("{error:#}"));
            write_file(path, &text).map_err(unwritable)?;
        }
        let _ = std::fs::remove_file(&part);
        Ok(games)
    }
}

/// Whether the file was written after the month's end.
fn is_complete(path: &Path, month: Month) -> bool {
    path.metadata().and_then(|meta| meta.modified()).is_ok_and(|moment| month.was_over(moment))
}

/// Waits; false as soon as `stop` is set.
fn wait(time: Duration, stop: &AtomicBool) -> bool {
    let until = Instant::now() + time;
    while !stop.load(Ordering::Relaxed) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        thread::sleep(left.min(POLL_INTERVAL));
    }
    false
}
