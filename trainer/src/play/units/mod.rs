//! Units of work as values: games of self-play, pairs of a match, blocks of games to label.
//!
//! A [`Unit`] says what is to be done by names and hashes alone, so that any machine with the same files makes the same
//! result of it, a file. [`UnitTask`] does a unit, whoever asked for it: the threads of the process itself, or the
//! command `work` on another machine. An [`Inbox`] is the folder in between: what is wanted, and what has come.
//! [`check_result`] says whether a file is the result of a unit, and [`Gathering`] collects the results of many, its own
//! threads doing them where nobody else does. [`label_by_units`] has games labelled so, [`compare_by_units`] has settings
//! of the search compared.

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
