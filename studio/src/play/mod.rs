//! The game on the board: moves, clocks, players and result, and the task that runs it.

mod clock;
mod played;
mod start;
mod setup;
mod pgn;
mod file;
mod seats;
mod session;
mod edits;
mod saved;
mod library;
mod thoughts;
mod tree;
mod variations;
mod view;
mod analysts;
mod action;
mod crew;
mod table;

pub use action::{Action, ReviewedGame, TableHandle};
pub use analysts::{AnalystSettings, SearchLimit};
pub use clock::{ChessClock, TimeControl};
pub use file::{Headline, LoadedGame, PgnError, PgnFile};
pub use library::{Library, LibraryGame};
pub use pgn::{PgnHeader, result as recorded_result, write_pgn};
pub use played::{EndReason, GameEnd, LegalMove, PlayedGame, PlayedMove, Winner};
pub use saved::{SavedError, SavedGame};
pub use seats::{ActionError, NewGame, Seat};
pub use session::Session;
pub use setup::{SetUp, set_up};
pub use start::{StartChoice, chess960_fen, double_chess960_fen};
pub use table::Table;
pub use thoughts::Thoughts;
pub use tree::{TreeMove, TreeView};
pub use variations::{Edit, NodeView, PositionView, commands_of};
pub use view::{EngineView, FileView, TableView};
