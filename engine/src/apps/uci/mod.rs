//! The Universal Chess Interface: commands, and the session with a GUI.
//!
//! The path of a line: [`io::read`](crate::apps::io::read) (a thread that owns stdin) → [`run`] → [`command::parse`] →
//! [`session::Session`], which starts a search with an [`observer::UciObserver`]. The observer writes `info` lines and stops
//! the search in time; the end of the search comes back to the session, which writes `bestmove`. All output goes to the one
//! thread that owns stdout, so no line of a search can follow its `bestmove`.
//!
//! Where the protocol leaves a choice, see `docs/uci.md`.
//!
//! A panic must not end a game: this module denies everything that can panic.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod command;
pub mod go;
pub mod info;
pub mod stats;
pub mod observer;
mod made_move;
pub mod overhead;
mod reply;
mod running;
mod show;
mod tree_view;
pub mod session;

use std::io::{self, Read, Write};
use std::ops::ControlFlow;

use crossbeam_channel::select;
use thiserror::Error;

use self::session::Session;
use crate::apps::io::{OutputThread, read};
use crate::setup::{LoadError, TrafficLog};

/// Why a session ended before its `quit`.
#[derive(Debug, Error)]
pub enum UciError {
    /// The network that was chosen cannot be used when `isready` or `go` needs it; with `Backend uniform` none is.
    #[error(transparent)]
    Network(#[from] LoadError),
    #[error("stdout: {0}")]
    Output(io::Error),
}

/// Runs a session until `quit`, the end of the input, or until the output is closed. `uci` lists the options for tuning
/// if `lists_tuning`.
///
/// A running search is then stopped and its `bestmove` written. When this returns, everything is written; workers,
/// tree and network are left to the end of the process, which frees them at once.
pub fn run(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    lists_tuning: bool,
) -> Result<(), UciError> {
    let traffic = TrafficLog::default();
    let (writer, output) = OutputThread::start(output, traffic.clone());
    let lines = read(input, traffic.clone());
    let mut session = Session::new(writer, traffic, lists_tuning);
    let result = loop {
        select! {
            recv(lines) -> line => match line {
                Ok(line) => if let ControlFlow::Break(result) = session.line(&line) { break result },
                Err(_) => break Ok(()),
            },
            recv(session.finished()) -> finished => session.finish(finished.ok()),
            recv(output.closed) -> _ => break Ok(()),
        }
    };
    session.close();
    let written = output.finish();
    // Dropping a large tree, joining workers and closing sessions would take a tenth of a second and more.
    std::mem::forget(session);
    result?;
    written.map_err(UciError::Output)
}
