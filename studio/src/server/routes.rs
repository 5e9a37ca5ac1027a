//! What can be asked for, and what the answers look like.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use engine::chess::openings::openings_named;
use futures_util::stream;
use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncReadExt;

use super::access::{Access, Denied};
use super::assets;
use super::events::EventSource;
use crate::boards::Boards;
use crate::matches::{FollowedMatches, MatchCommand, MatchHandle};
use crate::play::{Action, ActionError, TableHandle};
use crate::reviews::{ReviewCommand, ReviewDesk};
use crate::runs::{RunBoard, RunCommand};

/// Bytes of a request: a PGN is the largest.
const LONGEST_BODY: usize = 1 << 20;

/// Actions at once, and actions a second in the long run.
const BURST: f64 = 100.0;
const ACTIONS_PER_S: f64 = 20.0;

/// Bytes of a part of a download.
const DOWNLOAD_PART: usize = 1 << 16;

/// Openings of an answer.
const MOST_OPENINGS: usize = 30;

/// Points of a curve that may be asked for.
const POINTS: std::ops::RangeInclusive<usize> = 3..=5000;

/// Sent with every answer: nothing is loaded from elsewhere, and nobody else may show or read the page. Attributes named
/// `style` are allowed because chessground writes some.
const HEADERS: [(&str, &str); 5] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; \
         style-src-attr 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-cache"),
];

/// What the server serves.
#[derive(Clone, Debug)]
pub struct Studio {
    table: TableHandle,
    reviews: ReviewDesk,
    matches: MatchHandle,
    runs: RunBoard,
    events: EventSource,
    access: Arc<Access>,
    budget: Arc<Mutex<Budget>>,
}

/// What the page shows.
#[derive(Clone, Debug)]
pub struct Rooms {
    /// The game at the board.
    pub table: TableHandle,
    /// Reviews.
    pub reviews: ReviewDesk,
    /// Matches that are played here.
    pub matches: MatchHandle,
    /// Matches that others play.
    pub followed: FollowedMatches,
    /// Training runs.
    pub runs: RunBoard,
    /// The boards of matches and runs.
    pub boards: Boards,
}

/// Actions that may still be asked for.
#[derive(Debug)]
struct Budget {
    left: f64,
    at: Instant,
}

impl Budget {
    fn take(&mut self, now: Instant) -> bool {
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * ACTIONS_PER_S;
        *self = Budget { left: (self.left + gained).min(BURST), at: now };
        let may = self.left >= 1.0;
        self.left -= if may { 1.0 } else { 0.0 };
        may
    }
}

impl Studio {
    /// A server for these rooms.
    pub fn new(rooms: Rooms, access: Access) -> Studio {
        let Rooms { table, reviews, matches, followed, runs, boards } = rooms;
        let topics = vec![
            ("game", table.game.clone()),
            ("thoughts", table.thoughts.clone()),
            ("review", reviews.state.clone()),
            ("match", matches.state.clone()),
            ("followed", followed.list.clone()),
            ("runs", runs.list.clone()),
        ];
        let budget = Arc::new(Mutex::new(Budget { left: BURST, at: Instant::now() }));
        let (events, access) = (EventSource::new(topics, boards), Arc::new(access));
        Studio { table, reviews, matches, runs, events, access, budget }
    }
}

/// The routes, behind the checks.
pub fn router(studio: Studio) -> Router {
    Router::new()
        .route("/", get(|headers: HeaderMap| async move { assets::serve("", &headers) }))
        .route(
            "/{*path}",
            get(|Path(path): Path<String>, headers: HeaderMap| async move { assets::serve(&path, &headers) }),
        )
        .route("/api/events", get(events))
        .route("/api/play", post(play))
        .route("/api/play/pgn", get(pgn))
        .route("/api/play/file", get(file_titles))
        .route("/api/play/tree", post(tree))
        .route("/api/openings", get(find_openings))
        .route("/api/review", post(act_review))
        .route("/api/review/pgn", get(review_pgn))
        .route("/api/review/page", get(review_page))
        .route("/api/match", post(act_match))
        .route("/api/match/pgn", get(match_pgn))
        .route("/api/match/books", get(match_books))
        .route("/api/view", post(show_boards))
        .route("/api/runs/{id}", get(run_details).post(act_run))
        .route("/api/runs/{id}/curves", get(curves))
        .route("/api/runs/{id}/metrics", get(run_metrics))
        .layer(DefaultBodyLimit::max(LONGEST_BODY))
        .layer(middleware::from_fn_with_state(studio.clone(), guard))
        .with_state(studio)
}

