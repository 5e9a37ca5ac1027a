//! The engine for JavaScript: UCI lines in, UCI lines out, on the caller's thread.

mod board;

use std::ops::ControlFlow;

use crossbeam_channel::Receiver;
use engine::apps::io::{InputLine, OutputItem, Writer};
use engine::apps::uci::session::Session;
use engine::setup::TrafficLog;
use wasm_bindgen::prelude::wasm_bindgen;
use web_time::{Duration, Instant};

use crate::board::Described;

#[wasm_bindgen]
pub struct Philidor {
    session: Session,
    /// Why no more lines are taken.
    ended: Option<String>,
    written: Receiver<OutputItem>,
}

#[wasm_bindgen]
impl Philidor {
    #[wasm_bindgen(constructor)]
    #[expect(clippy::new_without_default, reason = "JavaScript calls it")]
    pub fn new() -> Philidor {
        let (writer, written) = Writer::to_channel();
        Philidor { session: Session::new(writer, TrafficLog::default(), false), ended: None, written }
    }

    /// Takes a UCI line and returns what answers it at once. A search makes progress only in [`Philidor::advance`].
    pub fn line(&mut self, text: &str) -> Vec<String> {
        let line = InputLine { at: Instant::now(), text: Ok(text.trim_end().to_owned()) };
        if let ControlFlow::Break(ended) = self.session.line(&line) {
            self.session.close();
            self.ended =
                Some(ended.map_or_else(|error| error.to_string(), |()| "the engine has quit".to_owned()));
        }
        self.written()
    }

    /// Why the engine takes no more lines: `quit`, or a network that cannot play.
    #[wasm_bindgen(getter)]
    pub fn ended(&self) -> Option<String> {
        self.ended.clone()
    }

    /// Searches for `milliseconds`, or until the search ends.
    pub fn advance(&mut self, milliseconds: u32) -> Progress {
        let (start, longest) = (Instant::now(), Duration::from_millis(milliseconds.into()));
        let searching = self.session.advance(&mut || start.elapsed() >= longest);
        Progress { lines: self.written(), searching }
    }
}

/// The position after `moves` (UCI notation, separated by spaces) from `fen` (empty: the initial position), as JSON:
/// `fen`, `turn`, `check`, the moves so far in `san`, the `legal` moves as `uci` and `san`, and the `result` of a game
/// that is over.
#[wasm_bindgen]
pub fn describe(fen: &str, moves: &str) -> Result<String, String> {
    let described = Described::of(fen, moves)?;
    serde_json::to_string(&described).map_err(|error| error.to_string())
}

impl Philidor {
    fn written(&self) -> Vec<String> {
        let line = |item| match item {
            OutputItem::Line(line) => Some(line),
            OutputItem::End => None,
        };
        self.written.try_iter().filter_map(line).collect()
    }
}

#[wasm_bindgen(getter_with_clone)]
pub struct Progress {
    pub lines: Vec<String>,
    pub searching: bool,
}
