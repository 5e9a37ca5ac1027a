//! What the reviews of one player's games have in common.

use std::collections::BTreeMap;

use shakmaty::{Color, KnownOutcome, Outcome, Position};

use super::clocks::clocks_left;
use super::game_review::{GameReview, ReviewedMove};
use super::judgement::{Mark, WON};
use super::level::{Level, Peers};
use super::material::Phase;
use crate::chess::pgn::PgnGame;

/// Openings with fewer games are left out.
const OPENING_GAMES: usize = 2;
const OPENINGS: usize = 10;

/// The side that a player has in a game, by name without regard to case. `None` if the player has neither or both.
pub fn side_of(game: &PgnGame, name: &str) -> Option<Color> {
    let is =
        |tag: &str| game.tag(tag).is_some_and(|found| found.to_lowercase() == name.trim().to_lowercase());
    match (is("White"), is("Black")) {
        (true, false) => Some(Color::White),
        (false, true) => Some(Color::Black),
        _ => None,
    }
}

/// The names in games, the most frequent first.
pub fn names(games: &[PgnGame]) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in games.iter().flat_map(|game| [game.tag("White"), game.tag("Black")]).flatten() {
        *counts.entry(name).or_default() += 1;
    }
    let mut names: Vec<(String, usize)> = counts.into_iter().collect();
    names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    names.into_iter().map(|(name, _)| name).collect()
}

/// Of the moves of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    pub moves: usize,
    accuracies: f64,
    opponents: usize,
    opponents_accuracies: f64,
    pub inaccuracies: usize,
    pub mistakes: usize,
    pub blunders: usize,
}

impl Tally {
    fn add(&mut self, played: &ReviewedMove) {
        self.moves += 1;
        self.accuracies += played.accuracy;
        match played.mark {
            Some(Mark::Inaccuracy) => self.inaccuracies += 1,
            Some(Mark::Mistake) => self.mistakes += 1,
            Some(Mark::Blunder) => self.blunders += 1,
            _ => (),
        }
    }

    /// The mean of the player's moves, 0 to 100.
    pub fn accuracy(&self) -> Option<f64> {
        (self.moves > 0).then(|| self.accuracies / self.moves as f64)
    }

    /// The mean of the opponents' moves.
    pub fn opponents_accuracy(&self) -> Option<f64> {
        (self.opponents > 0).then(|| self.opponents_accuracies / self.opponents as f64)
    }
}

/// How often something was there, and how often it was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chances {
    pub had: usize,
    pub used: usize,
}

