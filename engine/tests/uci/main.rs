//! Scripted sessions with the built program.

mod limits;
mod library;
mod players;
mod program;
mod protocol;
mod search;
mod suites;
