//! The Universal Chess Interface: text to commands and back, options, the session that a GUI talks
//! to.
//!
//! A line travels so: `io::read` (a thread that owns stdin) → [`run`] → [`command::parse`] →
//! [`session::Session`], which starts a search and gives it a [`watch::Watcher`]; that one writes
//! `info` lines and stops the search in time; the end comes back through a channel to the session,
//! which answers `bestmove`. All output goes through one [`io::Writer`] to the one thread that owns
//! stdout, so no line of a search can follow its `bestmove`.
//!
//! What UCI leaves open: a bad line is answered with one `info string` and changes nothing. During a
//! search `go`, `setoption`, `ucinewgame` and `eval` are refused in the same way; `position` is
//! accepted and holds for the next `go`. `go` without any limit ends when there is nothing left to
//! search. The end of the input is a `stop` and a `quit`.
//!
//! Nothing in this room may bring a game to an end by a panic.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod command;
pub mod go;
pub mod strength;
pub mod settings;
pub mod options;
mod table;
pub mod io;
pub mod info;
pub mod stats;
pub mod watch;
pub mod ledger;
mod answer;
mod brain;
mod library;
mod show;
pub mod session;

use std::io::{Read, Write};

use crossbeam_channel::select;

use self::io::{Output, Traffic};
use self::session::{Flow, Session};

/// Talks to a GUI until it says `quit`, its end of the input closes, or nobody reads the output.
///
/// A search that runs then is stopped and its `bestmove` written; when this returns, all workers
/// have ended and everything is written.
pub fn run(input: impl Read + Send + 'static, output: impl Write + Send + 'static) {
    let traffic = Traffic::default();
    let (writer, output) = Output::start(output, traffic.clone());
    let lines = io::read(input, traffic.clone());
    let mut session = Session::new(writer, traffic);
    loop {
        select! {
            recv(lines) -> line => match line {
                Ok(line) => if session.line(&line) == Flow::Quit { break },
                Err(_) => break,
            },
            recv(session.finished()) -> finished => session.finish(finished.ok()),
            recv(output.closed) -> _ => break,
        }
    }
    session.close();
    output.finish();
}
