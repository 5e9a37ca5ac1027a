//! Scripted sessions with the built program.

mod program;
mod protocol;
mod search;
