//! Where mined games begin: the initial position, a book's, after random moves, after careless play.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::position::Game;
use fastrand::Rng;
use serde::{Deserialize, Serialize};
use shakmaty::fen::Fen;
use shakmaty::{EnPassantMode, Position, Role};

use super::move_choice::MoveChoice;
use super::uci_engine::{EngineError, Limit, UciEngine, UciPosition};
use crate::import::start_position;
use crate::import::{Filters, ImportError, ReadEvent, ReadOptions, open, read_games};
use crate::record::game_rng;

/// What an engine that isn't careless at the moment may think about a move of [`StartRules::careless`]. It plays one of
/// its three best: always the best, all games would begin alike.
const SOUND: Limit = Limit::Nodes(600);
/// The shares of random moves in careless play: in half of the games few, and then a piece is taken off.
const CARELESSNESS: [f64; 6] = [FEW, FEW, FEW, 0.1, 0.25, 0.5];
const FEW: f64 = 0.05;
/// Plies of careless play.
const CARELESS_PLIES: std::ops::RangeInclusive<u32> = 6..=60;
/// After so many games that ended too soon no start is to be expected any more.
const TRIES: u32 = 1000;

/// How games begin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartRules {
    /// Positions to begin with (EPD, FEN or the ends of a PGN's games); else the initial position.
    pub book: Option<PathBuf>,
    /// Random moves from there.
    pub random_plies: u32,
    /// Then 6 to 60 plies of which a share is random and the others are one of the engine's three best after 600 nodes; in half of the
    /// games few are random, and a piece is taken off the board.
    pub careless: bool,
}

/// Why there are no starts.
#[derive(Debug)]
pub enum StartError {
    /// The book can't be read.
    Unreadable(PathBuf, std::io::Error),
    /// Something in the book is no position to begin with.
    Bad {
        /// The book.
        book: PathBuf,
        /// The line, from 1; 0 for the whole book.
        line: usize,
        /// What is wrong.
        why: String,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Unreadable(book, error) => {
                write!(f, "can't read the book {}: {error}", book.display())
            }
            StartError::Bad { book, line: 0, why } => write!(f, "the book {}: {why}", book.display()),
            StartError::Bad { book, line, why } => write!(f, "{}:{line}: {why}", book.display()),
        }
    }
}

impl std::error::Error for StartError {}

/// Starts by number, the same for the same seed.
#[derive(Clone, Debug)]
pub struct StartPositions {
    rules: StartRules,
    seed: u64,
    /// Shuffled; the initial position alone if there is no book.
    book: Vec<Option<String>>,
}

impl StartPositions {
    /// Reads the book, if the rules name one.
    ///
    /// # Errors
    ///
    /// If it can't be read, or something in it is no position in which a game can begin.
    pub fn new(rules: StartRules, seed: u64) -> Result<StartPositions, StartError> {
        let mut book = match &rules.book {
            None => vec![None],
            Some(path) => read_book(path)?,
        };
        Rng::with_seed(seed).shuffle(&mut book);
        Ok(StartPositions { rules, seed, book })
    }

    /// The start of game `number` as a FEN, `None` for the initial position; the game isn't over there.
    ///
    /// # Errors
    ///
    /// If the engine, which careless play needs, fails; or if the rules leave no start.
    pub fn start(
        &self,
        number: u64,
        engine: &mut UciEngine,
        stop: &AtomicBool,
    ) -> Result<Option<String>, EngineError> {
        if !self.rules.careless {
            return self.plain(number).map_err(|why| engine.failed(why));
        }
        let first = self.first(number);
        let mut rng = game_rng(self.seed, number, 0);
        for _ in 0..TRIES {
            let mut course = UciPosition::new(first.as_deref()).expect("checked when the book was read");
            let begun = wander(&mut course, self.rules.random_plies, &mut rng)
                && careless(&mut course, engine, &mut rng, stop)?;
            if begun {
                return Ok(reached(&course));
            }
        }
        Err(engine.failed(none_found(first)))
    }

