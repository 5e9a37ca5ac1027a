use std::path::Path;

use anyhow::{Context, Result};
use engine::nets::eval::{Golden, Schemes};
use engine::nets::onnx::Network;

use crate::base::files::{make_folder_of, write_file};

pub struct CardFields<'a> {
    pub name: &'a str,
    pub family: &'a str,
    pub schemes: Schemes,
    /// JSON configuration of the training or conversion.
    pub config: &'a str,
    pub golden: &'a [Golden],
}

pub fn card(text: &CardFields<'_>) -> Vec<(String, String)> {
    let golden = serde_json::to_string(text.golden).expect("numbers and text make JSON");
    let entries = [
        ("format", engine::nets::eval::CARD_FORMAT),
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

/// Writes a network file and loads it as the engine does, which checks card, shapes and golden outputs. `bytes` makes
/// the file's contents, given `name` or else the file stem.
pub fn write_network(
    out: &Path,
    name: Option<&str>,
    bytes: impl FnOnce(&str) -> Result<Vec<u8>>,
) -> Result<Network> {
    let stem =
        out.file_stem().with_context(|| format!("{} does not name a file", out.display()))?.to_string_lossy();
    let bytes = bytes(name.unwrap_or(&stem))?;
    make_folder_of(out)?;
    write_file(out, &bytes)?;
    Ok(Network::load(out)?)
}
