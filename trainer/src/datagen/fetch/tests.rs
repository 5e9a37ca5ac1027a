//! Fetching from a small server on this machine, which answers from a script.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use clap::Parser;
use jiff::Timestamp;

use crate::cli::FetchGamesArgs;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: FetchGamesArgs,
}

/// A server that gives these answers, one a connection, and then the requests that it got.
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

/// What happened: what was said or went wrong, what was waited.
struct Fetched {
    said: Result<Vec<String>, String>,
    pauses: Vec<u64>,
}

fn fetch(folder: &std::path::Path, server: &str, arguments: &str, now: &str) -> Fetched {
    let out = folder.to_str().unwrap();
    let words =
        ["fetch-games"].into_iter().chain(arguments.split(' ')).chain(["--out", out, "--base-url", server]);
    let args = Cli::try_parse_from(words).unwrap().args;
    let now = SystemTime::from(now.parse::<Timestamp>().unwrap());
    let (mut pauses, mut said) = (Vec::new(), Vec::new());
    let mut pause = |time: Duration| {
        pauses.extend((!time.is_zero()).then_some(time.as_secs()));
        true
    };
    let stop = AtomicBool::new(false);
    let result = args.fetch().fetch(&mut pause, &stop, now, &mut |line| {
        said.push(line.replace(&format!("{out}/"), ""));
    });
    Fetched { said: result.map(|()| said), pauses }
}

const LATER: &str = "2024-07-01T00:00:00Z";

#[test]
fn lichess_is_waited_for_and_gone_on_with_where_it_broke_off() {
    let folder = tempfile::tempdir().unwrap();
    let all = format!("{}{}{}", game(1), game(2), game(3));
    // Broken off within the third game; the second is the last that is whole.
    let broken = answer("200 OK", "", &all).replace(&game(3), &game(3)[..40]);
    let rest = format!("{}{}", game(2), game(3));
    let server = Server::new(vec![
        answer("429 Too Many Requests", "Retry-After: 7\r\n", ""),
        broken,
        answer("200 OK", "", &rest),
    ]);
    let fetched =
        fetch(folder.path(), &server.url, "lichess Somebody 2024-05 --contact me@example.org", LATER);
    assert_eq!(fetched.said, Ok(vec!["lichess-somebody-2024-05.pgn: 3 games".to_owned()]));
    assert_eq!(fetched.pauses, [7, 4], "what the server asks for, then longer than the first time");
    let file = folder.path().join("lichess-somebody-2024-05.pgn");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), all);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no part is left");

    let requests = server.requests.join().unwrap();
    let since = |moment: &str| moment.parse::<Timestamp>().unwrap().as_millisecond();
    let first = format!(
        "GET /api/games/user/somebody?since={}&until={}&sort=dateAsc",
        since("2024-05-01T00:00:00Z"),
        since("2024-06-01T00:00:00Z") - 1
    );
    assert!(requests[0].starts_with(&first) && requests[1].starts_with(&first), "{requests:?}");
    assert!(requests[2].contains(&format!("since={}", since("2024-05-02T12:00:00Z"))), "{requests:?}");
    let polite = "philidor-trainer/0.1.0 (me@example.org)";
    assert!(
        requests.iter().all(|request| request.contains(polite) && request.contains("chess-pgn")),
        "{requests:?}"
    );

    // It is there: nobody is asked again.
    let again = fetch(folder.path(), "http://127.0.0.1:1", "lichess somebody 2024-05", LATER);
    assert_eq!(again.said, Ok(vec!["lichess-somebody-2024-05.pgn: there already".to_owned()]));
}

#[test]
fn chess_com_says_first_which_months_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let archives = "{\"archives\":[\"https://api.chess.com/pub/player/x/games/2024/04\",\
        \"https://api.chess.com/pub/player/x/games/2024/06\"]}";
    let server = Server::new(vec![
        answer("200 OK", "", archives),
        answer("503 Service Unavailable", "", ""),
        answer("200 OK", "", &game(1)),
        answer("200 OK", "", &format!("{}{}", game(2), game(3))),
    ]);
    let fetched = fetch(
        folder.path(),
        &server.url,
        "chess.com X 2024-04 --until 2024-06 --gap 3",
        "2024-06-15T00:00:00Z",
    );
    let said = [
        "chesscom-x-2024-04.pgn: 1 games",
        "chesscom-x-2024-05.pgn: 0 games",
        "chesscom-x-2024-06.pgn: 2 games so far",
    ];
    assert_eq!(fetched.said.unwrap(), said);
    assert_eq!(fetched.pauses, [3, 2, 3], "the gap, a failure, the gap");
    let requests = server.requests.join().unwrap();
    assert!(requests[0].starts_with("GET /pub/player/x/games/archives "), "{requests:?}");
    assert!(requests[1].starts_with("GET /pub/player/x/games/2024/04/pgn "), "{requests:?}");
    assert!(requests[3].starts_with("GET /pub/player/x/games/2024/06/pgn "), "{requests:?}");
}

#[test]
fn what_can_not_be_fetched_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let ask = |answers: Vec<String>, arguments: &str| {
        let server = Server::new(answers);
        let fetched = fetch(folder.path(), &server.url, arguments, LATER);
        server.requests.join().unwrap();
        (fetched.said.unwrap_err(), fetched.pauses)
    };
    let none = answer("404 Not Found", "", "{}");
    assert_eq!(
        ask(vec![none.clone()], "lichess nobody 2024-05"),
        ("lichess knows no player nobody".into(), vec![])
    );
    assert_eq!(
        ask(vec![none], "chess.com nobody 2024-05"),
        ("chess.com knows no player nobody".into(), vec![])
    );
    let (error, pauses) = ask(vec![answer("500 Oh", "", ""); 3], "lichess x 2024-05 --tries 3");
    assert!(error.contains("the server says 500") && error.contains("the same line again"), "{error}");
    assert_eq!(pauses, [2, 4]);
    let (error, _) = ask(vec![answer("200 OK", "", "<html>"); 2], "lichess x 2024-05 --tries 2");
    assert!(error.contains("no PGN"), "{error}");
    assert_eq!(ask(vec![answer("403 Forbidden", "", "")], "lichess x 2024-05").1, [0; 0], "not asked again");
    assert_eq!(ask(vec![], "lichess x 2024-08").0, "2024-08 has not begun yet");
    assert_eq!(ask(vec![], "lichess x 2024-05 --until 2024-04").0, "--until 2024-04 is before 2024-05");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left of what is no PGN");
}
