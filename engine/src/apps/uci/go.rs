use std::time::Duration;

use thiserror::Error;

use crate::search::time_management::GoLimits;

/// Search time of a `go` without a valid limit, which must end by itself.
const UNKNOWN_LIMIT: Duration = Duration::from_millis(100);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Go {
    pub limits: GoLimits,
    pub searchmoves: Vec<String>,
    pub ignored: Vec<GoError>,
}

impl Go {
    /// Returns whether the opening book must not answer.
    pub fn needs_search(&self) -> bool {
        let GoLimits { infinite, ponder, mate, .. } = &self.limits;
        *infinite || *ponder || mate.is_some() || !self.searchmoves.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GoError {
    #[error("unknown limit: {0}")]
    Unknown(String),
    #[error("{}", number_error(word, found))]
    Number {
        word: &'static str,
        /// Empty at the end of the line or before a keyword.
        found: String,
    },
    #[error("no move after searchmoves")]
    NoMoves,
    #[error("movestogo without a clock")]
    NoClock,
}

fn number_error(word: &str, found: &str) -> String {
    if found.is_empty() {
        format!("no number after {word}")
    } else {
        format!("bad number after {word}: {found}")
    }
}

/// Any other word belongs to `searchmoves`.
const WORDS: [&str; 12] = [
    "searchmoves",
    "ponder",
    "infinite",
    "wtime",
    "btime",
    "winc",
    "binc",
    "movestogo",
    "movetime",
    "depth",
    "nodes",
    "mate",
];

/// An empty text means no limits. Negative clocks, which GUIs send when time is overstepped, and negative increments
/// count as 0, `movestogo 0` as absent.
///
/// Unknown words and invalid numbers only go to [`Go::ignored`], because a GUI waits for a `bestmove`. If all given
/// limits are ignored, the search takes 100 ms.
pub fn parse(text: &str) -> Go {
    let mut go = Go::default();
    let mut moves_left = false;
    let mut words = text.split_whitespace().peekable();
    while let Some(found) = words.next() {
        let Some(word) = known(found) else {
            go.ignored.push(GoError::Unknown(found.to_owned()));
            continue;
        };
        match word {
            "ponder" => go.limits.ponder = true,
            "infinite" => go.limits.infinite = true,
            "searchmoves" => {
                let before = go.searchmoves.len();
                while let Some(m) = words.next_if(|word| known(word).is_none()) {
                    go.searchmoves.push(m.to_owned());
                }
                if go.searchmoves.len() == before {
                    go.ignored.push(GoError::NoMoves);
                }
            }
            _ => {
                moves_left |= word == "movestogo";
                let found = words.next_if(|word| known(word).is_none()).unwrap_or_default();
                if let Err(error) = set_limit(&mut go.limits, Number { word, found }) {
                    go.ignored.push(error);
                }
            }
        }
    }
    if moves_left && go.ignored.is_empty() && !go.limits.has_end() {
        go.ignored.push(GoError::NoClock);
    }
    if !go.ignored.iter().all(|error| matches!(error, GoError::NoMoves)) && !go.limits.has_end() {
        go.limits.movetime = Some(UNKNOWN_LIMIT);
    }
    go
}

fn set_limit(limits: &mut GoLimits, number: Number<'_>) -> Result<(), GoError> {
    match number.word {
        "wtime" => limits.white.time = Some(number.clock()?),
        "btime" => limits.black.time = Some(number.clock()?),
        "winc" => limits.white.increment = number.clock()?,
        "binc" => limits.black.increment = number.clock()?,
        "movestogo" => limits.movestogo = Some(number.count()?).filter(|&moves| moves > 0),
        "movetime" => limits.movetime = Some(number.clock()?),
        "depth" => limits.depth = Some(number.count()?),
        "nodes" => limits.nodes = Some(number.count()?),
        _ => limits.mate = Some(number.count()?),
    }
    Ok(())
}

fn known(text: &str) -> Option<&'static str> {
    WORDS.into_iter().find(|word| word.eq_ignore_ascii_case(text))
}

struct Number<'a> {
    word: &'static str,
    found: &'a str,
}

