//! The parser of `go`.

use std::time::Duration;

use thiserror::Error;

use crate::time::GoLimits;

/// The arguments of `go`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Go {
    /// When the search ends.
    pub limits: GoLimits,
    /// The root moves to search, in UCI notation; empty for all.
    pub searchmoves: Vec<String>,
}

/// Why the arguments of `go` are invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GoError {
    /// No such limit.
    #[error("unknown limit: {0}")]
    Unknown(String),
    /// The limit needs a number.
    #[error("{}", number_error(word, found))]
    Number {
        /// The limit.
        word: &'static str,
        /// What follows it; empty at the end of the line.
        found: String,
    },
    /// `searchmoves` without a move.
    #[error("no move after searchmoves")]
    NoMoves,
}

fn number_error(word: &str, found: &str) -> String {
    if found.is_empty() {
        format!("no number after {word}")
    } else {
        format!("bad number after {word}: {found}")
    }
}

/// The keywords of UCI's `go`; any other word belongs to `searchmoves`.
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

/// Parses what follows `go`; an empty text is a search without limits.
///
/// A negative clock, as GUIs send it for a side that has overstepped its time, counts as zero, as does a negative
/// increment. `movestogo 0` counts as unknown.
///
/// # Errors
///
/// If a word is not a keyword, or a number is missing, not a whole number, too large, or negative where that is
/// invalid.
pub fn parse(text: &str) -> Result<Go, GoError> {
    let mut go = Go::default();
    let mut words = text.split_whitespace().peekable();
    while let Some(found) = words.next() {
        let word = known(found).ok_or_else(|| GoError::Unknown(found.to_owned()))?;
        let limits = &mut go.limits;
        match word {
            "ponder" => limits.ponder = true,
            "infinite" => limits.infinite = true,
            "searchmoves" => {
                while let Some(m) = words.next_if(|word| known(word).is_none()) {
                    go.searchmoves.push(m.to_owned());
                }
                if go.searchmoves.is_empty() {
                    return Err(GoError::NoMoves);
                }
            }
            _ => {
                let number = Number { word, found: words.next().unwrap_or_default() };
                match word {
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
            }
        }
    }
    Ok(go)
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
    use crate::time::Clock;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn limits(text: &str) -> GoLimits {
        parse(text).unwrap().limits
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
            let go = parse(text).unwrap();
            assert_eq!(go.searchmoves, ["e2e4", "d2d4"]);
            assert_eq!(go.limits.nodes, Some(10));
        }
    }

    #[test]
    fn bad_limits_as_a_table() {
        let number = |word, found: &str| GoError::Number { word, found: found.into() };
        for (text, error) in [
            ("fast", GoError::Unknown("fast".into())),
            ("depth", number("depth", "")),
            ("depth depth", number("depth", "depth")),
            ("depth -1", number("depth", "-1")),
            ("nodes 1.5", number("nodes", "1.5")),
            ("nodes 99999999999999999999", number("nodes", "99999999999999999999")),
            ("wtime soon", number("wtime", "soon")),
            ("movestogo -3", number("movestogo", "-3")),
            ("searchmoves", GoError::NoMoves),
            ("searchmoves nodes 3", GoError::NoMoves),
        ] {
            assert_eq!(parse(text), Err(error), "{text}");
        }
    }
}
