//! A visit (iteration) of the search: down to a leaf, and its value back up. [`iteration`] reads from top to bottom; the
//! other files are its steps.

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
