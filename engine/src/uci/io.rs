//! The one reader of stdin and the one writer to stdout, each a thread of its own.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

/// The longest line that is read, in bytes. The longest possible game is a tenth of it.
pub const LONGEST_LINE: usize = 512 * 1024;

/// The most that an `info string` quotes, in characters.
const LONGEST_QUOTE: usize = 400;

/// One line of input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When it was read: a clock runs from there, not from when its turn comes.
    pub at: Instant,
    /// The text, without its end.
    pub text: Result<String, LineError>,
}

/// Why some input is not a line of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineError {
    /// Longer than [`LONGEST_LINE`].
    Long,
    /// Not UTF-8.
    Encoding,
}

impl Display for LineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LineError::Long => write!(f, "line of more than {LONGEST_LINE} bytes left out"),
            LineError::Encoding => f.write_str("line is not UTF-8"),
        }
    }
}

impl std::error::Error for LineError {}

/// Where both directions are written down while `Debug Log File` names a file.
#[derive(Clone, Debug, Default)]
pub struct Traffic(Arc<Mutex<Option<File>>>);

impl Traffic {
    /// Starts a new log at `path`, or ends logging with `None`.
    ///
    /// # Errors
    ///
    /// If the file can't be created; the log that was open before then stays.
    pub fn log_to(&self, path: Option<&Path>) -> io::Result<()> {
        let file = path.map(File::create).transpose()?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = file;
        Ok(())
    }

    fn note(&self, direction: &str, line: &str) {
        if let Some(file) = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            // A full disk must not end a game.
            if let Err(error) = writeln!(file, "{direction} {line}") {
                log::warn!("the log of the UCI traffic can't be written: {error}");
            }
        }
    }
}

/// Reads lines until the input ends; then the channel closes.
pub fn read(input: impl Read + Send + 'static, traffic: Traffic) -> Receiver<Line> {
    let (sender, receiver) = unbounded();
    thread::spawn(move || {
        let mut input = BufReader::new(input);
        while let Some(text) = next_line(&mut input) {
            match &text {
                Ok(text) => traffic.note(">>", text),
                Err(error) => traffic.note(">>", &error.to_string()),
            }
            if sender.send(Line { at: Instant::now(), text }).is_err() {
                break;
            }
        }
    });
    receiver
}

/// The next line, or `None` at the end of the input. What is too long is skipped, not kept.
fn next_line(input: &mut impl BufRead) -> Option<Result<String, LineError>> {
    let mut line = Vec::new();
    let limit = u64::try_from(LONGEST_LINE).unwrap_or(u64::MAX);
    let read = input.by_ref().take(limit).read_until(b'\n', &mut line).ok()?;
    if read == 0 {
        return None;
    }
    if line.last() != Some(&b'\n') && read == LONGEST_LINE {
        input.skip_until(b'\n').ok()?;
        return Some(Err(LineError::Long));
    }
    Some(String::from_utf8(line).map(|text| text.trim_end().to_owned()).map_err(|_| LineError::Encoding))
}

/// The way to stdout, for whoever has something to say; lines come out whole and in order.
#[derive(Clone, Debug)]
pub struct Writer(Sender<String>);

impl Writer {
    /// A writer whose lines a test can read.
    #[cfg(test)]
    pub fn to_channel() -> (Writer, Receiver<String>) {
        let (sender, lines) = unbounded();
        (Writer(sender), lines)
    }

    /// Writes one line.
    pub fn line(&self, line: impl Into<String>) {
        // The writer ends only when stdout is closed; then nobody listens any more.
        let _ = self.0.send(line.into());
    }

    /// Writes one `info string`, on one line whatever the text, and of a bearable length.
    pub fn say(&self, text: impl Display) {
        self.line(format!("info string {}", one_line(&text.to_string())));
    }
}

/// `text` without control characters, cut where it gets unbearable.
fn one_line(text: &str) -> String {
    let clean = |c: char| if c.is_control() { '?' } else { c };
    let mut line: String = text.chars().take(LONGEST_QUOTE).map(clean).collect();
    if text.chars().nth(LONGEST_QUOTE).is_some() {
        line.push_str("...");
    }
    line
}

/// The thread that owns the output.
#[derive(Debug)]
pub struct Output {
    /// Closes when the output does.
    pub closed: Receiver<()>,
    thread: thread::JoinHandle<()>,
}

impl Output {
    /// Starts the writer.
    pub fn start(output: impl Write + Send + 'static, traffic: Traffic) -> (Writer, Output) {
        let (sender, lines) = unbounded();
        let (alive, closed) = bounded(0);
        let thread = thread::spawn(move || {
            if let Err(error) = write(output, &lines, &traffic) {
                log::info!("stdout is closed: {error}");
            }
            drop(alive);
        });
        (Writer(sender), Output { closed, thread })
    }

    /// Waits until everything is written. Every [`Writer`] must be gone by then.
    pub fn finish(self) {
        if self.thread.join().is_err() {
            log::error!("the writer to stdout panicked");
        }
    }
}

fn write(mut output: impl Write, lines: &Receiver<String>, traffic: &Traffic) -> io::Result<()> {
    for line in lines {
        traffic.note("<<", &line);
        writeln!(output, "{line}")?;
        // GUIs wait for every line, but a burst of them needs one system call only.
        if lines.is_empty() {
            output.flush()?;
        }
    }
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: impl Into<Vec<u8>>) -> Vec<Result<String, LineError>> {
        read(io::Cursor::new(input.into()), Traffic::default()).iter().map(|line| line.text).collect()
    }

    #[test]
    fn lines_of_every_kind_are_told_apart() {
        let mut input = b"uci\r\n\nnot \xff text\n".to_vec();
        input.extend(vec![b'x'; 1 << 20]);
        input.extend(b"\nstop\nquit");
        assert_eq!(
            lines(input),
            [
                Ok("uci".into()),
                Ok(String::new()),
                Err(LineError::Encoding),
                Err(LineError::Long),
                Ok("stop".into()),
                Ok("quit".into()),
            ]
        );
        assert_eq!(lines(""), []);
    }

    #[test]
    fn a_line_at_the_limit_is_read_and_one_above_is_not() {
        let at = |length: usize| lines([vec![b'x'; length], b"\nok\n".to_vec()].concat());
        assert_eq!(at(LONGEST_LINE - 1), [Ok("x".repeat(LONGEST_LINE - 1)), Ok("ok".into())]);
        assert_eq!(at(LONGEST_LINE), [Err(LineError::Long), Ok("ok".into())]);
    }

    #[test]
    fn what_is_quoted_stays_on_one_line() {
        assert_eq!(one_line("a\nbestmove e2e4\0"), "a?bestmove e2e4?");
        assert_eq!(one_line(&"é".repeat(1000)).chars().count(), LONGEST_QUOTE + 3);
    }

    #[test]
    fn a_closed_output_is_noticed() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (writer, output) = Output::start(Closed, Traffic::default());
        writer.line("readyok");
        assert!(output.closed.recv().is_err());
        writer.line("nobody listens");
        output.finish();
    }
}
