use std::io;
use std::path::{Path, PathBuf};

use shakmaty::{Color, KnownOutcome, Move, Position};

use super::PlayError;
use crate::base::files::{can_write_aside, write_aside};
use crate::chess::pgn::{PgnGame, game_starts, read_games, why_no_text};
use crate::chess::position::{Game, Outcome};

/// The Event tag, which `--resume` demands.
const EVENT: &str = "A game at a terminal";
const PERSON: &str = "Player";

#[derive(Debug)]
pub(super) struct Record {
    start: Game,
    /// `start`, then the game after each move.
    games: Vec<Game>,
    moves: Vec<Move>,
    /// The person's side.
    pub side: Color,
    engine: String,
    date: String,
    /// Winner after a resignation.
    resigned: Option<Color>,
    file: Option<GameFile>,
}

#[derive(Debug)]
struct GameFile {
    path: PathBuf,
    /// The games before ours; ends with an empty line.
    before: Vec<u8>,
}

impl GameFile {
    /// Fails if the file could not be written later.
    fn open(path: &Path) -> Result<GameFile, PlayError> {
        let failed = |error| PlayError::File(path.to_owned(), error);
        let before = match std::fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            // A device such as /dev/zero has no end, and a rename would replace it.
            Ok(found) if !found.is_file() => {
                return Err(failed(io::Error::other("this is a folder or a device, not a file of games")));
            }
            Ok(_) => std::fs::read(path).map_err(failed)?,
            Err(error) => return Err(failed(error)),
        };
        if let Some(why) = why_no_text(&before) {
            return Err(failed(io::Error::other(why)));
        }
        can_write_aside(path).map_err(failed)?;
        Ok(GameFile { path: path.to_owned(), before: separated(before) })
    }

    fn write(&self, pgn: &[u8]) -> Result<(), PlayError> {
        let text = [self.before.as_slice(), pgn].concat();
        write_aside(&self.path, |out| out.write_all(&text))
            .map_err(|error| PlayError::File(self.path.clone(), error))
    }
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Ends the text with exactly one empty line.
fn separated(mut games: Vec<u8>) -> Vec<u8> {
    while games.last().is_some_and(u8::is_ascii_whitespace) {
        games.pop();
    }
    if !games.is_empty() {
        games.extend(b"\n\n");
    }
    games
}

impl Record {
    pub fn new(start: Game, side: Color, engine: &str, file: Option<&Path>) -> Result<Record, PlayError> {
        let file = file.map(GameFile::open).transpose()?;
        let (games, date) = (vec![start.clone()], today());
        let engine = engine.to_owned();
        Ok(Record { start, games, moves: Vec::new(), side, engine, date, resigned: None, file })
    }

    /// The last game must be unfinished and played at a terminal.
    pub fn resume(path: &Path) -> Result<Record, PlayError> {
        let text = std::fs::read(path).map_err(|error| PlayError::File(path.to_owned(), error))?;
        let failed = |why: &str| PlayError::Resume(path.to_owned(), why.to_owned());
        let at = game_starts(&text).last().copied().unwrap_or(0);
        let (mut games, broken) = read_games(&text[at..]);
        if let Some(broken) = broken.first() {
            return Err(failed(&format!("its last game cannot be read: {}", broken.why)));
        }
        let (_, game) = games.pop().ok_or_else(|| failed("there is no game in it"))?;
        if game.tag("Event").as_deref() != Some(EVENT) {
            return Err(failed("its last game was not played at a terminal"));
        }
        let player = |color: &str| game.tag(color).unwrap_or_default();
        let (side, engine) = match player("White") {
            white if white == PERSON => (Color::White, player("Black")),
            white => (Color::Black, white),
        };
        let mut record = Record {
            games: vec![game.start().clone()],
            start: game.start().clone(),
            moves: Vec::new(),
            side,
            engine,
            date: game.tag("Date").unwrap_or_else(today),
            resigned: None,
            file: Some(GameFile { path: path.to_owned(), before: separated(text[..at].to_owned()) }),
        };
        game.moves().into_iter().for_each(|m| record.play(m));
        if record.result() != "*" || game.tag("Result").is_some_and(|result| result != "*") {
            return Err(failed("its last game has ended; without --resume a new one is added"));
        }
        Ok(record)
    }

    pub fn game(&self) -> &Game {
        self.games.last().expect("the start at least")
    }

    pub fn moves(&self) -> (&Game, &[Move]) {
        (&self.start, &self.moves)
    }

