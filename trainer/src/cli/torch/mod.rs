//! What the commands do for the families that libtorch trains.

mod trial;
mod overfit;
mod lr_finder;
mod verify;
mod quantise;

pub use lr_finder::LrFinderArgs;
pub use overfit::OverfitArgs;
pub use quantise::QuantiseArgs;
pub use verify::verify;
