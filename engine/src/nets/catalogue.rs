//! The shipped networks: measured strength and speed, and where they are installed.

use std::path::{Path, PathBuf};

use serde::Deserialize;

pub const EMBEDDED_FILE: &str = "philidor.int8.onnx";

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// Where the speeds were measured.
    pub machine: String,
    /// Strongest first.
    pub networks: Vec<ShippedNetwork>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShippedNetwork {
    pub file: String,
    /// Measured in matches.
    pub strength: String,
    /// Positions per second of a search with one worker.
    pub speed: u64,
}

impl Catalogue {
    /// The embedded `nets/catalogue.json`, which a test parses.
    pub fn shipped() -> Catalogue {
        let text = include_str!("../../../nets/catalogue.json");
        serde_json::from_str(text).expect("the catalogue is sound")
    }

    pub fn named(&self, file: &str) -> Option<&ShippedNetwork> {
        self.networks.iter().find(|network| network.file == file)
    }
}

pub fn find(file: &str) -> Option<PathBuf> {
    folders().into_iter().map(|folder| folder.join(file)).find(|path| path.is_file())
}

/// Folders to search: `nets` beside the program and up to three folders above it, and `../share/philidor/nets`.
pub fn folders() -> Vec<PathBuf> {
    let program = std::env::current_exe().and_then(dunce::canonicalize);
    program.ok().as_deref().and_then(Path::parent).map(folders_of).unwrap_or_default()
}

fn folders_of(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = folder.ancestors().take(4).map(|above| above.join("nets")).collect();
    all.extend(folder.parent().map(|above| above.join("share/philidor/nets")));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_looked_for_where_packages_put_them() {
        for (program, nets) in [
            ("/opt/philidor/bin", "/opt/philidor/nets"),
            ("/usr/bin", "/usr/share/philidor/nets"),
            ("/home/me/philidor/target/release", "/home/me/philidor/nets"),
            ("/home/me/philidor/target/release/deps", "/home/me/philidor/nets"),
            ("/games/Philidor", "/games/Philidor/nets"),
        ] {
            assert!(folders_of(Path::new(program)).contains(&PathBuf::from(nets)), "{program}");
        }
    }
}
