//! Reviews of games as annotated PGN and HTML. A [`Reviewer`] spends a budget on searches by a [`Judge`]; [`run()`]
//! keeps them in a journal until all games are done. A [`GameReview`], which the PGN and the [`page`] show, depends only
//! on a game and its [`Evidence`].

mod config;
mod evidence;
mod judge;
mod clocks;
mod material;
pub mod judgement;
mod level;
mod reasons;
mod replies;
mod positional;
mod explanation;
mod verdict;
mod game_review;
mod verify;
mod annotate;
mod journal;
mod player;
pub mod page;
mod run;

pub use annotate::{UNCLEAR, annotated, is_remark, remark};
pub use config::{OwnSearchArgs, ReviewConfig, Side, own_judge};
pub use evidence::Evidence;
pub use explanation::Explanation;
pub use game_review::{GameReview, PlayerSummary, ReviewedMove, numbered, sans, value_of_end};
pub use judge::{Judge, JudgeError, JudgedLine, OwnJudge, SearchTask, UciJudge, judged_line};
pub use level::Level;
pub use material::{Phase, balance, settled, value_of};
pub use player::PlayerReport;
pub use reasons::{forked, name};
pub use run::{ReviewError, ReviewInput, read, run};
pub use verify::{Budget, NewSearch, Reviewer};
