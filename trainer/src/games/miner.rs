//! Games that an engine plays against itself, and games that it judges.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use engine::position::{Outcome, PackedMove};
use fastrand::Rng;

use super::starts::{Starts, dice};
use super::uci::{Course, EngineError, Limit, Line, UciEngine};
use super::{FLAG_CHESS960, Game, GameResult};

/// How often each of an engine's best moves is played, in any unit; what lesser moves there are not goes to the
/// last that there is.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice(Vec<f64>);

impl Default for Choice {
    /// The lesson's: 80, 15 and 5 per cent.
    fn default() -> Choice {
        Choice(vec![80.0, 15.0, 5.0])
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Choice, String> {
        let weights: Result<Vec<f64>, _> = text.split([',', '/']).map(|word| word.trim().parse()).collect();
        let weights = weights.map_err(|_| format!("\"{text}\" is no list of numbers like 80,15,5"))?;
        if weights.iter().any(|weight| !weight.is_finite() || *weight < 0.0)
            || weights.iter().sum::<f64>() <= 0.0
        {
            return Err(format!("\"{text}\": weights are not negative, and one is positive"));
        }
        Ok(Choice(weights))
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weights: Vec<String> = self.0.iter().map(f64::to_string).collect();
        f.write_str(&weights.join("/"))
    }
}

impl Choice {
    /// How many moves there are to choose from.
    pub fn moves(&self) -> usize {
        self.0.len()
    }

    /// Chooses one of `count` moves.
    fn draw(&self, count: usize, rng: &mut Rng) -> usize {
        let mut left = rng.f64() * self.0.iter().sum::<f64>();
        for (index, weight) in self.0[..count.min(self.0.len())].iter().enumerate() {
            if left < *weight {
                return index;
            }
            left -= weight;
        }
        count.min(self.0.len()) - 1
    }
}

/// Lets an engine play against itself.
#[derive(Clone, Debug)]
pub struct Miner {
    /// Where games begin.
    pub starts: Starts,
    /// Which of the best moves is played.
    pub choice: Choice,
    /// How long the engine thinks about a move.
    pub limit: Limit,
    /// Games that aren't over after so many plies end without a result.
    pub plies: usize,
    /// Decides what is left to chance.
    pub seed: u64,
}

impl Miner {
    /// Plays game `number`, from where `game` stands, to its end.
    ///
    /// A draw is claimed when the position stands for the third time, or after fifty moves. Every position's
    /// evaluation is that of its best move, whichever is played.
    ///
    /// # Errors
    ///
    /// If the engine fails or `stop` is raised; `game` is then as far as it came, and can be gone on with.
    pub fn play(
        &self,
        number: u64,
        game: &mut Game,
        engine: &mut UciEngine,
        stop: &AtomicBool,
    ) -> Result<(), EngineError> {
        engine.new_game(stop)?;
        if game.moves.is_empty() {
            game.start = self.starts.start(number, engine, stop)?;
        }
        let mut course = course_of(game, game.moves.len());
        if course.is_chess960() {
            game.flags |= FLAG_CHESS960;
        }
        loop {
            if let Some(outcome) = course.game.outcome() {
                game.result = match outcome {
                    Outcome::Decisive { winner } => GameResult::won_by(winner),
                    Outcome::Draw(_) => GameResult::Draw,
                };
                return Ok(());
            }
            if game.moves.len() >= self.plies {
                return Ok(());
            }
            let lines = engine.best(&course, self.limit, self.choice.moves(), stop)?;
            // Ply 0 of the dice was thrown for the start.
            let mut rng = dice(self.seed, number, game.moves.len() as u64 + 1);
            let Line { m, .. } = lines[self.choice.draw(lines.len(), &mut rng)];
            game.moves.push(PackedMove::new(m));
            game.evals.push(lines[0].eval);
            course.play(m);
        }
    }
}

/// Gives the positions of a game the evaluations of an engine, from ply `done` on, which grows.
///
/// Positions for which `wanted` says no to what they have are left as they are.
///
/// # Errors
///
/// If the engine fails or `stop` is raised; what is `done` can be gone on with.
pub fn annotate(
    game: &mut Game,
    done: &mut usize,
    wanted: impl Fn(i16) -> bool,
    engine: &mut UciEngine,
    limit: Limit,
    stop: &AtomicBool,
) -> Result<(), EngineError> {
    engine.new_game(stop)?;
    let mut course = course_of(game, *done);
    while *done < game.moves.len() {
        // A game may go on after a draw by rule: nobody claimed it. An engine has nothing to say after a mate.
        if wanted(game.evals[*done]) {
            game.evals[*done] = engine.best(&course, limit, 1, stop)?[0].eval;
        }
        course.play(game.moves[*done].to_legal_move(course.game.position()));
        *done += 1;
    }
    Ok(())
}

fn course_of(game: &Game, plies: usize) -> Course {
    let mut course = Course::new(game.start.as_deref()).expect("games have starts that were checked");
    game.moves[..plies].iter().for_each(|m| course.play(m.to_legal_move(course.game.position())));
    course
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(choice: &str, count: usize) -> Vec<u32> {
        let choice: Choice = choice.parse().unwrap();
        let mut rng = dice(1, 1, 1);
        let mut drawn = vec![0; count];
        (0..10_000).for_each(|_| drawn[choice.draw(count, &mut rng)] += 1);
        drawn.iter().map(|number| (number + 50) / 100).collect()
    }

    #[test]
    fn moves_are_chosen_by_their_weights() {
        let close = |found: Vec<u32>, expected: &[u32]| {
            assert!(found.iter().zip(expected).all(|(a, b)| a.abs_diff(*b) <= 2), "{found:?} {expected:?}");
        };
        close(shares("80,15,5", 3), &[80, 15, 5]);
        close(shares("80,15,5", 2), &[80, 20]);
        assert_eq!(shares("80,15,5", 1), [100]);
        assert_eq!(shares("100", 1), [100]);
        close(shares("1/1", 2), &[50, 50]);
    }

    #[test]
    fn weights_that_choose_nothing_are_refused() {
        for bad in ["", "a", "80,-1", "0,0", "nan", "80,,5"] {
            assert!(bad.parse::<Choice>().is_err(), "{bad}");
        }
        assert_eq!(Choice::default(), "80, 15, 5".parse().unwrap());
        assert_eq!(Choice::default().to_string(), "80/15/5");
    }
}
