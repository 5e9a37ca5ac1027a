use axum::Json;
use axum::body::Body;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use super::play::read_file;
use super::{Studio, answer, answer_with, refuse, reject};
use crate::puzzles::{Direction, LONGEST_TABLE, PuzzleId, PuzzleTable, TOO_LONG};

pub(super) async fn sources(State(studio): State<Studio>) -> Response {
    Json(studio.puzzles.sources()).into_response()
}

#[derive(Deserialize)]
pub(super) struct TableQuery {
    #[serde(default)]
    name: String,
}

pub(super) async fn load(
    State(studio): State<Studio>,
    Query(query): Query<TableQuery>,
    body: Body,
) -> Response {
    let text = match read_file(body, LONGEST_TABLE, TOO_LONG).await {
        Ok(text) => text,
        Err(refused) => return refused,
    };
    match tokio::task::spawn_blocking(move || PuzzleTable::read(&query.name, text)).await {
        Ok(Ok(table)) => {
            studio.puzzles.load(table);
            answer(Ok(()))
        }
        Ok(Err(error)) => refuse(StatusCode::BAD_REQUEST, &format!("{error}.")),
        Err(_) => refuse(StatusCode::INTERNAL_SERVER_ERROR, "The file cannot be read."),
    }
}

type Asked<T> = Result<Json<T>, JsonRejection>;

pub(super) async fn show(State(studio): State<Studio>, id: Asked<PuzzleId>) -> Response {
    match id {
        Ok(Json(id)) => answer_with(studio.puzzles.exercise(&id).map(|exercise| exercise.view())),
        Err(rejection) => reject(&rejection),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Next {
    id: PuzzleId,
    to: Direction,
    low: u16,
    high: u16,
}

pub(super) async fn next(State(studio): State<Studio>, next: Asked<Next>) -> Response {
    match next {
        Ok(Json(Next { id, to, low, high })) => {
            let number = studio.puzzles.next(&id, to, low, high);
            answer_with(number.map(|number| json!({ "number": number })))
        }
        Err(rejection) => reject(&rejection),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Try {
    id: PuzzleId,
    /// The move in SAN or UCI notation.
    text: String,
}

pub(super) async fn try_move(State(studio): State<Studio>, tried: Asked<Try>) -> Response {
    match tried {
        Ok(Json(Try { id, text })) => {
            let exercise = studio.puzzles.exercise(&id);
            answer_with(exercise.and_then(|exercise| exercise.attempt(id.step, &text)))
        }
        Err(rejection) => reject(&rejection),
    }
}

pub(super) async fn solution(State(studio): State<Studio>, id: Asked<PuzzleId>) -> Response {
    match id {
        Ok(Json(id)) => {
            let exercise = studio.puzzles.exercise(&id);
            answer_with(exercise.and_then(|exercise| exercise.solution(id.step)))
        }
        Err(rejection) => reject(&rejection),
    }
}

pub(super) async fn opinion(State(studio): State<Studio>, id: Asked<PuzzleId>) -> Response {
    match id {
        Ok(Json(id)) => answer_with(studio.puzzles.opinion(&id).await),
        Err(rejection) => reject(&rejection),
    }
}
