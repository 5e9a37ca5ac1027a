//! One thread reads stdin, another writes stdout.

use std::fmt::Display;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::mem;
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use thiserror::Error;
use web_time::Instant;

use crate::setup::TrafficLog;

/// In bytes; ten times the longest possible game.
pub const LONGEST_LINE: usize = 512 * 1024;

const LONGEST_QUOTE: usize = 400;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputLine {
    /// The clock of a `go` starts here.
    pub at: Instant,
    pub text: Result<String, LineError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LineError {
    #[error("a line of more than {LONGEST_LINE} bytes was skipped")]
    Long,
    #[error("line is not UTF-8")]
    Encoding,
}

pub fn read(input: impl Read + Send + 'static, traffic: TrafficLog) -> Receiver<InputLine> {
    let (sender, receiver) = unbounded();
    thread::spawn(move || {
        let mut input = BufReader::new(input);
        let mut is_first = true;
        while let Some(mut text) = next_line(&mut input) {
            // Windows editors and shells write a byte-order mark.
            if let (Ok(line), true) = (&mut text, mem::take(&mut is_first))
                && line.starts_with('\u{feff}')
            {
                line.remove(0);
            }
            match &text {
                Ok(text) => traffic.note(">>", text),
                Err(error) => traffic.note(">>", &error.to_string()),
            }
            if sender.send(InputLine { at: Instant::now(), text }).is_err() {
                break;
            }
        }
    });
    receiver
}

/// `None` at the end of the input. An overlong line is not stored.
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

/// Passes lines to the output thread, which writes them whole and in order.
#[derive(Clone, Debug)]
pub struct Writer(Sender<OutputItem>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputItem {
    Line(String),
    End,
}

impl Writer {
    pub fn to_channel() -> (Writer, Receiver<OutputItem>) {
        let (sender, lines) = unbounded();
        (Writer(sender), lines)
    }

    pub fn line(&self, line: impl Into<String>) {
        // Fails if stdout is closed.
        let _ = self.0.send(OutputItem::Line(line.into()));
    }

    pub fn backlog(&self) -> usize {
        self.0.len()
    }

    /// Writes an `info string`. Replaces control characters and cuts long texts.
    pub fn say(&self, text: impl Display) {
        self.line(format!("info string {}", one_line(&text.to_string())));
    }
}

fn one_line(text: &str) -> String {
    let clean = |c: char| if c.is_control() { '?' } else { c };
    let mut line: String = text.chars().take(LONGEST_QUOTE).map(clean).collect();
    if text.chars().nth(LONGEST_QUOTE).is_some() {
        line.push_str("...");
    }
    line
}

#[derive(Debug)]
pub struct OutputThread {
    items: Sender<OutputItem>,
    /// Disconnects when nothing can be written any more.
    pub closed: Receiver<()>,
    thread: thread::JoinHandle<io::Result<()>>,
}

impl OutputThread {
    pub fn start(output: impl Write + Send + 'static, traffic: TrafficLog) -> (Writer, OutputThread) {
        let (sender, items) = unbounded();
        let (alive, closed) = bounded(0);
        let thread = thread::spawn(move || {
            let written = write(output, &items, &traffic);
            drop(alive);
            written
        });
        (Writer(sender.clone()), OutputThread { items: sender, closed, thread })
    }

    /// Waits until all earlier lines are written; later lines are lost. A full disk is an error, a reader that has left
    /// is not.
    pub fn finish(self) -> io::Result<()> {
        // Fails only if the thread has ended.
        let _ = self.items.send(OutputItem::End);
        match self.thread.join() {
            Ok(Err(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            Ok(written) => written,
            Err(_) => Err(io::Error::other("the thread that writes it panicked")),
        }
    }
}

fn write(mut output: impl Write, items: &Receiver<OutputItem>, traffic: &TrafficLog) -> io::Result<()> {
    for item in items {
        let OutputItem::Line(line) = item else { break };
        traffic.note("<<", &line);
        writeln!(output, "{line}")?;
        // GUIs wait for every line, but a burst needs one system call.
        if items.is_empty() {
            output.flush()?;
        }
    }
    output.flush()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    fn lines(input: impl Into<Vec<u8>>) -> Vec<Result<String, LineError>> {
        read(io::Cursor::new(input.into()), TrafficLog::default()).iter().map(|line| line.text).collect()
    }

    #[test]
    fn lines_of_every_kind_are_recognised() {
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

    #[derive(Clone, Default)]
    struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

    impl Write for SharedBuffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// An abandoned search may still hold a writer.
    #[test]
    fn everything_sent_is_written_although_a_writer_is_left() {
        let buffer = SharedBuffer::default();
        let (writer, output) = OutputThread::start(buffer.clone(), TrafficLog::default());
        let left = writer.clone();
        (0..1000).for_each(|_| writer.line("bestmove e2e4"));
        output.finish().unwrap();
        left.line("too late");
        assert_eq!(*buffer.0.lock().unwrap(), b"bestmove e2e4\n".repeat(1000));
    }

    #[test]
    fn a_byte_order_mark_before_the_first_line_is_skipped() {
        assert_eq!(lines("\u{feff}uci\nisready"), [Ok("uci".into()), Ok("isready".into())]);
        assert_eq!(lines("uci\n\u{feff}uci"), [Ok("uci".into()), Ok("\u{feff}uci".into())]);
    }

    #[test]
    fn an_output_that_ends_is_noticed_and_only_a_reader_that_left_is_no_failure() {
        struct Ended(ErrorKind);
        impl Write for Ended {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(self.0.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for (kind, is_failure) in [(ErrorKind::BrokenPipe, false), (ErrorKind::StorageFull, true)] {
            let (writer, output) = OutputThread::start(Ended(kind), TrafficLog::default());
            writer.line("readyok");
            assert!(output.closed.recv().is_err());
            writer.line("not received");
            assert_eq!(output.finish().is_err(), is_failure, "{kind}");
        }
    }
}
