use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::{Studio, answer, answer_with, pgn_file, refuse, reject};
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

#[derive(Deserialize)]
pub(super) struct ReplayQuery {
    /// From 0.
    game: usize,
    /// Of an earlier match.
    number: Option<u32>,
}

pub(super) async fn replay_game(State(studio): State<Studio>, Query(query): Query<ReplayQuery>) -> Response {
    let matches = studio.matches.clone();
    let find = move || matches.replay(query.number, query.game);
    match tokio::task::spawn_blocking(find).await.ok().flatten() {
        Some(game) => Json(game).into_response(),
        None => {
            let told = format!("Game {} is not finished, or not in the match's PGN.", query.game + 1);
            refuse(StatusCode::NOT_FOUND, &told)
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TreeQuery {
    lane: usize,
    /// The engine that has White.
    white: bool,
    moves: Vec<String>,
}

pub(super) async fn match_tree(
    State(studio): State<Studio>,
    query: Result<Json<TreeQuery>, JsonRejection>,
) -> Response {
    match query {
        Ok(Json(TreeQuery { lane, white, moves })) => {
            answer_with(studio.matches.tree(lane, white, moves).await)
        }
        Err(rejection) => reject(&rejection),
    }
}
