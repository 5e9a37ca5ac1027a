//! Scripted sessions with the built program.

mod library;
mod program;
mod protocol;
mod search;
mod suites;
