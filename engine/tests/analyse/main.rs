#[path = "../child/mod.rs"]
mod child;
mod program;
mod schema;
mod answers;
mod errors;
mod running;
