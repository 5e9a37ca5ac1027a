//! What accuracy tells about a player's level, and what players of each level do.
//!
//! Measured with 4,000 nodes a position in 287 games of Lichess (ratings 780 to 2,500), peers from 2,200 in 90 games over
//! the board, too.

use std::fmt;

/// Mean accuracy, in per cent, of rating 0 and of each point more.
const AT_ZERO: f64 = 78.2;
const PER_POINT: f64 = 0.00695;
/// Variance of a mean accuracy, among players of one rating: by move, by game, and from player to player; the last so
/// that the error for ten games of each of twelve players is the 275 points that was found.
const VARIANCE_OF_MOVE: f64 = 303.0;
const VARIANCE_OF_GAME: f64 = 11.0;
const VARIANCE_OF_PLAYER: f64 = 4.0;
/// Ratings of the players in those games: mean and standard deviation.
const MEAN: f64 = 1650.0;
const SPREAD: f64 = 407.0;
const FEWEST_MOVES: usize = 10;
/// Beyond these the pull to the mean is larger than what the games say.
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

/// As in `1770 ± 350`, or `above 2200`.
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
    /// In opening, middlegame and endgame.
    pub phases: [f64; 3],
    /// In 100 moves.
    pub blunders: f64,
    /// Of the games with a winning position, those won, in per cent.
    pub won: f64,
    /// Of the positions with a forced mate, those in which the move kept it, in per cent. `None` if there were few.
    pub mates: Option<f64>,
}

/// The lowest first.
const PEERS: [Peers; 9] = [
    peers(0, "below 1200", [86.4, 84.5, 84.4, 93.2], 6.6, 61.0, Some(61.0)),
    peers(1200, "1200–1399", [87.7, 88.3, 83.2, 91.4], 5.0, 52.0, Some(79.0)),
    peers(1400, "1400–1599", [88.6, 91.3, 84.0, 91.2], 4.6, 60.0, Some(74.0)),
    peers(1600, "1600–1799", [90.1, 94.1, 85.5, 90.9], 3.0, 64.0, Some(76.0)),
    peers(1800, "1800–1999", [91.1, 95.3, 87.0, 91.7], 2.4, 64.0, Some(80.0)),
    peers(2000, "2000–2199", [93.1, 97.0, 89.9, 92.8], 1.6, 78.0, None),
    peers(2200, "2200–2399", [94.0, 97.5, 91.5, 93.9], 1.1, 77.0, Some(94.0)),
    peers(2400, "2400–2599", [94.8, 99.2, 92.2, 94.0], 1.6, 72.0, None),
    peers(2600, "2600 or more", [96.0, 99.0, 94.7, 94.8], 0.6, 71.0, None),
];

/// `accuracies`: of all moves, then in opening, middlegame and endgame.
const fn peers(
    from: u32,
    name: &'static str,
    accuracies: [f64; 4],
    blunders: f64,
    won: f64,
    mates: Option<f64>,
) -> Peers {
    let [accuracy, opening, middlegame, endgame] = accuracies;
    Peers { from, name, accuracy, phases: [opening, middlegame, endgame], blunders, won, mates }
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
        // 30 moves: a variance of 25.1, an error of 721 points, which the spread of all players cuts to 354.
        let one = Level::new(93.0, 30, 1).unwrap();
        assert_eq!((one.rating.round(), one.error.round()), (1766.0, 354.0));
        let many = Level::new(93.0, 900, 30).unwrap();
        assert_eq!((many.rating.round(), many.error.round()), (1952.0, 248.0));
        let middle = Level::new(AT_ZERO + PER_POINT * MEAN, 30, 1).unwrap();
        assert!((middle.rating - MEAN).abs() < 1e-6);
        assert_eq!(one.to_string(), "1770 ± 350");
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
    }
}
