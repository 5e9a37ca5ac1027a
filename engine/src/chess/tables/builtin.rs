//! The built-in tables of three and four men.

use std::io;
use std::path::{Path, PathBuf};

#[cfg(not(target_family = "wasm"))]
use shakmaty_syzygy::filesystem::OsFilesystem;
use shakmaty_syzygy::filesystem::{Filesystem, RandomAccessFile, ReadHint};

#[cfg(target_family = "wasm")]
use self::no_files::NoFiles as OsFilesystem;

struct BuiltinTable {
    /// As `KRvK`.
    class: &'static str,
    wdl: &'static [u8],
    dtz: &'static [u8],
}

macro_rules! builtin {
    ($($class:literal)*) => {
        &[$(BuiltinTable {
            class: $class,
            wdl: include_bytes!(concat!("../../../syzygy/", $class, ".rtbw")),
            dtz: include_bytes!(concat!("../../../syzygy/", $class, ".rtbz")),
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
    fn bytes(path: &Path) -> Option<&'static [u8]> {
        let name = path.strip_prefix(FOLDER).ok()?;
        let table = TABLES.iter().find(|table| name.file_stem().is_some_and(|stem| stem == table.class))?;
        let is_wdl = name.extension().is_some_and(|extension| extension == "rtbw");
        Some(if is_wdl { table.wdl } else { table.dtz })
    }
}

impl Filesystem for TableFiles {
    fn regular_file_size(&self, path: &Path) -> io::Result<u64> {
        match TableFiles::bytes(path) {
            Some(bytes) => Ok(bytes.len() as u64),
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
