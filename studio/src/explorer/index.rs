//! The openings of many games, by position.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use engine::chess::pgn::PgnGame;
use engine::chess::position::{Game, PackedMove};
use shakmaty::{Color, KnownOutcome, Move, Outcome};

/// Of a game, from its start.
pub const PLIES: usize = 40;

/// Mean ratings of both players from which games can be counted alone.
pub const RATINGS: [u16; 4] = [1600, 2000, 2200, 2500];

/// 16 bytes, because a file may have millions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Played {
    position: u64,
    m: u16,
    result: GameResult,
    /// Index in [`GameIndex::games`].
    game: u32,
}

#[derive(Clone, Copy, Debug)]
struct IndexedGame {
    /// The same for the same game in another file.
    key: u64,
    /// How many of [`RATINGS`] it reaches; 0 if a rating is unknown.
    class: u8,
    /// No earlier file has it.
    counts: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
enum GameResult {
    White,
    Draw,
    Black,
    Unknown,
}

impl From<Outcome> for GameResult {
    fn from(outcome: Outcome) -> GameResult {
        match outcome {
            Outcome::Known(KnownOutcome::Decisive { winner: Color::White }) => GameResult::White,
            Outcome::Known(KnownOutcome::Decisive { winner: Color::Black }) => GameResult::Black,
            Outcome::Known(KnownOutcome::Draw) => GameResult::Draw,
            Outcome::Unknown => GameResult::Unknown,
        }
    }
}

/// How often a move was played, and how those games ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MoveCount {
    pub games: u32,
    pub white: u32,
    pub draws: u32,
    pub black: u32,
}

impl MoveCount {
    pub fn add(&mut self, other: MoveCount) {
        self.games += other.games;
        self.white += other.white;
        self.draws += other.draws;
        self.black += other.black;
    }

