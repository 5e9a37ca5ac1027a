//! Output of `d` and `eval`: every line is an `info string`, which a GUI ignores.

use shakmaty::{Position, Rank, Square};

use crate::apps::io::Writer;
use crate::chess::position::Game;
use crate::nets::eval::Answer;

const TOP: usize = 10;

pub fn position(game: &Game, out: &Writer) {
    let board = game.position().board();
    for rank in Rank::ALL.into_iter().rev() {
        let row: Vec<String> = (0..8)
            .map(|file| Square::from_coords(shakmaty::File::new(file), rank))
            .map(|square| board.piece_at(square).map_or('.', shakmaty::Piece::char).to_string())
            .collect();
        out.say(row.join(" "));
    }
    out.say(format!("fen {}", game.fen()));
    out.say(format!(
        "{} legal moves, {} repetitions{}",
        game.legal_moves().len(),
        game.repetitions(),
        game.outcome().map_or(String::new(), |outcome| format!(", over: {outcome:?}")),
    ));
}

pub fn evaluation(game: &Game, answer: &Answer, chess960: bool, out: &Writer) {
    let percent = |share: f32| format!("{:.1} %", share * 100.0);
    let wdl = answer.wdl;
    let [win, draw, loss] = [wdl.win, wdl.draw, wdl.loss].map(percent);
    out.say(format!("for the side to move: win {win}, draw {draw}, loss {loss}"));
    let mut moves: Vec<_> = game.legal_moves().into_iter().zip(&answer.priors).collect();
    moves.sort_by(|a, b| b.1.total_cmp(a.1));
    for (m, &prior) in moves.into_iter().take(TOP) {
        out.say(format!("{} {}", Game::uci(m, chess960), percent(prior)));
    }
}