fn refuse(status: StatusCode, text: &str) -> Response {
    (status, Json(json!({ "error": text }))).into_response()
}

/// Checks every request, and adds the headers to every answer.
async fn guard(State(studio): State<Studio>, request: Request, next: Next) -> Response {
    let mut response = match studio.access.check(request.method(), request.uri(), request.headers()) {
        Ok(()) if request.method() == Method::POST && !studio.may_act() => {
            refuse(StatusCode::TOO_MANY_REQUESTS, "Too many actions at once: wait a moment.")
        }
        Ok(()) => next.run(request).await,
        Err(Denied::SetCookie(cookie)) => {
            (StatusCode::SEE_OTHER, [(header::LOCATION, "/".to_owned()), (header::SET_COOKIE, cookie)])
                .into_response()
        }
        Err(denied) => refuse(StatusCode::FORBIDDEN, denied.text()),
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

impl Studio {
    fn may_act(&self) -> bool {
        self.budget.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now())
    }
}

#[derive(Deserialize)]
struct EventsQuery {
    /// A name that the tab has drawn for itself.
    tab: String,
}

async fn events(State(studio): State<Studio>, Query(query): Query<EventsQuery>) -> Response {
    match studio.events.listen(&query.tab) {
        Some(stream) => {
            studio.table.attach();
            Sse::new(stream).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response()
        }
        None => refuse(StatusCode::SERVICE_UNAVAILABLE, "Too many tabs are open: close some."),
    }
}

async fn play(State(studio): State<Studio>, action: Result<Json<Action>, JsonRejection>) -> Response {
    match action {
        Ok(Json(action)) => answer(studio.table.act(action).await),
        Err(rejection) => reject(&rejection),
    }
}

async fn act_match(
    State(studio): State<Studio>,
    command: Result<Json<MatchCommand>, JsonRejection>,
) -> Response {
    match command {
        Ok(Json(command)) => answer(studio.matches.act(command).await),
        Err(rejection) => reject(&rejection),
    }
}

fn reject(rejection: &JsonRejection) -> Response {
    match rejection.status() {
        status @ StatusCode::PAYLOAD_TOO_LARGE => {
            refuse(status, "That is too large: a PGN may have a megabyte.")
        }
        status => refuse(status, &rejection.body_text()),
    }
}

fn answer(result: Result<(), ActionError>) -> Response {
    match result {
        Ok(()) => Json(json!({})).into_response(),
        Err(error @ ActionError::Invalid(_)) => refuse(StatusCode::BAD_REQUEST, &error.to_string()),
        Err(error @ ActionError::NotNow(_)) => refuse(StatusCode::CONFLICT, &error.to_string()),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TabView {
    /// The tab's name.
    tab: String,
    /// The boards that it shows.
    boards: Vec<String>,
}

async fn show_boards(State(studio): State<Studio>, view: Result<Json<TabView>, JsonRejection>) -> Response {
    match view {
        Ok(Json(TabView { tab, boards })) => match studio.events.show(&tab, boards) {
            true => answer(Ok(())),
            false => {
                refuse(StatusCode::CONFLICT, "This tab does not listen, or shows too many boards: reload it.")
            }
        },
        Err(rejection) => reject(&rejection),
    }
}

async fn match_books(State(studio): State<Studio>) -> Response {
    Json(studio.matches.books.to_vec()).into_response()
}

async fn match_pgn(State(studio): State<Studio>) -> Response {
    pgn_file("match.pgn", studio.matches.pgn())
}

fn pgn_file(name: &str, text: String) -> Response {
    let head = [
        (header::CONTENT_TYPE, "application/x-chess-pgn; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ];
    (head, text).into_response()
}

#[derive(Deserialize)]
struct PgnQuery {
    /// The date where the browser is, `YYYY.MM.DD`.
    #[serde(default)]
    date: String,
}

async fn pgn(State(studio): State<Studio>, Query(query): Query<PgnQuery>) -> Response {
    let is_date =
        query.date.len() == 10 && query.date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let date = if is_date { query.date } else { "????.??.??".to_owned() };
    match studio.table.pgn(date).await {
        Ok(text) => pgn_file("game.pgn", text),
        Err(error) => answer(Err(error)),
    }
}

/// The games of the PGN that was loaded last.
async fn file_titles(State(studio): State<Studio>) -> Response {
    match studio.table.titles().await {
        Ok(titles) => Json(titles).into_response(),
        Err(error) => answer(Err(error)),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TreeQuestion {
    /// The line from the position on the board, in UCI notation.
    moves: Vec<String>,
}

async fn tree(State(studio): State<Studio>, question: Result<Json<TreeQuestion>, JsonRejection>) -> Response {
    match question {
        Ok(Json(TreeQuestion { moves })) => match studio.table.tree(moves).await {
            Ok(tree) => Json(tree).into_response(),
            Err(error) => answer(Err(error)),
        },
        Err(rejection) => reject(&rejection),
    }
}

#[derive(Deserialize)]
struct OpeningQuery {
    #[serde(default)]
    name: String,
}

/// Openings that are called like that.
async fn find_openings(Query(query): Query<OpeningQuery>) -> Response {
    // The table is read at the first question.
    let find = move || {
        let found = openings_named(&query.name, MOST_OPENINGS);
        found.iter().map(|line| json!({ "name": line.opening.to_string(), "moves": line.moves })).collect()
    };
    let found: Vec<serde_json::Value> = tokio::task::spawn_blocking(find).await.unwrap_or_default();
    Json(found).into_response()
}

async fn act_review(
    State(studio): State<Studio>,
    command: Result<Json<ReviewCommand>, JsonRejection>,
) -> Response {
    match command {
        Ok(Json(ReviewCommand::Stop)) => {
            studio.reviews.stop();
            answer(Ok(()))
        }
        Ok(Json(ReviewCommand::Begin { nodes })) => {
            let game = studio.table.reviewed().await;
            answer(game.and_then(|game| studio.reviews.begin(game, nodes)))
        }
        Err(rejection) => reject(&rejection),
    }
}

fn no_review() -> Response {
    refuse(StatusCode::NOT_FOUND, "No game was reviewed yet: review the one on the board.")
}

async fn review_pgn(State(studio): State<Studio>) -> Response {
    studio.reviews.pgn().map_or_else(no_review, |text| pgn_file("game.review.pgn", text))
}

/// It has styles and no scripts, so it is a file to keep, not a page of this server.
async fn review_page(State(studio): State<Studio>) -> Response {
    let head = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"game.review.html\""),
    ];
    studio.reviews.page().map_or_else(no_review, |text| (head, text).into_response())
}

#[derive(Deserialize)]
struct CurvesQuery {
    #[serde(default = "default_points")]
    points: usize,
}

fn default_points() -> usize {
    600
}

async fn curves(
    State(studio): State<Studio>,
    Path(id): Path<usize>,
    Query(query): Query<CurvesQuery>,
) -> Response {
    let points = query.points.clamp(*POINTS.start(), *POINTS.end());
    // Thinning out a long run takes a while, and may wait for the reader.
    let curves = tokio::task::spawn_blocking(move || studio.runs.curves(id, points)).await;
    match curves {
        Ok(Some(curves)) => {
            let object: serde_json::Map<String, serde_json::Value> = curves
                .into_iter()
                .map(|(name, points)| {
                    let (x, y): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
                    (name, json!([x, y]))
                })
                .collect();
            Json(object).into_response()
        }
        _ => no_run(),
    }
}

fn no_run() -> Response {
    refuse(StatusCode::NOT_FOUND, "There is no such run: the server follows those named with --run.")
}

async fn run_details(State(studio): State<Studio>, Path(id): Path<usize>) -> Response {
    match tokio::task::spawn_blocking(move || studio.runs.details(id)).await {
        Ok(Some(details)) => Json(details).into_response(),
        _ => no_run(),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunAction {
    r#do: RunCommand,
}

async fn act_run(
    State(studio): State<Studio>,
    Path(id): Path<usize>,
    action: Result<Json<RunAction>, JsonRejection>,
) -> Response {
    match action {
        Ok(Json(RunAction { r#do })) => answer(studio.runs.act(id, r#do)),
        Err(rejection) => reject(&rejection),
    }
}

/// The file of a run's metrics, which may be large.
async fn run_metrics(State(studio): State<Studio>, Path(id): Path<usize>) -> Response {
    let Some(path) = studio.runs.metrics_file(id) else { return no_run() };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::Roster;
    use crate::matches::{OpeningBook, start_matches};
    use crate::play::Table;
    use crate::runs::Trainers;
    use axum::body::to_bytes;
    use tower::ServiceExt;

    fn studio(table: TableHandle, folder: &tempfile::TempDir) -> (Router, RunBoard) {
        let (boards, state) = (Boards::default(), folder.path().join("match.json"));
        let matches = start_matches(Roster::default(), vec![OpeningBook::own()], boards.clone(), state);
        let followed = FollowedMatches::start(Vec::new(), boards.clone());
        let runs = RunBoard::start(vec![folder.path().to_owned()], Trainers::default(), boards.clone());
        let reviews = ReviewDesk::new(None);
        let rooms = Rooms { table, reviews, matches, followed, runs: runs.clone(), boards };
        (router(Studio::new(rooms, Access { port: 8645, token: None })), runs)
    }

    fn app(folder: &tempfile::TempDir) -> Router {
        let table = Table::start(Roster::default(), folder.path().join("game.json"));
        studio(table, folder).0
    }

    async fn ask(app: &Router, method: &str, path: &str, body: &str) -> (StatusCode, HeaderMap, String) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost:8645")
            .header("content-type", "application/json")
            .body(Body::from(body.to_owned()))
            .unwrap();
        let response = app.clone().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        (head.status, head.headers, String::from_utf8_lossy(&bytes).into_owned())
    }

    #[tokio::test]
    async fn the_page_comes_with_its_policy_and_is_cached_by_tag() {
        let folder = tempfile::tempdir().unwrap();
        let app = app(&folder);
        let (status, headers, body) = ask(&app, "GET", "/", "").await;
        assert!(status == StatusCode::OK && body.contains("<title>"));
        assert!(headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
        let request = Request::builder().uri("/").header("host", "localhost:8645");
        let request = request.header("if-none-match", &headers["etag"]).body(Body::empty()).unwrap();
        assert_eq!(app.clone().oneshot(request).await.unwrap().status(), StatusCode::NOT_MODIFIED);
        for path in ["/nothing.js", "/../Cargo.toml", "/%2e%2e/Cargo.toml", "/vendor/VENDORED.md"] {
            assert_eq!(ask(&app, "GET", path, "").await.0, StatusCode::NOT_FOUND, "{path}");
        }
    }

    #[tokio::test]
    async fn foreign_requests_are_refused_before_anything_else() {
        let folder = tempfile::tempdir().unwrap();
        let app = app(&folder);
        for (name, value) in [("host", "evil.example"), ("origin", "http://evil.example")] {
            let request = Request::builder().method("POST").uri("/api/play");
            let request = if name == "host" { request } else { request.header("host", "localhost:8645") };
            let request = request.header(name, value).body(Body::from("{\"do\":\"resign\"}")).unwrap();
            let response = app.clone().oneshot(request).await.unwrap();
            assert_eq!(response.status(), StatusCode::FORBIDDEN, "{name}");
        }
    }

    #[tokio::test]
    async fn actions_are_done_and_errors_say_why() {
        let folder = tempfile::tempdir().unwrap();
        let app = app(&folder);
        let play = |body: &'static str| ask(&app, "POST", "/api/play", body);
        assert_eq!(play("{\"do\":\"move\",\"text\":\"e4\"}").await.0, StatusCode::OK);
        let (status, _, body) = play("{\"do\":\"move\",\"text\":\"e4\"}").await;
        assert!(status == StatusCode::BAD_REQUEST && body.contains("not a legal move for Black"), "{body}");
        assert_eq!(play("{\"do\":\"move\",\"text\":\"e5\",\"ply\":0}").await.0, StatusCode::CONFLICT);
        assert_eq!(play("{\"do\":\"format_disk\"}").await.0, StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(play("{").await.0, StatusCode::BAD_REQUEST);
        let (status, headers, body) = ask(&app, "GET", "/api/play/pgn?date=2026.01.02", "").await;
        assert!(
            status == StatusCode::OK && body.contains("[Date \"2026.01.02\"]") && body.ends_with("1. e4 *\n")
        );
        assert!(headers["content-disposition"].to_str().unwrap().contains("game.pgn"));
    }

    #[tokio::test]
    async fn bodies_and_rates_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let app = app(&folder);
        let large = format!("{{\"do\":\"load\",\"pgn\":\"{}\"}}", "x".repeat(LONGEST_BODY));
        assert_eq!(ask(&app, "POST", "/api/play", &large).await.0, StatusCode::PAYLOAD_TOO_LARGE);
        let now = Instant::now();
        let mut budget = Budget { left: BURST, at: now };
        assert_eq!((0..1000).filter(|_| budget.take(now)).count(), 100);
        assert!(budget.take(now + Duration::from_secs(1)));
    }

    #[tokio::test]
    async fn curves_are_thinned_and_unknown_runs_refused() {
        let folder = tempfile::tempdir().unwrap();
        let lines: String = (0..500).map(|step| format!("{{\"step\":{step},\"lr\":0.1}}\n")).collect();
        std::fs::write(folder.path().join("metrics.jsonl"), lines).unwrap();
        let table = Table::start(Roster::default(), folder.path().join("game.json"));
        let (app, mut runs) = studio(table, &folder);
        runs.list.changed().await.unwrap();
        let (status, _, body) = ask(&app, "GET", "/api/runs/0/curves?points=50", "").await;
        let curves: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, curves["lr"][0].as_array().unwrap().len()), (StatusCode::OK, 50));
        let (status, headers, body) = ask(&app, "GET", "/api/runs/0/metrics", "").await;
        assert!(status == StatusCode::OK && body.lines().count() == 500);
        assert!(headers["content-disposition"].to_str().unwrap().contains("metrics.jsonl"));
        let (status, _, body) = ask(&app, "GET", "/api/runs/0", "").await;
        assert!(status == StatusCode::OK && body.contains("\"rl\":null"), "{body}");
        for path in ["/api/runs/9/curves", "/api/runs/9", "/api/runs/9/metrics"] {
            assert_eq!(ask(&app, "GET", path, "").await.0, StatusCode::NOT_FOUND, "{path}");
        }
        assert_eq!(ask(&app, "POST", "/api/runs/0", "{\"do\":\"pause\"}").await.0, StatusCode::OK);
        assert!(folder.path().join("stop").exists());
        assert_eq!(ask(&app, "POST", "/api/runs/9", "{\"do\":\"pause\"}").await.0, StatusCode::BAD_REQUEST);
    }

    #[tokio::test]
    async fn openings_are_found_and_what_is_not_there_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let app = app(&folder);
        let (_, _, body) = ask(&app, "GET", "/api/openings?name=najdorf", "").await;
        assert!(
            body.contains("\"moves\":\"1. e4 c5") && body.contains("Sicilian Defense: Najdorf"),
            "{body}"
        );
        let (_, _, body) = ask(&app, "GET", "/api/match/books", "").await;
        assert_eq!(body, "[\"Well-known lines\"]");
        assert_eq!(ask(&app, "POST", "/api/play/tree", "{\"moves\":[]}").await.0, StatusCode::CONFLICT);
        assert_eq!(
            ask(&app, "POST", "/api/review", "{\"do\":\"begin\",\"nodes\":500}").await.0,
            StatusCode::CONFLICT
        );
        assert_eq!(ask(&app, "GET", "/api/review/pgn", "").await.0, StatusCode::NOT_FOUND);
        let view = "{\"tab\":\"x\",\"boards\":[\"match/0\"]}";
        assert_eq!(ask(&app, "POST", "/api/view", view).await.0, StatusCode::CONFLICT);
        assert_eq!(ask(&app, "GET", "/api/events", "").await.0, StatusCode::BAD_REQUEST);
    }
}
