use axum::Json;
use axum::body::Body;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::chess::openings::openings_named;
use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::json;

use super::{Studio, answer, answer_with, pgn_file, refuse, reject};
use crate::play::{Action, ActionError, BoardCommand, LONGEST_PGN, PgnError, PgnFile, set_up, verdicts};
use crate::reviews::ReviewCommand;

const MOST_OPENINGS: usize = 30;

/// Changes by others may come in between.
const KEEP_TRIES: usize = 5;

pub(super) async fn command(
    State(studio): State<Studio>,
    command: Result<Json<BoardCommand>, JsonRejection>,
) -> Response {
    match command {
        Ok(Json(command)) => match studio.play.act(command).await {
            Ok(Some(board)) => Json(json!({ "board": board })).into_response(),
            result => answer(result.map(drop)),
        },
        Err(rejection) => reject(&rejection),
    }
}

pub(super) async fn play(
    State(studio): State<Studio>,
    Path(board): Path<u32>,
    action: Result<Json<Action>, JsonRejection>,
) -> Response {
    let acted = async |action| studio.play.table(board)?.act(action).await;
    match action {
        Ok(Json(action)) => match acted(action).await {
            Ok(Some(node)) => Json(json!({ "node": node })).into_response(),
            result => answer(result.map(drop)),
        },
        Err(rejection) => reject(&rejection),
    }
}

#[derive(Deserialize)]
pub(super) struct PgnQuery {
    /// The browser's date, `YYYY.MM.DD`.
    #[serde(default)]
    date: String,
}

pub(super) async fn pgn(
    State(studio): State<Studio>,
    Path(board): Path<u32>,
    Query(query): Query<PgnQuery>,
) -> Response {
    let is_date =
        query.date.len() == 10 && query.date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let date = if is_date { query.date } else { "????.??.??".to_owned() };
    let read = async || studio.play.table(board)?.pgn(date).await;
    match read().await {
        Ok(text) => pgn_file("game.pgn", text),
        Err(error) => answer(Err(error)),
    }
}

pub(super) async fn headlines(State(studio): State<Studio>, Path(board): Path<u32>) -> Response {
    let read = async || studio.play.table(board)?.headlines().await;
    answer_with(read().await)
}

pub(super) async fn games(State(studio): State<Studio>) -> Response {
    let library = studio.play.library().clone();
    let games = tokio::task::spawn_blocking(move || library.list()).await.unwrap_or_default();
    Json(games).into_response()
}

#[derive(Deserialize)]
pub(super) struct GameQuery {
    name: String,
}

pub(super) async fn game_pgn(State(studio): State<Studio>, Query(query): Query<GameQuery>) -> Response {
    let read = studio.play.library().read(&query.name);
    match read.as_ref().map(|saved| saved.pgn()) {
        Ok(Some(text)) => pgn_file("game.pgn", format!("{text}\n")),
        Ok(None) => refuse(StatusCode::NOT_FOUND, "This game has no moves."),
        Err(error) => refuse(StatusCode::NOT_FOUND, &error.to_string()),
    }
}

#[derive(Deserialize)]
pub(super) struct LoadQuery {
    /// The board to open it on if that one is empty.
    #[serde(default)]
    here: Option<u32>,
}

/// The file in a request's body, or the refusal, which is `told` for one of more than `most` bytes. That one is heard to
/// its end, because a browser that cannot send it hears no answer.
async fn read_file(body: Body, most: usize, told: &str) -> Result<Vec<u8>, Response> {
    let mut text = Vec::new();
    let mut length = 0;
    let mut parts = body.into_data_stream();
    while let Some(part) = parts.next().await {
        let Ok(part) = part else {
            return Err(refuse(StatusCode::BAD_REQUEST, "The file did not arrive whole: load it again."));
        };
        length += part.len();
        match length <= most {
            true => text.extend_from_slice(&part),
            false => text = Vec::new(),
        }
    }
    if length <= most { Ok(text) } else { Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, told)) }
}

