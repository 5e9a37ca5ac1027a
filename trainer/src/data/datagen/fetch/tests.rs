use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use jiff::fmt::rfc2822::DateTimePrinter;
use jiff::{SignedDuration, Timestamp};

use super::{Fetch, Month, Site};

/// Gives one answer per connection, then returns the requests.
struct Server {
    url: String,
    requests: JoinHandle<Vec<String>>,
}

impl Server {
    fn new(answers: Vec<String>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = thread::spawn(move || {
            let serve = |answer: String| {
                let (mut stream, _) = listener.accept().unwrap();
                let lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
                let request: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                stream.write_all(answer.as_bytes()).unwrap();
                request.join("\n")
            };
            answers.into_iter().map(serve).collect()
        });
        Server { url, requests }
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
}

fn game(number: u32) -> String {
    format!(
        "[Event \"x\"]\n[Site \"https://lichess.org/{number}\"]\n[UTCDate \"2024.05.0{number}\"]\n\
        [UTCTime \"12:00:00\"]\n\n1. e4 e5 *\n\n\n"
    )
}

struct Fetched {
    lines: Result<Vec<String>, String>,
    pauses: Vec<u64>,
}

fn request(site: Site, user: &str, month: &str) -> Fetch {
    Fetch {
        site,
        user: user.to_owned(),
        month: month.parse().unwrap(),
        until: None,
        out: "data".into(),
        contact: None,
        gap: 1,
        tries: 6,
        base_url: None,
    }
}

fn month(text: &str) -> Option<Month> {
    Some(text.parse().unwrap())
}

fn fetch(folder: &std::path::Path, server: &str, request: Fetch, now: &str) -> Fetched {
    let out = folder.to_str().unwrap();
    let request = Fetch { out: folder.to_owned(), base_url: Some(server.to_owned()), ..request };
    let now = SystemTime::from(now.parse::<Timestamp>().unwrap());
    let (mut pauses, mut lines) = (Vec::new(), Vec::new());
    let mut pause = |time: Duration| {
        pauses.extend((!time.is_zero()).then_some(time.as_secs()));
        true
    };
    let stop = AtomicBool::new(false);
    let result = request.fetch(&mut pause, &stop, now, &mut |line| {
        lines.push(line.replace(&format!("{out}/"), ""));
    });
    Fetched { lines: result.map(|()| lines).map_err(|error| format!("{error:#}")), pauses }
}

const LATER: &str = "2024-07-01T00:00:00Z";

#[test]
fn a_download_from_lichess_waits_and_continues_after_the_last_complete_game() {
    let folder = tempfile::tempdir().unwrap();
    let all = format!("{}{}{}", game(1), game(2), game(3));
    // Truncated within the third game.
    let broken = answer("200 OK", "", &all).replace(&game(3), &game(3)[..40]);
    let rest = format!("{}{}", game(2), game(3));
    let server = Server::new(vec![
        answer("429 Too Many Requests", "Retry-After: 7\r\n", ""),
        broken,
        answer("200 OK", "", &rest),
    ]);
    let asked = request(Site::Lichess, "somebody", "2024-05");
    let with_contact = Fetch { contact: Some("me@example.org".to_owned()), ..asked.clone() };
    let fetched = fetch(folder.path(), &server.url, with_contact, LATER);
    assert_eq!(fetched.lines, Ok(vec!["lichess-somebody-2024-05.pgn: 3 games".to_owned()]));
    assert_eq!(fetched.pauses, [7, 4], "what the server asks for, then longer than the first time");
    let file = folder.path().join("lichess-somebody-2024-05.pgn");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), all);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no partial file is left");

    let requests = server.requests.join().unwrap();
    let since = |moment: &str| moment.parse::<Timestamp>().unwrap().as_millisecond();
    let first = format!(
        "GET /api/games/user/somebody?since={}&until={}&sort=dateAsc",
        since("2024-05-01T00:00:00Z"),
        since("2024-06-01T00:00:00Z") - 1
    );
    assert!(requests[0].starts_with(&first) && requests[1].starts_with(&first), "{requests:?}");
    assert!(requests[2].contains(&format!("since={}", since("2024-05-02T12:00:00Z"))), "{requests:?}");
    let agent = concat!("philidor-trainer/", env!("CARGO_PKG_VERSION"), " (me@example.org)");
    assert!(
        requests.iter().all(|request| request.contains(agent) && request.contains("chess-pgn")),
        "{requests:?}"
    );

    let again = fetch(folder.path(), "http://127.0.0.1:1", asked, LATER);
    assert_eq!(again.lines, Ok(vec!["lichess-somebody-2024-05.pgn: present".to_owned()]));
}

