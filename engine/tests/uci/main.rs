#[path = "../child/mod.rs"]
mod child;
mod knowledge;
mod limits;
mod networks;
mod onnx;
mod players;
mod program;
mod protocol;
mod recurrence;
mod search;
mod suites;
