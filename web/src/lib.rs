//! The engine for JavaScript: UCI lines in, UCI lines out.

mod board;
#[cfg(not(target_feature = "atomics"))]
mod driven;
#[cfg(target_feature = "atomics")]
mod threaded;

use engine::apps::io::InputLine;
use engine::setup::LoadError;
use wasm_bindgen::prelude::wasm_bindgen;
use web_time::Instant;

use crate::board::Described;

/// Loads the network and lets the runtime compile the search, so that neither takes time from the first move.
const WARM_UP: [&str; 3] = ["isready", "position startpos", "go nodes 500"];
const AFTER_WARM_UP: &str = "ucinewgame";

fn input(text: &str) -> InputLine {
    InputLine { at: Instant::now(), text: Ok(text.trim_end().to_owned()) }
}

/// The position after `moves` (UCI notation, separated by spaces) from `fen` (empty: the initial position), as JSON:
/// `fen`, `turn`, `check`, the moves so far in `san`, the `legal` moves as `uci` and `san`, and the `result` of a game
/// that is over.
#[wasm_bindgen]
pub fn describe(fen: &str, moves: &str) -> Result<String, String> {
    let described = Described::of(fen, moves)?;
    serde_json::to_string(&described).map_err(|error| error.to_string())
}

/// Takes the endgame tables of three and four men, the content of `tables.gzip`. Without them the engine plays, too.
#[cfg(target_family = "wasm")]
#[wasm_bindgen(js_name = addTables)]
pub fn add_tables(files: Vec<u8>) -> Result<(), String> {
    engine::chess::tables::provide(files)
}

/// Why the engine takes no more lines after `quit` or an error.
fn end(result: Result<(), LoadError>) -> String {
    result.map_or_else(|error| error.to_string(), |()| "the engine has quit".to_owned())
}
