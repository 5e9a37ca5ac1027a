//! Units of work: self-play games, match pairs or blocks of games to label.
//!
//! A [`Unit`] names its inputs by hash, so that every machine with the same files makes the same result, in this
//! process or by the command `work` elsewhere. Results meet in an [`Inbox`]; [`Gathering`] collects them while own
//! threads do what nobody else does.

mod unit;
mod hashed_files;
mod unit_rules;
mod match_result;
mod task;
mod check;
mod inbox;
mod own_units;
mod unit_games;
mod gather;
mod labels;
mod comparison;

pub use check::{ResultCheck, check_result};
pub use comparison::{ComparedMatch, ComparisonPlan, MatchPoints, compare_by_units};
pub use gather::{Admission, GatherReport, Gathering, OwnWork};
pub use hashed_files::{HashedFiles, hash_of};
pub use inbox::Inbox;
pub use labels::label_by_units;
pub use task::UnitTask;
pub use unit::{Unit, UnitKind};
pub use unit_rules::{AnnotateRules, MatchUnitRules};
