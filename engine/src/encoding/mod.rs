//! Position to input tensor, move to policy index.
//!
//! Every scheme has a name and a version, which stand in a network's card:
//!
//! | name | what | shape |
//! |---|---|---|
//! | `planes72/1` | [`planes72`]: three plies of history and attack features, mover's view | `[72, 8, 8]` |
//! | `az4672/1` | [`az4672`]: AlphaZero's from-square and move-type, mover's view | `[64 · 73]` |
//!
//! "Mover's view": the side to move plays up the board. For Black, ranks are mirrored
//! (`square ^ 56`, files stay) and colours are swapped. Squares are a1 = 0 … h8 = 63.

mod planes;
pub mod planes72;
pub mod lc0_112;
mod moves;
pub mod az4672;
pub mod lc0_1858;

pub use lc0_112::Planes112;
pub use moves::PolicyIndex;
pub use planes72::Planes72;
