//! Files as blocks of whole games: decompressed, split between games, lines counted.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::chess::pgn::{last_game_start, without_byte_order_mark};
use memchr::{memchr, memchr_iter, memrchr};

use super::puzzles::PuzzleColumns;

/// Bytes of text in a block: some hundred games, so that the cost per block does not matter.
const BLOCK_BYTES: usize = 1 << 20;
/// Bytes of the longest first line of a table.
const LONGEST_HEADER: u64 = 1 << 16;
/// A block without a boundary between games is split here, so that a file that is no PGN does not fill the memory.
const LONGEST_GAME: usize = 64 << 20;

/// How a file is compressed, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Text.
    None,
    /// .gz
    Gzip,
    /// .zst
    Zstd,
    /// .bz2
    Bzip2,
}

impl Compression {
    /// The compression of a file that begins with these bytes.
    pub fn detect(head: &[u8]) -> Compression {
        match head {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Compression::Bzip2,
            _ => Compression::None,
        }
    }
}

/// Opens a file and decompresses it; `bytes_read` counts the compressed bytes that are read.
pub(crate) fn open(path: &Path, bytes_read: Arc<AtomicU64>) -> io::Result<Box<dyn Read>> {
    let counted = CountingReader { inner: File::open(path)?, bytes: bytes_read };
    let mut reader = BufReader::with_capacity(1 << 18, counted);
    Ok(match Compression::detect(reader.fill_buf()?) {
        Compression::None => Box::new(reader),
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(reader)),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(reader)),
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(reader)?;
            // Archives are compressed with windows beyond the decoder's default limit of 128 MiB.
            decoder.window_log_max(31)?;
            Box::new(decoder)
        }
    })
}

/// The first line of a file, as far as it can be decompressed.
///
/// # Errors
///
/// If the file cannot be opened.
pub(crate) fn first_line(path: &Path) -> io::Result<Vec<u8>> {
    File::open(path)?;
    let mut line = Vec::new();
    // Files that are damaged here are reported when they are read.
    if let Ok(reader) = open(path, Arc::default()) {
        _ = BufReader::new(reader.take(LONGEST_HEADER)).read_until(b'\n', &mut line);
    }
    Ok(line)
}

struct CountingReader<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(out)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// The format of a file's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextFormat {
    /// Games in PGN.
    Pgn,
    /// A table of puzzles, one per line.
    Puzzles(PuzzleColumns),
}

impl TextFormat {
    /// The format of a file that begins with `text`.
    ///
    /// # Errors
    ///
    /// If it is a table of puzzles with unknown columns.
    pub fn detect(text: &[u8]) -> Result<TextFormat, String> {
        let line = &text[..memchr(b'\n', text).unwrap_or(text.len())];
        let columns = PuzzleColumns::detect(without_byte_order_mark(line))?;
        Ok(columns.map_or(TextFormat::Pgn, TextFormat::Puzzles))
    }

    /// The last offset at which a text can be split so that both parts hold whole games.
    fn last_start(self, text: &[u8]) -> Option<usize> {
        match self {
            TextFormat::Pgn => last_game_start(text),
            TextFormat::Puzzles(_) => memrchr(b'\n', text).map(|newline| newline + 1),
        }
    }
}

/// Whole games with their place in a file.
#[derive(Debug)]
pub(crate) struct TextBlock {
    /// The index of the file.
    pub file: usize,
    pub format: TextFormat,
    /// The line number of the first line, from 1.
    pub first_line: u64,
    pub text: Vec<u8>,
}

/// Splits one file into blocks.
pub(crate) struct TextBlocks<R> {
    reader: R,
    file: usize,
    next_line: u64,
    rest: Vec<u8>,
    ended: bool,
    /// Unknown until the first text has been read.
    format: Option<TextFormat>,
}

impl<R: Read> TextBlocks<R> {
    pub fn new(reader: R, file: usize) -> TextBlocks<R> {
        TextBlocks { reader, file, next_line: 1, rest: Vec::new(), ended: false, format: None }
    }

    /// The next block, `None` at the end of the file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or decompressed. The next call then returns what was read before as the last
    /// block: all complete games of a truncated archive are read.
    pub fn next(&mut self) -> io::Result<Option<TextBlock>> {
        let mut wanted = BLOCK_BYTES;
        while !self.ended {
            let missing = wanted.saturating_sub(self.rest.len());
            if missing == 0 {
                match self.format().last_start(&self.rest) {
                    Some(cut) => return Ok(Some(self.cut(cut))),
                    None if self.rest.len() >= LONGEST_GAME => break,
                    None => wanted = 2 * self.rest.len(),
                }
                continue;
            }
            match self.reader.by_ref().take(missing as u64).read_to_end(&mut self.rest) {
                Ok(read) => self.ended = read < missing,
                Err(error) => {
                    self.ended = true;
                    return Err(error);
                }
            }
        }
        let all = self.rest.len();
        Ok((all > 0).then(|| self.cut(all)))
    }

    fn format(&mut self) -> TextFormat {
        *self.format.get_or_insert_with(|| TextFormat::detect(&self.rest).unwrap_or(TextFormat::Pgn))
    }

    fn cut(&mut self, at: usize) -> TextBlock {
        let format = self.format();
        let rest = self.rest.split_off(at);
        let text = std::mem::replace(&mut self.rest, rest);
        let first_line = self.next_line;
        self.next_line += memchr_iter(b'\n', &text).count() as u64;
        TextBlock { file: self.file, format, first_line, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_whole_games_and_count_lines() {
        let game = "[Event \"x\"]\n[White \"y\"]\n\n1. e4 e5 2. Nf3 Nc6\n3. Bb5 a6 1-0\n\n";
        let text = game.repeat(2 * BLOCK_BYTES / game.len());
        let mut blocks = TextBlocks::new(text.as_bytes(), 3);
        let (mut line, mut total) = (1, 0);
        let mut count = 0;
        while let Some(block) = blocks.next().unwrap() {
            assert_eq!((block.file, block.first_line), (3, line));
            assert_eq!(block.text.len() % game.len(), 0, "whole games");
            line += memchr_iter(b'\n', &block.text).count() as u64;
            total += block.text.len();
            count += 1;
        }
        assert_eq!(total, text.len());
        assert!(count >= 2);
    }

    #[test]
    fn the_games_of_a_truncated_archive_are_read() {
        let text = "[Event \"x\"]\n\n1. e4 e5 1-0\n\n".repeat(10_000);
        let packed = zstd::encode_all(text.as_bytes(), 1).unwrap();
        let reader = zstd::stream::read::Decoder::new(&packed[..packed.len() - 6]).unwrap();
        let mut blocks = TextBlocks::new(reader, 0);
        assert!(blocks.next().is_err());
        assert!(blocks.next().unwrap().is_some_and(|block| !block.text.is_empty()));
        assert!(blocks.next().unwrap().is_none());
    }
}
