use std::path::{Path, PathBuf};

use super::chunk::Chunk;
use super::hdf5_file::{ChunkError, read, write};
use crate::base::lock::{InUse, Lock};
use crate::data::record::GameRecord;

/// Writes games to `FOLDER/NAME-00000.h5`, `NAME-00001.h5`, …, each of about `chunk_size` positions.
#[derive(Debug)]
pub struct ChunkWriter {
    folder: PathBuf,
    name: String,
    chunk_size: usize,
    current: Chunk,
    written: usize,
    /// Games of `current` that are in its file.
    saved: usize,
    _lock: Lock,
}

impl ChunkWriter {
    /// Creates the folder if needed. Existing files of that name are an error.
    pub fn new(
        folder: &Path,
        name: &str,
        source: &str,
        chunk_size: usize,
    ) -> Result<ChunkWriter, ChunkError> {
        let writer = ChunkWriter::locked(folder, name, source, chunk_size)?;
        let first = writer.path(0);
        if first.exists() {
            let why = "it exists; choose another --out or --name, or remove it";
            return Err(ChunkError::Unwritable(first, why.into()));
        }
        Ok(writer)
    }

    /// Takes the lock `FOLDER/NAME.lock`.
    fn locked(folder: &Path, name: &str, source: &str, chunk_size: usize) -> Result<ChunkWriter, ChunkError> {
        std::fs::create_dir_all(folder).map_err(|error| {
            let why =
                if folder.is_file() { "it is a file: name a folder".to_owned() } else { error.to_string() };
            ChunkError::Unwritable(folder.to_owned(), why)
        })?;
        let path = folder.join(format!("{name}.lock"));
        let lock = Lock::take(&path).map_err(|error| match error.downcast::<InUse>() {
            Ok(in_use) => ChunkError::InUse(in_use),
            Err(error) => ChunkError::Unwritable(path, error.root_cause().to_string()),
        })?;
        Ok(ChunkWriter {
            folder: folder.to_owned(),
            name: name.to_owned(),
            chunk_size: chunk_size.max(1),
            current: Chunk::new(source),
            written: 0,
            saved: 0,
            _lock: lock,
        })
    }

    /// Continues existing files, filling the last first, or starts new files. Also returns the number of existing
    /// games.
    pub fn resume(
        folder: &Path,
        name: &str,
        source: &str,
        chunk_size: usize,
    ) -> Result<(ChunkWriter, u64), ChunkError> {
        let mut writer = ChunkWriter::locked(folder, name, source, chunk_size)?;
        let (mut games, chunk_size) = (0, writer.chunk_size);
        while writer.path(writer.written).exists() {
            let chunk = read(&writer.path(writer.written))?;
            games += chunk.games() as u64;
            if chunk.positions() < chunk_size && !writer.path(writer.written + 1).exists() {
                (writer.saved, writer.current) = (chunk.games(), chunk);
                return Ok((writer, games));
            }
            writer.written += 1;
        }
        Ok((writer, games))
    }

    /// The current file still takes further games.
    pub fn save(&mut self) -> Result<(), ChunkError> {
        if self.current.games() > self.saved {
            write(&self.current, &self.path(self.written))?;
            self.saved = self.current.games();
        }
        Ok(())
    }

    /// Games in the current file, and those not yet saved.
    pub fn saved_and_new(&self) -> [usize; 2] {
        [self.saved, self.current.games() - self.saved]
    }

    pub fn push(&mut self, game: &GameRecord) -> Result<(), ChunkError> {
        self.current.push(game);
        if self.current.positions() >= self.chunk_size { self.flush() } else { Ok(()) }
    }

    /// Returns the number of files.
    pub fn finish(mut self) -> Result<usize, ChunkError> {
        self.save()?;
        Ok(self.written + usize::from(self.current.games() > 0))
    }

    fn flush(&mut self) -> Result<(), ChunkError> {
        self.save()?;
        self.written += 1;
        self.saved = 0;
        self.current = Chunk::new(&self.current.source);
        Ok(())
    }

    fn path(&self, number: usize) -> PathBuf {
        self.folder.join(format!("{}-{number:05}.h5", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::dataset::hdf5_file::read;
    use engine::chess::position::PackedMove;

    #[test]
    fn files_are_split_by_size_and_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let game = GameRecord { moves: vec![PackedMove(12 | 28 << 6); 4], ..GameRecord::default() };
        let mut writer = ChunkWriter::new(folder.path(), "x", "test", 10).unwrap();
        (0..7).for_each(|_| writer.push(&game).unwrap());
        assert_eq!(writer.finish(), Ok(3));
        let games: Vec<usize> = (0..3)
            .map(|number| read(&folder.path().join(format!("x-{number:05}.h5"))).unwrap().games())
            .collect();
        assert_eq!(games, [3, 3, 1]);
        assert!(ChunkWriter::new(folder.path(), "x", "test", 10).is_err());
    }

    #[test]
    fn one_process_writes_files_of_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let new = |name: &str| ChunkWriter::new(folder.path(), name, "test", 10);
        let first = new("x").unwrap();
        let refused = [
            new("x").unwrap_err(),
            ChunkWriter::resume(folder.path(), "x", "test", 10).map(|_| ()).unwrap_err(),
        ];
        for error in refused {
            let text = error.to_string();
            assert!(text.contains("x is in use by process") && text.contains(" on "), "{text}");
        }
        new("y").unwrap();
        drop(first);
        assert!(!folder.path().join("x.lock").exists());
        // A killed process's lock file still names the process, but the system released the lock.
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        std::fs::write(folder.path().join("x.lock"), format!("process 4194305 on {host}")).unwrap();
        if !host.is_empty() {
            new("x").unwrap();
        }
    }

    #[test]
    fn a_file_that_is_not_full_is_continued() {
        let folder = tempfile::tempdir().unwrap();
        let game = |elo| GameRecord {
            moves: vec![PackedMove(12 | 28 << 6); 4],
            white_elo: elo,
            ..GameRecord::default()
        };
        let resume = || ChunkWriter::resume(folder.path(), "x", "test", 10).unwrap();
        for (before, elo) in (1..=7).enumerate() {
            let (mut writer, games) = resume();
            assert_eq!(games, before as u64);
            writer.push(&game(elo)).unwrap();
            writer.save().unwrap();
        }
        let chunks: Vec<Chunk> =
            (0..3).map(|number| read(&folder.path().join(format!("x-{number:05}.h5"))).unwrap()).collect();
        assert_eq!(chunks.iter().map(Chunk::games).collect::<Vec<_>>(), [3, 3, 1]);
        let elos =
            chunks.iter().flat_map(|chunk| (0..chunk.games()).map(|index| chunk.game(index).white_elo));
        assert_eq!(elos.collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(resume().0.finish(), Ok(3));
    }
}
