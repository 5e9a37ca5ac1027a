//! The programs made of the floors below.

/// Lines in and out: the threads that read stdin and write stdout.
pub mod io;
/// The UCI protocol: commands, options, the session with a GUI.
pub mod uci;
/// UCI engines in child processes.
pub mod uci_client;
/// Analysis for programs: JSON queries in, answers out.
pub mod analysis;
/// Reviews of games: judged moves, as PGN and as a page.
pub mod review;
/// What a move is worth, what answers it, and what it gives up.
pub mod explain;
/// A game at a terminal.
pub mod play;
/// Statistics of matches: pairs of games, Elo, the sequential test.
pub mod matches;
/// `philidor net`: what a network file is, and whether it works.
pub mod net;
/// Inputs and policy indices as text, and back.
pub mod encode;
/// Benchmarks: the signature, and the speed of a network.
pub mod bench;
/// What this machine has, what is fastest on it, and what to tell a GUI.
pub mod doctor;
/// The command line, its man pages and its completions.
pub mod cli;
