//! Shared by all floors above.

/// Atomic writes.
pub mod files;
pub mod lock;
pub mod parallel;
pub mod progress;
pub mod result;
/// Loads any network file and evaluates with the runtime that fits.
pub mod network;
