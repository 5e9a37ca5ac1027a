//! Puzzles to solve: from a file, and from the mistakes of the last review.

mod exercise;
mod table;
mod opinion;
mod desk;

pub use desk::{PuzzleDesk, PuzzleId, PuzzleSource, SourceView};
pub use exercise::{Attempt, Exercise, ExerciseView, Solution};
pub use opinion::Opinion;
pub use table::{Direction, PuzzleTable, PuzzleTableError};
