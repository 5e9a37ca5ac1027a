use std::collections::{BTreeMap, HashMap};

use super::pgn::PgnGame;
use super::rating::{HeadToHead, groups};
use engine::apps::matches::MatchResults;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlayerRecord {
    pub name: String,
    /// Against all opponents.
    pub results: MatchResults,
    pub unfinished: u64,
    /// Losses off the board (time, illegal move, …) by the tag `Termination`.
    pub forfeits: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tournament {
    /// In order of their first games.
    pub players: Vec<PlayerRecord>,
    pub meetings: Vec<HeadToHead>,
}

/// Games that may form pairs: two player indices, round, opening.
type Group<'a> = ([usize; 2], Option<&'a str>, &'a [String]);

fn ordered(white: usize, black: usize) -> [usize; 2] {
    [white.min(black), white.max(black)]
}

impl Tournament {
    /// Two games form a pair if the same players played them with reversed colours in the same file, round and opening
    /// (if known, see [`read_pgn`](super::read_pgn)).
    pub fn new(files: &[Vec<PgnGame>]) -> Tournament {
        let mut tournament = Tournament::default();
        let mut meetings: BTreeMap<[usize; 2], MatchResults> = BTreeMap::new();
        for games in files {
            let mut groups: BTreeMap<Group<'_>, [Vec<u8>; 2]> = BTreeMap::new();
            for game in games {
                let (white, black) = (tournament.player(&game.white), tournament.player(&game.black));
                let Some(halves) = game.halves else {
                    for player in [white, black] {
                        tournament.players[player].unfinished += 1;
                    }
                    continue;
                };
                if is_forfeit(&game.termination) && halves != 1 {
                    let loser = if halves == 2 { black } else { white };
                    let forfeits = &mut tournament.players[loser].forfeits;
                    *forfeits.entry(game.termination.clone()).or_default() += 1;
                }
                let key = (ordered(white, black), game.round.as_deref(), &game.opening[..]);
                // Half points of the player with the lower index, by that player's colour.
                let first = usize::from(white > black);
                groups.entry(key).or_default()[first].push(if first == 0 { halves } else { 2 - halves });
            }
            for (([first, second], ..), [as_white, as_black]) in groups {
                let meeting = meetings.entry([first, second]).or_default();
                let pairs = as_white.len().min(as_black.len());
                as_white.iter().zip(&as_black).for_each(|(white, black)| meeting.add_pair([*white, *black]));
                let single = as_white[pairs..].iter().chain(&as_black[pairs..]);
                single.for_each(|halves| meeting.add_single(*halves));
            }
        }
        for ([first, second], results) in meetings {
            tournament.players[first].results.add(&results);
            tournament.players[second].results.add(&results.reversed());
            let [first, second] = [first, second].map(|player| tournament.players[player].name.as_str());
            tournament.meetings.push(HeadToHead::new(first, second, results));
        }
        tournament
    }

    /// Adds the player if new.
    fn player(&mut self, name: &str) -> usize {
        self.players.iter().position(|player| player.name == name).unwrap_or_else(|| {
            self.players.push(PlayerRecord { name: name.to_owned(), ..PlayerRecord::default() });
            self.players.len() - 1
        })
    }

    /// Players whom no games connect to the first player, directly or through others.
    pub fn unconnected(&self) -> Vec<&str> {
        let names = self.players.iter().map(|player| player.name.as_str());
        let index: HashMap<&str, usize> = names.clone().zip(0..).collect();
        let side = |name: &String| index[name.as_str()];
        let sides = self.meetings.iter().map(|meeting| [side(&meeting.first), side(&meeting.second)]);
        let groups = groups(self.players.len(), &sides.collect::<Vec<_>>());
        names.zip(groups).filter(|(_, group)| *group != 0).map(|(name, _)| name).collect()
    }
}

const FORFEITS: [&str; 5] =
    ["time forfeit", "illegal move", "abandoned", "stalled connection", "rules infraction"];

fn is_forfeit(termination: &str) -> bool {
    FORFEITS.iter().any(|forfeit| termination.eq_ignore_ascii_case(forfeit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(round: &str, white: &str, black: &str, halves: Option<u8>, opening: &str) -> PgnGame {
        PgnGame {
            white: white.into(),
            black: black.into(),
            round: (!round.is_empty()).then(|| round.to_owned()),
            halves,
            opening: vec![opening.to_owned()],
            ..PgnGame::default()
        }
    }

    fn forfeit(game: PgnGame, termination: &str) -> PgnGame {
        PgnGame { termination: termination.into(), ..game }
    }

    #[test]
    fn games_of_a_round_are_pairs() {
        let games = vec![
            game("1", "A", "B", Some(2), ""),
            forfeit(game("1", "B", "A", Some(0), ""), "time forfeit"),
            game("2", "A", "B", Some(1), ""),
            game("2", "B", "A", Some(1), ""),
            game("3", "A", "B", Some(2), ""),
            forfeit(game("3", "B", "A", Some(2), ""), "illegal move"),
            game("4", "A", "B", Some(1), ""),
            forfeit(game("4", "B", "A", Some(2), ""), "abandoned"),
            forfeit(game("5", "A", "B", None, ""), "unterminated"),
            game("5", "B", "A", Some(2), ""),
        ];
        let tournament = Tournament::new(&[games]);
        let [a, b] = &tournament.players[..] else { panic!("{tournament:?}") };
        assert_eq!(
            (a.results.pairs, a.results.games, a.results.single),
            ([0, 1, 2, 0, 1], [3, 3, 3], [0, 0, 1])
        );
        assert_eq!(b.results, a.results.reversed());
        assert_eq!((a.unfinished, b.unfinished), (1, 1));
        let forfeits = |kinds: &[&str]| kinds.iter().map(|kind| ((*kind).to_owned(), 1)).collect();
        assert_eq!(
            (&a.forfeits, &b.forfeits),
            (&forfeits(&["illegal move", "abandoned"]), &forfeits(&["time forfeit"]))
        );
        assert_eq!(tournament.meetings, [HeadToHead::new("A", "B", a.results)]);
    }

    #[test]
    fn openings_tell_pairs_apart_where_there_are_no_rounds() {
        let games = [
            game("", "A", "B", Some(2), "x"),
            game("", "B", "A", Some(2), "y"),
            game("", "A", "B", Some(0), "y"),
            game("", "B", "A", Some(1), "x"),
            // Two games with the same colours are not a pair.
            game("", "A", "B", Some(2), "z"),
            game("", "A", "B", Some(2), "z"),
        ];
        let results = Tournament::new(&[games.to_vec()]).meetings[0].results;
        assert_eq!((results.pairs, results.single), ([1, 0, 0, 1, 0], [2, 0, 0]));
        // Games in different files are not a pair.
        let apart = Tournament::new(&games.map(|game| vec![game])).meetings[0].results;
        assert_eq!((apart.count(), apart.total()), (0, 6));
    }

    #[test]
    fn each_two_of_a_round_robin_have_pairs_of_their_own() {
        let mut games = Vec::new();
        for (one, other) in [("A", "B"), ("B", "C"), ("C", "A")] {
            games.extend([game("1", one, other, Some(2), "x"), game("1", other, one, Some(1), "x")]);
        }
        let tournament = Tournament::new(&[games.clone()]);
        assert_eq!(tournament.meetings.len(), 3);
        assert_eq!(tournament.meetings[1].results.pairs, [0, 1, 0, 0, 0], "A against C: a draw and a loss");
        assert_eq!(tournament.players[0].results.pairs, [0, 1, 0, 1, 0]);
        assert!(tournament.unconnected().is_empty());
        games.push(game("1", "X", "Y", Some(2), "x"));
        assert_eq!(Tournament::new(&[games]).unconnected(), ["X", "Y"]);
    }
}
