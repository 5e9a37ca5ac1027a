//! The web server: who may ask, what the page consists of, the stream of events, the actions.

mod access;
mod assets;
mod events;
mod routes;

pub use access::{Access, Denied, PublicOrigin};
pub use events::{EventSource, Topic};
pub use routes::{Rooms, Studio, router};
