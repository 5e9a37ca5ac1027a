//! The built program, driven as a GUI does.

use std::process::{Command, ExitStatus};

use super::child::ChildProgram;

pub struct Program {
    child: ChildProgram,
}

impl Program {
    pub fn start() -> Program {
        Program::start_with(&mut Command::new(env!("CARGO_BIN_EXE_philidor")))
    }

    /// Starts with the uniform evaluator, so that answers do not depend on the network.
    pub fn uniform() -> Program {
        let mut program = Program::start();
        program.send("setoption name Backend value uniform");
        program
    }

    pub fn start_with(command: &mut Command) -> Program {
        Program { child: ChildProgram::start(command) }
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.child.send(bytes);
    }

    pub fn send(&mut self, lines: &str) {
        self.send_bytes(format!("{lines}\n").as_bytes());
    }

    pub fn line(&mut self) -> String {
        self.child.line()
    }

    pub fn until(&mut self, start: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            lines.push(self.line());
            if lines.last().is_some_and(|line| line.starts_with(start)) {
                return lines;
            }
            assert!(lines.len() < 100_000, "no {start}");
        }
    }

    /// Returns the output before `readyok`.
    pub fn answer(&mut self, lines: &str) -> Vec<String> {
        self.send(lines);
        self.send("isready");
        let mut answer = self.until("readyok");
        answer.pop();
        answer
    }

    pub fn search(&mut self, position: &str, go: &str) -> Search {
        self.send(position);
        self.send(go);
        Search { lines: self.until("bestmove") }
    }

    pub fn close(self) -> (Vec<String>, ExitStatus) {
        self.child.close()
    }
}

pub struct Search {
    /// The `bestmove` is last.
    pub lines: Vec<String>,
}

impl Search {
    pub fn best(&self) -> &str {
        let bestmove = self.lines.last().expect("there is a bestmove");
        bestmove.split(' ').nth(1).expect("there is a move")
    }

    pub fn ponder(&self) -> Option<&str> {
        self.lines.last().and_then(|line| line.split_once(" ponder ")).map(|(_, reply)| reply)
    }

    pub fn infos(&self) -> Vec<&str> {
        let is_info = |line: &&str| line.starts_with("info ") && !line.starts_with("info string");
        self.lines.iter().map(String::as_str).filter(is_info).collect()
    }

    pub fn last(&self) -> &str {
        self.infos().last().expect("there is an info")
    }

    pub fn field(&self, key: &str) -> Option<&str> {
        field(self.last(), key)
    }
}

pub fn field<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split(' ').skip_while(|word| *word != key).nth(1)
}

pub fn number(line: &str, key: &str) -> i64 {
    let text = field(line, key).unwrap_or_else(|| panic!("no {key} in {line}"));
    text.parse().unwrap_or_else(|_| panic!("{key} {text} is no whole number"))
}