    fn count(&mut self, result: GameResult) {
        self.games += 1;
        match result {
            GameResult::White => self.white += 1,
            GameResult::Draw => self.draws += 1,
            GameResult::Black => self.black += 1,
            GameResult::Unknown => (),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct GameIndex {
    /// Sorted.
    played: Vec<Played>,
    /// With at least one move.
    games: Vec<IndexedGame>,
}

/// The tags that tell a game from another with the same moves.
const TAGS: [&str; 6] = ["Event", "Site", "Date", "Round", "White", "Black"];

fn key_of(game: &PgnGame, moves: &[Move]) -> u64 {
    let mut hasher = DefaultHasher::new();
    game.start().hash().hash(&mut hasher);
    moves.iter().for_each(|m| PackedMove::new(*m).0.hash(&mut hasher));
    TAGS.iter().for_each(|tag| game.tag(tag).hash(&mut hasher));
    hasher.finish()
}

fn class_of(game: &PgnGame) -> u8 {
    let rating = |tag| game.tag(tag).and_then(|text| text.trim().parse::<u16>().ok().map(u32::from));
    let (Some(white), Some(black)) = (rating("WhiteElo"), rating("BlackElo")) else { return 0 };
    RATINGS.iter().filter(|least| white + black >= 2 * u32::from(**least)).count() as u8
}

impl GameIndex {
    /// The main lines. A move that a game repeats in the same position counts once.
    pub fn of<'a>(games: impl IntoIterator<Item = &'a PgnGame>) -> GameIndex {
        let mut index = GameIndex::default();
        for game in games {
            let moves = game.tree.moves();
            if moves.is_empty() {
                continue;
            }
            let result = GameResult::from(game.outcome());
            let number = index.games.len() as u32;
            let mut board = game.start().clone();
            let mut own = Vec::new();
            for m in moves.iter().copied().take(PLIES) {
                own.push(Played { position: board.hash(), m: PackedMove::new(m).0, result, game: number });
                board.play(m);
            }
            own.sort_unstable();
            own.dedup();
            index.played.extend(own);
            let (key, class) = (key_of(game, &moves), class_of(game));
            index.games.push(IndexedGame { key, class, counts: true });
        }
        index.played.sort_unstable();
        index
    }

    /// A game that several files have counts in the first of them.
    pub fn count_once<'a>(indexes: impl IntoIterator<Item = &'a mut GameIndex>) {
        let mut seen = HashSet::new();
        for index in indexes {
            index.games.iter_mut().for_each(|game| game.counts = !seen.contains(&game.key));
            seen.extend(index.games.iter().map(|game| game.key));
        }
    }

    /// That count, of those that reach `class` of [`RATINGS`].
    pub fn games(&self, class: u8) -> usize {
        self.games.iter().filter(|game| game.counts && game.class >= class).count()
    }

    /// Of a legal move in a position, in games that reach `class` of [`RATINGS`].
    pub fn count(&self, position: &Game, m: Move, class: u8) -> MoveCount {
        let (hash, packed) = (position.hash(), PackedMove::new(m).0);
        let first = self.played.partition_point(|played| (played.position, played.m) < (hash, packed));
        let here = self.played[first..].iter();
        let mut count = MoveCount::default();
        here.take_while(|played| played.position == hash && played.m == packed)
            .filter(|played| {
                let game = self.games[played.game as usize];
                game.counts && game.class >= class
            })
            .for_each(|played| count.count(played.result));
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::chess::pgn::read_games;

    #[test]
    fn moves_are_counted_by_position_with_the_results_of_their_games() {
        let text =
            "1. e4 e5 2. Nf3 1-0\n\n1. Nf3 d5 2. d4 0-1\n\n1. d4 d5 2. Nf3 1/2-1/2\n\n1. d4 d5 2. Nf3 *\n";
        let games: Vec<PgnGame> = read_games(text.as_bytes()).0.into_iter().map(|(_, game)| game).collect();
        let index = GameIndex::of(&games);
        assert_eq!(index.games(0), 4);
        let count = |moves: &[&str], next: &str| {
            let game = Game::from_uci(None, moves.iter().copied()).unwrap();
            index.count(&game, game.parse_uci(next).unwrap(), 0)
        };
        assert_eq!(count(&[], "d2d4"), MoveCount { games: 2, white: 0, draws: 1, black: 0 });
        assert_eq!(count(&[], "e2e4"), MoveCount { games: 1, white: 1, draws: 0, black: 0 });
        assert_eq!(count(&[], "a2a3"), MoveCount::default());
        // By another order of moves: 1. Nf3 d5 2. d4 and 1. d4 d5 2. Nf3 lead to the same position.
        assert_eq!(count(&["d2d4", "d7d5"], "g1f3").games, 2);
        assert_eq!(count(&["g1f3", "d7d5"], "d2d4"), MoveCount { games: 1, white: 0, draws: 0, black: 1 });
    }

    #[test]
    fn games_are_counted_by_the_mean_of_both_ratings_where_they_are_known() {
        let rated = |white: &str, black: &str| {
            format!(
                "[White \"{white}{black}\"]\n[WhiteElo \"{white}\"]\n[BlackElo \"{black}\"]\n\n1. e4 1-0\n\n"
            )
        };
        let text = [("1500", "1699"), ("1500", "1700"), ("2600", "2400"), ("4294967295", "2600")]
            .map(|(w, b)| rated(w, b));
        let text = text.concat() + "1. e4 *\n";
        let games: Vec<PgnGame> = read_games(text.as_bytes()).0.into_iter().map(|(_, game)| game).collect();
        let index = GameIndex::of(&games);
        let start = Game::from_uci(None, []).unwrap();
        let e4 = start.parse_uci("e2e4").unwrap();
        let classes = [0, 1, 2, 3, 4];
        assert_eq!(classes.map(|class| index.games(class)), [5, 2, 1, 1, 1]);
        assert_eq!(classes.map(|class| index.count(&start, e4, class).games), [5, 2, 1, 1, 1]);
    }
}
