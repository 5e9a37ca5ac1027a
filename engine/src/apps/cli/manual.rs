use std::io;
use std::path::Path;

use clap::Command;
use clap_complete::{Shell, generate_to};

/// Writes `man1/` and `completions/` (bash, zsh, fish). Creates the folder if missing.
pub fn write(command: Command, folder: &Path) -> io::Result<()> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", folder.display()));
    write_into(command, folder).map_err(named)
}

fn write_into(command: Command, folder: &Path) -> io::Result<()> {
    let name = command.get_name().to_owned();
    let command = match command.get_version() {
        Some(_) => command,
        // A program with its own `--version` option has no version for clap.
        None => command.version(env!("CARGO_PKG_VERSION")).disable_version_flag(true),
    };
    let (pages, completions) = (folder.join("man1"), folder.join("completions"));
    std::fs::create_dir_all(&pages)?;
    std::fs::create_dir_all(&completions)?;
    clap_mangen::generate_to(command.clone(), &pages)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        generate_to(shell, &mut command.clone(), &name, &completions)?;
    }
    Ok(())
}
