//! Encoding of positions as input tensors and of moves as policy indices. A card names its schemes with their versions,
//! which select an [`Input`] and a [`Policy`]; only [`sparse`](crate::nets::sparse) reads `sparse/1` and `moves/1`.
//!
//! | input | shape | view |
//! |---|---|---|
//! | [`planes72`]`/1` | `[72, 8, 8]` | mover's |
//! | [`planes19`]`/1` | `[19, 8, 8]` | mover's |
//! | [`planes14`]`/1` | `[14, 8, 8]` | turned by 180° for Black |
//! | [`onehot832`]`/1` | `[832]` | White's |
//! | `lc0-112/1` ([`lc0_112`]) | `[112, 8, 8]` | mover's |
//! | [`planes119`]`/1` | `[119, 8, 8]` | turned by 180° for Black |
//! | `sparse/1` ([`sparse1`]) | 3297 binary features | mover's, king on files e–h |
//!
//! | policy | indices | view | castling |
//! |---|---|---|---|
//! | [`az4672`]`/1` | 64 · 73 | mover's | two squares |
//! | [`gym4672`]`/1` | 64 · 73 | turned by 180° for Black | two squares |
//! | [`uci1968`]`/1` | 1968 | White's | two squares |
//! | `uci1968m/1` ([`uci1968`]) | 1968 | mover's | two squares |
//! | `lc0-1858/1` ([`lc0_1858`]) | 1858 | mover's | king takes rook |
//! | `moves/1` ([`moves1`]) | 7336 and 3328 rows | mover's, king on files e–h | the king's target |
//!
//! "Mover's view": the side to move plays up the board. For Black, ranks are mirrored (`square ^ 56`) and colours
//! swapped. Squares are a1 = 0 … h8 = 63. Castling by two squares becomes king takes rook if king or rook are not on
//! their standard squares.

mod planes;
pub mod planes72;
pub mod planes19;
pub mod planes14;
pub mod planes119;
pub mod onehot832;
pub mod lc0_112;
mod moves;
pub mod az4672;
pub mod gym4672;
pub mod uci1968;
pub mod lc0_1858;
mod view;
mod static_exchange;
pub mod sparse1;
pub mod moves1;
mod scheme;
mod decode;

pub use decode::{DecodeError, Decoded, decode, decode_features};
pub use lc0_112::Planes112;
pub use moves::PolicyIndex;
pub use planes72::Planes72;
pub use planes119::Planes119;
pub use scheme::{Input, Policy};
