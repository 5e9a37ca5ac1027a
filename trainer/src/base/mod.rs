//! What every floor uses.

/// Files written atomically.
pub mod files;
pub mod lock;
pub mod parallel;
/// Progress bars on stderr.
pub mod progress;
/// Results of games.
pub mod result;
/// Networks to evaluate with: any network file, whatever runs it.
pub mod network;
