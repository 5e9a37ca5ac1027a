use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;

use super::interrupt;
use crate::base::files::{check_output, file_name, make_folder_of, write_with};
use crate::play::units::{HashedFiles, Unit, UnitTask};

/// Do one unit of work of `rl --inbox`, `annotate --inbox` or `compare --inbox`: games of self-play, pairs of a match,
/// or labels
///
/// Uses one thread. The files that the unit names by hash are read from --files and checked; with the same files every
/// machine writes the same bytes. Kinds: self-play, arena, annotate, match. The result is written under a temporary
/// name and renamed.
#[derive(Args, Debug)]
#[command(after_help = "Example, with a unit of runs/inbox/wanted.json:\n  \
    philidor-trainer work unit.json --files runs/inbox/files --out result.h5")]
pub struct WorkArgs {
    /// The unit (JSON)
    unit: PathBuf,
    /// File for the result
    #[arg(long)]
    out: PathBuf,
    /// Folder with the files that the unit names [default: `files` beside the unit]
    #[arg(long)]
    files: Option<PathBuf>,
}

impl WorkArgs {
    pub fn run(&self) -> Result<()> {
        let unit = Unit::read(&self.unit)?;
        // Until here a signal ends the program: the unit may be a pipe.
        let stop = interrupt::flag()?;
        let beside = || self.unit.parent().unwrap_or(Path::new("")).join("files");
        let files = HashedFiles::new(self.files.clone().unwrap_or_else(beside), false);
        let task = UnitTask::load(&unit, &files).with_context(|| unit.name())?;
        make_folder_of(&self.out)?;
        check_output(&self.out, [&self.unit])?;
        // In the result's folder, which has room for the games.
        let folder =
            self.out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let aside =
            tempfile::Builder::new().prefix(&format!(".{}.", file_name(&self.out))).tempdir_in(folder)?;
        let bar = task.progress(&unit)?;
        let Some(file) = task.finish(&unit, aside.path(), &bar, &stop).with_context(|| unit.name())? else {
            bail!("stopped; there is no result");
        };
        write_with(&self.out, |out| Ok(std::io::copy(&mut File::open(&file)?, out.as_file_mut())?))?;
        say!("{}", unit.name());
        Ok(())
    }
}
