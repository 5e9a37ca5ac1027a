use super::chunk::Chunk;
use crate::config::{GameKind, Selection, UnknownElo};
use crate::data::record::{FLAG_CHESS960, FLAG_PUZZLE, FLAG_SELF_PLAY, GameResult};

impl Selection {
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

fn kinds(flags: u16) -> impl Iterator<Item = GameKind> {
    let named = [
        (FLAG_CHESS960, GameKind::Chess960),
        (FLAG_PUZZLE, GameKind::Puzzle),
        (FLAG_SELF_PLAY, GameKind::SelfPlay),
    ];
    let standard = named.iter().all(|(flag, _)| flags & flag == 0).then_some(GameKind::Standard);
    named.into_iter().filter(move |(flag, _)| flags & flag != 0).map(|(_, kind)| kind).chain(standard)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::record::{FLAG_ADJUDICATED, GameRecord};
    use engine::chess::position::PackedMove;

    /// Four games: rated, half rated, a puzzle, Chess960 self-play.
    fn taken(selection: &str) -> Vec<usize> {
        let selection: Selection = serde_json::from_str(selection).unwrap();
        let mut chunk = Chunk::new("a test");
        let moves = |plies| vec![PackedMove(12 | 28 << 6); plies];
        let rated =
            GameRecord { white_elo: 2500, black_elo: 2300, date: 20_200_600, ..GameRecord::default() };
        chunk.push(&GameRecord {
            moves: moves(40),
            result: GameResult::White,
            flags: FLAG_ADJUDICATED,
            ..rated.clone()
        });
        chunk.push(&GameRecord {
            moves: moves(80),
            result: GameResult::Draw,
            black_elo: 0,
            date: 0,
            ..rated.clone()
        });
        chunk.push(&GameRecord {
            moves: moves(3),
            flags: FLAG_PUZZLE,
            white_elo: 1500,
            black_elo: 1500,
            ..GameRecord::default()
        });
        let flags = FLAG_CHESS960 | FLAG_SELF_PLAY;
        chunk.push(&GameRecord {
            moves: moves(60),
            result: GameResult::Black,
            flags,
            ..GameRecord::default()
        });
        (0..chunk.games()).filter(|index| selection.takes(&chunk, *index)).collect()
    }

    #[test]
    fn each_criterion_excludes_games() {
        assert_eq!(taken("{}"), [0, 1, 2, 3]);
        assert_eq!(taken(r#"{"min_elo": 2300}"#), [0, 1, 3], "the lower rating counts, unknown ones do not");
        assert_eq!(taken(r#"{"min_elo": 2301}"#), [1, 3]);
        assert_eq!(taken(r#"{"min_elo": 2300, "unknown_elo": "drop"}"#), [0]);
        assert_eq!(taken(r#"{"max_elo": 2499}"#), [2, 3]);
        assert_eq!(taken(r#"{"min_plies": 40, "max_plies": 60}"#), [0, 3]);
        assert_eq!(taken(r#"{"since": 20200101, "until": 20201231}"#), [0]);
        assert_eq!(taken(r#"{"until": 20191231}"#), [1, 2, 3], "games without a date");
        assert_eq!(taken(r#"{"results": ["draw", "unknown"]}"#), [1, 2]);
        assert_eq!(taken(r#"{"kinds": ["standard"]}"#), [0, 1]);
        assert_eq!(
            taken(r#"{"kinds": ["standard", "chess960"]}"#),
            [0, 1],
            "the last game is self-play as well"
        );
        assert_eq!(taken(r#"{"kinds": ["chess960", "selfplay", "puzzle"]}"#), [2, 3]);
    }

    #[test]
    fn empty_ranges_are_errors() {
        let error = Selection { since: 20_250_000, until: 20_200_000, ..Selection::default() }.check();
        assert_eq!(error.unwrap_err().to_string(), "since is 20250000, beyond until, 20200000");
        assert!(Selection::default().check().is_ok());
        assert!(serde_json::from_str::<Selection>(r#"{"elo": 1}"#).is_err());
    }
}