#[derive(Clone, Debug, Default)]
pub struct PlayerReport {
    pub games: usize,
    /// Mean of the games that name it.
    pub rating: Option<f64>,
    pub level: Option<Level>,
    /// Games won, drawn and lost; the others have no result.
    pub results: [usize; 3],
    pub all: Tally,
    /// As White, as Black.
    pub colours: [Tally; 2],
    pub phases: [Tally; 3],
    /// With half of the first clock time or more left, with a tenth or more, with less; empty without clocks.
    pub clocks: [Tally; 3],
    /// Opening family, its number of games, and their moves; the most frequent first.
    pub openings: Vec<(String, usize, Tally)>,
    /// What an opponent's answer to an error proves on the board, and how often; the most frequent first.
    pub errors: Vec<(&'static str, usize)>,
    /// What the better moves of the other errors would have done, likewise.
    pub missed: Vec<(&'static str, usize)>,
    /// Games in which the player stood to win at some time, and those of them that were won.
    pub won_positions: Chances,
    /// Positions in which the player had a forced mate, and those in which the move kept it.
    pub mates: Chances,
    /// Accuracy by game, in order.
    pub by_game: Vec<Option<f64>>,
}

impl PlayerReport {
    /// `reviews` are of games with the player on the given side.
    pub fn new(reviews: &[(Color, &GameReview<'_>)]) -> PlayerReport {
        let mut report =
            PlayerReport { games: reviews.len(), rating: rating(reviews), ..PlayerReport::default() };
        let mut openings: BTreeMap<&str, (usize, Tally)> = BTreeMap::new();
        let (mut errors, mut missed) = (BTreeMap::new(), BTreeMap::new());
        for (side, review) in reviews {
            report.add_result(*side, review);
            let mut opening = review.opening.map(|opening| openings.entry(opening.family()).or_default());
            if let Some((games, _)) = opening.as_deref_mut() {
                *games += 1;
            }
            let clocks = clocks_left(review.game);
            for played in &review.moves {
                let clock = clocks[played.ply].map(|left| match left {
                    0.5.. => 0,
                    0.1.. => 1,
                    _ => 2,
                });
                let colour = side.fold_wb(0, 1);
                let phase = Phase::ALL.iter().position(|phase| *phase == played.phase).expect("one of all");
                let mut groups =
                    vec![&mut report.all, &mut report.colours[colour], &mut report.phases[phase]];
                groups.extend(opening.as_deref_mut().map(|(_, tally)| tally));
                groups.extend(clock.map(|clock| &mut report.clocks[clock]));
                if played.position.turn() != *side {
                    for group in groups {
                        group.opponents += 1;
                        group.opponents_accuracies += played.accuracy;
                    }
                    continue;
                }
                groups.into_iter().for_each(|group| group.add(played));
                if played.mark.is_some_and(Mark::is_error) {
                    let is_missed = played.reason.as_ref().is_some_and(|reason| reason.is_missed);
                    let kinds = if is_missed { &mut missed } else { &mut errors };
                    let kind = played.reason.as_ref().map_or("nothing proven", |reason| reason.kind);
                    *kinds.entry(kind).or_default() += 1;
                }
                if played.before.mate.is_some_and(|mate| mate.winner == *side) {
                    report.mates.had += 1;
                    let keeps = played.after.mate.is_some_and(|mate| mate.winner == *side);
                    report.mates.used += usize::from(keeps);
                }
            }
            report.by_game.push(review.players[side.fold_wb(0, 1)].accuracy);
        }
        let is_whole = reviews.iter().all(|(_, review)| review.is_whole());
        let judged = reviews.iter().filter(|(_, review)| !review.moves.is_empty()).count();
        report.level = report
            .all
            .accuracy()
            .filter(|_| is_whole)
            .and_then(|accuracy| Level::new(accuracy, report.all.moves, judged));
        report.openings = frequent(openings);
        (report.errors, report.missed) = (by_count(errors), by_count(missed));
        report
    }

    /// Others of the player's rating, or of the estimated level.
    pub fn peers(&self) -> Option<&'static Peers> {
        let estimated = || self.level.filter(Level::is_in_range).map(|level| level.rating);
        self.rating.or_else(estimated).map(Peers::of)
    }

    fn add_result(&mut self, side: Color, review: &GameReview<'_>) {
        let result = match review.game.outcome() {
            Outcome::Known(KnownOutcome::Decisive { winner }) => Some(if winner == side { 0 } else { 2 }),
            Outcome::Known(KnownOutcome::Draw) => Some(1),
            Outcome::Unknown => None,
        };
        if let Some(result) = result {
            self.results[result] += 1;
        }
        let stood_to_win =
            review.moves.iter().any(|played| played.before.of(side) >= WON || played.after.of(side) >= WON);
        if stood_to_win && result.is_some() {
            self.won_positions.had += 1;
            self.won_positions.used += usize::from(result == Some(0));
        }
    }
}

fn by_count(kinds: BTreeMap<&'static str, usize>) -> Vec<(&'static str, usize)> {
    let mut kinds: Vec<(&'static str, usize)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    kinds
}

fn rating(reviews: &[(Color, &GameReview<'_>)]) -> Option<f64> {
    let of_game = |(side, review): &(Color, &GameReview<'_>)| {
        let tag = review.game.tag(side.fold_wb("WhiteElo", "BlackElo"))?;
        tag.trim().parse::<u16>().ok().filter(|rating| *rating > 0).map(f64::from)
    };
    let ratings: Vec<f64> = reviews.iter().filter_map(of_game).collect();
    (!ratings.is_empty()).then(|| ratings.iter().sum::<f64>() / ratings.len() as f64)
}

fn frequent(openings: BTreeMap<&str, (usize, Tally)>) -> Vec<(String, usize, Tally)> {
    let mut all: Vec<(String, usize, Tally)> =
        openings.into_iter().map(|(name, (games, tally))| (name.to_owned(), games, tally)).collect();
    all.sort_by_key(|(_, games, _)| std::cmp::Reverse(*games));
    let often = all.iter().take(OPENINGS).take_while(|(_, games, _)| *games >= OPENING_GAMES).count();
    all.truncate(often);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apps::review::evidence::{Evidence, Moves, SearchKey};
    use crate::apps::review::game_review::positions_of;
    use crate::apps::review::judge::JudgedLine;
    use crate::apps::review::judgement::{JudgedMate, PositionValue};
    use crate::apps::review::page::{self, PageTitle};
    use crate::chess::pgn::read_games;

    /// Two searches of each position that agree: its best line, White's expected points and, if Black mates, in how many moves.
    fn evidence(game: &PgnGame, lines: &[(&str, f64, Option<u32>)]) -> Vec<Evidence> {
        let positions = positions_of(game);
        let mut found: Vec<Evidence> = positions
            .iter()
            .zip(lines)
            .map(|(now, (pv, white, mate))| {
                let mut position = now.clone();
                let mut line = Vec::new();
                for word in pv.split_whitespace() {
                    let m = position.parse_uci(word).unwrap();
                    position.play(m);
                    line.push(m);
                }
                let mate = mate.map(|moves| JudgedMate { winner: Color::Black, moves });
                let value = PositionValue { white: *white, mate };
                let mut found = Evidence::default();
                for level in 0..2 {
                    let line = JudgedLine { value, wdl: None, pv: line.clone() };
                    let moves = Moves::Only(line.pv[0]);
                    found.add(SearchKey { level, moves }, vec![line.clone()]);
                    found.add(SearchKey::all(level), vec![line]);
                }
                found
            })
            .collect();
        found.resize(positions.len(), Evidence::default());
        found
    }

    const GAMES: &str = "[White \"Ann\"]\n[WhiteElo \"2500\"]\n[Black \"Bo\"]\n[BlackElo \"?\"]\n[Result \"0-1\"]\n[TimeControl \"60\"]\n\n\
        1. f3 {[%clk 0:00:40]} e5 2. g4 {[%clk 0:00:20]} Qh4# 0-1\n\n\
        [White \"Cy\"]\n[Black \"ANN\"]\n[Result \"1-0\"]\n\n1. f3 e5 2. g4 a6 1-0\n";

    #[test]
    fn a_player_has_a_side_whatever_the_case_of_the_name() {
        let (games, _) = read_games(GAMES.as_bytes());
        let games: Vec<PgnGame> = games.into_iter().map(|(_, game)| game).collect();
        assert_eq!(side_of(&games[0], "ann"), Some(Color::White));
        assert_eq!(side_of(&games[1], "Ann"), Some(Color::Black));
        assert_eq!((side_of(&games[1], "Bo"), side_of(&games[0], "An")), (None, None));
        assert_eq!(names(&games)[..2], ["ANN".to_owned(), "Ann".to_owned()]);
    }

    #[test]
    fn a_report_of_two_games_by_hand() {
        let (games, _) = read_games(GAMES.as_bytes());
        let (white, black) = (&games[0].1, &games[1].1);
        let mate = "d8h4";
        let opening =
            [("e2e4", 54.0, None), ("e7e5", 44.0, None), ("e2e4", 44.0, None), (mate, 0.0, Some(1))];
        let lost = evidence(white, &opening);
        let missed = evidence(black, &[&opening[..], &[("e2e4", 50.0, None)]].concat());
        let reviews = [
            (Color::White, GameReview::new(white, &lost, Some(Color::White))),
            (Color::Black, GameReview::new(black, &missed, Some(Color::Black))),
        ];
        let of: Vec<(Color, &GameReview<'_>)> =
            reviews.iter().map(|(side, review)| (*side, review)).collect();
        let report = PlayerReport::new(&of);
        assert_eq!((report.games, report.results), (2, [0, 0, 2]));
        // 1. f3?! and 2. g4?? as White, 2... a6?? as Black, which loses 50 points and a mate in one.
        let counts = |tally: &Tally| (tally.moves, tally.inaccuracies, tally.blunders);
        assert_eq!(counts(&report.all), (4, 1, 2));
        assert_eq!(report.colours.each_ref().map(counts), [(2, 1, 1), (2, 0, 1)]);
        assert_eq!(
            (report.mates, report.won_positions),
            (Chances { had: 1, used: 0 }, Chances { had: 1, used: 0 })
        );
        // The clock was full before 1. f3 and stood at 40 of 60 s before 2. g4.
        assert_eq!(report.clocks.each_ref().map(|tally| tally.moves), [2, 0, 0]);
        // 2. g4?? allows mate; 2... a6?? misses it; 1. f3?! has no reason.
        assert_eq!(report.errors, [("mate", 1), ("nothing proven", 1)]);
        assert_eq!(report.missed, [("mate", 1)]);
        assert_eq!(report.openings.len(), 1, "both are the Barnes Opening: {:?}", report.openings);
        assert_eq!((report.rating, report.level), (Some(2500.0), None), "three moves tell no level");
        assert_eq!(report.peers().unwrap().name, "2400–2599");
        assert_eq!(report.by_game.len(), 2);
        assert!(report.all.accuracy().unwrap() < report.all.opponents_accuracy().unwrap());
        let mut page = Vec::new();
        let title = PageTitle { games: "two", judge: "us" };
        page::write(&title, Some(("Ann", &report)), &reviews[0].1, &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        // After moves, accuracy and that of the opponents.
        let others = |row: &str| page.split_once(&format!("<th>{row}</th>"))?.1.split("</td>").nth(3);
        let peers = report.peers().unwrap();
        for (row, accuracy) in [
            ("All moves", peers.accuracy),
            ("As Black", peers.colours[1]),
            ("Opening", peers.phases[0]),
            ("At least half of the time left", peers.clocks[0]),
        ] {
            assert_eq!(others(row), Some(&*format!("<td>{accuracy:.0} %")), "{row}");
        }
    }
}
