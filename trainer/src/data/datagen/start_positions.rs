use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{anyhow, bail};
use engine::chess::position::Game;
use fastrand::Rng;
use serde::{Deserialize, Serialize};
use shakmaty::fen::Fen;
use shakmaty::{Board, EnPassantMode, Position, Role, Setup};
use thiserror::Error;

use super::engine_pool::TaskError;
use super::move_choice::MoveChoice;
use super::stored_positions::StoredPositions;
use super::walk::{GameStart, Walk};
use super::{EngineError, Limit, UciEngine, UciPosition};
use crate::data::import::{Filters, ReadOptions, games_of_text, read_text, start_position};
use crate::data::record::game_rng;

/// Careless play takes one of the three best moves: the best alone would make all openings alike.
const CARELESS_LIMIT: Limit = Limit::Nodes(600);
/// Share of random moves, drawn per game. Games with the lowest share also lose a piece.
const RANDOM_SHARES: [f64; 6] = [FEW, FEW, FEW, 0.1, 0.25, 0.5];
const FEW: f64 = 0.05;
const CARELESS_PLIES: std::ops::RangeInclusive<u32> = 6..=60;
/// Plies after a piece is removed, so that labelled positions have a history.
const PLIES_AFTER_REMOVAL: u32 = 8;
const TRIES: u32 = 1000;
/// Attempts per book position before the next. From some positions, random moves always end the game.
const TRIES_EACH: u32 = 20;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FirstPositions {
    #[default]
    Initial,
    /// EPD, FEN or the final positions of a PGN's games.
    Book(PathBuf),
    /// Random positions of training games in `games/1` files.
    Games(Vec<PathBuf>),
    /// One of the 960, drawn per game.
    Chess960,
    /// One of the 960 for each side.
    DoubleChess960,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartRules {
    pub first: FirstPositions,
    pub random_plies: u32,
    /// Whether 6 to 60 careless plies follow: some random, the rest one of the engine's three best moves at 600 nodes.
    /// Half of the games have few random moves and lose a piece.
    pub careless: bool,
}

#[derive(Debug, Error)]
pub enum StartError {
    #[error("cannot read the book {}: {}", .0.display(), .1)]
    Unreadable(PathBuf, std::io::Error),
    /// No game can begin in these files.
    #[error("{0:#}")]
    Games(anyhow::Error),
    #[error("the book {} holds no position", .0.display())]
    Empty(PathBuf),
    /// No game can begin in this line's position.
    #[error("{}:{line}: {why}", book.display())]
    Unusable {
        book: PathBuf,
        /// From 1.
        line: usize,
        why: String,
    },
}

/// Start positions by number, determined by the seed. Skips a book position if random moves keep ending the game.
#[derive(Clone, Debug)]
pub struct StartPositions {
    rules: StartRules,
    seed: u64,
    /// Shuffled. `[None]` without a book.
    book: Vec<Option<String>>,
    games: Option<Arc<StoredPositions>>,
}

impl StartPositions {
    pub fn new(rules: StartRules, seed: u64) -> Result<StartPositions, StartError> {
        let mut book = match &rules.first {
            FirstPositions::Book(path) => read_book(path)?,
            _ => vec![None],
        };
        Rng::with_seed(seed).shuffle(&mut book);
        let games = match &rules.first {
            FirstPositions::Games(files) => {
                Some(Arc::new(StoredPositions::read(files).map_err(StartError::Games)?))
            }
            _ => None,
        };
        Ok(StartPositions { rules, seed, book, games })
    }

    /// The start of game `number`, not yet over, with the moves before it. Only careless play uses the engine.
    pub fn start(
        &self,
        number: u64,
        engine: &mut UciEngine,
        stop: &AtomicBool,
    ) -> Result<GameStart, TaskError> {
        if !self.rules.careless {
            return Ok(self.walk(number)?.game_start());
        }
        let mut rng = game_rng(self.seed, number, 0);
        for attempt in 0..TRIES {
            let mut walk = self.first(number + u64::from(attempt / TRIES_EACH), &mut rng)?;
            let found = play_random(&mut walk, self.rules.random_plies, &mut rng)
                && play_carelessly(&mut walk, engine, &mut rng, stop)?;
            if found {
                return Ok(walk.game_start());
            }
        }
        Err(none_found().into())
    }

    /// Start FEN of game `number`, `None` for the initial position. Careless play is not supported.
    pub fn without_engine(&self, number: u64) -> anyhow::Result<Option<String>> {
        Ok(self.walk(number)?.fen())
    }

    fn walk(&self, number: u64) -> anyhow::Result<Walk> {
        let mut rng = game_rng(self.seed, number, 0);
        for attempt in 0..TRIES {
            let mut walk = self.first(number + u64::from(attempt / TRIES_EACH), &mut rng)?;
            if self.rules.random_plies == 0 || play_random(&mut walk, self.rules.random_plies, &mut rng) {
                return Ok(walk);
            }
        }
        Err(none_found())
    }

    fn first(&self, number: u64, rng: &mut Rng) -> anyhow::Result<Walk> {
        Ok(match (&self.rules.first, &self.games) {
            (FirstPositions::Chess960, _) => Walk::new(chess960(rng.u32(..960), None)),
            (FirstPositions::DoubleChess960, _) => Walk::new(chess960(rng.u32(..960), Some(rng.u32(..960)))),
            (_, Some(games)) => games.draw(TRIES, rng)?,
            (_, None) => Walk::new(self.book[(number % self.book.len() as u64) as usize].clone()),
        })
    }
}

/// Chess960 setups by number, with all castling rights. `black` defaults to `white`; `None` is the initial position.
fn chess960(white: u32, black: Option<u32>) -> Option<String> {
    let [white, black] = [white, black.unwrap_or(white)].map(Board::chess960);
    let mut setup = Setup { board: white, ..Setup::empty() };
    for (square, piece) in black.into_iter().filter(|(_, piece)| piece.color.is_black()) {
        setup.board.set_piece_at(square, piece);
    }
    setup.castling_rights = setup.board.rooks();
    let fen = Fen::try_from(setup).expect("counters that a FEN can have");
    start_position(&fen.to_string()).expect("all 960 are legal").0
}

fn none_found() -> anyhow::Error {
    anyhow!("no start position found after random moves in {TRIES} tries")
}

/// Returns whether the game is still open.
fn play_random(walk: &mut Walk, plies: u32, rng: &mut Rng) -> bool {
    for _ in 0..plies {
        let Some(m) = rng.choice(walk.position.game.legal_moves()) else { return false };
        walk.play(m);
    }
    walk.position.game.outcome().is_none()
}

/// Returns whether the game is still open.
fn play_carelessly(
    walk: &mut Walk,
    engine: &mut UciEngine,
    rng: &mut Rng,
    stop: &AtomicBool,
) -> Result<bool, EngineError> {
    let choice = MoveChoice::default();
    let random_share = RANDOM_SHARES[rng.usize(..RANDOM_SHARES.len())];
    let plies = rng.u32(CARELESS_PLIES);
    for ply in 0..plies {
        if random_share == FEW && ply == plies.saturating_sub(PLIES_AFTER_REMOVAL) {
            let Some(fewer) = without_a_piece(&walk.position.game, rng) else { return Ok(false) };
            *walk = fewer;
        }
        let game = &walk.position.game;
        if game.outcome().is_some() {
            return Ok(false);
        }
        let m = if rng.f64() < random_share {
            rng.choice(game.legal_moves()).expect("the game is not over")
        } else {
            let moves = engine.best(&walk.position, CARELESS_LIMIT, choice.moves(), stop)?;
            moves[choice.draw(moves.len(), rng)].m
        };
        walk.play(m);
    }
    Ok(walk.position.game.outcome().is_none())
}

/// `None` if the position is illegal without the piece.
fn without_a_piece(game: &Game, rng: &mut Rng) -> Option<Walk> {
    let mut setup = game.position().to_setup(EnPassantMode::Legal);
    let square = rng.choice(setup.board.occupied() & !setup.board.by_role(Role::King))?;
    setup.board.discard_piece_at(square);
    setup.ep_square = None;
    let fen = Fen::try_from(setup).ok()?.to_string();
    UciPosition::new(Some(&fen)).ok().map(|_| Walk::new(Some(fen)))
}

fn read_book(path: &Path) -> Result<Vec<Option<String>>, StartError> {
    let unreadable = |error| StartError::Unreadable(path.to_owned(), error);
    let unusable = |line, why: String| StartError::Unusable { book: path.to_owned(), line, why };
    let bytes = read_text(path).map_err(unreadable)?;
    let text = String::from_utf8_lossy(&bytes);
    let first = text.trim_start_matches('\u{feff}').trim_start();
    let starts = if first.starts_with('[') || first.starts_with("1.") {
        read_pgn_book(path, &bytes)
    } else {
        let lines =
            text.lines().enumerate().filter(|(_, line)| !matches!(line.trim().as_bytes(), [] | [b'#', ..]));
        lines
            .map(|(index, line)| {
                check_start(&fen_of(line)).map_err(|why| unusable(index + 1, format!("{why:#}")))
            })
            .collect::<Result<Vec<_>, _>>()?
    };
    if starts.is_empty() { Err(StartError::Empty(path.to_owned())) } else { Ok(starts) }
}

/// Drops EPD operations.
fn fen_of(line: &str) -> String {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let counters = fields.get(4..6).is_some_and(|two| two.iter().all(|field| field.parse::<u32>().is_ok()));
    fields[..fields.len().min(if counters { 6 } else { 4 })].join(" ")
}

/// The start as stored, if the game is not over.
fn check_start(fen: &str) -> anyhow::Result<Option<String>> {
    let (start, position) = start_position(fen)?;
    match Game::from_position(position).outcome() {
        None => Ok(start),
        Some(_) => bail!("the game is over in \"{fen}\""),
    }
}

/// Without broken games and games that are over by rule.
fn read_pgn_book(path: &Path, text: &[u8]) -> Vec<Option<String>> {
    let filters = Filters { unknown_results: true, ..Filters::default() };
    let options = ReadOptions { filters, ..ReadOptions::default() };
    let mut starts = Vec::new();
    for read in games_of_text(text, &options) {
        match read {
            Ok(game) => {
                let mut replay = Game::from_fen(&game.start_fen()).expect("checked when it was read");
                game.moves.iter().for_each(|m| replay.play(m.to_legal_move(replay.position())));
                starts.extend(check_start(&replay.fen()).ok());
            }
            Err(broken) => log::warn!("{}:{}: {}, skipped", path.display(), broken.line, broken.error),
        }
    }
    starts
}

#[cfg(test)]
mod tests {
    use engine::chess::position::PackedMove;

    use super::*;
    use crate::data::dataset::{self, Chunk};
    use crate::data::record::{GameRecord, INITIAL_FEN};

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
    fn errors_in_a_book_are_reported_with_their_line() {
        let over = "7k/5KQ1/8/8/8/8/8/8 b - - 0 1";
        assert_eq!(book("b.epd", over), Err(format!("/b.epd:1: the game is over in \"{over}\"")));
        let wrong = book("b.epd", "\n8/8/8/8/8/8/8/8 w - - 0 1\n").unwrap_err();
        assert!(wrong.starts_with("/b.epd:2: impossible position"), "{wrong}");
        assert_eq!(book("b.epd", "# nothing\n"), Err("the book /b.epd holds no position".to_owned()));
        assert!(read_book(Path::new("nowhere.epd")).unwrap_err().to_string().contains("nowhere.epd"));
    }

    #[test]
    fn armies_of_chess960() {
        assert_eq!(chess960(518, None), None);
        let double = chess960(518, Some(0)).unwrap();
        assert_eq!(double, "bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
        let starts = |first| {
            let rules = StartRules { first, ..StartRules::default() };
            let starts = StartPositions::new(rules, 3).unwrap();
            (0..200).map(|number| starts.without_engine(number).unwrap().unwrap()).collect::<Vec<_>>()
        };
        let same = |fen: &String| fen[..8] == fen.split(['/', ' ']).nth(7).unwrap().to_lowercase();
        let one = starts(FirstPositions::Chess960);
        assert!(one.iter().all(same) && one.iter().any(|fen| *fen != one[0]), "{one:?}");
        assert!(starts(FirstPositions::DoubleChess960).iter().filter(|fen| same(fen)).count() < 5);
    }

    #[test]
    fn a_start_that_random_moves_end_is_drawn_again() {
        use crate::data::record::{Split, split};
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("two.h5");
        let mut chunk = Chunk::new("a test");
        // In the first game every move draws by the fifty-move rule, so the second is used.
        for (fen, uci) in [(Some("8/8/8/4k3/8/4K3/4R3/8 w - - 99 80"), "e2e1"), (None, "e2e4")] {
            let game = Game::from_fen(fen.unwrap_or(INITIAL_FEN)).unwrap();
            let m = game.legal_moves().into_iter().find(|m| Game::uci(*m, false) == uci).unwrap();
            let start = fen.map(str::to_owned);
            let record = GameRecord { start, moves: vec![PackedMove::new(m)], ..GameRecord::default() };
            assert_eq!(split(record.identity()), Split::Train);
            chunk.push(&record);
        }
        dataset::write(&chunk, &file).unwrap();
        let rules = |random_plies| StartRules {
            first: FirstPositions::Games(vec![file.clone()]),
            random_plies,
            careless: false,
        };
        let starts = |random_plies| {
            let starts = StartPositions::new(rules(random_plies), 1).unwrap();
            (0..40).map(|number| starts.without_engine(number).unwrap()).collect::<Vec<_>>()
        };
        let is_late = |start: &Option<String>| start.as_ref().is_some_and(|fen| fen.contains(" 99 "));
        assert!((5..35).contains(&starts(0).iter().filter(|start| is_late(start)).count()));
        assert!(starts(1).iter().all(|start| start.as_ref().is_some_and(|fen| fen.contains(" b KQkq - "))));
    }

    #[test]
    fn a_position_of_a_book_whose_every_move_ends_the_game_gives_way_to_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let book = folder.path().join("book.epd");
        let last = "8/8/8/4k3/8/4K3/4R3/8 w - - 99 80";
        std::fs::write(&book, format!("{last}\n4k3/8/8/8/8/8/8/R3K3 w Q - 0 1\n")).unwrap();
        let starts = |random_plies| {
            let rules = StartRules {
                first: FirstPositions::Book(book.clone()),
                random_plies,
                ..StartRules::default()
            };
            let starts = StartPositions::new(rules, 1).unwrap();
            (0..10).map(|number| starts.without_engine(number).unwrap().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(starts(0).iter().filter(|fen| *fen == last).count(), 5);
        assert!(
            starts(1).iter().all(|fen| fen.ends_with(" b - - 1 1")),
            "of the other, after one move of White"
        );
    }

    #[test]
    fn a_piece_is_removed_and_never_a_king() {
        let mut rng = game_rng(1, 2, 3);
        for _ in 0..100 {
            let walk = without_a_piece(&Game::new(), &mut rng).unwrap();
            let board = walk.position.game.position().board();
            assert_eq!((board.occupied().count(), board.kings().count()), (31, 2));
        }
    }

    #[test]
    fn random_plies_end_in_a_game_that_is_not_over() {
        for number in 0..50 {
            let mut walk = Walk::new(None);
            if play_random(&mut walk, 8, &mut game_rng(7, number, 0)) {
                assert_eq!(walk.position.game.ply(), 8);
                assert_eq!(walk.position.game.outcome(), None);
            }
        }
        // After seven random moves White has often mated or stalemated.
        let fen = Some("7k/8/5K2/6Q1/8/8/8/8 w - - 0 1".to_owned());
        let over = (0..50)
            .filter(|number| !play_random(&mut Walk::new(fen.clone()), 7, &mut game_rng(7, *number, 0)));
        assert!(over.count() > 0);
    }
}
