//! Arguments of the commands that generate games.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use engine::base::words::counted;

use crate::config::bounds::MAX_SECONDS;
use crate::data::datagen::DatagenSummary;
use crate::data::dataset::StoreOptions;

pub(super) const MAX_CHUNK_SIZE: u64 = 100_000_000;

#[derive(Args, Debug)]
pub struct OutArgs {
    /// Folder for the files of games
    #[arg(long, default_value = "data")]
    pub out: PathBuf,
    /// Approximate positions per file
    #[arg(long, default_value_t = 1_000_000, value_parser = count(1..=MAX_CHUNK_SIZE))]
    pub chunk_size: usize,
    /// Seconds between saves of finished games
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(..=MAX_SECONDS))]
    pub save_every: u64,
    /// Continue an interrupted run with the same arguments
    #[arg(long)]
    pub resume: bool,
}

impl OutArgs {
    pub fn options(&self) -> StoreOptions {
        let (folder, chunk_size) = (self.out.clone(), self.chunk_size);
        StoreOptions {
            folder,
            chunk_size,
            save_every: Duration::from_secs(self.save_every),
            resume: self.resume,
            numbers: 0..u64::MAX,
        }
    }
}

pub(super) fn count(range: RangeInclusive<u64>) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(range)
}

/// Of files, before their number.
pub(super) fn file_stem(text: &str) -> Result<String, String> {
    match text.is_empty() || text.contains(std::path::is_separator) {
        true => Err("a name, not a path: --out is the folder".to_owned()),
        false => Ok(text.to_owned()),
    }
}

pub(super) fn report(summary: DatagenSummary, path: &Path) {
    let (games, files) = (counted(summary.games, "game"), counted(summary.files, "file"));
    say!("{games} in {files}: {}-*.h5", path.display());
    if summary.waiting > 0 {
        let games = counted(summary.waiting, "finished game");
        say!("{games} more in {}.json, until all earlier ones are finished", path.display());
    }
    if summary.stopped {
        say!("stopped before the end; nothing is lost: the same command with --resume continues");
    }
}
