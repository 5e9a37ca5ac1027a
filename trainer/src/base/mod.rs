pub mod files;
pub mod stream;
pub mod lock;
pub mod parallel;
pub mod progress;
pub mod result;
pub mod network;
pub(crate) mod hdf5_read;
