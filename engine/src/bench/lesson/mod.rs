//! The notebook's example for minimax and alpha-beta: moves and time needed to find a mate in one.

use std::io::{self, Write};
use std::time::Instant;

use crate::players::{FullWidthMethod, FullWidthResult, full_width};
use crate::position::Game;

/// 1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6, and Qxf7 is mate.
pub const FEN: &str = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4";
/// The notebook's search depth, in plies.
pub const DEPTH: u32 = 4;

/// The method, its name, and what the notebook reports: moves made, time.
const ROWS: [(FullWidthMethod, &str, u64, &str); 2] = [
    (FullWidthMethod::Minimax, "minimax", 1_337_211, "about 3 min"),
    (FullWidthMethod::AlphaBeta, "alpha-beta", 119_034, "about 15 s"),
];

/// Prints a Markdown table with a row for each method.
///
/// # Errors
///
/// If writing to `out` fails.
pub fn print(out: &mut impl Write) -> io::Result<()> {
    let game = Game::from_fen(FEN).map_err(io::Error::other)?;
    writeln!(
        out,
        "| depth {DEPTH} | notebook: moves made | time | here: moves made | time | best | value |"
    )?;
    writeln!(out, "|---|--:|--:|--:|--:|---|--:|")?;
    for (method, name, notebook_moves, notebook_time) in ROWS {
        let start = Instant::now();
        let FullWidthResult { values, nodes } = full_width(method, &game, DEPTH);
        let ms = start.elapsed().as_secs_f64() * 1000.0;
        let Some((best, value)) = values.first() else { continue };
        let best = Game::uci(*best, false);
        writeln!(
            out,
            "| {name} | {notebook_moves} | {notebook_time} | {nodes} | {ms:.1} ms | {best} | {value} |"
        )?;
    }
    Ok(())
}
