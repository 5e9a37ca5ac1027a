//! Which games of a file are wanted.

use serde::{Deserialize, Serialize};

use super::Chunk;
use crate::games::{FLAG_CHESS960, FLAG_PUZZLE, FLAG_SELF_PLAY, GameResult};

/// What to do with a game in which a rating is unknown, when ratings are bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnknownElo {
    /// Take it, if the other rating fits.
    #[default]
    Keep,
    /// Leave it out.
    Drop,
}

/// A kind of game; one may be of several, [`Kind::Standard`] is what is of no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Played by people or engines from the usual position, or one set up.
    Standard,
    /// Played by the rules of Chess960.
    Chess960,
    /// A puzzle.
    Puzzle,
    /// Played by a network against itself.
    SelfPlay,
}

/// Bounds on games, both ends included; the default takes everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Selection {
    /// Least rating of either player, or of a puzzle.
    pub min_elo: u16,
    /// Highest rating of either player, or of a puzzle.
    pub max_elo: u16,
    /// Games in which a rating is unknown.
    pub unknown_elo: UnknownElo,
    /// Fewest plies.
    pub min_plies: u16,
    /// Most plies.
    pub max_plies: u16,
    /// First date, yyyymmdd; unknown parts of a game's date are zeros. Games without a date only fit if this is 0.
    pub since: u32,
    /// Last date, yyyymmdd.
    pub until: u32,
    /// Results.
    pub results: Vec<GameResult>,
    /// Kinds: every kind that a game is of must be among them.
    pub kinds: Vec<Kind>,
}

impl Default for Selection {
    fn default() -> Selection {
        Selection {
            min_elo: 0,
            max_elo: u16::MAX,
            unknown_elo: UnknownElo::Keep,
            min_plies: 1,
            max_plies: u16::MAX,
            since: 0,
            until: 99_999_999,
            results: vec![GameResult::White, GameResult::Black, GameResult::Draw, GameResult::Unknown],
            kinds: vec![Kind::Standard, Kind::Chess960, Kind::Puzzle, Kind::SelfPlay],
        }
    }
}

impl Selection {
    /// Checks that a game can fit.
    ///
    /// # Errors
    /// One line that names the keys at fault.
    pub fn check(&self) -> Result<(), String> {
        let ranges = [
            ("min_elo", "max_elo", u32::from(self.min_elo), u32::from(self.max_elo)),
            ("min_plies", "max_plies", u32::from(self.min_plies), u32::from(self.max_plies)),
            ("since", "until", self.since, self.until),
        ];
        for (first, last, from, to) in ranges {
            if from > to {
                return Err(format!("{first} is {from}, beyond {last}, {to}"));
            }
        }
        Ok(())
    }

    /// Whether the game `index` of a chunk is wanted.
    ///
    /// # Panics
    ///
    /// If there is no such game.
    pub fn takes(&self, chunk: &Chunk, index: usize) -> bool {
        let rated = |elo: u16| match elo {
            0 => self.unknown_elo == UnknownElo::Keep,
            elo => (self.min_elo..=self.max_elo).contains(&elo),
        };
        rated(chunk.white_elo[index])
            && rated(chunk.black_elo[index])
            && (self.min_plies..=self.max_plies).contains(&chunk.plies[index])
            && (self.since..=self.until).contains(&chunk.date[index])
            && GameResult::from_code(chunk.result[index]).is_some_and(|result| self.results.contains(&result))
            && kinds(chunk.flags[index]).all(|kind| self.kinds.contains(&kind))
    }
}

fn kinds(flags: u16) -> impl Iterator<Item = Kind> {
    let named =
        [(FLAG_CHESS960, Kind::Chess960), (FLAG_PUZZLE, Kind::Puzzle), (FLAG_SELF_PLAY, Kind::SelfPlay)];
    let standard = named.iter().all(|(flag, _)| flags & flag == 0).then_some(Kind::Standard);
    named.into_iter().filter(move |(flag, _)| flags & flag != 0).map(|(_, kind)| kind).chain(standard)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::{FLAG_ADJUDICATED, Game};
    use engine::position::PackedMove;

    /// Which of four games are taken: rated, half rated, a puzzle, self-play of Chess960.
    fn taken(selection: &str) -> Vec<usize> {
        let selection: Selection = serde_json::from_str(selection).unwrap();
        let mut chunk = Chunk::new("a test");
        let moves = |plies| vec![PackedMove(12 | 28 << 6); plies];
        let rated = Game { white_elo: 2500, black_elo: 2300, date: 20_200_600, ..Game::default() };
        chunk.push(&Game {
            moves: moves(40),
            result: GameResult::White,
            flags: FLAG_ADJUDICATED,
            ..rated.clone()
        });
        chunk.push(&Game {
            moves: moves(80),
            result: GameResult::Draw,
            black_elo: 0,
            date: 0,
            ..rated.clone()
        });
        chunk.push(&Game {
            moves: moves(3),
            flags: FLAG_PUZZLE,
            white_elo: 1500,
            black_elo: 1500,
            ..Game::default()
        });
        let flags = FLAG_CHESS960 | FLAG_SELF_PLAY;
        chunk.push(&Game { moves: moves(60), result: GameResult::Black, flags, ..Game::default() });
        (0..chunk.games()).filter(|index| selection.takes(&chunk, *index)).collect()
    }

    #[test]
    fn each_bound_leaves_out_what_is_beyond_it() {
        assert_eq!(taken("{}"), [0, 1, 2, 3]);
        assert_eq!(taken(r#"{"min_elo": 2300}"#), [0, 1, 3], "the lower rating counts, unknown ones don't");
        assert_eq!(taken(r#"{"min_elo": 2301}"#), [1, 3]);
        assert_eq!(taken(r#"{"min_elo": 2300, "unknown_elo": "drop"}"#), [0]);
        assert_eq!(taken(r#"{"max_elo": 2499}"#), [2, 3]);
        assert_eq!(taken(r#"{"min_plies": 40, "max_plies": 60}"#), [0, 3]);
        assert_eq!(taken(r#"{"since": 20200101, "until": 20201231}"#), [0]);
        assert_eq!(taken(r#"{"until": 20191231}"#), [1, 2, 3], "games without a date");
        assert_eq!(taken(r#"{"results": ["draw", "unknown"]}"#), [1, 2]);
        assert_eq!(taken(r#"{"kinds": ["standard"]}"#), [0, 1]);
        assert_eq!(taken(r#"{"kinds": ["standard", "chess960"]}"#), [0, 1], "it is self-play, too");
        assert_eq!(taken(r#"{"kinds": ["chess960", "selfplay", "puzzle"]}"#), [2, 3]);
    }

    #[test]
    fn what_no_game_can_fit_is_an_error() {
        let error = Selection { since: 20_250_000, until: 20_200_000, ..Selection::default() }.check();
        assert_eq!(error, Err("since is 20250000, beyond until, 20200000".into()));
        assert_eq!(Selection::default().check(), Ok(()));
        assert!(serde_json::from_str::<Selection>(r#"{"elo": 1}"#).is_err());
    }
}
