use std::path::Path;
use std::sync::Arc;

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

/// Loads a network as the engine does, which checks card, shapes and golden outputs, then writes its file: a refused one
/// leaves the file that was there. `bytes` makes the contents, given `name` or else the file stem.
pub fn write_network(
    out: &Path,
    name: Option<&str>,
    bytes: impl FnOnce(&str) -> Result<Vec<u8>>,
) -> Result<Network> {
    let stem =
        out.file_stem().with_context(|| format!("{} does not name a file", out.display()))?.to_string_lossy();
    let bytes: Arc<[u8]> = bytes(name.unwrap_or(&stem))?.into();
    let network = Network::read(Arc::clone(&bytes), out)?;
    make_folder_of(out)?;
    write_file(out, &bytes)?;
    Ok(network)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_network_leaves_the_file_that_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("net.onnx");
        std::fs::write(&out, "earlier").unwrap();
        let error = write_network(&out, None, |name| Ok(name.into())).err().unwrap().to_string();
        assert!(error.contains(&out.display().to_string()), "{error}");
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "earlier");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
