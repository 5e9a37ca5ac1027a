use std::io::{self, Read};
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::rejection::JsonRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;

use super::{Studio, answer, answer_with, refuse, reject};
use crate::puzzles::{Direction, PuzzleId, PuzzleTableError};

/// A file whose next part takes longer is given up: its sender may be asleep.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Of a file, which wait to be read.
const PARTS_AT_ONCE: usize = 16;

pub(super) async fn sources(State(studio): State<Studio>) -> Response {
    Json(studio.puzzles.sources()).into_response()
}

#[derive(Deserialize)]
pub(super) struct TableQuery {
    #[serde(default)]
    name: String,
}

/// The parts of a request's body, read outside the server's thread. The last one is `None`: without it, the sender has
/// gone.
struct Parts {
    parts: mpsc::Receiver<Option<Bytes>>,
    rest: Bytes,
    has_ended: bool,
}

impl Read for Parts {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() && !self.has_ended {
            match self.parts.blocking_recv() {
                Some(Some(part)) => self.rest = part,
                Some(None) => self.has_ended = true,
                None => return Err(io::Error::other("the file did not arrive whole")),
            }
        }
        let count = self.rest.len().min(out.len());
        out[..count].copy_from_slice(&self.rest.split_to(count));
        Ok(count)
    }
}

/// The file is read while it arrives.
pub(super) async fn load(
    State(studio): State<Studio>,
    Query(query): Query<TableQuery>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let size = headers.get(header::CONTENT_LENGTH).and_then(|size| size.to_str().ok()?.parse().ok());
    let (sender, parts) = mpsc::channel(PARTS_AT_ONCE);
    let from = Parts { parts, rest: Bytes::new(), has_ended: false };
    let reading = tokio::task::spawn_blocking(move || studio.puzzles.read(&query.name, from, size));
    // After a refusal the rest comes too: a browser that cannot send a file to its end hears no answer.
    let mut body = body.into_data_stream();
    loop {
        match tokio::time::timeout(LONGEST_PAUSE, body.next()).await {
            Ok(Some(Ok(part))) => _ = sender.send(Some(part)).await,
            Ok(Some(Err(_))) | Err(_) => break,
            Ok(None) => {
                let _ = sender.send(None).await;
                break;
            }
        }
    }
    drop(sender);
    match reading.await {
        Ok(Ok(())) => answer(Ok(())),
        Ok(Err(error @ PuzzleTableError::Busy(_))) => refuse(StatusCode::CONFLICT, &format!("{error}.")),
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
