//! Repeats the examples of a course's notebook (`docs/sources.md`): moves tried and time of minimax and alpha-beta for
//! a mate in one, and results of UCT with 5,000 random games.

mod plain;

use std::io::{self, Write};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::chess::position::Game;
use crate::search::players::{FullWidthMethod, FullWidthResult, Player, PlayerTask, UctParams, full_width};
use crate::search::{Limits, SearchControl, SearchObserver, SearchOutcome, SearchView};

/// 1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6, and Qxf7 is mate.
pub const FEN: &str = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4";
pub const DEPTH: u32 = 4;

const UCT_MOVES: &str = "e2e4 e7e6 d2d4 d7d5 b1c3 g8f6 e4e5 f6d7 g1f3 f8b4 f1d3 e8g8";
const UCT_GAMES: u64 = 5000;
/// The notebook's seed, although our generator differs.
const UCT_SEED: u64 = 42;
/// The notebook's root: sum of White's payouts, visits.
const NOTEBOOK_ROOT: (f64, u64) = (2519.5, 5000);
/// Move, sum of White's payouts, visits; in the order of first visits.
#[rustfmt::skip]
const NOTEBOOK_MOVES: [(&str, f64, u64); 34] = [
    ("a2a4", 87.0, 166), ("g2g4", 83.5, 161), ("h2h4", 93.5, 176), ("a2a3", 64.0, 132),
    ("b2b3", 77.5, 152), ("g2g3", 94.5, 177), ("h2h3", 75.5, 149), ("e1g1", 72.0, 144),
    ("a1b1", 79.5, 155), ("c1d2", 86.5, 166), ("c1e3", 55.5, 119), ("c1f4", 65.0, 134),
    ("c1g5", 85.0, 163), ("c1h6", 85.0, 163), ("d1d2", 74.0, 147), ("d1e2", 55.0, 119),
    ("e1f1", 64.0, 132), ("e1d2", 85.5, 164), ("e1e2", 81.0, 158), ("h1f1", 75.5, 149),
    ("h1g1", 64.0, 132), ("d3f1", 58.0, 123), ("d3e2", 66.0, 135), ("d3c4", 62.5, 130),
    ("d3e4", 72.0, 144), ("d3b5", 68.0, 138), ("d3f5", 85.0, 163), ("d3a6", 68.0, 138),
    ("d3g6", 81.5, 158), ("d3h7", 74.0, 147), ("f3g1", 72.0, 144), ("f3d2", 70.5, 142),
    ("f3h4", 83.5, 161), ("f3g5", 55.5, 119),
];

const NOTES: &str = "\
The notebook is a chapter of a chess-programming course, which these players follow.

Plain alpha-beta tries the moves in python-chess's order, with a full window for every root move, and reads the table of
squares by files: as the notebook does, hence the same number. Read by ranks, as the table is written, it would be
119,706. Our player tries captures first and gives later root moves the best value so far as a bound.";

pub fn print(out: &mut impl Write) -> io::Result<()> {
    print_full_width(out)?;
    writeln!(out, "\n{NOTES}\n")?;
    print_uct(out)
}

fn print_full_width(out: &mut impl Write) -> io::Result<()> {
    let game = Game::from_fen(FEN).map_err(io::Error::other)?;
    writeln!(
        out,
        "| depth {DEPTH} | notebook: moves made | time | here: moves made | time | best | value |"
    )?;
    writeln!(out, "|---|--:|--:|--:|--:|---|--:|")?;
    let ours = |method| {
        let FullWidthResult { values, nodes } = full_width(method, &game, DEPTH);
        values.first().map(|(best, value)| (*best, *value, nodes))
    };
    let plain = || {
        let found = plain::search(game.position(), DEPTH);
        found.best.map(|best| (best, found.value, found.tried))
    };
    let minimax = || ours(FullWidthMethod::Minimax);
    let alpha_beta = || ours(FullWidthMethod::AlphaBeta);
    let rows: [(&str, &str, &dyn Fn() -> _); 3] = [
        ("minimax", "1337211 | about 3 min", &minimax),
        ("alpha-beta, plain", "119034 | about 15 s", &plain),
        ("alpha-beta", " | ", &alpha_beta),
    ];
    for (name, notebook, search) in rows {
        let start = Instant::now();
        let Some((best, value, tried)) = search() else { continue };
        let ms = start.elapsed().as_secs_f64() * 1000.0;
        let best = Game::uci(best, false);
        writeln!(out, "| {name} | {notebook} | {tried} | {ms:.1} ms | {best} | {value} |")?;
    }
    Ok(())
}

struct Unseen;

impl SearchObserver for Unseen {
    fn round(&mut self, _: &dyn SearchView) -> SearchControl {
        SearchControl::Continue { expected_visits: None }
    }

    fn done(&mut self, _: SearchOutcome) {}
}

fn print_uct(out: &mut impl Write) -> io::Result<()> {
    let game = Game::from_uci(None, UCT_MOVES.split_whitespace()).map_err(io::Error::other)?;
    let task = PlayerTask {
        game,
        limits: Limits { visits: Some(UCT_GAMES), ..Limits::default() },
        lines: 1,
        memory: 64 << 20,
        uct: UctParams::default(),
        seed: UCT_SEED,
    };
    let start = Instant::now();
    let outcome = Player::Uct.think(&task, &mut Unseen, &AtomicBool::new(false));
    let seconds = start.elapsed().as_secs_f64();
    // A payout is 1 for a win, ½ for a draw.
    let here = |text: &str| {
        let line = outcome.report.lines.iter().find(|line| Game::uci(line.pv[0], false) == text);
        line.map_or((0.0, 0), |line| {
            (line.visits as f64 * f64::from(line.wdl.win + line.wdl.draw / 2.0), line.visits)
        })
    };
    let all: Vec<(f64, u64)> = NOTEBOOK_MOVES.iter().map(|(text, ..)| here(text)).collect();
    let payout: f64 = all.iter().map(|(payout, _)| payout).sum();
    let visits: u64 = all.iter().map(|(_, visits)| visits).sum();
    writeln!(
        out,
        "UCT: {UCT_GAMES} random games in {seconds:.1} s; M is the sum of White's payouts, V the visits.\n"
    )?;
    writeln!(out, "| move | notebook: M | V | M/V | here: M | V | M/V |")?;
    writeln!(out, "|---|--:|--:|--:|--:|--:|--:|")?;
    let mut row = |name: &str, (m, v): (f64, u64), (our_m, our_v): (f64, u64)| {
        let [mean, ours] = [m / v as f64, our_m / our_v.max(1) as f64];
        writeln!(out, "| {name} | {m:.1} | {v} | {mean:.3} | {our_m:.1} | {our_v} | {ours:.3} |")
    };
    row("root", NOTEBOOK_ROOT, (payout, visits))?;
    for ((name, m, v), here) in NOTEBOOK_MOVES.iter().zip(&all) {
        row(name, (*m, *v), *here)?;
    }
    writeln!(
        out,
        "\nThe random games differ from run to run of any generator, so that a move's M and V do. The notebook lets Black \
         too choose the moves that are good for White; here each side chooses its own."
    )
}
