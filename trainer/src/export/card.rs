//! What every network file's card says, and how a network file is written.

use std::path::Path;

use engine::eval::{Golden, Network, Schemes};

use crate::files::{make_folder_of, write_file};

/// What differs from one fp32 network's card to another's.
pub struct CardText<'a> {
    /// The network's name.
    pub name: &'a str,
    /// Its family.
    pub family: &'a str,
    /// What it sees and answers.
    pub schemes: Schemes,
    /// How it was made, JSON.
    pub config: &'a str,
    /// Answers that it must give.
    pub golden: &'a [Golden],
}

/// The metadata properties of a network in fp32.
pub fn card(text: &CardText<'_>) -> Vec<(String, String)> {
    let golden = serde_json::to_string(text.golden).expect("numbers and text make JSON");
    let entries = [
        ("format", engine::eval::CARD_FORMAT),
        ("input", text.schemes.input.name()),
        ("policy", text.schemes.policy.name()),
        ("value", text.schemes.value.name()),
        ("name", text.name),
        ("family", text.family),
        ("config", text.config),
        ("precision", "fp32"),
        ("golden", &golden),
    ];
    entries.into_iter().map(|(key, value)| (format!("philidor.{key}"), value.to_owned())).collect()
}

/// Writes the network file `out`, whose bytes `bytes` makes for its name: `name`, or else the file's. Then loads it as
/// the engine does: card, shapes and golden answers are checked.
///
/// # Errors
/// One line: `bytes` fails, the file can't be written, or the engine refuses it.
pub fn write_network(
    out: &Path,
    name: Option<&str>,
    bytes: impl FnOnce(&str) -> Result<Vec<u8>, String>,
) -> Result<Network, String> {
    let stem = out.file_stem().ok_or("--out must name a file")?.to_string_lossy();
    let bytes = bytes(name.unwrap_or(&stem))?;
    make_folder_of(out)?;
    write_file(out, &bytes)?;
    Network::load(out).map_err(|error| error.to_string())
}