/// The PGN arrives in parts and is parsed outside the server's thread.
pub(super) async fn load(
    State(studio): State<Studio>,
    Query(query): Query<LoadQuery>,
    body: Body,
) -> Response {
    let most = LONGEST_PGN >> 20;
    let told = format!("A PGN may have {most} MB: split it, for example with pgn-extract.");
    let text = match read_file(body, LONGEST_PGN, &told).await {
        Ok(text) => text,
        Err(refused) => return refused,
    };
    let explorer = studio.explorer.clone();
    let read = move || {
        let file = PgnFile::read(&text)?;
        explorer.import(&text, &file);
        Ok::<_, PgnError>(file)
    };
    match tokio::task::spawn_blocking(read).await {
        Ok(Ok(file)) => {
            let loaded = studio.play.load(file, query.here).await;
            answer_with(loaded.map(|board| json!({ "board": board })))
        }
        Ok(Err(error)) => refuse(StatusCode::BAD_REQUEST, &error.to_string()),
        Err(_) => refuse(StatusCode::INTERNAL_SERVER_ERROR, "The file cannot be read."),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Looked {
    /// In the game's tree; `null` is the game's last position.
    node: Option<u32>,
}

pub(super) async fn look(
    State(studio): State<Studio>,
    Path(board): Path<u32>,
    looked: Result<Json<Looked>, JsonRejection>,
) -> Response {
    let look = async |node| studio.play.table(board)?.look(node).await;
    match looked {
        Ok(Json(Looked { node })) => answer_with(look(node).await),
        Err(rejection) => reject(&rejection),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetUpPosition {
    fen: String,
}

pub(super) async fn set_up_position(position: Result<Json<SetUpPosition>, JsonRejection>) -> Response {
    match position {
        Ok(Json(SetUpPosition { fen })) => answer_with(set_up(&fen)),
        Err(rejection) => reject(&rejection),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TreeQuestion {
    moves: Vec<String>,
}

pub(super) async fn tree(
    State(studio): State<Studio>,
    Path(board): Path<u32>,
    question: Result<Json<TreeQuestion>, JsonRejection>,
) -> Response {
    let tree = async |moves| studio.play.table(board)?.tree(moves).await;
    match question {
        Ok(Json(TreeQuestion { moves })) => answer_with(tree(moves).await),
        Err(rejection) => reject(&rejection),
    }
}

#[derive(Deserialize)]
pub(super) struct ExplorerQuery {
    fen: String,
    #[serde(default)]
    rating: Option<u16>,
}

pub(super) async fn explore(State(studio): State<Studio>, Query(query): Query<ExplorerQuery>) -> Response {
    let looked = tokio::task::spawn_blocking(move || studio.explorer.look(&query.fen, query.rating)).await;
    answer_with(looked.unwrap_or_else(|_| Err(ActionError::NotNow("The games cannot be read.".to_owned()))))
}

#[derive(Deserialize)]
pub(super) struct OpeningQuery {
    #[serde(default)]
    name: String,
}

pub(super) async fn find_openings(Query(query): Query<OpeningQuery>) -> Response {
    // The first query reads the table of openings.
    let find = move || {
        let found = openings_named(&query.name, MOST_OPENINGS);
        found.iter().map(|line| json!({ "name": line.opening.to_string(), "moves": line.moves })).collect()
    };
    let found: Vec<serde_json::Value> = tokio::task::spawn_blocking(find).await.unwrap_or_default();
    Json(found).into_response()
}

#[derive(Deserialize)]
pub(super) struct VerdictQuery {
    fen: String,
}

/// `null` where the tables do not know the position.
pub(super) async fn find_verdicts(
    State(studio): State<Studio>,
    Query(query): Query<VerdictQuery>,
) -> Response {
    // Files are opened when they are first asked for.
    let known = tokio::task::spawn_blocking(move || verdicts(&studio.tables, &query.fen)).await;
    answer_with(known.unwrap_or(Ok(None)))
}

pub(super) async fn act_review(
    State(studio): State<Studio>,
    command: Result<Json<ReviewCommand>, JsonRejection>,
) -> Response {
    match command {
        Ok(Json(ReviewCommand::Stop)) => {
            studio.reviews.stop();
            answer(Ok(()))
        }
        Ok(Json(ReviewCommand::Keep { board })) => answer(keep_review(&studio, board).await),
        Ok(Json(ReviewCommand::Begin { board, nodes })) => answer(begin_review(&studio, board, nodes).await),
        Err(rejection) => reject(&rejection),
    }
}

/// One game is reviewed at a time. A review that runs on a closed board is given up.
async fn begin_review(studio: &Studio, board: u32, nodes: u64) -> Result<(), ActionError> {
    let game = studio.play.table(board)?.reviewed().await?;
    let other = studio.reviews.running_on().filter(|other| *other != board);
    match other.filter(|other| studio.play.table(*other).is_ok()) {
        Some(other) => {
            let text =
                format!("The game on board {other} is being reviewed: wait for that, or stop it there.");
            Err(ActionError::NotNow(text))
        }
        None => studio.reviews.begin(game, nodes),
    }
}

/// Writes the review into the game as it is now. If another tab changes the game meanwhile, the review is written into
/// the changed one.
async fn keep_review(studio: &Studio, board: u32) -> Result<(), ActionError> {
    let table = studio.play.table(board)?;
    for _ in 0..KEEP_TRIES {
        let annotated = studio.reviews.annotate(table.reviewed().await?)?;
        if table.annotate(annotated).await? {
            return Ok(());
        }
    }
    Err(ActionError::NotNow("The game changes all the time: keep the review when it is at rest.".to_owned()))
}

fn no_review() -> Response {
    refuse(StatusCode::NOT_FOUND, "No game was reviewed yet: review the one on the board.")
}

pub(super) async fn review_pgn(State(studio): State<Studio>) -> Response {
    studio.reviews.pgn().map_or_else(no_review, |text| pgn_file("game.review.pgn", text))
}

/// The page contains styles, so it is sent as a download, not as a page of this server.
pub(super) async fn review_page(State(studio): State<Studio>) -> Response {
    let head = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"game.review.html\""),
    ];
    studio.reviews.page().map_or_else(no_review, |text| (head, text).into_response())
}
