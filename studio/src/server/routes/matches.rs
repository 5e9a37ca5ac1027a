use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::response::{IntoResponse, Response};

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

pub(super) async fn match_pgn(State(studio): State<Studio>) -> Response {
    pgn_file("match.pgn", studio.matches.pgn())
}
