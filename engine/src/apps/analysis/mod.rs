//! `philidor analyse`: JSON lines in and out (`docs/analysis.md`). The lines of [`io::read`](crate::apps::io::read)
//! pass through [`request::parse`] to a [`session::AnalysisSession`], which queues positions and searches them on one
//! [`MultiPool`](crate::search::MultiPool). An [`AnswerWriter`](observer::AnswerWriter) writes a search's intermediate
//! answers.
//!
//! Every position of an accepted query gets exactly one final answer. Running searches share the memory of `Hash`.

pub mod config;
pub mod fields;
pub mod request;
pub mod answer;
pub mod observer;
pub mod queue;
pub mod session;

use std::io::{Read, Write};
use std::time::Instant;

use crossbeam_channel::{never, select};

use self::config::{AnalyseConfig, AnalyseError};
use self::session::AnalysisSession;
use crate::apps::io::{OutputThread, read};
use crate::setup::{SetupError, TrafficLog};

/// Returns when everything is answered after the end of the input, or when the output is closed.
pub fn run(
    config: &AnalyseConfig,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), AnalyseError> {
    let traffic = TrafficLog::default();
    let engine = config.engine(&traffic)?;
    let (writer, output) = OutputThread::start(output, traffic.clone());
    let mut session = AnalysisSession::new(engine, config.nodes, writer).map_err(SetupError::Network)?;
    let mut lines = read(input, traffic);
    let mut has_ended = false;
    while !(has_ended && session.is_idle()) {
        select! {
            recv(lines) -> line => match line {
                Ok(line) => session.line(&line),
                Err(_) if config.quit_at_once => break,
                Err(_) => (has_ended, lines) = (true, never()),
            },
            recv(session.ended()) -> ended => ended.into_iter().for_each(|ended| session.end(ended)),
            recv(session.timer()) -> _ => session.stop_overdue(Instant::now()),
            recv(output.closed) -> _ => break,
        }
    }
    let written = output.finish();
    // Dropping the session would take 0.1 s or more.
    std::mem::forget(session);
    written.map_err(AnalyseError::Output)
}
