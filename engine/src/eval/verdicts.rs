//! What was found out about networks on this machine, remembered between starts.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::precision::{Precision, Timing};

/// The version of the file.
const VERSION: u32 = 1;

/// Which precision is faster, for each network seen: a small JSON file, or nothing if there is no place for
/// one. What can't be read is not known, and what can't be written is found out again.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    file: Option<PathBuf>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Contents {
    version: u32,
    /// By [`key`].
    verdicts: BTreeMap<String, Entry>,
}

impl Default for Contents {
    fn default() -> Contents {
        Contents { version: VERSION, verdicts: BTreeMap::new() }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    /// For people.
    network: String,
    precision: String,
    fp32_ms: f64,
    int8_ms: f64,
}

impl Verdicts {
    /// The user's: `philidor/precision.json` in `$XDG_CACHE_HOME` or `~/.cache`.
    pub fn of_user() -> Verdicts {
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        Verdicts { file: cache.map(|cache| cache.join("philidor/precision.json")) }
    }

    /// Those in a file of one's own, which need not exist yet.
    pub fn in_file(file: &Path) -> Verdicts {
        Verdicts { file: Some(file.to_owned()) }
    }

    /// What was remembered under this key.
    pub fn recall(&self, key: &str) -> Option<Precision> {
        self.read().verdicts.get(key)?.precision.parse().ok()
    }

    /// Remembers which precision of `network` was faster. Two programs that do so at once may lose one of
    /// the two, which is then measured again.
    pub fn remember(&self, key: &str, network: &str, timing: Timing) {
        let Some(file) = &self.file else { return };
        let mut contents = self.read();
        let precision = timing.better().name().to_owned();
        let Timing { fp32_ms, int8_ms } = timing;
        let entry = Entry { network: network.to_owned(), precision, fp32_ms, int8_ms };
        contents.verdicts.insert(key.to_owned(), entry);
        if let Err(error) = write(file, &contents) {
            log::info!("the faster precision can't be remembered in {}: {error}", file.display());
        }
    }

    fn read(&self) -> Contents {
        let text = self.file.as_ref().and_then(|file| std::fs::read(file).ok());
        let contents = text.and_then(|text| serde_json::from_slice::<Contents>(&text).ok());
        contents.filter(|contents| contents.version == VERSION).unwrap_or_default()
    }
}

fn write(file: &Path, contents: &Contents) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // Aside, so that nobody ever reads half of it.
    let aside = file.with_extension(format!("{}.tmp", std::process::id()));
    std::fs::write(&aside, serde_json::to_vec_pretty(contents)?)?;
    std::fs::rename(&aside, file)
}

/// What a verdict depends on: both files, the CPU, the runtime. A new release of the program may hash them
/// otherwise, and then measures again.
pub fn key(fp32: &[u8], int8: &[u8], runtime: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (fp32, int8, runtime, cpu()).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The kind of CPU, as far as the system tells.
fn cpu() -> String {
    let telling = ["vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features"];
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let first = cpuinfo.lines().take_while(|line| !line.trim().is_empty());
    let lines = first.filter(|line| telling.contains(&line.split(':').next().unwrap_or_default().trim()));
    lines.chain([std::env::consts::ARCH, std::env::consts::OS]).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOWER: Timing = Timing { fp32_ms: 1.0, int8_ms: 2.0 };
    const FASTER: Timing = Timing { fp32_ms: 3.0, int8_ms: 1.0 };

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
    fn verdicts_come_back() {
        let folder = Folder::new("verdicts");
        let file = folder.0.join("deep/precision.json");
        let verdicts = Verdicts::in_file(&file);
        assert_eq!(verdicts.recall("a"), None);
        verdicts.remember("a", "one", FASTER);
        verdicts.remember("b", "two", SLOWER);
        let again = Verdicts::in_file(&file);
        assert_eq!(again.recall("a"), Some(Precision::Int8));
        assert_eq!(again.recall("b"), Some(Precision::Fp32));
        assert_eq!(again.recall("c"), None);
        again.remember("a", "one", SLOWER);
        assert_eq!(verdicts.recall("a"), Some(Precision::Fp32), "the newest counts");
        assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing is left aside");
    }

    #[test]
    fn what_cannot_be_read_is_not_known_and_written_anew() {
        let folder = Folder::new("damaged");
        let file = folder.0.join("precision.json");
        let verdicts = Verdicts::in_file(&file);
        for damage in ["", "{", "[1, 2]", r#"{"version": 9, "verdicts": {}}"#] {
            std::fs::write(&file, damage).unwrap();
            assert_eq!(verdicts.recall("a"), None, "{damage}");
            verdicts.remember("a", "one", FASTER);
            assert_eq!(verdicts.recall("a"), Some(Precision::Int8), "{damage}");
        }
    }

    #[test]
    fn without_a_place_nothing_is_remembered_and_nothing_fails() {
        for verdicts in [Verdicts::default(), Verdicts::in_file(Path::new("/proc/no/such/file.json"))] {
            verdicts.remember("a", "one", FASTER);
            assert_eq!(verdicts.recall("a"), None);
        }
    }

    #[test]
    fn the_key_depends_on_files_and_runtime() {
        let keys = [key(b"a", b"b", "1"), key(b"x", b"b", "1"), key(b"a", b"x", "1"), key(b"a", b"b", "2")];
        assert!((1..4).all(|other| keys[0] != keys[other]));
        assert_eq!(keys[0], key(b"a", b"b", "1"));
    }
}
