//! `fetch-games`: a player's games from Chess.com or Lichess.

use std::path::PathBuf;

use clap::Args;

use super::interrupt;
use crate::datagen::fetch::{Fetch, Month, Site};

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
    /// Fetches, and prints a line a month.
    ///
    /// # Errors
    ///
    /// If the site does not know the player or refuses, or a file cannot be written.
    pub fn run(&self) -> Result<(), String> {
        self.fetch().run(&*interrupt::flag()?, &mut |line| println!("{line}"))
    }

    /// What the arguments ask for.
    pub(crate) fn fetch(&self) -> Fetch {
        Fetch {
            site: self.site,
            user: self.user.clone(),
            month: self.month,
            until: self.until,
            out: self.out.clone(),
            contact: self.contact.clone(),
            gap: self.gap,
            tries: self.tries,
            base_url: self.base_url.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_no_paths() {
        for (name, fine) in [("a_b-C9", true), ("../x", false), ("a b", false), ("a?b", false), ("", false)] {
            assert_eq!(super::user(name).is_ok(), fine, "{name}");
        }
    }
}