#[test]
fn chess_com_lists_the_months_first() {
    let folder = tempfile::tempdir().unwrap();
    let archives = "{\"archives\":[\"https://api.chess.com/pub/player/x/games/2024/04\",\
        \"https://api.chess.com/pub/player/x/games/2024/06\"]}";
    let server = Server::new(vec![
        answer("200 OK", "", archives),
        answer("503 Service Unavailable", "", ""),
        answer("200 OK", "", &game(1)),
        answer("200 OK", "", &format!("{}{}", game(2), game(3))),
    ]);
    let asked = Fetch { until: month("2024-06"), gap: 3, ..request(Site::ChessCom, "x", "2024-04") };
    let fetched = fetch(folder.path(), &server.url, asked, "2024-06-15T00:00:00Z");
    let lines = [
        "chesscom-x-2024-04.pgn: 1 game",
        "chesscom-x-2024-05.pgn: 0 games",
        "chesscom-x-2024-06.pgn: 2 games so far",
    ];
    assert_eq!(fetched.lines.unwrap(), lines);
    assert_eq!(fetched.pauses, [3, 2, 3], "the gap, a failure, the gap");
    let requests = server.requests.join().unwrap();
    assert!(requests[0].starts_with("GET /pub/player/x/games/archives "), "{requests:?}");
    assert!(requests[1].starts_with("GET /pub/player/x/games/2024/04/pgn "), "{requests:?}");
    assert!(requests[3].starts_with("GET /pub/player/x/games/2024/06/pgn "), "{requests:?}");
}

#[test]
fn a_player_or_month_that_has_moved_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let moved = |to: &str| answer("301 Moved Permanently", &format!("Location: /pub/player/{to}\r\n"), "");
    let archives = "{\"archives\":[\"https://api.chess.com/pub/player/y/games/2024/05\"]}";
    let server = Server::new(vec![
        moved("y/games/archives"),
        answer("200 OK", "", archives),
        moved("y/games/2024/05/pgn"),
        answer("200 OK", "", &game(1)),
    ]);
    let fetched = fetch(folder.path(), &server.url, request(Site::ChessCom, "x", "2024-05"), LATER);
    assert_eq!(fetched.lines, Ok(vec!["chesscom-x-2024-05.pgn: 1 game".to_owned()]));
    let requests = server.requests.join().unwrap();
    assert!(requests[1].starts_with("GET /pub/player/y/games/archives "), "{requests:?}");
    assert!(requests[3].starts_with("GET /pub/player/y/games/2024/05/pgn "), "{requests:?}");
    assert!(requests.iter().all(|request| request.contains("philidor-trainer/")), "{requests:?}");
    // Redirects in a circle.
    let server = Server::new(vec![moved("x/games/archives"); 11]);
    let fetched = fetch(folder.path(), &server.url, request(Site::ChessCom, "x", "2024-04"), LATER);
    assert!(fetched.lines.unwrap_err().contains("redirect"));
    assert_eq!(fetched.pauses, [0; 0], "it is not asked again");
    server.requests.join().unwrap();
}

