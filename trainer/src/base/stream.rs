//! Reads standard input, a pipe or another stream in a thread of its own, so that a stop is heard while none of it comes.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::files::STANDARD_INPUT;

/// Whether the program is to end.
pub type Stopping<'a> = &'a (dyn Fn() -> bool + Sync);

const PART_BYTES: usize = 1 << 16;
const PARTS: usize = 16;
/// How late a stop may be heard.
const PATIENCE: Duration = Duration::from_millis(200);

pub struct Stream<'a> {
    parts: Receiver<io::Result<Vec<u8>>>,
    part: Cursor<Vec<u8>>,
    stopping: Stopping<'a>,
}

impl Stream<'_> {
    /// `-` is standard input. A FIFO is opened by the thread too, because that waits for its writer.
    pub fn open<'a>(path: &Path, stopping: Stopping<'a>) -> Stream<'a> {
        let (send, parts) = bounded(PARTS);
        let path: PathBuf = path.to_owned();
        // It ends with the program if nothing comes any more.
        thread::spawn(move || deliver(&path, &send));
        Stream { parts, part: Cursor::default(), stopping }
    }
}

/// Until the end, an error, or the receiver's end.
fn deliver(path: &Path, send: &Sender<io::Result<Vec<u8>>>) {
    let opened: io::Result<Box<dyn Read>> = if path == Path::new(STANDARD_INPUT) {
        Ok(Box::new(io::stdin()))
    } else {
        File::open(path).map(|file| Box::new(file) as Box<dyn Read>)
    };
    let mut buffer = vec![0; PART_BYTES];
    let mut from = match opened {
        Ok(from) => from,
        Err(error) => return drop(send.send(Err(error))),
    };
    loop {
        let part = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => Ok(buffer[..length].to_owned()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let failed = part.is_err();
        if send.send(part).is_err() || failed {
            return;
        }
    }
}

impl Read for Stream<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.part.position() == self.part.get_ref().len() as u64 {
            if (self.stopping)() {
                return Err(io::Error::other("stopped"));
            }
            match self.parts.recv_timeout(PATIENCE) {
                Ok(part) => self.part = Cursor::new(part?),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
        self.part.read(out)
    }
}
