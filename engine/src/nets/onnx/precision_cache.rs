use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::timing::PrecisionTiming;
use crate::base::files::{can_write_aside, write_aside};
use crate::nets::eval::Precision;

const VERSION: u32 = 3;

/// A JSON file. An unreadable file counts as empty; without a writable one, the next start measures again. The default
/// has no file.
#[derive(Clone, Debug, Default)]
pub struct PrecisionCache {
    file: Option<PathBuf>,
}

#[derive(Debug, Serialize, Deserialize)]
struct CacheFile {
    version: u32,
    /// By [`key`].
    verdicts: BTreeMap<String, Measurement>,
}

impl Default for CacheFile {
    fn default() -> CacheFile {
        CacheFile { version: VERSION, verdicts: BTreeMap::new() }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Measurement {
    network: String,
    precision: String,
    fp32_ms: f64,
    int8_ms: f64,
}

impl PrecisionCache {
    /// `philidor/precision.json` in `$XDG_CACHE_HOME` or `~/.cache`, on Windows in `%LOCALAPPDATA%`.
    pub fn of_user() -> PrecisionCache {
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let local = || absolute("LOCALAPPDATA").filter(|_| cfg!(windows));
        let cache =
            absolute("XDG_CACHE_HOME").or_else(local).or_else(|| Some(absolute("HOME")?.join(".cache")));
        PrecisionCache { file: cache.map(|cache| cache.join("philidor/precision.json")) }
    }

    pub fn path(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Fails if nothing could be stored.
    pub fn check(&self) -> io::Result<()> {
        let no_folder = || io::Error::other("neither XDG_CACHE_HOME nor HOME names a folder");
        let file = self.file.as_deref().ok_or_else(no_folder)?;
        let named = |error| io::Error::other(format!("{}: {error}", file.display()));
        file.parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| can_write_aside(file))
            .map_err(named)
    }

    /// `file` need not exist.
    pub fn in_file(file: &Path) -> PrecisionCache {
        PrecisionCache { file: Some(file.to_owned()) }
    }

    pub fn recall(&self, key: &str) -> Option<Precision> {
        self.read().verdicts.get(key)?.precision.parse().ok()
    }

    /// Stores the faster precision. Concurrent writers may lose an entry, which is then measured again.
    pub fn remember(&self, key: &str, network: &str, timing: PrecisionTiming) {
        let Some(file) = &self.file else { return };
        let mut contents = self.read();
        let precision = timing.better().name().to_owned();
        let PrecisionTiming { fp32_ms, int8_ms } = timing;
        let entry = Measurement { network: network.to_owned(), precision, fp32_ms, int8_ms };
        contents.verdicts.insert(key.to_owned(), entry);
        if let Err(error) = write(file, &contents) {
            log::info!("the faster precision cannot be stored in {}: {error}", file.display());
        }
    }

    fn read(&self) -> CacheFile {
        let text = self.file.as_ref().and_then(|file| std::fs::read(file).ok());
        let contents = text.and_then(|text| serde_json::from_slice::<CacheFile>(&text).ok());
        contents.filter(|contents| contents.version == VERSION).unwrap_or_default()
    }
}

fn write(file: &Path, contents: &CacheFile) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let bytes = serde_json::to_vec_pretty(contents)?;
    write_aside(file, |out| out.write_all(&bytes))
}

/// Hashes both files, batch size, CPU and runtime. A new release may change the hash and so measure again.
pub fn key(fp32: &[u8], int8: &[u8], batch: usize, runtime: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (fp32, int8, batch, runtime, cpu()).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The CPU's model, as far as the system reports it.
fn cpu() -> String {
    let identifying = ["vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features"];
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let first = cpuinfo.lines().take_while(|line| !line.trim().is_empty());
    let lines = first.filter(|line| identifying.contains(&line.split(':').next().unwrap_or_default().trim()));
    lines.chain([std::env::consts::ARCH, std::env::consts::OS]).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOWER: PrecisionTiming = PrecisionTiming { fp32_ms: 1.0, int8_ms: 2.0 };
    const FASTER: PrecisionTiming = PrecisionTiming { fp32_ms: 3.0, int8_ms: 1.0 };

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let folder = std::env::temp_dir().join(format!("philidor-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn stored_precisions_come_back() {
        let folder = Folder::new("precisions");
        let file = folder.0.join("deep/precision.json");
        let cache = PrecisionCache::in_file(&file);
        cache.check().unwrap();
        assert_eq!(cache.recall("a"), None);
        cache.remember("a", "one", FASTER);
        cache.remember("b", "two", SLOWER);
        let again = PrecisionCache::in_file(&file);
        assert_eq!(again.recall("a"), Some(Precision::Int8));
        assert_eq!(again.recall("b"), Some(Precision::Fp32));
        assert_eq!(again.recall("c"), None);
        again.remember("a", "one", SLOWER);
        assert_eq!(cache.recall("a"), Some(Precision::Fp32), "the newest entry counts");
        assert_eq!(
            std::fs::read_dir(file.parent().unwrap()).unwrap().count(),
            1,
            "no temporary file is left"
        );
    }

    #[test]
    fn a_damaged_file_counts_as_empty_and_is_rewritten() {
        let folder = Folder::new("damaged");
        let file = folder.0.join("precision.json");
        let cache = PrecisionCache::in_file(&file);
        for damage in ["", "{", "[1, 2]", r#"{"version": 9, "verdicts": {}}"#] {
            std::fs::write(&file, damage).unwrap();
            assert_eq!(cache.recall("a"), None, "{damage}");
            cache.remember("a", "one", FASTER);
            assert_eq!(cache.recall("a"), Some(Precision::Int8), "{damage}");
        }
    }

    #[test]
    fn without_a_writable_file_nothing_is_stored_and_nothing_fails() {
        for cache in
            [PrecisionCache::default(), PrecisionCache::in_file(Path::new("/proc/no/such/file.json"))]
        {
            assert!(cache.check().is_err());
            cache.remember("a", "one", FASTER);
            assert_eq!(cache.recall("a"), None);
        }
    }

    #[test]
    fn the_key_depends_on_files_batch_and_runtime() {
        let first = key(b"a", b"b", 8, "1");
        for other in [
            key(b"x", b"b", 8, "1"),
            key(b"a", b"x", 8, "1"),
            key(b"a", b"b", 1, "1"),
            key(b"a", b"b", 8, "2"),
        ] {
            assert_ne!(first, other);
        }
        assert_eq!(first, key(b"a", b"b", 8, "1"));
    }
}
