//! `philidor net`. A file's [`FileCard`] is read without ONNX Runtime; [`check`] makes every usable runtime reproduce
//! the golden answers.

mod check;

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::nets::card_file::{CardReadError, FileCard};
use crate::nets::catalogue::{self, Catalogue, ShippedNetwork};
use crate::nets::sparse::SparseNetwork;
use crate::setup::{LoadError, locate};

const EMBEDDED: &str = "<embedded>";

#[derive(Clone, Debug, clap::Subcommand)]
pub enum NetCommand {
    /// List the shipped networks with their path, measured strength and speed
    #[command(after_help = "Example: philidor net list")]
    List,
    /// Show the card of a network file: name, family, schemes, size, training
    #[command(after_help = "Example: philidor net info nets/resnet.int8.onnx")]
    Info {
        /// Network file [default: the embedded network]
        file: Option<PathBuf>,
        /// Print the training configuration too
        #[arg(long)]
        config: bool,
    },
    /// Check that every runtime for a network file reproduces its golden answers
    #[command(after_help = "Example: philidor net check nets/resnet.int8.onnx")]
    Check {
        /// Network file [default: the embedded network]
        file: Option<PathBuf>,
    },
}

#[derive(Debug, Error)]
pub enum NetCommandError {
    #[error("{path}: {1}", path = .0.display())]
    File(PathBuf, io::Error),
    #[error("{path}: {1}", path = .0.display())]
    Card(PathBuf, CardReadError),
    #[error("{path}: {1}", path = .0.display())]
    Check(PathBuf, String),
    #[error(transparent)]
    Missing(#[from] LoadError),
    #[error("{0}")]
    Output(#[from] io::Error),
}

pub fn run(command: &NetCommand, out: &mut impl Write) -> Result<(), NetCommandError> {
    match command {
        NetCommand::List => list(&Catalogue::shipped(), out)?,
        NetCommand::Info { file, config } => {
            let (name, bytes) = read(file.as_deref())?;
            let card = FileCard::read(&bytes).map_err(|error| NetCommandError::Card(name.clone(), error))?;
            write!(out, "{}", info(&name, &card, *config))?;
        }
        NetCommand::Check { file } => {
            let (name, bytes) = read(file.as_deref())?;
            let card = FileCard::read(&bytes).map_err(|error| NetCommandError::Card(name.clone(), error))?;
            writeln!(out, "{}: {}", name.display(), card.name)?;
            let failed = |why| NetCommandError::Check(name.clone(), why);
            check::check(&bytes, &card, file.as_ref().map(|_| name.as_path()), out).map_err(failed)?;
        }
    }
    Ok(())
}

/// Name and content; `None` is the embedded network.
fn read(file: Option<&Path>) -> Result<(PathBuf, Vec<u8>), NetCommandError> {
    let Some(file) = file else { return Ok((EMBEDDED.into(), SparseNetwork::embedded_file().to_vec())) };
    // A pipe can be read, too.
    let file = if file.exists() && !file.is_dir() { file.to_owned() } else { locate(file)? };
    let bytes = std::fs::read(&file).map_err(|error| NetCommandError::File(file.clone(), error))?;
    Ok((file, bytes))
}

fn list(catalogue: &Catalogue, out: &mut impl Write) -> io::Result<()> {
    for ShippedNetwork { file, strength, speed } in &catalogue.networks {
        let embedded = file == catalogue::EMBEDDED_FILE;
        let place = match catalogue::find(file) {
            Some(path) => path.display().to_string(),
            None if embedded => "in the program".to_owned(),
            None => "not installed".to_owned(),
        };
        let note = if embedded { "; the default, inside the program" } else { "" };
        writeln!(out, "{file}{note}")?;
        writeln!(out, "  file:     {place}")?;
        writeln!(out, "  strength: {strength}")?;
        writeln!(out, "  speed:    {speed} positions/s in a search with one worker")?;
    }
    writeln!(out, "Measured on {}. `philidor doctor` measures this machine.", catalogue.machine)
}

fn info(name: &Path, card: &FileCard, config: bool) -> String {
    let mut text = String::new();
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(text, "{key:<12}{value}");
    };
    line("file", &format!("{}, {:.1} MB", name.display(), card.bytes as f64 / 1e6));
    line("name", &card.name);
    line("family", &card.family);
    line("precision", &card.precision);
    line("input", &card.input);
    line("policy", &card.policy);
    line("value", &card.value);
    line("weights", &format!("{} numbers", card.parameters));
    line("golden", &format!("{} positions", card.golden));
    line("runs in", if card.is_sparse() { "our kernels, ONNX Runtime" } else { "ONNX Runtime" });
    let catalogue = Catalogue::shipped();
    let file = name.file_name().unwrap_or_default().to_string_lossy();
    let file = if name == Path::new(EMBEDDED) { catalogue::EMBEDDED_FILE } else { &file };
    if let Some(shipped) = catalogue.named(file) {
        line("strength", &shipped.strength);
    }
    if config {
        line("config", &card.config);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(name: &str) -> PathBuf {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../nets")).join(name)
    }

    fn said(command: &NetCommand) -> Result<String, String> {
        let mut text = Vec::new();
        run(command, &mut text).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(text).unwrap())
    }

    #[test]
    fn the_list_has_every_shipped_network_and_the_cards_are_read_without_onnx_runtime() {
        let catalogue = Catalogue::shipped();
        let listed = said(&NetCommand::List).unwrap();
        let files = std::fs::read_dir(net("")).unwrap().map(|entry| entry.unwrap().file_name());
        let mut files: Vec<String> =
            files.map(|name| name.into_string().unwrap()).filter(|name| name.ends_with(".onnx")).collect();
        files.sort();
        let mut known: Vec<String> = catalogue.networks.iter().map(|net| net.file.clone()).collect();
        known.sort();
        assert_eq!(files, known);
        for file in &files {
            assert!(listed.contains(file.as_str()), "{listed}");
            let info = said(&NetCommand::Info { file: Some(net(file)), config: false }).unwrap();
            assert!(info.contains("golden") && info.contains("strength"), "{info}");
        }
        let info = said(&NetCommand::Info { file: None, config: true }).unwrap();
        assert!(info.contains("family      sparse\n") && info.contains("\nconfig "), "{info}");
        let embedded = catalogue.networks.iter().find(|net| net.file == "philidor.int8.onnx").unwrap();
        assert!(info.contains("\nweights     7") && info.contains(&embedded.strength), "{info}");
    }

    #[test]
    fn a_sound_network_passes_and_a_damaged_one_is_refused() {
        let passed = said(&NetCommand::Check { file: None }).unwrap();
        assert!(passed.lines().any(|line| line.contains("our kernels")), "{passed}");
        let path = std::env::temp_dir().join(format!("philidor-net-{}.onnx", std::process::id()));
        // Other weights, same golden answers.
        let mut bytes = SparseNetwork::embedded_file().to_vec();
        let inside_a_tensor = bytes.len() / 4;
        bytes[inside_a_tensor..inside_a_tensor + 500_000].fill(0);
        std::fs::write(&path, bytes).unwrap();
        let refused = said(&NetCommand::Check { file: Some(path.clone()) }).unwrap_err();
        assert!(refused.contains("golden"), "{refused}");
        std::fs::write(&path, b"nothing").unwrap();
        let refused = said(&NetCommand::Info { file: Some(path.clone()), config: false }).unwrap_err();
        assert!(refused.contains(&path.display().to_string()), "{refused}");
        std::fs::remove_file(&path).unwrap();
    }
}
