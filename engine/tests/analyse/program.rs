//! The built program, asked through two pipes. Nothing sleeps: every wait is for a line, and fails after a generous
//! time.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::schema::Schema;

/// Far more than any wait takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running `philidor analyse`.
pub struct Program {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    schema: Schema,
}

impl Program {
    /// The program with one worker and the evaluator that needs no network.
    pub fn uniform() -> Program {
        Program::with(&["--option", "Backend=uniform", "--option", "Threads=1"])
    }

    /// The program with these arguments.
    pub fn with(arguments: &[&str]) -> Program {
        let mut child = command(arguments).stderr(Stdio::null()).spawn().expect("the program starts");
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
        Program { child, stdin, lines, schema: Schema::of_the_docs() }
    }

    /// Sends a line as it is.
    pub fn send_text(&mut self, text: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(text).and_then(|()| stdin.write_all(b"\n")).expect("the program reads");
    }

    /// Sends a request.
    pub fn send(&mut self, request: &Value) {
        self.schema.check("request", request);
        self.send_text(request.to_string().as_bytes());
    }

    /// The next line, which is as the schema says.
    pub fn line(&mut self) -> Value {
        let line = self.lines.recv_timeout(TIMEOUT).expect("the program answers");
        self.read(&line)
    }

    fn read(&self, line: &str) -> Value {
        let line = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.schema.check("reply", &line);
        line
    }

    /// The next so many lines.
    pub fn take(&mut self, count: usize) -> Vec<Value> {
        (0..count).map(|_| self.line()).collect()
    }

    /// Sends a request and returns the next line.
    pub fn ask(&mut self, request: &Value) -> Value {
        self.send(request);
        self.line()
    }

    /// Sends a line that is wrong, and returns the error.
    pub fn refused(&mut self, line: &str) -> Value {
        self.send_text(line.as_bytes());
        let error = self.line();
        assert!(error["error"].is_string(), "{line}: {error}");
        error
    }

    /// Starts searches that only a request ends. No other goes on meanwhile, and none begins: the third of them waits
    /// for memory, and the others for that.
    pub fn hold(&mut self) {
        let moves = ["e2e4", "e7e5"];
        self.send(&json!({"id": "hold", "moves": moves, "turns": [0, 1, 2], "nodes": 1_000_000_000, "priority": 1_000_000}));
    }

    /// Ends them, and reads what that says.
    pub fn release(&mut self) {
        self.send(&json!({"action": "terminate", "id": "hold"}));
        assert_eq!(self.line(), json!({"action": "terminate", "id": "hold", "stopped": 3}));
        for answer in self.take(3) {
            assert_eq!((&answer["id"], &answer["ended"]), (&json!("hold"), &json!("terminated")));
        }
    }

    /// Ends the input.
    pub fn end_input(&mut self) {
        self.stdin = None;
    }

    /// Ends the input, and returns what is still printed, and how the program ended.
    pub fn close(mut self) -> (Vec<Value>, ExitStatus) {
        self.end_input();
        let mut lines = Vec::new();
        loop {
            match self.lines.recv_timeout(TIMEOUT) {
                Ok(line) => lines.push(self.read(&line)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the program does not end"),
            }
        }
        let status = self.child.wait().expect("the program ends");
        (lines, status)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // A test that failed must not leave a program thinking.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `philidor analyse` with three pipes.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_philidor"));
    command
        .arg("analyse")
        .args(arguments)
        // Keeps its cache apart from that of the user's own engine.
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}
