//! What self-play and the arena share.
//!
//! A [`Backend`] is a network with what runs it. [`Ground`] says where games begin and what is known of their ends.
//! [`drive`] plays many games at once on one thread, their positions evaluated together.

mod network;
mod openings;
mod driver;

pub use driver::{Next, Sitting, drive};
pub use network::{Backend, network};
pub use openings::{Ground, known_end};
