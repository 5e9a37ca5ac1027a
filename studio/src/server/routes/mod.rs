//! The routes of the server, behind access control and a rate limit.

mod matches;
mod play;
mod puzzles;
mod runs;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use engine::chess::tables::Tables;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::access::{Access, Denied};
use super::assets;
use super::events::EventSource;
use crate::boards::Boards;
use crate::explorer::Explorer;
use crate::matches::{FollowedMatches, MatchHandle};
use crate::play::{ActionError, OpenBoards};
use crate::puzzles::PuzzleDesk;
use crate::reviews::ReviewDesk;
use crate::runs::{MachineLoad, RunBoard};

/// In bytes; a PGN may be larger.
const LONGEST_BODY: usize = 1 << 20;

/// Actions at once, and per second in the long run.
const BURST: f64 = 100.0;
const ACTIONS_PER_S: f64 = 20.0;

/// Nothing is loaded from elsewhere, and no other site may embed or read the page. Chessground writes `style`
/// attributes.
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

#[derive(Clone, Debug)]
pub struct Studio {
    play: OpenBoards,
    reviews: ReviewDesk,
    matches: MatchHandle,
    runs: RunBoard,
    load: MachineLoad,
    puzzles: PuzzleDesk,
    explorer: Explorer,
    tables: Tables,
    events: EventSource,
    access: Arc<Access>,
    budget: Arc<Mutex<Budget>>,
}

#[derive(Clone, Debug)]
pub struct Rooms {
    pub play: OpenBoards,
    pub reviews: ReviewDesk,
    pub matches: MatchHandle,
    pub followed: FollowedMatches,
    pub runs: RunBoard,
    pub boards: Boards,
    pub tables: Tables,
    pub puzzles: PuzzleDesk,
    pub explorer: Explorer,
}

/// Actions that the rate limit still allows.
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
    pub fn new(rooms: Rooms, access: Access) -> Studio {
        let Rooms { play, reviews, matches, followed, runs, boards, tables, puzzles, explorer } = rooms;
        let topics = vec![
            ("open_boards", play.list()),
            ("engines", play.engines()),
            ("review", reviews.state.clone()),
            ("match", matches.state.clone()),
            ("followed", followed.list.clone()),
            ("runs", runs.list.clone()),
            ("puzzles", puzzles.state.clone()),
        ];
        let budget = Arc::new(Mutex::new(Budget { left: BURST, at: Instant::now() }));
        let (events, access) = (EventSource::new(topics, boards), Arc::new(access));
        let load = MachineLoad::default();
        Studio { play, reviews, matches, runs, load, tables, puzzles, explorer, events, access, budget }
    }
}

pub fn router(studio: Studio) -> Router {
    Router::new()
        .route("/", get(|headers: HeaderMap| async move { assets::serve("", &headers) }))
        .route(
            "/{*path}",
            get(|Path(path): Path<String>, headers: HeaderMap| async move { assets::serve(&path, &headers) }),
        )
        .route("/api/events", get(events))
        .route("/api/play", post(play::command))
        .route("/api/play/file", post(play::load).layer(DefaultBodyLimit::disable()))
        .route("/api/play/games", get(play::games))
        .route("/api/play/games/pgn", get(play::game_pgn))
        .route("/api/play/setup", post(play::set_up_position))
        .route("/api/play/{board}", post(play::play))
        .route("/api/play/{board}/pgn", get(play::pgn))
        .route("/api/play/{board}/file", get(play::headlines))
        .route("/api/play/{board}/look", post(play::look))
        .route("/api/play/{board}/tree", post(play::tree))
        .route("/api/verdicts", get(play::find_verdicts))
        .route("/api/explorer", get(play::explore))
        .route("/api/openings", get(play::find_openings))
        .route("/api/review", post(play::act_review))
        .route("/api/review/pgn", get(play::review_pgn))
        .route("/api/review/page", get(play::review_page))
        .route("/api/puzzles", get(puzzles::sources))
        .route("/api/puzzles/file", post(puzzles::load).layer(DefaultBodyLimit::disable()))
        .route("/api/puzzles/show", post(puzzles::show))
        .route("/api/puzzles/next", post(puzzles::next))
        .route("/api/puzzles/try", post(puzzles::try_move))
        .route("/api/puzzles/solution", post(puzzles::solution))
        .route("/api/puzzles/opinion", post(puzzles::opinion))
        .route("/api/match", post(matches::act_match))
        .route("/api/match/earlier", get(matches::earlier_matches))
        .route("/api/match/pgn", get(matches::match_pgn))
        .route("/api/match/game", get(matches::replay_game))
        .route("/api/match/tree", post(matches::match_tree))
        .route("/api/match/books", get(matches::match_books))
        .route("/api/view", post(show_boards))
        .route("/api/runs", post(runs::begin_run))
        .route("/api/runs/keys", get(runs::run_keys))
        .route("/api/load", get(runs::machine_load))
        .route("/api/runs/{id}", get(runs::run_details).post(runs::act_run))
        .route("/api/runs/{id}/curves", get(runs::curves))
        .route("/api/runs/{id}/metrics", get(runs::run_metrics))
        .layer(DefaultBodyLimit::max(LONGEST_BODY))
        .layer(middleware::from_fn_with_state(studio.clone(), guard))
        .with_state(studio)
}

fn refuse(status: StatusCode, text: &str) -> Response {
    (status, Json(json!({ "error": text }))).into_response()
}

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
    /// A name that the tab has drawn at random.
    tab: String,
}

async fn events(State(studio): State<Studio>, Query(query): Query<EventsQuery>) -> Response {
    match studio.events.listen(&query.tab) {
        Some(stream) => {
            Sse::new(stream).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response()
        }
        None => refuse(StatusCode::SERVICE_UNAVAILABLE, "Too many tabs are open: close some."),
    }
}

fn reject(rejection: &JsonRejection) -> Response {
    match rejection.status() {
        status @ StatusCode::PAYLOAD_TOO_LARGE => {
            refuse(status, "That is too large: a request may have a megabyte.")
        }
        status => refuse(status, &rejection.body_text()),
    }
}

fn answer(result: Result<(), ActionError>) -> Response {
    answer_with(result.map(|()| json!({})))
}

fn answer_with(result: Result<impl Serialize, ActionError>) -> Response {
    match result {
        Ok(value) => Json(value).into_response(),
        Err(error @ ActionError::Invalid(_)) => refuse(StatusCode::BAD_REQUEST, &error.to_string()),
        Err(error @ ActionError::NotNow(_)) => refuse(StatusCode::CONFLICT, &error.to_string()),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TabView {
    tab: String,
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

fn pgn_file(name: &str, text: String) -> Response {
    let head = [
        (header::CONTENT_TYPE, "application/x-chess-pgn; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ];
    (head, text).into_response()
}
