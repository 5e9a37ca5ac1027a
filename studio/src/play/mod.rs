//! The game at the board: its moves, clocks, sides and result, and the task that plays it.

mod clock;
mod played;
mod start;
mod pgn;
mod session;
mod saved;
mod thoughts;
mod view;
mod table;

pub use clock::{ChessClock, TimeControl};
pub use pgn::{PgnError, PgnGame, read_pgn, write_pgn};
pub use played::{EndReason, GameEnd, LegalMove, PlayedGame, PlayedMove, Winner};
pub use saved::{SavedError, SavedGame};
pub use session::{ActionError, NewGame, Seat, Session};
pub use start::{StartChoice, chess960_fen};
pub use table::{Action, Table, TableHandle};
pub use thoughts::Thoughts;
pub use view::{EngineView, TableView};
