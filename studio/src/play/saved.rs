//! The state file of the game, which survives a restart.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use engine::chess::pgn::read_games;
use serde::{Deserialize, Serialize};
use shakmaty::ByColor;
use thiserror::Error;

use super::analysts::AnalystSettings;
use super::clock::{ChessClock, TimeControl};
use super::pgn::{PgnHeader, pgn_game, pgn_text};
use super::played::{GameEnd, PlayedGame};
use super::seats::{NewGame, Seat};
use super::session::{Session, end_of};

const FORMAT: &str = "studio-game/1";

#[derive(Debug, Error)]
pub enum SavedError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("it is not a saved game: {0}")]
    Form(#[from] serde_json::Error),
    #[error("it has the format \"{0}\", not \"studio-game/1\"")]
    Version(String),
    #[error("its game is wrong: {0}")]
    Game(String),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedGame {
    format: String,
    start: Option<String>,
    moves: Vec<String>,
    white: Seat,
    black: Seat,
    names: Option<[String; 2]>,
    clock: Option<SavedClock>,
    move_time_ms: u32,
    end: Option<GameEnd>,
    /// With variations and comments.
    #[serde(default)]
    pgn: Option<String>,
    /// Of the file in the library.
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    date: Option<String>,
    /// The tags of the PGN are those of a file.
    #[serde(default)]
    loaded: bool,
    /// False for an unchanged loaded game.
    #[serde(default = "yes")]
    played: bool,
    #[serde(default)]
    pub analysts: Vec<AnalystSettings>,
    /// Of a game that is a review, until a person changes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<SavedReview>,
}

/// Which game was reviewed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedReview {
    /// Equal for equal moves, players and dates.
    pub game: String,
    /// It was not stopped.
    pub complete: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedClock {
    control: TimeControl,
    /// White, Black, in milliseconds.
    left: [u64; 2],
    before: Vec<[u64; 2]>,
}

fn yes() -> bool {
    true
}

fn milliseconds(left: ByColor<Duration>) -> [u64; 2] {
    [left.white, left.black].map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX))
}

fn durations([white, black]: [u64; 2]) -> ByColor<Duration> {
    ByColor { white: Duration::from_millis(white), black: Duration::from_millis(black) }
}

impl SavedGame {
    pub fn of(session: &Session, analysts: Vec<AnalystSettings>, now: Instant) -> SavedGame {
        let clock = session.clock.as_ref().map(|clock| SavedClock {
            control: clock.control(),
            left: milliseconds(clock.left(now)),
            before: session.clock_before.iter().copied().map(milliseconds).collect(),
        });
        SavedGame {
            format: FORMAT.to_owned(),
            start: session.game.start().map(str::to_owned),
            moves: session.game.moves().iter().map(|m| m.uci.clone()).collect(),
            white: session.seats.white.clone(),
            black: session.seats.black.clone(),
            names: session.names.clone(),
            clock,
            move_time_ms: session.move_time_ms,
            end: session.end,
            pgn: Some(pgn_text(&session.pgn("????.??.??"))),
            name: session.name.clone(),
            date: session.date.clone(),
            loaded: session.is_loaded,
            played: session.is_played,
            analysts,
            review: None,
        }
    }

