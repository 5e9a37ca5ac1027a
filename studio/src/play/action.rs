use std::sync::Arc;

use engine::chess::pgn::PgnGame;
use serde::Deserialize;
use tokio::sync::{mpsc, oneshot, watch};

use super::analysts::AnalystSettings;
use super::file::{Headline, PgnFile};
use super::library::Library;
use super::seats::{ActionError, NewGame};
use super::tree::TreeView;
use super::variations::{Edit, PositionView};

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    New(NewGame),
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
    Choose {
        /// From 0.
        game: usize,
        /// Replace even an unfinished game.
        #[serde(default)]
        replace: bool,
    },
    /// Put a game of the library on the board.
    Open {
        name: String,
        #[serde(default)]
        replace: bool,
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
    /// [`TableView::key`](super::TableView).
    pub key: String,
    /// Plies played; the main line goes on where moves were added after the game's end.
    pub plies: usize,
    /// With its variations and comments.
    pub game: PgnGame,
    /// Another number is another game, or the same one with other comments or variations.
    pub edition: u64,
}

pub(super) type Answer<T> = oneshot::Sender<Result<T, ActionError>>;

pub(super) enum Request {
    Act(Action, Answer<Option<u32>>),
    Pgn(String, Answer<String>),
    Review(Answer<ReviewedGame>),
    Load(Box<PgnFile>, bool, Answer<()>),
    Headlines(Answer<Vec<Headline>>),
    Tree(Vec<String>, Answer<TreeView>),
    Look(Option<u32>, Answer<PositionView>),
    Annotate(ReviewedGame, Answer<bool>),
    Attached,
}

#[derive(Clone, Debug)]
pub struct TableHandle {
    pub(super) requests: mpsc::UnboundedSender<Request>,
    pub library: Library,
    /// A [`TableView`](super::TableView) as JSON.
    pub game: watch::Receiver<Arc<str>>,
    /// [`Thoughts`](super::Thoughts) of each analyst as JSON, `null` for those that are off.
    pub thoughts: watch::Receiver<Arc<str>>,
}

impl TableHandle {
    async fn ask<T>(&self, request: impl FnOnce(Answer<T>) -> Request) -> Result<T, ActionError> {
        let ended = || ActionError::NotNow("The server is shutting down.".to_owned());
        let (answer, answered) = oneshot::channel();
        self.requests.send(request(answer)).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }

    /// Returns the node of a variation's move.
    pub async fn act(&self, action: Action) -> Result<Option<u32>, ActionError> {
        self.ask(|answer| Request::Act(action, answer)).await
    }

    /// An unfinished game on the board is replaced only with `replace`.
    pub async fn load(&self, file: PgnFile, replace: bool) -> Result<(), ActionError> {
        self.ask(|answer| Request::Load(Box::new(file), replace, answer)).await
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
        self.ask(|answer| Request::Annotate(annotated, answer)).await
    }

    /// A tab shows the board.
    pub fn attach(&self) {
        let _ = self.requests.send(Request::Attached);
    }
}
