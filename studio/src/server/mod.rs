//! The web server: access control, the page's files, events and actions.

mod access;
mod assets;
mod events;
mod routes;

pub use access::{Access, Denied, PublicOrigin};
pub use events::{EventSource, Topic};
pub use routes::{Rooms, Studio, router};
