//! The tables of three and four men: in the program, but in WebAssembly they come later, by [`provide`].

use std::io;
use std::path::{Path, PathBuf};

#[cfg(not(target_family = "wasm"))]
use shakmaty_syzygy::filesystem::OsFilesystem;
use shakmaty_syzygy::filesystem::{Filesystem, RandomAccessFile, ReadHint};

#[cfg(target_family = "wasm")]
pub(super) use self::later::have_come;
#[cfg(target_family = "wasm")]
pub use self::later::provide;
#[cfg(target_family = "wasm")]
use self::no_files::NoFiles as OsFilesystem;

struct BuiltinTable {
    /// As `KRvK`.
    class: &'static str,
    wdl: Content,
    dtz: Content,
}

#[cfg(not(target_family = "wasm"))]
type Content = &'static [u8];

/// The length of the file.
#[cfg(target_family = "wasm")]
type Content = usize;

#[cfg(not(target_family = "wasm"))]
const fn content(bytes: &'static [u8]) -> Content {
    bytes
}

#[cfg(target_family = "wasm")]
const fn content(bytes: &[u8]) -> Content {
    bytes.len()
}

#[cfg(not(target_family = "wasm"))]
pub(super) fn have_come() -> bool {
    true
}

macro_rules! builtin {
    ($($class:literal)*) => {
        &[$(BuiltinTable {
            class: $class,
            wdl: content(include_bytes!(concat!("../../../syzygy/", $class, ".rtbw"))),
            dtz: content(include_bytes!(concat!("../../../syzygy/", $class, ".rtbz"))),
        }),*]
    };
}

static TABLES: &[BuiltinTable] = builtin![
    "KQvK" "KRvK" "KBvK" "KNvK" "KPvK"
    "KQQvK" "KQRvK" "KQBvK" "KQNvK" "KQPvK" "KRRvK" "KRBvK" "KRNvK" "KRPvK"
    "KBBvK" "KBNvK" "KBPvK" "KNNvK" "KNPvK" "KPPvK"
    "KQvKQ" "KQvKR" "KQvKB" "KQvKN" "KQvKP" "KRvKR" "KRvKB" "KRvKN" "KRvKP"
    "KBvKB" "KBvKN" "KBvKP" "KNvKN" "KNvKP" "KPvKP"
];

/// Virtual folder of the built-in tables. The path is relative, so that a real file is unlikely to have it.
const FOLDER: &str = "<built in>";

pub(super) fn count() -> usize {
    TABLES.len()
}

pub(super) fn contains(file: &Path) -> bool {
    let is_table = file.extension().is_some_and(|extension| extension == "rtbw" || extension == "rtbz");
    is_table && file.file_stem().is_some_and(|stem| TABLES.iter().any(|table| stem == table.class))
}

pub(super) fn paths() -> impl Iterator<Item = PathBuf> {
    let path = |class: &str, extension: &str| Path::new(FOLDER).join(class).with_extension(extension);
    TABLES.iter().flat_map(move |table| ["rtbw", "rtbz"].map(|extension| path(table.class, extension)))
}

/// The operating system's files, and the built-in tables under [`paths`].
#[derive(Default)]
pub(super) struct TableFiles(OsFilesystem);

impl TableFiles {
    #[cfg(not(target_family = "wasm"))]
    fn bytes(path: &Path) -> Option<&'static [u8]> {
        TableFiles::content(path)
    }

    #[cfg(target_family = "wasm")]
    fn bytes(path: &Path) -> Option<&'static [u8]> {
        later::bytes(path.strip_prefix(FOLDER).ok()?)
    }

    #[cfg(not(target_family = "wasm"))]
    fn length(path: &Path) -> Option<usize> {
        TableFiles::content(path).map(<[u8]>::len)
    }

    #[cfg(target_family = "wasm")]
    fn length(path: &Path) -> Option<usize> {
        TableFiles::content(path)
    }

    fn content(path: &Path) -> Option<Content> {
        let name = path.strip_prefix(FOLDER).ok()?;
        let table = TABLES.iter().find(|table| name.file_stem().is_some_and(|stem| stem == table.class))?;
        let is_wdl = name.extension().is_some_and(|extension| extension == "rtbw");
        Some(if is_wdl { table.wdl } else { table.dtz })
    }
}

impl Filesystem for TableFiles {
    fn regular_file_size(&self, path: &Path) -> io::Result<u64> {
        match TableFiles::length(path) {
            Some(length) => Ok(length as u64),
            None => self.0.regular_file_size(path),
        }
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.0.read_dir(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>> {
        match TableFiles::bytes(path) {
            Some(bytes) => Ok(Box::new(BuiltinFile(bytes))),
            None => self.0.open(path),
        }
    }
}

#[cfg(target_family = "wasm")]
mod later {
    use std::path::Path;
    use std::sync::OnceLock;

    use super::TABLES;

    static PROVIDED: OnceLock<Vec<u8>> = OnceLock::new();

    /// Takes the tables of three and four men: all files, one after the other, sorted by their names in ASCII. Until then
    /// there are none.
    pub fn provide(files: Vec<u8>) -> Result<(), String> {
        let wanted = places().last().map_or(0, |(_, from, length)| from + length);
        if files.len() != wanted {
            return Err(format!("the endgame tables have {} bytes instead of {wanted}", files.len()));
        }
        PROVIDED.set(files).map_err(|_| "the endgame tables are there already".to_owned())
    }

    pub(in super::super) fn have_come() -> bool {
        PROVIDED.get().is_some()
    }

    pub(super) fn bytes(name: &Path) -> Option<&'static [u8]> {
        let files = PROVIDED.get()?;
        let (_, from, length) = places().into_iter().find(|(file, ..)| name == Path::new(file))?;
        files.get(from..from + length)
    }

    /// The name of each file, where it begins, and its length.
    fn places() -> Vec<(String, usize, usize)> {
        let mut files: Vec<_> = TABLES
            .iter()
            .flat_map(|table| {
                [(format!("{}.rtbw", table.class), table.wdl), (format!("{}.rtbz", table.class), table.dtz)]
            })
            .collect();
        files.sort_unstable();
        let mut next = 0;
        let place = |(name, length): (String, usize)| {
            let from = next;
            next += length;
            (name, from, length)
        };
        files.into_iter().map(place).collect()
    }
}

#[cfg(target_family = "wasm")]
mod no_files {
    use std::io::{self, ErrorKind};
    use std::path::{Path, PathBuf};

    use shakmaty_syzygy::filesystem::{Filesystem, RandomAccessFile};

    /// WebAssembly has no files.
    #[derive(Default)]
    pub struct NoFiles;

    impl Filesystem for NoFiles {
        fn regular_file_size(&self, _: &Path) -> io::Result<u64> {
            Err(ErrorKind::Unsupported.into())
        }

        fn read_dir(&self, _: &Path) -> io::Result<Vec<PathBuf>> {
            Err(ErrorKind::Unsupported.into())
        }

        fn open(&self, _: &Path) -> io::Result<Box<dyn RandomAccessFile>> {
            Err(ErrorKind::Unsupported.into())
        }
    }
}

struct BuiltinFile(&'static [u8]);

impl RandomAccessFile for BuiltinFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64, _: ReadHint) -> io::Result<usize> {
        let from = usize::try_from(offset).ok().and_then(|offset| self.0.get(offset..)).unwrap_or_default();
        let count = from.len().min(buffer.len());
        buffer[..count].copy_from_slice(&from[..count]);
        Ok(count)
    }
}
