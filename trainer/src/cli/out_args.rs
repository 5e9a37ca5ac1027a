//! Where commands that make games write them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::datagen::DatagenSummary;
use crate::dataset::StoreOptions;

/// Where the games go.
#[derive(Args, Debug)]
pub struct OutArgs {
    /// Folder for the files of games
    #[arg(long, default_value = "data")]
    pub out: PathBuf,
    /// Positions a file, about
    #[arg(long, default_value_t = 1_000_000)]
    pub chunk_size: usize,
    /// Seconds after which what is finished is written
    #[arg(long, default_value_t = 60)]
    pub save_every: u64,
    /// Go on with what was begun with the same arguments
    #[arg(long)]
    pub resume: bool,
}

impl OutArgs {
    /// The same for a [`Store`](crate::dataset::Store).
    pub fn options(&self) -> StoreOptions {
        let (folder, chunk_size) = (self.out.clone(), self.chunk_size);
        StoreOptions {
            folder,
            chunk_size,
            save_every: Duration::from_secs(self.save_every),
            resume: self.resume,
        }
    }
}

/// Prints what a command that made the files `PATH-*.h5` came to.
pub(super) fn report(harvest: DatagenSummary, path: &Path) {
    println!("{} games in {} files: {}-*.h5", harvest.games, harvest.files, path.display());
    if harvest.stopped {
        println!("stopped before the end; nothing is lost: the same command with --resume continues");
    }
}
