//! A visit: down to a leaf, and its value back up. Start reading at [`iteration`]; the other files are its steps.

pub(in crate::search) mod expansion;
pub(in crate::search) mod select;
pub(in crate::search) mod series;

mod backup;
mod iteration;
mod path;
mod proofs;
mod transposition;
mod virtual_loss;

pub use self::iteration::{Expanding, Reached};
pub use self::path::Path;
