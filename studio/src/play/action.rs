use std::sync::Arc;

use engine::chess::pgn::PgnGame;
use serde::Deserialize;
use tokio::sync::{mpsc, oneshot};

use super::analysts::AnalystSettings;
use super::file::{Headline, PgnFile};
use super::seats::{ActionError, NewGame};
use super::session::Session;
use super::tree::TreeView;
use super::variations::{Edit, PositionView};

/// What is done with the boards and the library. Each game that is opened has a board of its own, `here` if that one is
/// empty.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum BoardCommand {
    New(NewGame),
    /// A game of the library; one that is on a board already stays there.
    Open {
        name: String,
        #[serde(default)]
        here: Option<u32>,
    },
    /// Another game of the file that a board has, from 0. A game at stake keeps its board.
    Choose {
        board: u32,
        game: usize,
    },
    /// The game is saved, and its clock stands still.
    Close {
        board: u32,
    },
    /// Take a closing back.
    Reopen {
        board: u32,
    },
    Rename {
        name: String,
        to: String,
    },
    Delete {
        name: String,
    },
    /// Take a deletion back.
    Restore {
        name: String,
    },
}

/// What is done on a board.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    Move {
        text: String,
        /// The ply that the person saw.
        #[serde(default)]
        ply: Option<usize>,
    },
    TakeBack,
    Resign,
    Draw,
    /// Start or end the first analyst.
    Analysis {
        on: bool,
    },
    /// Set up one of the two analysts.
    Analyst {
        number: usize,
        settings: AnalystSettings,
    },
    /// Search for what the other side threatens.
    Threat {
        on: bool,
    },
    /// The piece to move; asked for again, the move.
    Hint,
    Retry,
    /// Add a move after any position of the tree.
    Variation {
        node: u32,
        text: String,
    },
    Edit {
        node: u32,
        change: Edit,
        /// The comment that the person began to change. The edit is refused if it is another by now.
        #[serde(default)]
        seen: Option<String>,
    },
    /// Take the last edit back.
    Undo,
}

#[derive(Clone, Debug)]
pub struct ReviewedGame {
    pub board: u32,
    /// [`TableView::key`](super::TableView).
    pub key: String,
    /// Plies played; the main line goes on where moves were added after the game's end.
    pub plies: usize,
    /// With its variations and comments.
    pub game: PgnGame,
    /// Another number is another game, or the same one with other comments or variations.
    pub edition: u64,
}

/// A game for a board.
pub struct Opened {
    pub session: Session,
    pub analysts: Vec<AnalystSettings>,
    /// The file that it comes from, and its index there.
    pub file: Option<(Arc<PgnFile>, usize)>,
    pub notice: Option<String>,
}

impl Opened {
    pub fn new(session: Session) -> Opened {
        Opened { session, analysts: Vec::new(), file: None, notice: None }
    }

    /// Game `number` of a file, from 0.
    pub fn of_file(file: Arc<PgnFile>, number: usize) -> Result<Opened, ActionError> {
        let loaded = file.game(number).map_err(|error| ActionError::Invalid(error.to_string()))?;
        Ok(Opened { file: Some((file, number)), ..Opened::new(Session::loaded(loaded)) })
    }
}

pub(super) type Answer<T> = oneshot::Sender<Result<T, ActionError>>;

pub(super) enum Request {
    Act(Action, Answer<Option<u32>>),
    Pgn(String, Answer<String>),
    Review(Answer<ReviewedGame>),
    /// Gives the game back unless the board is empty.
    Put(Box<Opened>, Answer<Option<Box<Opened>>>),
    /// Gives the chosen game back if the one on the board is at stake.
    Choose(usize, Answer<Option<Box<Opened>>>),
    Headlines(Answer<Vec<Headline>>),
    Tree(Vec<String>, Answer<TreeView>),
    Look(Option<u32>, Answer<PositionView>),
    Annotate(Box<ReviewedGame>, Answer<bool>),
    /// Another name in the library.
    Rename(String, String, Answer<()>),
    Close(Answer<()>),
}

#[derive(Clone, Debug)]
pub struct TableHandle {
    pub(super) requests: mpsc::UnboundedSender<Request>,
}

impl TableHandle {
    async fn ask<T>(&self, request: impl FnOnce(Answer<T>) -> Request) -> Result<T, ActionError> {
        let ended = || ActionError::NotNow("This board is closed.".to_owned());
        let (answer, answered) = oneshot::channel();
        self.requests.send(request(answer)).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }

    /// Returns the node of a variation's move.
    pub async fn act(&self, action: Action) -> Result<Option<u32>, ActionError> {
        self.ask(|answer| Request::Act(action, answer)).await
    }

    pub(super) async fn put(&self, opened: Box<Opened>) -> Result<Option<Box<Opened>>, ActionError> {
        self.ask(|answer| Request::Put(opened, answer)).await
    }

    pub(super) async fn choose(&self, game: usize) -> Result<Option<Box<Opened>>, ActionError> {
        self.ask(|answer| Request::Choose(game, answer)).await
    }

    pub(super) async fn rename(&self, name: String, to: String) -> Result<(), ActionError> {
        self.ask(|answer| Request::Rename(name, to, answer)).await
    }

    pub(super) async fn close(&self) -> Result<(), ActionError> {
        self.ask(Request::Close).await
    }

    /// The game as PGN; `date` is `YYYY.MM.DD`.
    pub async fn pgn(&self, date: String) -> Result<String, ActionError> {
        self.ask(|answer| Request::Pgn(date, answer)).await
    }

    pub async fn reviewed(&self) -> Result<ReviewedGame, ActionError> {
        self.ask(Request::Review).await
    }

    pub async fn headlines(&self) -> Result<Vec<Headline>, ActionError> {
        self.ask(Request::Headlines).await
    }

    /// The moves after the line `moves` from the analysed position, with their statistics in the analyst's search tree.
    pub async fn tree(&self, moves: Vec<String>) -> Result<TreeView, ActionError> {
        self.ask(|answer| Request::Tree(moves, answer)).await
    }

    /// Has this position analysed, by its node in the tree; `None` is the game's last.
    pub async fn look(&self, node: Option<u32>) -> Result<PositionView, ActionError> {
        self.ask(|answer| Request::Look(node, answer)).await
    }

    /// Keeps the marks, remarks and better lines of a review in the game. False if the game has changed since it was
    /// read, also in its comments or variations: nothing is kept then.
    pub async fn annotate(&self, annotated: ReviewedGame) -> Result<bool, ActionError> {
        self.ask(|answer| Request::Annotate(Box::new(annotated), answer)).await
    }
}
