//! Sends a million valid, damaged and random lines, each of which depends only on its number. `PHILIDOR_STORM=10000000
//! cargo test -p engine --lib storm` sends ten million.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::*;

const LINES: u64 = 1_000_000;

const ONE_SEARCH_IN: u64 = 10;

const GO: [&str; 8] = [
    "go nodes 20",
    "go wtime 60000 btime 60000 winc 1000 binc 1000 movestogo 40",
    "go infinite searchmoves e2e4 d2d4 g1f3",
    "go ponder wtime 1 btime 1",
    "go depth 2 mate 3",
    "go movetime 5",
    "eval",
    "isready",
];

const WORDS: [&str; 36] = [
    "uci",
    "debug",
    "on",
    "isready",
    "setoption",
    "name",
    "value",
    "Hash",
    "Threads",
    "MultiPV",
    "Clear Hash",
    "register",
    "ucinewgame",
    "position",
    "startpos",
    "fen",
    "moves",
    "e2e4",
    "e7e8q",
    "a1a1",
    "0000",
    "go",
    "searchmoves",
    "infinite",
    "nodes",
    "wtime",
    "stop",
    "ponderhit",
    "d",
    "-1",
    "0",
    "99999999999999999999",
    "1e308",
    "NaN",
    "\u{1F980}",
    "4k3/8/8/8/8/8/8/4K3 w - - 0 1",
];

/// The state with the defaults of the settings that choose a network, to compare all others.
fn settled(state: &SessionState) -> SessionState {
    let mut state = state.clone();
    let Settings { weights, backend, precision, step_limits, .. } = &mut state.0;
    (*weights, *backend, *precision, *step_limits) = Default::default();
    state
}

struct Storm {
    random: SmallRng,
    good: Vec<String>,
}

impl Storm {
    fn new(seed: u64) -> Storm {
        let option = |line: String| {
            let name = line.strip_prefix("option name ")?.split(" type ").next()?;
            let value = line.split(" default ").nth(1).unwrap_or("").split(" min ").next()?;
            Some(format!("setoption name {name} value {value}"))
        };
        let options = options::lines(true).into_iter().filter_map(option);
        let others = GOOD.iter().chain(&GO).map(|&line| line.to_owned());
        Storm { random: SmallRng::seed_from_u64(seed), good: options.chain(others).collect() }
    }

    fn line(&mut self) -> String {
        match self.random.random_range(0..10) {
            0 => self.noise(),
            1 | 2 => self.words(),
            3 => self.good_line(),
            _ => {
                let line = self.good_line();
                self.mutated(&line)
            }
        }
    }

    fn good_line(&mut self) -> String {
        let index = self.random.random_range(..self.good.len());
        self.good[index].clone()
    }

    fn noise(&mut self) -> String {
        let bytes: Vec<u8> = (0..self.random.random_range(0..60)).map(|_| self.random.random()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn words(&mut self) -> String {
        let words: Vec<&str> = (0..self.random.random_range(0..10)).map(|_| self.word()).collect();
        words.join(" ")
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.random.random_range(..WORDS.len())]
    }

    fn mutated(&mut self, line: &str) -> String {
        let mut line = line.to_owned();
        for _ in 0..self.random.random_range(1..4) {
            let at = self.random.random_range(..200);
            line = match self.random.random_range(0..6) {
                0 => damage(&line, at, self.random.random_range(..6), ""),
                1 => damage(&line, at, 0, self.word()),
                2 => {
                    let c: char = self.random.random();
                    damage(&line, at, 1, c.encode_utf8(&mut [0; 4]))
                }
                3 => damage(&line, at, usize::MAX / 2, ""),
                4 => line
                    .chars()
                    .map(|c| if self.random.random_range(0..8) == 0 { swap_case(c) } else { c })
                    .collect(),
                _ => self.with_a_word_changed(&line),
            };
        }
        line
    }

    fn with_a_word_changed(&mut self, line: &str) -> String {
        let mut words: Vec<&str> = line.split(' ').collect();
        let (a, b) = (self.random.random_range(..words.len()), self.random.random_range(..words.len()));
        match self.random.random_range(0..3) {
            0 => words[a] = self.word(),
            1 => words.swap(a, b),
            _ => words.insert(a, words[b]),
        }
        words.join(" ")
    }
}

fn swap_case(c: char) -> char {
    if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
}

/// Each effect must occur often enough for the test to mean something.
#[derive(Debug, Default)]
struct StormCounts {
    refused: u64,
    obeyed: u64,
    searched: u64,
}

impl Fixture {
    fn send_checked(&mut self, text: &str, state: &mut SessionState, counts: &mut StormCounts) {
        let answer = self.send(text);
        let now = self.state();
        assert!(answer.iter().all(|line| line.len() < 4000 && !line.contains(['\n', '\r'])), "{text:?}");
        match command::parse(text) {
            Err(_) => {
                assert!(
                    matches!(&answer[..], [one] if one.starts_with("info string ")),
                    "{text:?}: {answer:?}"
                );
                assert_eq!(now, *state, "{text:?}");
                counts.refused += 1;
            }
            Ok(Command::Position(_) | Command::SetOption { .. }) if !answer.is_empty() => {
                assert!(
                    matches!(&answer[..], [one] if one.starts_with("info string ")),
                    "{text:?}: {answer:?}"
                );
                let is_clamped = answer[0].contains(": set to ");
                // A network setting takes effect even if the network is refused.
                let is_network = settled(&now) == settled(state);
                assert!(is_clamped || is_network, "{text:?}: {answer:?}");
                counts.refused += 1;
            }
            Ok(_) => counts.obeyed += 1,
        }
        *state = now;
    }

