//! Scripted sessions with the built program.

mod limits;
mod library;
mod networks;
mod onnx;
mod players;
mod program;
mod protocol;
mod search;
mod suites;
mod thinking;
