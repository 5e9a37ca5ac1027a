//! Reviews of games: every move is judged, and the result is a PGN and a page.
//!
//! [`run()`] reads the games, has a [`Judge`] evaluate their positions, and keeps its evaluations in a journal
//! until all are done. A [`GameReview`] follows from a game and the evaluations of its positions alone: its
//! [`judgement`]s, its players' accuracy, its opening and phases. From it the PGN is annotated and the [`page`] written.

mod config;
mod judge;
mod clocks;
mod material;
pub mod judgement;
mod game_review;
mod annotate;
mod journal;
pub mod page;
mod run;

pub use annotate::{additions, remark};
pub use config::{OwnSearchArgs, ReviewConfig, Side, own_judge};
pub use game_review::{GameReview, PlayerSummary, ReviewedMove, numbered, sans, value_of_end};
pub use judge::{Judge, JudgeError, JudgedLine, OwnJudge, UciJudge, judged_line};
pub use material::{Phase, balance, settled, value_of};
pub use run::{ReviewError, run};
