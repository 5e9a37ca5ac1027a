//! An append-only file of finished games that no game file has yet: a save costs only the new games.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use xxhash_rust::xxh3::xxh3_64;

use super::store::PendingGame;
use crate::base::files::write_file;

/// Compressed length (4 bytes) and hash (8).
const HEAD: usize = 12;
const LEVEL: i32 = 3;

/// A save is a length, a hash, and games as zstd-compressed lines of JSON.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// End of the last complete save; later bytes are overwritten.
    end: u64,
}

impl Journal {
    /// The file may be missing. Ignores an incomplete last save.
    pub fn open(path: PathBuf) -> anyhow::Result<(Journal, Vec<PendingGame>)> {
        let mut bytes = Vec::new();
        if path.exists() {
            let read = File::open(&path).and_then(|mut file| file.read_to_end(&mut bytes));
            read.with_context(|| format!("cannot read {}", path.display()))?;
        }
        let (mut games, mut rest) = (Vec::new(), bytes.as_slice());
        while let Some((saved, after)) = first_save(rest) {
            games.extend(saved);
            rest = after;
        }
        let end = (bytes.len() - rest.len()) as u64;
        Ok((Journal { path, end }, games))
    }

    /// Appends lines of [`line()`] and flushes to disk. A failure leaves the journal unchanged.
    pub fn append(&mut self, lines: &[u8]) -> anyhow::Result<()> {
        self.try_append(lines).with_context(|| format!("cannot write {}", self.path.display()))
    }

    fn try_append(&mut self, lines: &[u8]) -> io::Result<()> {
        let save = save(lines)?;
        let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(&self.path)?;
        file.set_len(self.end)?;
        file.seek(SeekFrom::Start(self.end))?;
        file.write_all(&save)?;
        file.sync_all()?;
        self.end += save.len() as u64;
        Ok(())
    }

    /// Removes the file if there are no games. A failure leaves the journal unchanged.
    pub fn replace(&mut self, lines: &[u8]) -> anyhow::Result<()> {
        if lines.is_empty() {
            if self.path.exists() {
                let removed = std::fs::remove_file(&self.path);
                removed.with_context(|| format!("cannot remove {}", self.path.display()))?;
            }
            self.end = 0;
            return Ok(());
        }
        let save = save(lines)?;
        write_file(&self.path, &save)?;
        self.end = save.len() as u64;
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

pub fn line(game: &PendingGame, lines: &mut Vec<u8>) {
    serde_json::to_writer(&mut *lines, game).expect("writing numbers and text to memory succeeds");
    lines.push(b'\n');
}

fn save(lines: &[u8]) -> io::Result<Vec<u8>> {
    let packed = zstd::bulk::compress(lines, LEVEL)?;
    let length = u32::try_from(packed.len()).map_err(io::Error::other)?;
    let mut save = Vec::with_capacity(HEAD + packed.len());
    save.extend_from_slice(&length.to_le_bytes());
    save.extend_from_slice(&xxh3_64(&packed).to_le_bytes());
    save.extend(packed);
    Ok(save)
}

/// Also returns the remaining bytes. `None` if incomplete.
fn first_save(bytes: &[u8]) -> Option<(Vec<PendingGame>, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (hash, rest) = rest.split_first_chunk::<8>()?;
    let (packed, after) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    if xxh3_64(packed) != u64::from_le_bytes(*hash) {
        return None;
    }
    let lines = zstd::stream::decode_all(packed).ok()?;
    let games = serde_json::Deserializer::from_slice(&lines).into_iter().collect::<Result<_, _>>().ok()?;
    Some((games, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(numbers: std::ops::Range<u64>) -> Vec<u8> {
        let mut lines = Vec::new();
        numbers.for_each(|number| line(&PendingGame { number, ..PendingGame::default() }, &mut lines));
        lines
    }

    fn numbers(path: &Path) -> Vec<u64> {
        Journal::open(path.to_owned()).unwrap().1.iter().map(|pending| pending.number).collect()
    }

    #[test]
    fn cut_anywhere_it_holds_the_saves_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.journal");
        let (mut journal, none) = Journal::open(path.clone()).unwrap();
        assert!(none.is_empty());
        journal.append(&lines(0..2)).unwrap();
        let first = std::fs::read(&path).unwrap().len();
        journal.append(&lines(2..5)).unwrap();
        assert_eq!(numbers(&path), [0, 1, 2, 3, 4]);
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let expected: &[u64] = if length < first { &[] } else { &[0, 1] };
            assert_eq!(numbers(&path), expected, "{length} bytes");
        }
        let (mut journal, _) = Journal::open(path.clone()).unwrap();
        journal.append(&lines(7..8)).unwrap();
        assert_eq!(numbers(&path), [0, 1, 7]);
        journal.replace(&lines(9..10)).unwrap();
        journal.append(&lines(10..11)).unwrap();
        assert_eq!(numbers(&path), [9, 10]);
        journal.replace(&[]).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_flipped_bit_ends_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.journal");
        let (mut journal, _) = Journal::open(path.clone()).unwrap();
        journal.append(&lines(0..1)).unwrap();
        journal.append(&lines(1..2)).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        let last = bytes.len() - 3;
        bytes[last] ^= 4;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(numbers(&path), [0]);
    }
}
