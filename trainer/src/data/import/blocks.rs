//! Decompresses files and splits their text into blocks of whole games.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::base::files::is_zstd;
use engine::base::interrupt;
use engine::chess::pgn::{
    TEXT_HEAD, convert_lines, ends_with_result, last_game_start, why_no_text, without_byte_order_mark,
};
use engine::chess::puzzles::PuzzleColumns;
use memchr::{memchr, memchr_iter, memrchr};

use crate::base::files::STANDARD_INPUT;
use crate::base::stream::{Stopping, Stream};

/// Bytes per block: hundreds of games, to amortise the overhead.
const BLOCK_BYTES: usize = 1 << 20;
/// Most bytes of a table's first line.
const LONGEST_HEADER: u64 = 1 << 16;
/// Most bytes of a game, so that a non-PGN file does not fill the memory.
const LONGEST_GAME: usize = 64 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    None,
    Gzip,
    Zstd,
    Bzip2,
}

impl Compression {
    pub fn detect(head: &[u8]) -> Compression {
        match head {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            head if is_zstd(head) => Compression::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Compression::Bzip2,
            _ => Compression::None,
        }
    }
}

/// Why a file in `games/1` is not imported.
pub(super) const GAMES_FILE: &str = "this is HDF5 with games that `import` has written, which are ready for training as \
    they are (\"paths\" of a configuration's sources; `inspect` shows them, `export-pgn` makes PGN of them)";

/// What a file without game text is, by its first bytes.
fn explained(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x89, b'H', b'D', b'F', ..] => Some(
            "this is HDF5, not PGN: `import` reads positions in HDF5 uncompressed and from a file; games that it has \
             written are ready for training",
        ),
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => {
            Some("this is a NumPy array, not PGN: `import` reads such games uncompressed and from a file")
        }
        [b'P', b'K', 3, 4, ..] => Some("this is a zip archive (or NumPy's .npz), not PGN: unpack it first"),
        [b'7', b'z', 0xbc, 0xaf, ..] | [0xfd, b'7', b'z', b'X', b'Z', ..] | [b'R', b'a', b'r', b'!', ..] => {
            Some(
                "this archive is of a kind that is not read here: unpack it, or compress it with gzip, zstd or bzip2",
            )
        }
        _ if Compression::detect(head) == Compression::None => why_no_text(head),
        _ => None,
    }
}

/// Neither a pipe nor standard input, so that it can be read again.
/// Whether it can be read only once.
pub(crate) fn is_stream(path: &Path) -> bool {
    path == Path::new(STANDARD_INPUT) || (path.exists() && !path.is_dir() && !is_regular(path))
}

pub(crate) fn is_regular(path: &Path) -> bool {
    path != Path::new(STANDARD_INPUT) && path.metadata().is_ok_and(|metadata| metadata.is_file())
}

/// `-` is standard input.
pub(crate) fn read_text(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    open(path, Arc::default(), &interrupt::has_come)?.read_to_end(&mut text)?;
    Ok(text)
}

/// Decompresses in one pass, so that pipes work; `-` is standard input. `bytes_read` counts compressed bytes. When
/// `stopping`, the reading of a pipe fails soon.
pub(crate) fn open<'a>(
    path: &Path,
    bytes_read: Arc<AtomicU64>,
    stopping: Stopping<'a>,
) -> io::Result<Box<dyn Read + 'a>> {
    let inner: Box<dyn Read + 'a> =
        if is_regular(path) { Box::new(File::open(path)?) } else { Box::new(Stream::open(path, stopping)) };
    let mut counted = CountingReader { inner, bytes: bytes_read };
    // A pipe may deliver single bytes.
    let mut head = Vec::new();
    let filled = counted.by_ref().take(TEXT_HEAD).read_to_end(&mut head);
    // Reading on fails too, and the games so far are kept.
    if !stopping() {
        filled?;
    }
    if let Some(why) = explained(&head) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    let compression = Compression::detect(&head);
    let reader = BufReader::with_capacity(1 << 18, io::Cursor::new(head).chain(counted));
    Ok(match compression {
        Compression::None => Box::new(reader),
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(reader)),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(reader)),
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(reader)?;
            // The decoder's default limit is 128 MiB, but archives have larger windows.
            decoder.window_log_max(31)?;
            Box::new(decoder)
        }
    })
}