impl Number<'_> {
    fn error(&self) -> GoError {
        GoError::Number { word: self.word, found: self.found.to_owned() }
    }

    fn count<T: std::str::FromStr>(&self) -> Result<T, GoError> {
        self.found.parse().map_err(|_| self.error())
    }

    fn clock(&self) -> Result<Duration, GoError> {
        let ms: i64 = self.count()?;
        Ok(Duration::from_millis(u64::try_from(ms).unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::time_management::Clock;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn limits(text: &str) -> GoLimits {
        parse(text).limits
    }

    #[test]
    fn a_book_may_answer_in_games_only() {
        for go in ["", "wtime 1000 btime 1000", "movetime 5", "nodes 7", "depth 2"] {
            assert!(!parse(go).needs_search(), "{go}");
        }
        for go in ["infinite", "ponder wtime 1000", "mate 3", "searchmoves d2d4"] {
            assert!(parse(go).needs_search(), "{go}");
        }
    }

    #[test]
    fn limits_as_a_table() {
        let none = GoLimits::default;
        let clock = |time, increment| Clock { time, increment: ms(increment) };
        for (text, expected) in [
            ("", none()),
            ("infinite", GoLimits { infinite: true, ..none() }),
            ("depth 300", GoLimits { depth: Some(300), ..none() }),
            ("nodes 10000000000", GoLimits { nodes: Some(10_000_000_000), ..none() }),
            ("mate 3", GoLimits { mate: Some(3), ..none() }),
            ("movetime 50 DEPTH 4", GoLimits { movetime: Some(ms(50)), depth: Some(4), ..none() }),
            ("wtime 100", GoLimits { white: clock(Some(ms(100)), 0), ..none() }),
            (
                "btime 100 binc 1 wtime 200 winc 2 movestogo 40",
                GoLimits {
                    white: clock(Some(ms(200)), 2),
                    black: clock(Some(ms(100)), 1),
                    movestogo: Some(40),
                    ..none()
                },
            ),
            (
                "ponder wtime -5 movestogo 0",
                GoLimits { ponder: true, white: clock(Some(ms(0)), 0), ..none() },
            ),
        ] {
            assert_eq!(limits(text), expected, "{text}");
        }
    }

    #[test]
    fn searchmoves_end_where_a_limit_begins() {
        for text in ["searchmoves e2e4 d2d4 nodes 10", "nodes 10 searchmoves e2e4 d2d4"] {
            let go = parse(text);
            assert_eq!(go.searchmoves, ["e2e4", "d2d4"]);
            assert_eq!(go.limits.nodes, Some(10));
        }
    }

    #[test]
    fn bad_limits_are_ignored() {
        let number = |word, found: &str| GoError::Number { word, found: found.into() };
        let unknown = |word: &str| GoError::Unknown(word.into());
        let nodes = GoLimits { nodes: Some(3), ..GoLimits::default() };
        for (text, ignored) in [
            ("fast nodes 3", vec![unknown("fast")]),
            ("nodes 3 very fast", vec![unknown("very"), unknown("fast")]),
            ("nodes 3 depth", vec![number("depth", "")]),
            ("depth nodes 3", vec![number("depth", "")]),
            ("depth -1 nodes 3", vec![number("depth", "-1")]),
            ("movetime 1.5 nodes 3", vec![number("movetime", "1.5")]),
            ("mate 99999999999999999999 nodes 3", vec![number("mate", "99999999999999999999")]),
            ("wtime soon movestogo -3 nodes 3", vec![number("wtime", "soon"), number("movestogo", "-3")]),
            ("searchmoves nodes 3", vec![GoError::NoMoves]),
        ] {
            let go = parse(text);
            assert_eq!((go.limits, go.ignored), (nodes.clone(), ignored), "{text}");
        }
    }

    #[test]
    fn a_search_whose_every_limit_is_ignored_ends_by_itself() {
        let short = Some(ms(100));
        for (text, movetime) in [
            ("nodes -1", short),
            ("movetime 12.5", short),
            ("wtime x btime 3.5 movestogo 4", short),
            ("fast", short),
            ("ponder depth", short),
            ("depth", short),
            ("movestogo 40", short),
            ("movestogo 0", short),
            ("ponder movestogo 40", short),
            // Without limits, or with a valid limit left.
            ("", None),
            ("searchmoves", None),
            ("infinite nodes -1", None),
            ("nodes -1 depth 3", None),
            ("wtime 12.5 btime 100", None),
            ("movestogo 40 infinite", None),
            ("movestogo 40 winc 10", None),
            ("depth -1 winc 10", None),
        ] {
            assert_eq!(limits(text).movetime, movetime, "{text}");
        }
    }
}
