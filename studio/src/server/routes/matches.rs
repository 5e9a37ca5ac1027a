use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::{Studio, answer, pgn_file, reject};
use crate::matches::MatchCommand;

pub(super) async fn act_match(
    State(studio): State<Studio>,
    command: Result<Json<MatchCommand>, JsonRejection>,
) -> Response {
    match command {
        Ok(Json(command)) => answer(studio.matches.act(command).await),
        Err(rejection) => reject(&rejection),
    }
}

pub(super) async fn match_books(State(studio): State<Studio>) -> Response {
    Json(studio.matches.books.to_vec()).into_response()
}

pub(super) async fn earlier_matches(State(studio): State<Studio>) -> Response {
    let matches = studio.matches.clone();
    Json(tokio::task::spawn_blocking(move || matches.earlier()).await.unwrap_or_default()).into_response()
}

#[derive(Deserialize)]
pub(super) struct MatchQuery {
    /// Of an earlier match.
    number: Option<u32>,
}

pub(super) async fn match_pgn(State(studio): State<Studio>, Query(query): Query<MatchQuery>) -> Response {
    pgn_file("match.pgn", studio.matches.pgn(query.number))
}
