//! A stream of games cut into files.

use std::path::{Path, PathBuf};

use super::{Chunk, ChunkError, write};
use crate::games::Game;

/// Writes games to `FOLDER/NAME-00000.h5`, `NAME-00001.h5`, …, each of about as many positions.
#[derive(Debug)]
pub struct ChunkWriter {
    folder: PathBuf,
    name: String,
    chunk_size: usize,
    current: Chunk,
    written: usize,
}

impl ChunkWriter {
    /// Prepares to write; the folder is made if it isn't there.
    ///
    /// # Errors
    ///
    /// If the folder can't be made, or has files of that name already.
    pub fn new(
        folder: &Path,
        name: &str,
        source: &str,
        chunk_size: usize,
    ) -> Result<ChunkWriter, ChunkError> {
        let unwritable = |path: &Path, why: String| Err(ChunkError::Unwritable(path.to_owned(), why));
        if let Err(error) = std::fs::create_dir_all(folder) {
            return unwritable(folder, error.to_string());
        }
        let writer = ChunkWriter {
            folder: folder.to_owned(),
            name: name.to_owned(),
            chunk_size: chunk_size.max(1),
            current: Chunk::new(source),
            written: 0,
        };
        let first = writer.path(0);
        if first.exists() {
            return unwritable(&first, "it exists; choose another --out or --name, or remove it".into());
        }
        Ok(writer)
    }

    /// Takes a game; writes a file when enough positions have come together.
    ///
    /// # Errors
    ///
    /// If a file can't be written.
    pub fn push(&mut self, game: &Game) -> Result<(), ChunkError> {
        self.current.push(game);
        if self.current.positions() >= self.chunk_size { self.flush() } else { Ok(()) }
    }

    /// Writes the last file, if it has games, and gives the number of files.
    ///
    /// # Errors
    ///
    /// If the file can't be written.
    pub fn finish(mut self) -> Result<usize, ChunkError> {
        if self.current.games() > 0 {
            self.flush()?;
        }
        Ok(self.written)
    }

    fn flush(&mut self) -> Result<(), ChunkError> {
        write(&self.current, &self.path(self.written))?;
        self.written += 1;
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
    use crate::chunks::read;
    use engine::position::PackedMove;

    #[test]
    fn files_are_cut_at_their_size_and_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let game = Game { moves: vec![PackedMove(12 | 28 << 6); 4], ..Game::default() };
        let mut writer = ChunkWriter::new(folder.path(), "x", "test", 10).unwrap();
        (0..7).for_each(|_| writer.push(&game).unwrap());
        assert_eq!(writer.finish(), Ok(3));
        let games: Vec<usize> = (0..3)
            .map(|number| read(&folder.path().join(format!("x-{number:05}.h5"))).unwrap().games())
            .collect();
        assert_eq!(games, [3, 3, 1]);
        assert!(ChunkWriter::new(folder.path(), "x", "test", 10).is_err());
    }
}
