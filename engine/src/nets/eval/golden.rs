use thiserror::Error;

use super::card::{Card, Golden, ValueScheme};
use super::{EvalError, Evaluator, Request};
use crate::chess::position::Game;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GoldenError {
    #[error(transparent)]
    Evaluation(#[from] EvalError),
    #[error("{0}")]
    Wrong(String),
}

/// Checks the card's golden positions within [`Card::tolerance`].
pub fn check(evaluator: &mut dyn Evaluator, card: &Card) -> Result<(), GoldenError> {
    compare(evaluator, &card.golden, card.schemes.value, card.tolerance())
}

/// For networks without a [`Card`].
pub fn compare(
    evaluator: &mut dyn Evaluator,
    golden: &[Golden],
    value: ValueScheme,
    tolerance: f32,
) -> Result<(), GoldenError> {
    let mut games: Vec<Game> = golden.iter().map(game).collect::<Result<_, _>>()?;
    if games.is_empty() {
        games.push(Game::new());
    }
    let legal: Vec<_> = games.iter().map(Game::legal_moves).collect();
    let requests: Vec<Request<'_>> =
        games.iter().zip(&legal).map(|(game, moves)| Request { game, moves }).collect();
    let answers = evaluator.evaluate(&requests)?;
    for ((golden, answer), moves) in golden.iter().zip(&answers).zip(&legal) {
        let check = |what: &str, got: f32, want: f32| {
            if (got - want).abs() <= tolerance {
                Ok(())
            } else {
                Err(GoldenError::Wrong(format!("{what} {got:.4} instead of {want:.4} in {}", place(golden))))
            }
        };
        if value == ValueScheme::Wdl {
            check("win", answer.wdl.win, golden.wdl[0])?;
            check("draw", answer.wdl.draw, golden.wdl[1])?;
            check("loss", answer.wdl.loss, golden.wdl[2])?;
        }
        for (m, prior) in moves.iter().zip(&answer.priors) {
            let uci = Game::uci(*m, false);
            let missing = || GoldenError::Wrong(format!("no answer for {uci} in {}", place(golden)));
            let want = golden.policy.get(&uci).copied().ok_or_else(missing)?;
            check(&uci, *prior, want)?;
        }
    }
    Ok(())
}

fn game(golden: &Golden) -> Result<Game, GoldenError> {
    let game = Game::from_uci(Some(&golden.fen), golden.moves.split_whitespace())
        .map_err(|error| GoldenError::Wrong(one_line(&error.to_string())))?;
    if game.legal_moves().is_empty() {
        return Err(GoldenError::Wrong(format!("no legal move in {}", place(golden))));
    }
    Ok(game)
}

fn place(golden: &Golden) -> String {
    one_line(format!("{} {}", golden.fen, golden.moves).trim())
}

fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
