//! An unfinished review, one JSON object per search, written at once so that a killed review loses nothing.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shakmaty::{Color, Position};
use thiserror::Error;

use super::evidence::{Evidence, Moves, SearchKey};
use super::game_review::positions_of;
use super::judge::JudgedLine;
use super::judgement::{JudgedMate, PositionValue};
use crate::chess::pgn::PgnGame;
use crate::chess::position::Game;

const FORMAT: &str = "philidor-review/3";

/// The journal's first line. It names all that the searches depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewKey {
    format: String,
    /// XXH3.
    pub pgn: String,
    /// With its limits.
    pub judge: String,
}

#[derive(Serialize, Deserialize)]
struct JournalRecord {
    /// Counts readable games.
    game: usize,
    /// Plies before the position.
    ply: usize,
    level: u32,
    /// The move that was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    without: Option<String>,
    /// The search began after this move, [`Moves::Only`].
    #[serde(skip_serializing_if = "Option::is_none")]
    only: Option<String>,
    /// White's expected points by tablebases, in per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<f64>,
    lines: Vec<JournalLine>,
}

#[derive(Serialize, Deserialize)]
struct JournalLine {
    /// White's expected points, in per cent.
    white: f64,
    /// Negative if Black mates.
    #[serde(skip_serializing_if = "Option::is_none")]
    mate: Option<i64>,
    /// Chess960 UCI notation.
    pv: String,
}

#[derive(Debug, Error)]
pub enum JournalError {
    #[error("{0}: another review is writing it: wait for it, or choose another --out")]
    InUse(PathBuf),
    #[error("{0} holds an unfinished review: continue it with --resume, or start again with --force")]
    Unfinished(PathBuf),
    #[error(
        "{0} holds an unfinished review of other games, or of this file before a change: choose another --out, or \
         start again with --force"
    )]
    OtherGames(PathBuf),
    #[error("{0} holds an unfinished review by another version of Philidor: start again with --force")]
    OtherVersion(PathBuf),
    /// What only the earlier command had, and what only this one has.
    #[error(
        "{path} holds an unfinished review begun {}: repeat the earlier command, or start again with --force",
        change(begun, now)
    )]
    OtherSettings { path: PathBuf, begun: String, now: String },
    /// A half-written last line is no error.
    #[error("{0}, line {1}: damaged")]
    Damaged(PathBuf, usize),
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
}

pub struct Journal {
    path: PathBuf,
    file: BufWriter<File>,
}

/// By game and ply.
pub type KeptSearches = Vec<Vec<Evidence>>;

impl ReviewKey {
    pub fn new(pgn: &[u8], judge: String) -> ReviewKey {
        let pgn = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(pgn));
        ReviewKey { format: FORMAT.to_owned(), pgn, judge }
    }
}

impl ReviewKey {
    fn check(&self, found: &ReviewKey, path: &Path) -> Result<(), JournalError> {
        if found.format != self.format {
            return Err(JournalError::OtherVersion(path.to_owned()));
        }
        if found.pgn != self.pgn {
            return Err(JournalError::OtherGames(path.to_owned()));
        }
        let only_in = |of: &str, other: &str| {
            let others: Vec<&str> = other.split(", ").collect();
            of.split(", ").filter(|part| !others.contains(part)).collect::<Vec<_>>().join(", ")
        };
        if found != self {
            let changed = (only_in(&found.judge, &self.judge), only_in(&self.judge, &found.judge));
            let (begun, now) = match changed {
                // In another order.
                (begun, now) if begun.is_empty() && now.is_empty() => {
                    (found.judge.clone(), self.judge.clone())
                }
                changed => changed,
            };
            return Err(JournalError::OtherSettings { path: path.to_owned(), begun, now });
        }
        Ok(())
    }
}