    /// Returns the session with its clock stopped.
    pub fn session(self) -> Result<Session, SavedError> {
        let wrong = SavedError::Game;
        let new = NewGame {
            white: self.white,
            black: self.black,
            start: super::start::StartChoice::Standard,
            clock: self.clock.as_ref().map(|clock| clock.control),
            move_time_ms: self.move_time_ms,
            here: None,
        };
        let mut session = Session::new(new).map_err(|error| wrong(error.to_string()))?;
        session.game = PlayedGame::new(self.start).map_err(|error| wrong(error.to_string()))?;
        for text in &self.moves {
            let m = session.game.parse(text).map_err(wrong)?;
            session.game.play(m).map_err(wrong)?;
        }
        if let Some(saved) = self.clock {
            if saved.before.len() != session.game.ply() {
                return Err(wrong("its clock does not fit its moves".to_owned()));
            }
            let mut clock = ChessClock::new(saved.control);
            clock.set_left(durations(saved.left));
            session.clock = Some(clock);
            session.clock_before = saved.before.into_iter().map(durations).collect();
        }
        session.record = pgn_game(&session.game, ["?"; 2], None, PgnHeader::casual("????.??.??"));
        let saved = self.pgn.and_then(|text| read_games(text.as_bytes()).0.pop());
        if let Some((_, record)) =
            saved.filter(|(_, record)| record.moves().starts_with(&session.record.moves()))
        {
            (session.record, session.is_loaded) = (record, self.loaded);
        }
        session.at = end_of(&session.record, session.game.ply());
        (session.name, session.date) = (self.name, self.date);
        session.is_played = self.played;
        session.names = self.names;
        session.end = self.end.or(session.game.end());
        Ok(session)
    }

    pub fn pgn(&self) -> Option<&str> {
        self.pgn.as_deref()
    }

    pub fn is_over(&self) -> bool {
        self.end.is_some()
    }

    pub fn read(path: &Path) -> Result<Option<SavedGame>, SavedError> {
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let saved: SavedGame = serde_json::from_slice(&text)?;
        if saved.format == FORMAT { Ok(Some(saved)) } else { Err(SavedError::Version(saved.format)) }
    }

    pub fn write(&self, path: &Path) -> Result<(), SavedError> {
        Ok(crate::files::write_aside(path, &serde_json::to_vec(self)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::start::StartChoice;
    use super::*;

    fn session() -> Session {
        let new = NewGame {
            white: Seat::Person,
            black: Seat::Engine { name: "Philidor".into(), elo: Some(1200), level: None },
            start: StartChoice::Chess960(Some(3)),
            clock: Some(TimeControl { base_s: 60, increment_s: 1, delay_s: 0 }),
            move_time_ms: 700,
            here: None,
        };
        let now = Instant::now();
        let mut session = Session::new(new).unwrap();
        session.move_by_person("e2e4", None, now).unwrap();
        session.move_by_engine(1, "e7e5", now + Duration::from_secs(10)).unwrap();
        session
    }

    #[test]
    fn a_game_is_written_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/game.json");
        assert!(SavedGame::read(&path).unwrap().is_none());
        let session = session();
        let analysts = serde_json::from_str(r#"[{"on": true, "limit": "infinite", "lines": 7}]"#).unwrap();
        SavedGame::of(&session, analysts, Instant::now()).write(&path).unwrap();
        let saved = SavedGame::read(&path).unwrap().unwrap();
        assert_eq!(saved.analysts[0].lines, 7);
        let mut read = saved.session().unwrap();
        assert_eq!(read.game().game().fen(), session.game().game().fen());
        assert_eq!(read.seats(), session.seats());
        let clock = read.clock().unwrap();
        assert_eq!((clock.running(), clock.left(Instant::now()).black.as_secs()), (None, 51));
        assert!(read.attach(Instant::now()), "the clock runs again when somebody looks");
        read.take_back(Instant::now()).unwrap();
        assert_eq!(read.game().ply(), 0);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left aside");
    }

    #[test]
    fn damaged_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("game.json");
        let text = serde_json::to_string(&SavedGame::of(&session(), Vec::new(), Instant::now())).unwrap();
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            SavedGame::read(&path).and_then(|saved| saved.unwrap().session())
        };
        assert!(read(&text).is_ok());
        assert!(matches!(read(&text[..text.len() / 2]), Err(SavedError::Form(_))));
        assert!(matches!(read(&text.replace("game/1", "game/2")), Err(SavedError::Version(_))));
        assert!(matches!(read(&text.replace("e2e4", "e2e5")), Err(SavedError::Game(_))));
        assert!(matches!(
            read(&text.replace("\"before\":[[", "\"before\":[[0,0],[")),
            Err(SavedError::Game(_))
        ));
    }
}
