//! UCI on the caller's thread.

use std::ops::ControlFlow;

use crossbeam_channel::Receiver;
use engine::apps::io::{OutputItem, Writer};
use engine::apps::uci::session::Session;
use engine::setup::TrafficLog;
use wasm_bindgen::prelude::wasm_bindgen;
use web_time::{Duration, Instant};

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
    pub fn new() -> Philidor {
        let (writer, written) = Writer::to_channel();
        let session = Session::new(writer, TrafficLog::default(), false);
        let mut philidor = Philidor { session, ended: None, written };
        for text in crate::WARM_UP {
            philidor.line(text);
        }
        while philidor.advance(u32::MAX).searching {}
        philidor.line(crate::AFTER_WARM_UP);
        philidor
    }

    /// Takes a UCI line and returns what answers it at once. A search makes progress only in [`Philidor::advance`].
    pub fn line(&mut self, text: &str) -> Vec<String> {
        if let ControlFlow::Break(result) = self.session.line(&crate::input(text)) {
            self.session.close();
            self.ended = Some(crate::end(result));
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
