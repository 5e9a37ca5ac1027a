mod device;
mod trial;
mod train;
mod export;
mod verify;
mod quantise;
mod rl;

pub use export::export;
pub use quantise::QuantiseArgs;
pub use rl::learner;
pub use train::train;
pub use trial::{lr_range, overfit};
pub use verify::verify;
