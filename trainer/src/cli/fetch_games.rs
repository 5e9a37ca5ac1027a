use std::path::PathBuf;

use anyhow::ensure;
use clap::Args;

use super::interrupt;
use crate::data::datagen::fetch::{Fetch, Month, Site};

/// Fetch a player's games of a month as PGN from Chess.com or Lichess, within their rate limits
///
/// Sends one request at a time, with pauses, and waits if the server asks for it (429). Skips a month whose file was
/// written after the month's end. Ctrl-C loses nothing; the same command continues.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  philidor-trainer fetch-games lichess DrNykterstein 2024-05\n  \
    philidor-trainer fetch-games chess.com hikaru 2024-01 --until 2024-06 --contact me@example.org")]
pub struct FetchGamesArgs {
    /// The site
    site: Site,
    /// The player's name on the site
    #[arg(value_parser = user)]
    user: String,
    /// The month in UTC, such as 2024-05
    month: Month,
    /// The last month, to fetch several
    #[arg(long)]
    until: Option<Month>,
    /// Folder for the files SITE-USER-MONTH.pgn
    #[arg(long, default_value = "data")]
    out: PathBuf,
    /// An address at which the site can reach you in case of trouble; sent with each request
    #[arg(long)]
    contact: Option<String>,
    /// Seconds between two requests
    #[arg(long, default_value_t = 1)]
    gap: u64,
    /// Attempts before a request is given up
    #[arg(long, default_value_t = 6)]
    tries: u32,
    /// Base address of another server with the same interface
    #[arg(long)]
    base_url: Option<String>,
}

fn user(name: &str) -> anyhow::Result<String> {
    let valid =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    ensure!(valid, "names consist of letters, digits, _ and -");
    Ok(name.to_lowercase())
}

impl FetchGamesArgs {
    pub fn run(&self) -> anyhow::Result<()> {
        self.request().run(&*interrupt::flag()?, &mut |line| say!("{line}"))
    }

    fn request(&self) -> Fetch {
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
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: FetchGamesArgs,
    }

    #[test]
    fn arguments_become_a_request() {
        let words = "fetch-games chess.com SomeBody 2024-04 --until 2024-06 --gap 3 --tries 2";
        let request = Cli::try_parse_from(words.split(' ')).unwrap().args.request();
        assert_eq!((request.site, request.user.as_str()), (Site::ChessCom, "somebody"));
        assert_eq!((request.gap, request.tries), (3, 2));
        assert_eq!(request.until.map(|month| month.to_string()), Some("2024-06".to_owned()));
    }

    #[test]
    fn names_are_no_paths() {
        for (name, valid) in [("a_b-C9", true), ("../x", false), ("a b", false), ("a?b", false), ("", false)]
        {
            assert_eq!(user(name).is_ok(), valid, "{name}");
        }
    }
}
