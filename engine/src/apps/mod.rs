/// The threads that read stdin and write stdout.
pub mod io;
/// The UCI protocol.
pub mod uci;
/// UCI engines in child processes.
pub mod uci_client;
/// Analysis for programs: JSON queries in, answers out.
pub mod analysis;
/// Reviews of games as annotated PGN and HTML.
pub mod review;
/// Explanations of moves in words.
pub mod explain;
/// A game at a terminal.
pub mod play;
/// Statistics of matches: pairs of games, Elo, SPRT.
pub mod matches;
/// `philidor net`: network files and their checks.
pub mod net;
/// `philidor encode`: inputs and policy indices as text.
pub mod encode;
/// Benchmarks: the signature, and the speed of a network.
pub mod bench;
/// `philidor doctor`: hardware, speeds and advice.
pub mod doctor;
/// The command line, man pages and completions.
pub mod cli;
