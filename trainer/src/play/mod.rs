pub mod gameplay;
pub mod selfplay;
pub mod arena;
pub mod units;
pub mod rl;
