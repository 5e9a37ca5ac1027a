//! Reviews of games as annotated PGN and HTML. [`run()`] has a [`Judge`] evaluate the positions and keeps the
//! evaluations in a journal until all are done. A [`GameReview`], which the PGN and the [`page`] show, depends only on
//! a game and its evaluations.

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

pub use annotate::{annotated, is_remark, remark};
pub use config::{OwnSearchArgs, ReviewConfig, Side, own_judge};
pub use game_review::{GameReview, PlayerSummary, ReviewedMove, numbered, sans, value_of_end};
pub use judge::{Judge, JudgeError, JudgedLine, OwnJudge, UciJudge, judged_line};
pub use material::{Phase, balance, settled, value_of};
pub use run::{ReviewError, run};
