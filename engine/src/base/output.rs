//! The stdout of a command whose reader may leave: `philidor perft 6 | head -1`.

use std::io::{self, ErrorKind, Write};

use clap::Parser;

/// Like clap's `parse`, but ends with status 1 and a message if the help or version that was asked for cannot be
/// printed. A reader that closed the pipe is no failure.
pub fn parse_arguments<P: Parser>() -> P {
    P::try_parse().unwrap_or_else(|answer| {
        let printed = answer.print().and_then(|()| io::stdout().flush());
        std::process::exit(match printed {
            Err(error) if error.kind() != ErrorKind::BrokenPipe && !answer.use_stderr() => {
                eprintln!("{}: cannot print to the standard output: {error}", P::command().get_name());
                1
            }
            _ => answer.exit_code(),
        })
    })
}

/// Remembers whether the reader has closed its end: the write error that follows is no failure.
#[derive(Debug)]
pub struct CommandOutput<W> {
    inner: W,
    is_closed: bool,
}

impl<W: Write> CommandOutput<W> {
    pub fn new(inner: W) -> CommandOutput<W> {
        CommandOutput { inner, is_closed: false }
    }

    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        self.is_closed |= result.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe);
        result
    }
}

impl<W: Write> Write for CommandOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes);
        self.note(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.inner.flush();
        self.note(flushed)
    }
}
