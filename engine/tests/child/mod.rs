//! A child process driven through pipes. Every wait is for a line; nothing sleeps.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Far more than any wait takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

pub struct ChildProgram {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl ChildProgram {
    /// Discards stderr.
    pub fn start(command: &mut Command) -> ChildProgram {
        let mut child = command
            // Keeps its cache apart from that of the user's own engine.
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                if sender.send(line.expect("stdout is text")).is_err() {
                    break;
                }
            }
        });
        ChildProgram { child, stdin, lines }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("the program reads");
    }

    pub fn line(&mut self) -> String {
        self.lines.recv_timeout(TIMEOUT).expect("the program answers")
    }

    pub fn end_input(&mut self) {
        self.stdin = None;
    }

    pub fn close(mut self) -> (Vec<String>, ExitStatus) {
        self.end_input();
        let mut lines = Vec::new();
        loop {
            match self.lines.recv_timeout(TIMEOUT) {
                Ok(line) => lines.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the program does not end"),
            }
        }
        let status = self.child.wait().expect("the program ends");
        (lines, status)
    }
}

impl Drop for ChildProgram {
    fn drop(&mut self) {
        // A failed test must not leave a program running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