    pub fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|file| file.path.as_path())
    }

    pub fn play(&mut self, m: Move) {
        let mut next = self.game().clone();
        next.play(m);
        self.games.push(next);
        self.moves.push(m);
    }

    /// Takes back the person's last move and the reply. Returns false if the person has not moved.
    pub fn take_back(&mut self) -> bool {
        let own = |index: &usize| self.games[*index].turn() == self.side;
        let Some(index) = (0..self.moves.len()).rev().find(own) else { return false };
        self.moves.truncate(index);
        self.games.truncate(index + 1);
        self.resigned = None;
        true
    }

    pub fn resign(&mut self) {
        self.resigned = Some(!self.side);
    }

    pub fn is_over(&self) -> bool {
        self.result() != "*"
    }

    /// `*` while the game goes on.
    pub fn result(&self) -> &'static str {
        match (self.resigned, self.game().outcome()) {
            (Some(winner), _) | (None, Some(Outcome::Decisive { winner })) => winner.fold_wb("1-0", "0-1"),
            (None, Some(Outcome::Draw(_))) => "1/2-1/2",
            (None, None) => "*",
        }
    }

    pub fn is_resigned(&self) -> bool {
        self.resigned.is_some()
    }

    pub fn pgn(&self) -> Vec<u8> {
        let position = self.start.position();
        let [white, black] = match self.side {
            Color::White => [PERSON, &self.engine],
            Color::Black => [&self.engine, PERSON],
        };
        let result = self.result();
        let mut tags = vec![
            ("Event", EVENT.to_owned()),
            ("Site", "?".to_owned()),
            ("Date", self.date.clone()),
            ("Round", "-".to_owned()),
            ("White", white.to_owned()),
            ("Black", black.to_owned()),
            ("Result", result.to_owned()),
        ];
        if !self.start.start().initial {
            if position.castles().mode().is_chess960() {
                tags.push(("Variant", "Chess960".to_owned()));
            }
            tags.extend([("SetUp", "1".to_owned()), ("FEN", self.start.fen())]);
        }
        let known = match result {
            "1-0" => shakmaty::Outcome::Known(KnownOutcome::Decisive { winner: Color::White }),
            "0-1" => shakmaty::Outcome::Known(KnownOutcome::Decisive { winner: Color::Black }),
            "1/2-1/2" => shakmaty::Outcome::Known(KnownOutcome::Draw),
            _ => shakmaty::Outcome::Unknown,
        };
        let moves = self.moves.iter().copied();
        let game = PgnGame::from_moves(tags, self.start.clone(), moves, |_| None, known);
        let mut text = Vec::new();
        game.write(&mut text).expect("memory can be written");
        text
    }

    /// Appends the game to `path`. After an error the former file stays in use.
    pub fn keep_in(&mut self, path: &Path) -> Result<(), PlayError> {
        if self.path().is_some_and(|former| is_same_file(former, path)) {
            return self.save();
        }
        let file = GameFile::open(path)?;
        if !self.moves.is_empty() {
            file.write(&self.pgn())?;
        }
        self.file = Some(file);
        Ok(())
    }

    pub fn save(&self) -> Result<(), PlayError> {
        match &self.file {
            Some(file) if !self.moves.is_empty() => file.write(&self.pgn()),
            _ => Ok(()),
        }
    }

    /// Reverses colours.
    pub fn next_game(&self) -> Result<Record, PlayError> {
        Record::new(self.start.clone(), !self.side, &self.engine, self.path())
    }
}

fn today() -> String {
    jiff::Zoned::now().strftime("%Y.%m.%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(record: &mut Record, moves: &str) {
        for text in moves.split(' ') {
            let m = record.game().parse_uci(text).unwrap();
            record.play(m);
        }
    }

    #[test]
    fn taking_back_goes_to_the_persons_move() {
        let mut record = Record::new(Game::new(), Color::White, "Philidor", None).unwrap();
        assert!(!record.take_back());
        played(&mut record, "e2e4 e7e5 g1f3 b8c6");
        assert!(record.take_back());
        assert_eq!((record.moves.len(), record.games.len(), record.game().turn()), (2, 3, Color::White));
        let mut black = Record::new(Game::new(), Color::Black, "Philidor", None).unwrap();
        played(&mut black, "e2e4");
        assert!(!black.take_back(), "the person has not moved");
        played(&mut black, "e7e5");
        assert!(black.take_back());
        assert_eq!((black.moves.len(), black.game().turn()), (1, Color::Black));
    }

    #[test]
    fn the_game_is_kept_behind_others_and_can_be_gone_on_with() {
        let folder = std::env::temp_dir().join(format!("philidor-record-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("games.pgn");
        std::fs::write(&path, "[Event \"other\"]\n\n1. d4 *\n").unwrap();
        assert!(Record::resume(&path).unwrap_err().to_string().contains("not played at a terminal"));
        let fen = "4k3/8/8/8/8/8/7r/R3K3 w Q - 0 1";
        let start = Game::from_fen(fen).unwrap();
        let mut record = Record::new(start, Color::Black, "Philidor \"9\"", Some(&path)).unwrap();
        played(&mut record, "e1c1 h2h1");
        record.save().unwrap();
        played(&mut record, "d1h1");
        record.save().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with("[Event \"other\"]\n\n1. d4 *\n\n[Event \"A game at a terminal\"]\n"),
            "{text}"
        );
        assert!(text.contains("1. O-O-O Rh1 2. Rxh1 *"), "{text}");
        let again = Record::resume(&path).unwrap();
        assert_eq!(
            (again.side, again.moves.len(), again.game().fen()),
            (Color::Black, 3, record.game().fen())
        );
        assert_eq!(again.pgn(), record.pgn());
        record.resign();
        record.save().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("[Result \"1-0\"]") && text.trim_end().ends_with("1-0"), "{text}");
        assert_eq!(text.matches("[Event").count(), 2);
        assert!(Record::resume(&path).unwrap_err().to_string().contains("has ended"));
        let next = record.next_game().unwrap();
        assert_eq!((next.side, next.game().fen().as_str()), (Color::White, fen));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
