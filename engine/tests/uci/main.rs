//! Scripted sessions with the built program.

mod limits;
mod program;
mod protocol;
mod search;