/// Empty for a pipe, which can be read only once. The later reading reports damage.
pub(crate) fn first_line(path: &Path) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    if is_regular(path) {
        let reader = open(path, Arc::default(), &|| false)?;
        _ = BufReader::new(reader.take(LONGEST_HEADER)).read_until(b'\n', &mut line);
        // Of what was compressed.
        if let Some(why) = explained(&line) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
    } else if path != Path::new(STANDARD_INPUT) {
        path.metadata()?;
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextFormat {
    Pgn,
    /// One puzzle per line.
    Puzzles(PuzzleColumns),
}

impl TextFormat {
    pub fn detect(text: &[u8]) -> Result<TextFormat, String> {
        let line = &text[..memchr(b'\n', text).unwrap_or(text.len())];
        let columns = PuzzleColumns::detect(without_byte_order_mark(line))?;
        Ok(columns.map_or(TextFormat::Pgn, TextFormat::Puzzles))
    }

    fn last_start(self, text: &[u8]) -> Option<usize> {
        match self {
            TextFormat::Pgn => last_game_start(text),
            TextFormat::Puzzles(_) => memrchr(b'\n', text).map(|newline| newline + 1),
        }
    }
}

#[derive(Debug)]
pub(crate) struct TextBlock {
    pub file: usize,
    pub format: TextFormat,
    /// From 1.
    pub first_line: u64,
    pub text: Vec<u8>,
}

pub(crate) struct TextBlocks<R> {
    reader: R,
    file: usize,
    next_line: u64,
    rest: Vec<u8>,
    /// Line endings in `rest` are converted up to here.
    converted: usize,
    ended: bool,
    /// Unknown until the first text is read.
    format: Option<TextFormat>,
}

impl<R: Read> TextBlocks<R> {
    pub fn new(reader: R, file: usize) -> TextBlocks<R> {
        TextBlocks { reader, file, next_line: 1, rest: Vec::new(), converted: 0, ended: false, format: None }
    }

    /// The next block, `None` at the end. After an error (unreadable data, a game over 64 MiB) the next call returns
    /// the games before the fault as the last block.
    pub fn next(&mut self) -> io::Result<Option<TextBlock>> {
        let mut wanted = BLOCK_BYTES;
        while !self.ended {
            let missing = wanted.saturating_sub(self.rest.len());
            if missing == 0 {
                match self.format().last_start(&self.rest) {
                    Some(cut) => return Ok(Some(self.cut(cut))),
                    None if self.rest.len() >= LONGEST_GAME => return Err(self.too_long()),
                    None => wanted = 2 * self.rest.len(),
                }
                continue;
            }
            match self.reader.by_ref().take(missing as u64).read_to_end(&mut self.rest) {
                Ok(read) => self.ended = read < missing,
                Err(error) => {
                    self.ended = true;
                    self.convert_lines();
                    return Err(error);
                }
            }
            self.convert_lines();
        }
        let all = self.rest.len();
        Ok((all > 0).then(|| self.cut(all)))
    }

    /// What was read and not returned yet, up to the end of its last complete game.
    pub fn complete_games(&mut self) -> Option<TextBlock> {
        self.ended = true;
        self.convert_lines();
        let is_complete =
            self.rest.ends_with(b"\n") && self.format() == TextFormat::Pgn && ends_with_result(&self.rest);
        let end = if is_complete { self.rest.len() } else { self.format().last_start(&self.rest)? };
        Some(self.cut(end))
    }

    fn convert_lines(&mut self) {
        self.converted += convert_lines(&mut self.rest[self.converted..], self.ended);
    }

    fn too_long(&mut self) -> io::Error {
        self.ended = true;
        self.rest.clear();
        self.converted = 0;
        let (line, limit) = (self.next_line, LONGEST_GAME >> 20);
        let why = format!(
            "the game at line {line} has no end within {limit} MiB, the longest that is read: is this a PGN? Games start at \
             a tag ([Event …]), or at 1. after an empty line"
        );
        io::Error::new(io::ErrorKind::InvalidData, why)
    }

    fn format(&mut self) -> TextFormat {
        *self.format.get_or_insert_with(|| TextFormat::detect(&self.rest).unwrap_or(TextFormat::Pgn))
    }

    fn cut(&mut self, at: usize) -> TextBlock {
        let format = self.format();
        let rest = self.rest.split_off(at);
        self.converted = self.converted.saturating_sub(at);
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

    #[cfg(target_os = "linux")]
    #[test]
    fn a_stop_ends_the_reading_of_an_open_pipe_with_the_complete_games() {
        use std::io::Write;
        use std::os::fd::AsRawFd;
        const GAME: &str = "[Event \"x\"]\n\n1. e4 e5 1-0\n\n";
        let half = &GAME[..20];
        for (written, complete) in [
            (format!("{GAME}{GAME}{half}"), format!("{GAME}{GAME}")),
            (format!("{GAME}{GAME}"), format!("{GAME}{GAME}")),
            (half.to_owned(), String::new()),
            ("rating,fen,moves\n1,x,y\n2,x".to_owned(), "rating,fen,moves\n1,x,y\n".to_owned()),
            (String::new(), String::new()),
        ] {
            let (pipe, mut end) = io::pipe().unwrap();
            end.write_all(written.as_bytes()).unwrap();
            let read = Arc::new(AtomicU64::new(0));
            let stopping = || read.load(Ordering::Relaxed) == written.len() as u64;
            let path = format!("/dev/fd/{}", pipe.as_raw_fd());
            let found = match open(path.as_ref(), read.clone(), &stopping) {
                Ok(reader) => {
                    let mut blocks = TextBlocks::new(reader, 0);
                    assert!(blocks.next().unwrap_err().to_string().contains("stopped"));
                    blocks.complete_games().map_or(Vec::new(), |block| block.text)
                }
                Err(error) => {
                    assert!(error.to_string().contains("stopped"), "{error}");
                    Vec::new()
                }
            };
            assert_eq!(String::from_utf8(found).unwrap(), complete, "{written}");
            drop(end);
        }
    }

    /// Delivers single bytes, as a pipe may.
    struct Slow<R>(R);

    impl<R: Read> Read for Slow<R> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let length = out.len().min(1);
            self.0.read(&mut out[..length])
        }
    }

    #[test]
    fn lines_that_end_with_carriage_returns_are_split_wherever_reads_end() {
        let text = "[Event \"x\"]\r\r1. e4 e5\r1-0\r\r".repeat(3);
        let mut blocks = TextBlocks::new(Slow(text.as_bytes()), 0);
        assert_eq!(blocks.next().unwrap().unwrap().text, text.replace('\r', "\n").into_bytes());
        let text = text.replace('\r', "\r\n");
        let mut blocks = TextBlocks::new(Slow(text.as_bytes()), 0);
        assert_eq!(blocks.next().unwrap().unwrap().text, text.as_bytes());
    }

    #[test]
    fn a_game_without_an_end_is_an_error_that_names_the_limit() {
        let text = io::Cursor::new(b"[Event \"x\"]\n\n1. e4 *\n\n").chain(io::repeat(b'x'));
        let mut blocks = TextBlocks::new(text.take(2 * LONGEST_GAME as u64), 0);
        let mut errors = 0;
        for _ in 0..4 {
            match blocks.next() {
                Ok(block) => assert!(block.is_none() || errors == 0),
                Err(error) => {
                    errors += 1;
                    assert!(error.to_string().contains("no end within 64 MiB"), "{error}");
                }
            }
        }
        assert_eq!(errors, 1);
    }

    #[test]
    fn files_of_other_kinds_are_named_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for (head, words) in [
            (&b"\x89HDF\r\n\x1a\n\0"[..], "ready for training"),
            (b"\x93NUMPY\x01\0", "NumPy array"),
            (b"PK\x03\x04", "unpack it first"),
            (b"\xfd7zXZ\0", "gzip, zstd or bzip2"),
            (b"\xff\xfe[\0", "UTF-16"),
        ] {
            std::fs::write(&path, head).unwrap();
            let error = first_line(&path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(error.to_string().contains(words), "{error}");
        }
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        io::Write::write_all(&mut gz, b"\x93NUMPY\x01\0v\0{}\n").unwrap();
        std::fs::write(&path, gz.finish().unwrap()).unwrap();
        let error = first_line(&path).unwrap_err().to_string();
        assert!(error.contains("uncompressed and from a file"), "{error}");
        std::fs::write(&path, "x").unwrap();
        assert_eq!(read_text(&path).unwrap(), b"x", "shorter than any mark");
    }
}
