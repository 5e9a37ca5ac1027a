//! What accuracy tells about a player's level, and what players of each level do.
//!
//! Measured with 4,000 nodes a position in games of Lichess with three minutes or more for each player: the level in
//! 982 games (ratings 474 to 3,034), the peers in these games, in 160 of four more players, and in 150 games over the
//! board (players rated 2,200 or more, without clocks).

use std::fmt;

/// Mean accuracy, in per cent, of rating 0 and of each point more.
const AT_ZERO: f64 = 82.15;
const PER_POINT: f64 = 0.00456;
/// Variance of a mean accuracy, among players of one rating: by move, by game, and from player to player. These games
/// give only the sum of the last two, and ten games of each of twelve other players give the last.
const VARIANCE_OF_MOVE: f64 = 389.0;
const VARIANCE_OF_GAME: f64 = 8.1;
const VARIANCE_OF_PLAYER: f64 = 4.0;
/// Ratings of the players in those games: mean and standard deviation.
const MEAN: f64 = 1640.0;
const SPREAD: f64 = 434.0;
const FEWEST_MOVES: usize = 10;
/// Few of the players are beyond these, and there the pull to the mean misleads most.
const LOWEST: f64 = 800.0;
const HIGHEST: f64 = 2200.0;

/// On Lichess's scale, with the standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    pub rating: f64,
    pub error: f64,
}

impl Level {
    /// Of a plain mean of the moves' accuracies. `None` if there are few moves.
    pub fn new(accuracy: f64, moves: usize, games: usize) -> Option<Level> {
        if moves < FEWEST_MOVES || games == 0 {
            return None;
        }
        let seen = (accuracy - AT_ZERO) / PER_POINT;
        let variance = VARIANCE_OF_MOVE / moves as f64 + VARIANCE_OF_GAME / games as f64 + VARIANCE_OF_PLAYER;
        let (by_games, by_others) = (PER_POINT * PER_POINT / variance, 1.0 / (SPREAD * SPREAD));
        let weight = by_games + by_others;
        Some(Level { rating: (seen * by_games + MEAN * by_others) / weight, error: weight.recip().sqrt() })
    }

    pub fn is_in_range(&self) -> bool {
        (LOWEST..=HIGHEST).contains(&self.rating)
    }
}

/// As in `1740 ± 400`, or `above 2200`.
impl fmt::Display for Level {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tens = |value: f64| 10.0 * (value / 10.0).round();
        match self.rating {
            rating if rating < LOWEST => write!(out, "below {LOWEST}"),
            rating if rating > HIGHEST => write!(out, "above {HIGHEST}"),
            rating => write!(out, "{} ± {}", tens(rating), tens(self.error)),
        }
    }
}

/// Players with ratings from `from` to below the next entry's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peers {
    from: u32,
    pub name: &'static str,
    /// Mean of the moves, in per cent.
    pub accuracy: f64,
    /// As White, as Black.
    pub colours: [f64; 2],
    /// In opening, middlegame and endgame.
    pub phases: [f64; 3],
    /// With half of the first clock time or more left, with a tenth or more, with less.
    pub clocks: [f64; 3],
    /// In 100 moves.
    pub blunders: f64,
    /// Of the games with a winning position, those won, in per cent.
    pub won: f64,
    /// Share of the positions with a forced mate in which the move kept it, in per cent.
    pub mates: f64,
}

/// The lowest first.
const PEERS: [Peers; 9] = [
    peers(0, "below 1200", [87.0, 86.9, 87.0, 87.2, 83.7, 90.4], [86.9, 87.0, 88.7], 5.6, 62.0, 67.9),
    peers(1200, "1200–1399", [88.1, 88.4, 87.7, 89.7, 83.4, 91.3], [87.5, 89.5, 90.9], 4.4, 63.9, 76.2),
    peers(1400, "1400–1599", [89.3, 89.7, 88.8, 91.6, 85.1, 90.9], [88.9, 90.6, 89.0], 3.8, 63.2, 71.4),
    peers(1600, "1600–1799", [90.3, 90.4, 90.3, 93.2, 87.1, 90.8], [90.7, 88.9, 91.1], 2.6, 71.6, 79.4),
    peers(1800, "1800–1999", [90.6, 90.9, 90.4, 94.2, 87.0, 91.2], [91.4, 89.5, 87.9], 2.6, 67.9, 77.5),
    peers(2000, "2000–2199", [91.8, 91.6, 91.9, 95.9, 88.3, 91.5], [92.6, 90.1, 89.7], 2.3, 75.8, 79.7),
    peers(2200, "2200–2399", [94.2, 94.1, 94.3, 97.5, 92.5, 93.4], [95.1, 91.5, 91.2], 0.8, 67.5, 85.9),
    peers(2400, "2400–2599", [95.0, 95.5, 94.4, 98.2, 93.9, 93.8], [96.3, 93.6, 91.4], 0.7, 75.5, 75.6),
    peers(2600, "2600 or more", [95.5, 95.7, 95.3, 98.3, 94.6, 94.4], [96.6, 93.7, 92.7], 0.6, 83.3, 87.0),
];

/// `accuracies` are six means: all moves, White's, Black's, and those in opening, middlegame and endgame.
const fn peers(
    from: u32,
    name: &'static str,
    accuracies: [f64; 6],
    clocks: [f64; 3],
    blunders: f64,
    won: f64,
    mates: f64,
) -> Peers {
    let [accuracy, white, black, opening, middlegame, endgame] = accuracies;
    let (colours, phases) = ([white, black], [opening, middlegame, endgame]);
    Peers { from, name, accuracy, colours, phases, clocks, blunders, won, mates }
}

impl Peers {
    pub fn of(rating: f64) -> &'static Peers {
        let at_most = |peers: &&Peers| f64::from(peers.from) <= rating;
        PEERS.iter().take_while(at_most).last().unwrap_or(&PEERS[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_game_says_little_and_many_say_more() {
        assert_eq!(Level::new(90.0, 9, 1), None);
        // 30 moves: a variance of 25.1, an error of 1,098 points, which the spread of all players cuts to 404.
        let one = Level::new(93.0, 30, 1).unwrap();
        assert_eq!((one.rating.round(), one.error.round()), (1740.0, 404.0));
        let many = Level::new(93.0, 900, 30).unwrap();
        assert_eq!((many.rating.round(), many.error.round()), (1976.0, 321.0));
        let middle = Level::new(AT_ZERO + PER_POINT * MEAN, 30, 1).unwrap();
        assert!((middle.rating - MEAN).abs() < 1e-6);
        assert_eq!(one.to_string(), "1740 ± 400");
        let told = [70.0, 97.0].map(|accuracy| Level::new(accuracy, 1500, 50).unwrap());
        assert_eq!(told.map(|level| level.to_string()), ["below 800", "above 2200"]);
        assert!(told.iter().all(|level| !level.is_in_range()) && one.is_in_range());
    }

    #[test]
    fn peers_are_found_by_rating() {
        let names = [-5.0, 1199.0, 1200.0, 1987.6, 2850.0].map(|rating| Peers::of(rating).name);
        assert_eq!(names, ["below 1200", "below 1200", "1200–1399", "1800–1999", "2600 or more"]);
        assert!(
            PEERS.windows(2).all(|pair| pair[0].from < pair[1].from && pair[0].accuracy < pair[1].accuracy)
        );
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        assert!(PEERS.iter().all(|peers| (mean(&peers.colours) - peers.accuracy).abs() < 0.2));
    }
}