    /// [`StartPositions::start`] without careless play, which alone needs an engine.
    ///
    /// # Errors
    ///
    /// One line, if the rules leave no start.
    pub fn plain(&self, number: u64) -> Result<Option<String>, String> {
        let first = self.first(number);
        if self.rules.random_plies == 0 {
            return Ok(first.clone());
        }
        let mut rng = game_rng(self.seed, number, 0);
        for _ in 0..TRIES {
            let mut course = UciPosition::new(first.as_deref()).expect("checked when the book was read");
            if wander(&mut course, self.rules.random_plies, &mut rng) {
                return Ok(reached(&course));
            }
        }
        Err(none_found(first))
    }

    fn first(&self, number: u64) -> &Option<String> {
        &self.book[(number % self.book.len() as u64) as usize]
    }
}

/// Where a course has come to, as games keep it.
fn reached(course: &UciPosition) -> Option<String> {
    start_position(&course.game.fen()).expect("a position that was reached").0
}

fn none_found(first: &Option<String>) -> String {
    let from = first.as_deref().unwrap_or("the initial position");
    format!("found no start after random moves from {from} in {TRIES} tries")
}

/// Plays random moves; whether the game isn't over then.
fn wander(course: &mut UciPosition, plies: u32, rng: &mut Rng) -> bool {
    for _ in 0..plies {
        let Some(m) = rng.choice(course.game.legal_moves()) else { return false };
        course.play(m);
    }
    course.game.outcome().is_none()
}

/// Plays on carelessly; whether that came to a position in which the game isn't over.
fn careless(
    course: &mut UciPosition,
    engine: &mut UciEngine,
    rng: &mut Rng,
    stop: &AtomicBool,
) -> Result<bool, EngineError> {
    let sound = MoveChoice::default();
    let carelessness = CARELESSNESS[rng.usize(..CARELESSNESS.len())];
    for _ in 0..rng.u32(CARELESS_PLIES) {
        if course.game.outcome().is_some() {
            return Ok(false);
        }
        let m = if rng.f64() < carelessness {
            rng.choice(course.game.legal_moves()).expect("the game isn't over")
        } else {
            let lines = engine.best(course, SOUND, sound.moves(), stop)?;
            lines[sound.draw(lines.len(), rng)].m
        };
        course.play(m);
    }
    if carelessness == FEW {
        let Some(robbed) = without_a_piece(&course.game, rng) else { return Ok(false) };
        *course = robbed;
    }
    Ok(course.game.outcome().is_none())
}

/// The position without one of its pieces, if that is a position.
fn without_a_piece(game: &Game, rng: &mut Rng) -> Option<UciPosition> {
    let mut setup = game.position().to_setup(EnPassantMode::Legal);
    let square = rng.choice(setup.board.occupied() & !setup.board.by_role(Role::King))?;
    setup.board.discard_piece_at(square);
    setup.ep_square = None;
    UciPosition::new(Some(&Fen::try_from(setup).ok()?.to_string())).ok()
}

fn read_book(path: &Path) -> Result<Vec<Option<String>>, StartError> {
    let unreadable = |error| StartError::Unreadable(path.to_owned(), error);
    let bad = |line, why: String| StartError::Bad { book: path.to_owned(), line, why };
    let mut text = String::new();
    open(path, Arc::default()).and_then(|mut reader| reader.read_to_string(&mut text)).map_err(unreadable)?;
    let first = text.trim_start_matches('\u{feff}').trim_start();
    let starts = if first.starts_with('[') || first.starts_with("1.") {
        read_pgn_book(path)?
    } else {
        let lines =
            text.lines().enumerate().filter(|(_, line)| !matches!(line.trim().as_bytes(), [] | [b'#', ..]));
        lines
            .map(|(index, line)| usable(&fen_of(line)).map_err(|why| bad(index + 1, why)))
            .collect::<Result<Vec<_>, _>>()?
    };
    if starts.is_empty() { Err(bad(0, "holds no position".into())) } else { Ok(starts) }
}

/// The FEN of a line of FEN or EPD: operations behind the position are left out.
fn fen_of(line: &str) -> String {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let counters = fields.get(4..6).is_some_and(|two| two.iter().all(|field| field.parse::<u32>().is_ok()));
    fields[..fields.len().min(if counters { 6 } else { 4 })].join(" ")
}

