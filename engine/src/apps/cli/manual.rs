use std::io;
use std::path::Path;

use clap::Command;
use clap_complete::{Shell, generate_to};
use clap_mangen::Man;

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
    let mut built = command.clone().disable_help_subcommand(true);
    built.build();
    write_pages(&built, &format!("{name} {}", env!("CARGO_PKG_VERSION")), &pages)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        generate_to(shell, &mut command.clone(), &name, &completions)?;
    }
    Ok(())
}

/// A page for the command and one for each of its subcommands, with the program's name and version at the foot.
fn write_pages(command: &Command, program: &str, folder: &Path) -> io::Result<()> {
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        write_pages(subcommand, program, folder)?;
    }
    Man::new(command.clone()).source(program).manual("Philidor").generate_to(folder)?;
    Ok(())
}
