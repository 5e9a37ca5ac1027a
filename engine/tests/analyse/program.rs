//! Drives `philidor analyse` and checks all its JSON against the schema.

use std::process::{Command, ExitStatus, Stdio};

use serde_json::{Value, json};

use super::child::ChildProgram;
use super::schema::Schema;

pub struct Program {
    child: ChildProgram,
    schema: Schema,
}

impl Program {
    pub fn uniform() -> Program {
        Program::with(&["--option", "Backend=uniform", "--option", "Threads=1"])
    }

    pub fn with(arguments: &[&str]) -> Program {
        Program { child: ChildProgram::start(&mut command(arguments)), schema: Schema::of_the_docs() }
    }

    pub fn send_text(&mut self, text: &[u8]) {
        self.child.send(&[text, b"\n"].concat());
    }

    pub fn send(&mut self, request: &Value) {
        self.schema.check("request", request);
        self.send_text(request.to_string().as_bytes());
    }

    pub fn line(&mut self) -> Value {
        let line = self.child.line();
        read(&self.schema, &line)
    }

    pub fn take(&mut self, count: usize) -> Vec<Value> {
        (0..count).map(|_| self.line()).collect()
    }

    pub fn ask(&mut self, request: &Value) -> Value {
        self.send(request);
        self.line()
    }

    pub fn refused(&mut self, line: &str) -> Value {
        self.send_text(line.as_bytes());
        let error = self.line();
        assert!(error["error"].is_string(), "{line}: {error}");
        error
    }

    /// Starts three endless searches that keep all others from running: the third waits for memory and holds up those
    /// behind it.
    pub fn hold(&mut self) {
        let moves = ["e2e4", "e7e5"];
        self.send(&json!({"id": "hold", "moves": moves, "turns": [0, 1, 2], "nodes": 1_000_000_000, "priority": 1_000_000}));
    }

    pub fn release(&mut self) {
        self.send(&json!({"action": "terminate", "id": "hold"}));
        assert_eq!(self.line(), json!({"action": "terminate", "id": "hold", "stopped": 3}));
        for answer in self.take(3) {
            assert_eq!((&answer["id"], &answer["ended"]), (&json!("hold"), &json!("terminated")));
        }
    }

    pub fn close(self) -> (Vec<Value>, ExitStatus) {
        let (lines, status) = self.child.close();
        (lines.iter().map(|line| read(&self.schema, line)).collect(), status)
    }
}

fn read(schema: &Schema, line: &str) -> Value {
    let reply = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    schema.check("reply", &reply);
    reply
}

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