    /// Checks that `go` gets exactly one `bestmove`, as the last line, after `stop` at the latest.
    fn search_checked(&mut self, text: &str, counts: &mut StormCounts) {
        let before = self.state();
        let mut lines = self.send(text);
        lines.extend(self.send("stop"));
        let is_bestmove = |line: &&String| line.starts_with("bestmove ");
        assert_eq!(lines.iter().filter(is_bestmove).count(), 1, "{text:?}: {lines:?}");
        assert!(lines.last().is_some_and(|line| line.starts_with("bestmove ")), "{text:?}: {lines:?}");
        counts.searched += 1;
        assert_eq!(self.state(), before, "{text:?}");
    }

    fn reset_costly_settings(&mut self) {
        let settings = &self.session.engine.settings();
        if settings.backend != crate::setup::settings::Backend::Uniform {
            self.send("setoption name Backend value uniform");
        }
        if self.session.engine.settings().threads > 2 {
            self.send("setoption name Threads value 2");
        }
    }
}

fn writes_files(text: &str) -> bool {
    match command::parse(text) {
        Ok(Command::SetOption { name, value: Some(_) }) => name.to_ascii_lowercase().contains("log"),
        _ => false,
    }
}

#[test]
fn a_storm_of_lines_keeps_the_session_consistent() {
    let lines = std::env::var("PHILIDOR_STORM").ok().and_then(|text| text.parse().ok()).unwrap_or(LINES);
    let mut storm = Storm::new(1749);
    let (mut fixture, mut counts) = (Fixture::new(), StormCounts::default());
    let mut state = fixture.state();
    for _ in 0..lines {
        let text = storm.line();
        match command::parse(&text) {
            Ok(Command::Go(_)) if storm.random.random_range(..ONE_SEARCH_IN) == 0 => {
                fixture.reset_costly_settings();
                fixture.search_checked(&text, &mut counts);
                state = fixture.state();
            }
            Ok(Command::Go(_)) => {}
            Ok(Command::IsReady | Command::Eval) => {
                fixture.reset_costly_settings();
                let answer = fixture.send(&text);
                assert!(!answer.is_empty(), "{text:?}");
                state = fixture.state();
            }
            _ if writes_files(&text) => {}
            _ => fixture.send_checked(&text, &mut state, &mut counts),
        }
    }
    assert!(counts.refused > lines / 4 && counts.obeyed > lines / 20 && counts.searched > 10, "{counts:?}");
    println!("{lines} lines: {counts:?}");
    fixture.reset_costly_settings();
    fixture.send("position startpos");
    fixture.send("go nodes 50");
    let answer = fixture.send("stop");
    assert!(answer.last().is_some_and(|line| line.starts_with("bestmove ")), "{answer:?}");
}

#[test]
fn bad_lines_in_any_number_change_nothing_at_all() {
    let mut storm = Storm::new(64);
    let mut fixture = Fixture::new();
    let before = fixture.state();
    for _ in 0..20_000 {
        let text = storm.line();
        if command::parse(&text).is_err() {
            assert_eq!(fixture.send(&text).len(), 1, "{text:?}");
        }
    }
    assert_eq!(fixture.state(), before);
}
