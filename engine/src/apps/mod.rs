/// The threads that read stdin and write stdout.
pub mod io;
/// The UCI protocol.
pub mod uci;
/// UCI engines in child processes.
#[cfg(not(target_family = "wasm"))]
pub mod uci_client;
/// Analysis for programs: JSON queries in, answers out.
#[cfg(not(target_family = "wasm"))]
pub mod analysis;
/// Reviews of games as annotated PGN and HTML.
#[cfg(not(target_family = "wasm"))]
pub mod review;
/// Explanations of moves in words.
#[cfg(not(target_family = "wasm"))]
pub mod explain;
/// A game at a terminal.
#[cfg(not(target_family = "wasm"))]
pub mod play;
/// Statistics of matches: pairs of games, Elo, SPRT.
#[cfg(not(target_family = "wasm"))]
pub mod matches;
/// `philidor net`: network files and their checks.
#[cfg(not(target_family = "wasm"))]
pub mod net;
/// `philidor encode`: inputs and policy indices as text.
#[cfg(not(target_family = "wasm"))]
pub mod encode;
/// Benchmarks: the signature, and the speed of a network.
#[cfg(not(target_family = "wasm"))]
pub mod bench;
/// `philidor doctor`: hardware, speeds and advice.
#[cfg(not(target_family = "wasm"))]
pub mod doctor;
/// The command line, man pages and completions.
#[cfg(not(target_family = "wasm"))]
pub mod cli;