fn change(begun: &str, now: &str) -> String {
    match (begun, now) {
        ("", now) => format!("without {now}"),
        (begun, "") => format!("with {begun}, now without"),
        (begun, now) => format!("with {begun}, now {now}"),
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> JournalError {
    move |error| JournalError::Io(path.to_owned(), error)
}

impl Journal {
    pub fn open(
        path: &Path,
        key: &ReviewKey,
        resume: bool,
        games: &[PgnGame],
    ) -> Result<(Journal, KeptSearches), JournalError> {
        let mut kept: KeptSearches =
            games.iter().map(|game| vec![Evidence::default(); game.moves().len() + 1]).collect();
        // Index and positions of the game read last; the records of a game are consecutive.
        let mut positions: (usize, Vec<Game>) = (usize::MAX, Vec::new());
        let existed = path.exists();
        let mut file = Journal::locked(path, true)?;
        if existed && !resume {
            return Err(JournalError::Unfinished(path.to_owned()));
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed(path))?;
        // The last line may be half written.
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        for (number, line) in text[..whole].split(|byte| *byte == b'\n').enumerate() {
            let damaged = || JournalError::Damaged(path.to_owned(), number + 1);
            if line.is_empty() {
                continue;
            }
            if number == 0 {
                let found: ReviewKey = serde_json::from_slice(line).map_err(|_| damaged())?;
                key.check(&found, path)?;
                continue;
            }
            let record: JournalRecord = serde_json::from_slice(line).map_err(|_| damaged())?;
            if positions.0 != record.game {
                positions = (record.game, positions_of(games.get(record.game).ok_or_else(damaged)?));
            }
            let position = positions.1.get(record.ply).ok_or_else(damaged)?;
            let evidence = &mut kept[record.game][record.ply];
            record.read(position, evidence).ok_or_else(damaged)?;
        }
        let start = |file: &mut File| -> io::Result<()> {
            file.set_len(whole as u64)?;
            io::Seek::seek(file, io::SeekFrom::End(0))?;
            if whole == 0 {
                writeln!(file, "{}", serde_json::to_string(key)?)?;
            }
            Ok(())
        };
        start(&mut file).map_err(failed(path))?;
        Ok((Journal { path: path.to_owned(), file: BufWriter::new(file) }, kept))
    }

    /// Writes the search of that key, which `evidence` holds.
    pub fn append(
        &mut self,
        game: usize,
        ply: usize,
        key: SearchKey,
        evidence: &Evidence,
    ) -> Result<(), JournalError> {
        let word = |m| Some(Game::uci(m, true));
        let (without, only) = match key.moves {
            Moves::All => (None, None),
            Moves::Without(m) => (word(m), None),
            Moves::Only(m) => (None, word(m)),
        };
        let record = JournalRecord {
            game,
            ply,
            level: key.level,
            without,
            only,
            known: evidence.known.map(|value| value.white),
            lines: evidence.found(key).unwrap_or_default().iter().map(JournalLine::new).collect(),
        };
        let mut write = || -> io::Result<()> {
            serde_json::to_writer(&mut self.file, &record)?;
            self.file.write_all(b"\n")?;
            self.file.flush()
        };
        write().map_err(|error| JournalError::Io(self.path.clone(), error))
    }

    /// Deletes the file of an unfinished review, if there is one.
    pub fn discard(path: &Path) -> Result<(), JournalError> {
        match Journal::locked(path, false).and_then(|_| std::fs::remove_file(path).map_err(failed(path))) {
            Err(JournalError::Io(_, error)) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// The lock ends with the file's last handle.
    fn locked(path: &Path, create: bool) -> Result<File, JournalError> {
        let open = OpenOptions::new().create(create).read(true).write(true).truncate(false).open(path);
        let file = open.map_err(failed(path))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(JournalError::InUse(path.to_owned())),
            // Some file systems have no locks.
            _ => Ok(file),
        }
    }

    pub fn delete(self) -> Result<(), JournalError> {
        std::fs::remove_file(&self.path).map_err(|error| JournalError::Io(self.path, error))
    }
}

impl JournalRecord {
    /// `None` if a move is illegal, or if the record is of two kinds of search.
    fn read(&self, position: &Game, evidence: &mut Evidence) -> Option<()> {
        let moves = match (&self.without, &self.only) {
            (Some(word), None) => Moves::Without(position.parse_uci(word).ok()?),
            (None, Some(word)) => Moves::Only(position.parse_uci(word).ok()?),
            (None, None) => Moves::All,
            (Some(_), Some(_)) => return None,
        };
        let lines: Option<Vec<JudgedLine>> = self.lines.iter().map(|line| line.read(position)).collect();
        evidence.known = self.known.map(|white| PositionValue { white, mate: None });
        evidence.add(SearchKey { level: self.level, moves }, lines?);
        Some(())
    }
}

impl JournalLine {
    fn new(line: &JudgedLine) -> JournalLine {
        let mate = line.value.mate.map(|mate| mate.winner.fold_wb(1, -1) * i64::from(mate.moves));
        let pv: Vec<String> = line.pv.iter().map(|m| Game::uci(*m, true)).collect();
        JournalLine { white: line.value.white, mate, pv: pv.join(" ") }
    }

    /// `None` if a move is illegal.
    fn read(&self, position: &Game) -> Option<JudgedLine> {
        let mut game = position.clone();
        let mut pv = Vec::new();
        for word in self.pv.split_ascii_whitespace() {
            let m = game.parse_uci(word).ok()?;
            game.position().is_legal(m).then(|| game.play(m))?;
            pv.push(m);
        }
        let mate = self.mate.map(|moves| JudgedMate {
            winner: if moves < 0 { Color::Black } else { Color::White },
            moves: moves.unsigned_abs() as u32,
        });
        Some(JudgedLine { value: PositionValue { white: self.white, mate }, wdl: None, pv })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::pgn::read_games;

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("philidor-journal-{}-{name}", std::process::id()))
    }

    fn game() -> PgnGame {
        read_games(b"1. e4 *").0.remove(0).1
    }

    #[test]
    fn searches_are_read_back_up_to_a_half_written_line() {
        let path = path("read");
        let games = [game()];
        let key = ReviewKey::new(b"text", "us, 5 nodes, 1 MiB".to_owned());
        let m = Game::new().parse_uci("e2e4").unwrap();
        let mate = Some(JudgedMate { winner: Color::Black, moves: 3 });
        let lines = [JudgedLine { value: PositionValue { white: 12.345, mate }, wdl: None, pv: vec![m] }];
        let (mut journal, kept) = Journal::open(&path, &key, false, &games).unwrap();
        assert_eq!(kept, [vec![Evidence::default(), Evidence::default()]]);
        let mut first = Evidence::default();
        first.known = Some(PositionValue::DRAW);
        let free = SearchKey::all(0);
        first.add(free, lines.to_vec());
        journal.append(0, 0, free, &first).unwrap();
        for resume in [false, true] {
            let error = Journal::open(&path, &key, resume, &games).err();
            assert!(matches!(error, Some(JournalError::InUse(_))), "{error:?}");
        }
        assert!(matches!(Journal::discard(&path), Err(JournalError::InUse(_))) && path.exists());
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&whole[..], b"{\"game\":0,\"ply\":1,\"li"].concat()).unwrap();
        assert!(matches!(Journal::open(&path, &key, false, &games), Err(JournalError::Unfinished(_))));
        let refused = |text: &[u8], judge: &str| {
            let other = ReviewKey::new(text, judge.to_owned());
            Journal::open(&path, &other, true, &games).err().unwrap().to_string()
        };
        let error = refused(b"text", "us, 7 nodes, 1 MiB");
        assert!(error.contains("begun with 5 nodes, now 7 nodes: repeat"), "{error}");
        let error = refused(b"text", "us, 5 nodes, 1 MiB, from ply 3");
        assert!(error.contains("begun without from ply 3: repeat"), "{error}");
        let error = refused(b"text", "5 nodes, us, 1 MiB");
        assert!(error.contains("begun with us, 5 nodes, 1 MiB, now 5 nodes, us, 1 MiB: repeat"), "{error}");
        let error = refused(b"other", "us, 5 nodes, 1 MiB");
        assert!(error.contains("of other games"), "{error}");
        let (mut journal, kept) = Journal::open(&path, &key, true, &games).unwrap();
        assert_eq!(kept, [vec![first.clone(), Evidence::default()]]);
        let alternative = SearchKey { level: 2, moves: Moves::Without(m) };
        first.add(alternative, Vec::new());
        journal.append(0, 0, alternative, &first).unwrap();
        let after = SearchKey { level: 1, moves: Moves::Only(m) };
        first.add(after, lines.to_vec());
        journal.append(0, 0, after, &first).unwrap();
        drop(journal);
        let (journal, kept) = Journal::open(&path, &key, true, &games).unwrap();
        assert_eq!(kept, [vec![first, Evidence::default()]]);
        drop(journal);
        Journal::discard(&path).unwrap();
        assert!(!path.exists());
        Journal::discard(&path).unwrap();
    }

    #[test]
    fn a_damaged_journal_is_refused() {
        let path = path("damaged");
        let key = ReviewKey::new(b"", String::new());
        let head = serde_json::to_string(&key).unwrap();
        let line = |pv: &str| {
            format!("{{\"game\":0,\"ply\":0,\"level\":0,\"lines\":[{{\"white\":1,\"pv\":\"{pv}\"}}]}}")
        };
        let kind = |fields: &str| line("e2e4").replace("\"lines\"", &format!("{fields}\"lines\""));
        let both = "\"without\":\"d2d4\",\"only\":\"e2e4\",";
        for (text, bad) in [
            ("nonsense\n".to_owned(), 1),
            (format!("{head}\n{}\nx\n", line("e2e4")), 3),
            (format!("{head}\n{}\n", line("e2e5")), 2),
            (format!("{head}\n{}\n{}\n", kind("\"only\":\"e2e4\","), kind(both)), 3),
            (format!("{head}\n{}\n", line("").replace("\"ply\":0", "\"ply\":7")), 2),
            (format!("\n{head}\n"), 2),
        ] {
            std::fs::write(&path, &text).unwrap();
            let error = Journal::open(&path, &key, true, &[game()]).err();
            assert!(
                matches!(error, Some(JournalError::Damaged(_, line)) if line == bad),
                "{text}: {error:?}"
            );
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_journal_of_another_version_is_refused() {
        let path = path("version");
        let key = ReviewKey::new(b"", String::new());
        let older = ReviewKey { format: "philidor-review/2".to_owned(), ..key.clone() };
        std::fs::write(&path, serde_json::to_string(&older).unwrap() + "\n").unwrap();
        let error = Journal::open(&path, &key, true, &[game()]).err().map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|error| error.contains("by another version")), "{error:?}");
        std::fs::remove_file(&path).unwrap();
    }
}
