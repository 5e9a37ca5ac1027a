use super::*;
use crate::engines::Roster;
use crate::matches::{OpeningBook, start_matches};
use crate::play::{Library, OpenBoards};
use crate::runs::{RunFolders, Trainers};
use axum::body::Body;
use axum::body::to_bytes;
use engine::chess::tables::ProbeRules;
use futures_util::StreamExt;
use tower::ServiceExt;

fn studio(folder: &tempfile::TempDir) -> (Router, RunBoard) {
    let (boards, state) = (Boards::default(), folder.path().join("match.json"));
    let (open, library) = (folder.path().join("boards"), Library::new(folder.path().join("games")));
    let play = OpenBoards::start(Roster::default(), open, library.clone(), boards.clone());
    let matches = start_matches(Roster::default(), vec![OpeningBook::own()], boards.clone(), state);
    let followed = FollowedMatches::start(Vec::new(), boards.clone());
    let folders = RunFolders { runs: vec![folder.path().to_owned()], ..RunFolders::default() };
    let runs = RunBoard::start(folders, Trainers::default(), boards.clone());
    let reviews = ReviewDesk::new(None);
    let puzzles = PuzzleDesk::new(None, reviews.clone(), folder.path().join("puzzles.csv"));
    let explorer = Explorer::new(library, None);
    let rooms = Rooms {
        play,
        reviews,
        matches,
        followed,
        runs: runs.clone(),
        boards,
        tables: Tables::builtin(ProbeRules::default()),
        puzzles,
        explorer,
    };
    (router(Studio::new(rooms, Access { port: 8645, token: None, public: None })), runs)
}

fn app(folder: &tempfile::TempDir) -> Router {
    studio(folder).0
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
        let request = Request::builder().method("POST").uri("/api/play/1");
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
    let play = |body: &'static str| ask(&app, "POST", "/api/play/1", body);
    assert_eq!(play("{\"do\":\"move\",\"text\":\"e4\"}").await.0, StatusCode::OK);
    let (status, _, body) = play("{\"do\":\"move\",\"text\":\"e4\"}").await;
    assert!(status == StatusCode::BAD_REQUEST && body.contains("not a legal move for Black"), "{body}");
    assert_eq!(play("{\"do\":\"move\",\"text\":\"e5\",\"ply\":0}").await.0, StatusCode::CONFLICT);
    assert_eq!(play("{\"do\":\"format_disk\"}").await.0, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(play("{").await.0, StatusCode::BAD_REQUEST);
    let (status, headers, body) = ask(&app, "GET", "/api/play/1/pgn?date=2026.01.02", "").await;
    let today = jiff::Zoned::now().strftime("[Date \"%Y.%m.%d\"]").to_string();
    assert!(status == StatusCode::OK && body.contains(&today) && body.ends_with("1. e4 *\n"), "{body}");
    assert!(headers["content-disposition"].to_str().unwrap().contains("game.pgn"));
}

#[tokio::test]
async fn bodies_and_rates_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(&folder);
    let large = format!("{{\"do\":\"move\",\"text\":\"{}\"}}", "x".repeat(LONGEST_BODY));
    assert_eq!(ask(&app, "POST", "/api/play/1", &large).await.0, StatusCode::PAYLOAD_TOO_LARGE);
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
    let (app, mut runs) = studio(&folder);
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
    assert!(body.contains("\"moves\":\"1. e4 c5") && body.contains("Sicilian Defense: Najdorf"), "{body}");
    let (_, _, body) = ask(&app, "GET", "/api/match/books", "").await;
    assert_eq!(body, "[\"Well-known lines\"]");
    assert_eq!(ask(&app, "POST", "/api/play/1/tree", "{\"moves\":[]}").await.0, StatusCode::CONFLICT);
    assert_eq!(
        ask(&app, "POST", "/api/review", "{\"do\":\"begin\",\"board\":1,\"nodes\":500}").await.0,
        StatusCode::CONFLICT
    );
    assert_eq!(ask(&app, "GET", "/api/review/pgn", "").await.0, StatusCode::NOT_FOUND);
    let view = "{\"tab\":\"x\",\"boards\":[\"match/0\"]}";
    assert_eq!(ask(&app, "POST", "/api/view", view).await.0, StatusCode::CONFLICT);
    assert_eq!(ask(&app, "GET", "/api/events", "").await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_file_of_many_games_is_loaded_and_listed() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(&folder);
    let long = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 ".to_owned() + &"{a remark} ".repeat(40);
    let games: String = (1..=5000)
        .map(|n| {
            format!(
                "[White \"W{n}\"]\n[Black \"B\"]\n[Date \"2026.01.02\"]\n[Result \"1-0\"]\n\n{long} 1-0\n\n"
            )
        })
        .collect();
    assert!(games.len() > 2 * LONGEST_BODY);
    assert_eq!(ask(&app, "POST", "/api/play/file?here=1", &games).await.0, StatusCode::OK);
    let (status, _, body) = ask(&app, "GET", "/api/play/1/file", "").await;
    let listed: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, listed.as_array().map(Vec::len)), (StatusCode::OK, Some(5000)));
    let last = &listed[4999];
    assert_eq!(
        (&last["white"], &last["result"], &last["plies"]),
        (&"W5000".into(), &"1-0".into(), &10.into())
    );
    assert!(last["opening"].as_str().unwrap().contains("Ruy Lopez"), "{last}");
    assert_eq!(
        ask(&app, "POST", "/api/play", "{\"do\":\"choose\",\"board\":1,\"game\":4999}").await.0,
        StatusCode::OK
    );
    let (_, _, pgn) = ask(&app, "GET", "/api/play/1/pgn", "").await;
    assert!(pgn.contains("[White \"W5000\"]"), "{pgn}");
    // Another game has a board of its own.
    let new = "{\"do\":\"new\",\"white\":{\"kind\":\"person\"},\"black\":{\"kind\":\"person\"},\"here\":1}";
    assert_eq!(ask(&app, "POST", "/api/play", new).await.2, "{\"board\":2}");
    assert_eq!(ask(&app, "POST", "/api/play/2", "{\"do\":\"move\",\"text\":\"e4\"}").await.0, StatusCode::OK);
    assert_eq!(ask(&app, "POST", "/api/play/file?here=2", "1. d4 *").await.2, "{\"board\":3}");
    assert!(ask(&app, "GET", "/api/play/2/pgn", "").await.2.ends_with("1. e4 *\n"));
    assert_eq!(ask(&app, "POST", "/api/play/9", "{\"do\":\"resign\"}").await.0, StatusCode::CONFLICT);
    let (status, _, body) = ask(&app, "POST", "/api/play/file", "no game").await;
    assert!(status == StatusCode::BAD_REQUEST && body.contains("PGN"), "{body}");
}

