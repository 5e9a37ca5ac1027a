//! The openings of many games, by position.

use engine::chess::pgn::PgnGame;
use engine::chess::position::{Game, PackedMove};
use shakmaty::{Color, KnownOutcome, Move, Outcome};

/// Of a game, from its start.
pub const PLIES: usize = 40;

/// 16 bytes, because a file may have millions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Played {
    position: u64,
    m: u16,
    result: GameResult,
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
    pub games: usize,
}

impl GameIndex {
    /// The main lines. A move that a game repeats in the same position counts once.
    pub fn of<'a>(games: impl IntoIterator<Item = &'a PgnGame>) -> GameIndex {
        let mut index = GameIndex::default();
        for game in games {
            let result = GameResult::from(game.outcome());
            let mut board = game.start().clone();
            let mut own = Vec::new();
            for m in game.tree.moves().into_iter().take(PLIES) {
                own.push(Played { position: board.hash(), m: PackedMove::new(m).0, result });
                board.play(m);
            }
            own.sort_unstable();
            own.dedup();
            index.games += usize::from(!own.is_empty());
            index.played.extend(own);
        }
        index.played.sort_unstable();
        index
    }

    /// Of a legal move in a position.
    pub fn count(&self, position: &Game, m: Move) -> MoveCount {
        let (hash, packed) = (position.hash(), PackedMove::new(m).0);
        let first = self.played.partition_point(|played| (played.position, played.m) < (hash, packed));
        let here = self.played[first..].iter();
        let mut count = MoveCount::default();
        here.take_while(|played| played.position == hash && played.m == packed)
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
        assert_eq!(index.games, 4);
        let count = |moves: &[&str], next: &str| {
            let game = Game::from_uci(None, moves.iter().copied()).unwrap();
            index.count(&game, game.parse_uci(next).unwrap())
        };
        assert_eq!(count(&[], "d2d4"), MoveCount { games: 2, white: 0, draws: 1, black: 0 });
        assert_eq!(count(&[], "e2e4"), MoveCount { games: 1, white: 1, draws: 0, black: 0 });
        assert_eq!(count(&[], "a2a3"), MoveCount::default());
        // By another order of moves: 1. Nf3 d5 2. d4 and 1. d4 d5 2. Nf3 lead to the same position.
        assert_eq!(count(&["d2d4", "d7d5"], "g1f3").games, 2);
        assert_eq!(count(&["g1f3", "d7d5"], "d2d4"), MoveCount { games: 1, white: 0, draws: 0, black: 1 });
    }
}
