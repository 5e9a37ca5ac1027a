//! UCI in a thread of its own, and a thread for each worker of the search.

use std::ops::ControlFlow;

use crossbeam_channel::{Receiver, Sender, select, unbounded};
use engine::apps::io::{InputLine, OutputItem, Writer};
use engine::apps::uci::session::Session;
use engine::base::threads;
use engine::setup::{LoadError, TrafficLog};
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen(raw_module = "./host.js")]
extern "C" {
    /// Lets a further worker call [`serve`]; returns at once.
    #[wasm_bindgen(js_name = startThread)]
    fn start_thread();

    #[wasm_bindgen(js_name = writeLine)]
    fn write_line(line: &str);

    /// The engine has warmed up.
    #[wasm_bindgen(js_name = hasBegun)]
    fn has_begun();

    /// The engine takes no more lines.
    #[wasm_bindgen(js_name = hasEnded)]
    fn has_ended(why: &str);
}

#[wasm_bindgen]
pub struct Philidor {
    lines: Sender<InputLine>,
}

#[wasm_bindgen]
impl Philidor {
    /// The caller starts the first thread.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Philidor {
        let (lines, received) = unbounded();
        threads::spawn("session".to_owned(), move || {
            threads::set_host(start_thread);
            has_ended(&crate::end(run(&received)));
        });
        Philidor { lines }
    }

    pub fn line(&self, text: &str) {
        // Fails after `quit`.
        let _ = self.lines.send(crate::input(text));
    }
}

/// Makes the calling worker a thread, for ever.
#[wasm_bindgen]
pub fn serve() {
    threads::serve();
}

fn run(lines: &Receiver<InputLine>) -> Result<(), LoadError> {
    let (writer, written) = Writer::to_channel();
    let mut session = Session::new(writer, TrafficLog::default(), false);
    for text in crate::WARM_UP {
        if let ControlFlow::Break(result) = session.line(&crate::input(text)) {
            return result;
        }
    }
    let finished = session.finished().recv();
    session.finish(finished.ok());
    let _ = session.line(&crate::input(crate::AFTER_WARM_UP));
    written.try_iter().for_each(drop);
    has_begun();
    let write = |item| {
        if let OutputItem::Line(line) = item {
            write_line(&line);
        }
    };
    let result = loop {
        select! {
            recv(lines) -> line => match line.map(|line| session.line(&line)) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(result)) => break result,
                Err(_) => break Ok(()),
            },
            recv(session.finished()) -> finished => session.finish(finished.ok()),
            recv(written) -> item => item.into_iter().for_each(write),
        }
    };
    session.close();
    written.try_iter().for_each(write);
    result
}
