pub mod interrupt;
pub mod output;
pub(crate) mod memory;
pub mod files;