/// A start as games keep it, if the game isn't over there.
fn usable(fen: &str) -> Result<Option<String>, String> {
    let (start, position) = start_position(fen)?;
    match Game::from_position(position).outcome() {
        None => Ok(start),
        Some(_) => Err(format!("the game is over in \"{fen}\"")),
    }
}

/// The positions in which a PGN's games end; games that end by rule are left out, broken ones too.
fn read_pgn_book(path: &Path) -> Result<Vec<Option<String>>, StartError> {
    let filters = Filters { unknown_results: true, ..Filters::default() };
    let options = ReadOptions { filters, ..ReadOptions::default() };
    let mut starts = Vec::new();
    let read = read_games(&[path.to_owned()], &options, &AtomicBool::new(false), |progress| {
        match progress {
            ReadEvent::Game(game) => {
                let mut replay = Game::from_fen(&game.start_fen()).expect("checked when it was read");
                game.moves.iter().for_each(|m| replay.play(m.to_legal_move(replay.position())));
                starts.extend(usable(&replay.fen()).ok());
            }
            ReadEvent::Broken(path, broken) => {
                log::warn!("{}:{}: {}, skipped", path.display(), broken.line, broken.fault);
            }
            ReadEvent::Bytes(_) => (),
        }
        Ok::<(), std::convert::Infallible>(())
    });
    match read {
        Ok(_) => Ok(starts),
        Err(ImportError::Open(path, error)) => Err(StartError::Unreadable(path, error)),
        Err(ImportError::Receiver(never)) => match never {},
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book(name: &str, text: &str) -> Result<Vec<Option<String>>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        read_book(&path)
            .map_err(|error| error.to_string().replace(&format!("{}", folder.path().display()), ""))
    }

    #[test]
    fn books_are_epd_fen_or_pgn() {
        let after_e4 = Some("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1".to_owned());
        let epd = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - id \"e4\"; bm e5;\n\n# none\n\
            rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n";
        assert_eq!(book("a.epd", epd), Ok(vec![after_e4.clone(), None]));
        let pgn = "[Event \"x\"]\n\n1. e4 *\n\n[Event \"mate\"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n";
        assert_eq!(book("a.pgn", pgn), Ok(vec![after_e4]));
    }

    #[test]
    fn what_is_wrong_with_a_book_is_named() {
        let over = "7k/5KQ1/8/8/8/8/8/8 b - - 0 1";
        assert_eq!(book("b.epd", over), Err(format!("/b.epd:1: the game is over in \"{over}\"")));
        let wrong = book("b.epd", "\n8/8/8/8/8/8/8/8 w - - 0 1\n").unwrap_err();
        assert!(wrong.starts_with("/b.epd:2: impossible position"), "{wrong}");
        assert_eq!(book("b.epd", "# nothing\n"), Err("the book /b.epd: holds no position".to_owned()));
        assert!(read_book(Path::new("nowhere.epd")).unwrap_err().to_string().contains("nowhere.epd"));
    }

    #[test]
    fn a_piece_is_taken_off_and_never_a_king() {
        let mut rng = game_rng(1, 2, 3);
        for _ in 0..100 {
            let course = without_a_piece(&Game::new(), &mut rng).unwrap();
            let board = course.game.position().board();
            assert_eq!((board.occupied().count(), board.kings().count()), (31, 2));
        }
    }

    #[test]
    fn random_plies_end_in_a_game_that_goes_on() {
        for number in 0..50 {
            let mut course = UciPosition::new(None).unwrap();
            if wander(&mut course, 8, &mut game_rng(7, number, 0)) {
                assert_eq!(course.game.ply(), 8);
                assert_eq!(course.game.outcome(), None);
            }
        }
        // After seven random moves from here White has often mated or been stalemated.
        let fen = Some("7k/8/5K2/6Q1/8/8/8/8 w - - 0 1");
        let over = (0..50).filter(|number| {
            let mut course = UciPosition::new(fen).unwrap();
            !wander(&mut course, 7, &mut game_rng(7, *number, 0))
        });
        assert!(over.count() > 0);
    }
}
