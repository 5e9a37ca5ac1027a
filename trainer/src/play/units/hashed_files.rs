//! A content-addressed folder: files are named by hash.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::xxh3_128;

use crate::base::files::{make_folder, write_file};
use crate::base::network::network_file;

/// xxh3-128 in hexadecimal, then `.` and `ending`.
pub fn hash_of(bytes: &[u8], ending: &str) -> String {
    format!("{:032x}.{ending}", xxh3_128(bytes))
}

#[derive(Clone, Debug)]
pub struct HashedFiles {
    folder: PathBuf,
    /// Whether files are stored or only named.
    keeps: bool,
}

impl HashedFiles {
    /// The folder may be missing. Without `keeps`, files get names but are not stored.
    pub fn new(folder: PathBuf, keeps: bool) -> HashedFiles {
        HashedFiles { folder, keeps }
    }

    pub fn add(&self, path: &Path) -> Result<String> {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        self.add_bytes(&bytes, path.extension().and_then(|ending| ending.to_str()).unwrap_or("bin"))
    }

    /// A network file, or the built-in network for the name `embedded`.
    pub fn add_network(&self, name: &Path) -> Result<String> {
        let ending = name.extension().and_then(|ending| ending.to_str()).unwrap_or("onnx");
        self.add_bytes(&network_file(name)?, ending)
    }

    pub fn add_json<T: Serialize>(&self, value: &T) -> Result<String> {
        self.add_bytes(&serde_json::to_vec(value).expect("numbers and text make JSON"), "json")
    }

    fn add_bytes(&self, bytes: &[u8], ending: &str) -> Result<String> {
        let name = hash_of(bytes, ending);
        let path = self.folder.join(&name);
        if self.keeps && !path.exists() {
            make_folder(&self.folder)?;
            write_file(&path, bytes)?;
        }
        Ok(name)
    }

    /// Checks the hash.
    pub fn path(&self, name: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let ending = name.split_once('.').map_or("", |(_, ending)| ending);
        ensure!(
            hash_of(&bytes, ending) == name,
            "{}: damaged: it is {} by its contents",
            path.display(),
            hash_of(&bytes, ending)
        );
        Ok(path)
    }

    pub fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let path = self.path(name)?;
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&bytes).with_context(|| path.display().to_string())
    }

    pub fn keep(&self, names: &std::collections::BTreeSet<&str>) {
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if !entry.file_name().to_str().is_some_and(|name| names.contains(name)) {
                _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_other_contents_than_its_name_says_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let files = HashedFiles::new(folder.path().join("files"), true);
        let name = files.add_json(&[1, 2, 3]).unwrap();
        assert_eq!(files.json::<Vec<u32>>(&name).unwrap(), [1, 2, 3]);
        let source = folder.path().join("a.onnx");
        std::fs::write(&source, "a network").unwrap();
        let network = files.add(&source).unwrap();
        assert!(network.ends_with(".onnx") && files.path(&network).unwrap().exists());
        std::fs::write(folder.path().join("files").join(&network), "another").unwrap();
        assert!(files.path(&network).unwrap_err().to_string().contains("damaged"));
        files.keep(&[name.as_str()].into());
        assert!(files.path(&network).unwrap_err().to_string().starts_with("cannot read"));
        assert!(files.path(&name).is_ok());
        let names_only = HashedFiles::new(folder.path().join("none"), false);
        assert_eq!((names_only.add(&source).unwrap(), folder.path().join("none").exists()), (network, false));
    }
}
