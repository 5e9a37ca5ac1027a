pub mod interrupt;
pub mod output;
pub mod words;
pub(crate) mod memory;
pub mod files;
