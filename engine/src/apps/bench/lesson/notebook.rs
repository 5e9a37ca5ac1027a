//! The notebook's two positions and its numbers for them.

/// 1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6, and Qxf7 is mate.
pub const FEN: &str = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4";
pub const DEPTH: u32 = 4;
/// Moves made and time.
pub const MINIMAX: &str = "1337211 | about 3 min";
pub const ALPHA_BETA: &str = "119034 | about 15 s";

pub const UCT_MOVES: &str = "e2e4 e7e6 d2d4 d7d5 b1c3 g8f6 e4e5 f6d7 g1f3 f8b4 f1d3 e8g8";
pub const UCT_GAMES: u64 = 5000;
/// The notebook's seed, although our generator differs.
pub const UCT_SEED: u64 = 42;
/// Sum of White's payouts, visits.
pub const ROOT: (f64, u64) = (2519.5, 5000);
/// Move, sum of White's payouts, visits; in the order of first visits.
#[rustfmt::skip]
pub const MOVES: [(&str, f64, u64); 34] = [
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