#[tokio::test]
async fn a_file_that_is_too_large_is_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(&folder);
    let (status, _, body) =
        ask(&app, "POST", "/api/play/file", &" ".repeat(crate::play::LONGEST_PGN + 1)).await;
    assert!(status == StatusCode::PAYLOAD_TOO_LARGE && body.contains("64 MB"), "{body}");
}

#[tokio::test]
async fn the_explorer_knows_a_loaded_file() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(&folder);
    let look = || {
        ask(
            &app,
            "GET",
            "/api/explorer?fen=rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR%20w%20KQkq%20-%200%201",
            "",
        )
    };
    assert!(look().await.2.contains("\"moves\":[]"));
    assert_eq!(ask(&app, "POST", "/api/play/file", "1. e4 e5 1-0").await.0, StatusCode::OK);
    let (status, _, body) = look().await;
    assert!(status == StatusCode::OK && body.contains("\"san\":\"e4\",\"games\":1,\"white\":1"), "{body}");
    assert_eq!(ask(&app, "GET", "/api/explorer?fen=nonsense", "").await.0, StatusCode::BAD_REQUEST);
}

/// The answer to a file that arrives in parts, and how many of them were heard.
async fn send_puzzles(app: &Router, parts: Vec<std::io::Result<Vec<u8>>>) -> (StatusCode, String, usize) {
    let heard = Arc::new(Mutex::new(0));
    let count = heard.clone();
    let parts = futures_util::stream::iter(parts).inspect(move |_| *count.lock().unwrap() += 1);
    let request = Request::builder().method("POST").uri("/api/puzzles/file?name=p.csv");
    let request = request.header("host", "localhost:8645").body(Body::from_stream(parts)).unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let heard = *heard.lock().unwrap();
    (status, String::from_utf8_lossy(&body).into_owned(), heard)
}

#[tokio::test]
async fn puzzles_are_read_as_they_arrive_and_refused_after_the_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(&folder);
    let table = "fen,moves,rating\n7k/8/6K1/8/8/8/8/R7 w - -,a1a8,900\n";
    let packed = zstd::encode_all(table.as_bytes(), 1).unwrap();
    for file in [table.as_bytes(), &packed] {
        let parts = file.chunks(3).map(|part| Ok(part.to_vec())).collect();
        let (status, body, _) = send_puzzles(&app, parts).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        let (_, _, sources) = ask(&app, "GET", "/api/puzzles", "").await;
        assert!(sources.contains("\"name\":\"p.csv\",\"count\":1,\"rated\":true"), "{sources}");
    }
    let games = std::iter::repeat_with(|| Ok(b"1. e4 e5 *\n".repeat(100_000))).take(100).collect();
    let (status, body, heard) = send_puzzles(&app, games).await;
    assert_eq!((status, heard), (StatusCode::BAD_REQUEST, 100), "{body}");
    assert!(body.contains("p.csv, line 1: this is no table of puzzles"), "{body}");
    let lost = vec![Ok(table.as_bytes().to_vec()), Err(std::io::Error::other("the browser has gone"))];
    let (status, body, _) = send_puzzles(&app, lost).await;
    assert!(status == StatusCode::BAD_REQUEST && body.contains("did not arrive whole"), "{body}");
    assert!(ask(&app, "GET", "/api/puzzles", "").await.2.contains("p.csv"), "the earlier file stays");
    let left = std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().contains("tmp")));
}
