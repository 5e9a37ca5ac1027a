#[cfg(not(target_family = "wasm"))]
pub mod interrupt;
#[cfg(not(target_family = "wasm"))]
pub mod output;
pub mod words;
pub mod threads;
pub(crate) mod memory;
pub mod files;
