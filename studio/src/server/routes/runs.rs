use axum::Json;
use axum::body::Body;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncReadExt;

use super::{Studio, answer, answer_with, refuse, reject};
use crate::runs::{KeysQuery, RunCommand, RunOrder};

const DOWNLOAD_PART: usize = 1 << 16;

/// Per curve.
const POINTS: std::ops::RangeInclusive<usize> = 3..=5000;

#[derive(Deserialize)]
pub(super) struct CurvesQuery {
    #[serde(default = "default_points")]
    points: usize,
    /// Share of the run that a point is the mean over; 0 for no smoothing.
    #[serde(default)]
    smoothing: f64,
}

fn default_points() -> usize {
    600
}

/// Does what may wait for the lock of the runs, which their reader holds for long, beside all other answers.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("it does not panic")
}

pub(super) async fn curves(
    State(studio): State<Studio>,
    Path(id): Path<usize>,
    Query(query): Query<CurvesQuery>,
) -> Response {
    let points = query.points.clamp(*POINTS.start(), *POINTS.end());
    let curves = beside(move || studio.runs.curves(id, points, query.smoothing.clamp(0.0, 1.0))).await;
    match curves {
        Some(curves) => {
            let object: serde_json::Map<String, serde_json::Value> = curves
                .into_iter()
                .map(|(name, points)| {
                    let (x, y): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
                    (name, json!([x, y]))
                })
                .collect();
            Json(object).into_response()
        }
        None => no_run(),
    }
}

fn no_run() -> Response {
    refuse(StatusCode::NOT_FOUND, "There is no such run: the server follows those of --run and --runs.")
}

pub(super) async fn run_details(State(studio): State<Studio>, Path(id): Path<usize>) -> Response {
    match beside(move || studio.runs.details(id)).await {
        Some(details) => Json(details).into_response(),
        None => no_run(),
    }
}

pub(super) async fn run_keys(State(studio): State<Studio>, Query(query): Query<KeysQuery>) -> Response {
    answer_with(studio.runs.keys(&query).await)
}

pub(super) async fn begin_run(
    State(studio): State<Studio>,
    order: Result<Json<RunOrder>, JsonRejection>,
) -> Response {
    match order {
        Ok(Json(order)) => {
            answer_with(beside(move || studio.runs.begin(&order)).await.map(|id| json!({ "id": id })))
        }
        Err(rejection) => reject(&rejection),
    }
}

pub(super) async fn machine_load(State(studio): State<Studio>) -> Response {
    Json(studio.load.measure()).into_response()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunAction {
    r#do: RunCommand,
}

pub(super) async fn act_run(
    State(studio): State<Studio>,
    Path(id): Path<usize>,
    action: Result<Json<RunAction>, JsonRejection>,
) -> Response {
    match action {
        Ok(Json(RunAction { r#do })) => answer(beside(move || studio.runs.act(id, r#do)).await),
        Err(rejection) => reject(&rejection),
    }
}

/// Streams `metrics.jsonl`, which may be large.
pub(super) async fn run_metrics(State(studio): State<Studio>, Path(id): Path<usize>) -> Response {
    let Some(path) = beside(move || studio.runs.metrics_file(id)).await else { return no_run() };
    let Ok(file) = tokio::fs::File::open(&path).await else {
        return refuse(StatusCode::NOT_FOUND, "The run has no metrics.jsonl yet.");
    };
    let parts = stream::unfold(file, |mut file| async move {
        let mut part = vec![0; DOWNLOAD_PART];
        match file.read(&mut part).await {
            Ok(0) => None,
            Ok(count) => {
                part.truncate(count);
                Some((Ok::<_, std::io::Error>(part), file))
            }
            Err(error) => Some((Err(error), file)),
        }
    });
    let head = [
        (header::CONTENT_TYPE, "application/jsonl"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"metrics.jsonl\""),
    ];
    (head, Body::from_stream(parts)).into_response()
}