#[test]
fn a_server_asks_for_a_wait_in_seconds_or_until_a_date() {
    let folder = tempfile::tempdir().unwrap();
    let date = |seconds: i64| {
        let moment = Timestamp::now() + SignedDuration::from_secs(seconds);
        DateTimePrinter::new().timestamp_to_rfc9110_string(&moment).unwrap()
    };
    let wait = |status: &str, text: &str| {
        let refused = answer(status, &format!("Retry-After: {text}\r\n"), "");
        let server = Server::new(vec![refused; 2]);
        let asked = Fetch { tries: 2, ..request(Site::Lichess, "x", "2024-05") };
        let fetched = fetch(folder.path(), &server.url, asked, LATER);
        server.requests.join().unwrap();
        assert!(fetched.lines.is_err());
        let [pause] = fetched.pauses[..] else { panic!("{:?}", fetched.pauses) };
        pause
    };
    let (limit, busy) = ("429 Too Many Requests", "503 Service Unavailable");
    assert_eq!((wait(limit, "7"), wait(busy, "7")), (7, 7));
    for status in [limit, busy] {
        let pause = wait(status, &date(300));
        assert!((240..=300).contains(&pause), "{pause}");
    }
    assert_eq!(wait(limit, &date(-300)), 2, "the date has passed");
    assert_eq!(wait(limit, &date(86_400)), 900, "no longer than a quarter of an hour");
    // An unreadable header counts as absent.
    for text in ["soon", "-7", "1.5", ""] {
        assert_eq!((wait(limit, text), wait(busy, text)), (60, 2), "{text}");
    }
}

#[test]
fn failed_downloads_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let lichess = |user: &str, month: &str| request(Site::Lichess, user, month);
    let ask = |answers: Vec<String>, request: Fetch| {
        let server = Server::new(answers);
        let fetched = fetch(folder.path(), &server.url, request, LATER);
        server.requests.join().unwrap();
        (fetched.lines.unwrap_err(), fetched.pauses)
    };
    let none = answer("404 Not Found", "", "{}");
    assert_eq!(
        ask(vec![none.clone()], lichess("nobody", "2024-05")),
        ("lichess has no player nobody".into(), vec![])
    );
    assert_eq!(
        ask(vec![none.clone()], request(Site::ChessCom, "nobody", "2024-05")),
        ("chess.com has no player nobody".into(), vec![])
    );
    let archives = "{\"archives\":[\"https://api.chess.com/pub/player/x/games/2024/05\"]}";
    let (error, _) = ask(vec![answer("200 OK", "", archives), none], request(Site::ChessCom, "x", "2024-05"));
    assert!(error.starts_with("chess.com lists games of x in 2024-05, but does not have them: "), "{error}");
    assert!(error.ends_with("/pub/player/x/games/2024/05/pgn is not found"), "{error}");
    let (error, pauses) =
        ask(vec![answer("500 Oh", "", ""); 3], Fetch { tries: 3, ..lichess("x", "2024-05") });
    assert!(error.contains("the server answered 500") && error.contains("the same command"), "{error}");
    assert_eq!(pauses, [2, 4]);
    let (error, _) =
        ask(vec![answer("200 OK", "", "<html>"); 2], Fetch { tries: 2, ..lichess("x", "2024-05") });
    assert!(error.contains("no PGN"), "{error}");
    // After 429, Lichess asks for a full minute and for one download at a time. Chess.com answers 410 if nothing will
    // ever be there, and 429 to simultaneous requests.
    let limit = answer("429 Too Many Requests", "", "{\"error\":\"Please only run 1 request(s) at a time\"}");
    let (error, pauses) = ask(vec![limit.clone(); 2], Fetch { tries: 2, ..lichess("x", "2024-05") });
    assert!(error.contains("429"), "{error}");
    assert_eq!(pauses, [60]);
    let (_, pauses) = ask(vec![limit; 2], Fetch { tries: 2, ..request(Site::ChessCom, "x", "2024-05") });
    assert_eq!(pauses, [60]);
    let gone = answer("410 Gone", "", "{\"code\":0,\"message\":\"User not found\"}");
    assert_eq!(ask(vec![gone], request(Site::ChessCom, "x", "2024-05")).0, "chess.com has no player x");
    assert_eq!(ask(vec![answer("403 Forbidden", "", "")], lichess("x", "2024-05")).1, [0; 0], "one attempt");
    assert_eq!(ask(vec![], lichess("x", "2024-08")).0, "2024-08 has not begun yet");
    assert_eq!(
        ask(vec![], Fetch { until: month("2024-04"), ..lichess("x", "2024-05") }).0,
        "--until 2024-04 is before 2024-05"
    );
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        0,
        "no file is left of a response that is no PGN"
    );
}
