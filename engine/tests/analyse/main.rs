//! `philidor analyse`: the built program, asked in JSON.

mod program;
mod schema;
mod answers;
mod errors;
mod running;
