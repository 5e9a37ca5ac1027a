//! The lines of [`io::read`](crate::apps::io::read) pass through [`run`] and [`command::parse`] to a
//! [`session::Session`]. An [`observer::UciObserver`] writes the `info` lines of a search and stops it in time; the
//! session writes `bestmove`. One thread owns stdout, so no `info` of a search can follow its `bestmove`. Choices that
//! the protocol leaves open are in `docs/uci.md`.
//!
//! A panic must not end a game, so lints deny everything that can panic.

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

#[derive(Debug, Error)]
pub enum UciError {
    #[error(transparent)]
    Network(#[from] LoadError),
    #[error("stdout: {0}")]
    Output(io::Error),
}

/// Returns at `quit`, at the end of the input, or if the output is closed. A running search then writes its `bestmove`.
/// `uci` lists the tuning options if `lists_tuning`.
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
    // Dropping the session takes 0.1 s or more; the end of the process frees its memory at once.
    std::mem::forget(session);
    result?;
    written.map_err(UciError::Output)
}
