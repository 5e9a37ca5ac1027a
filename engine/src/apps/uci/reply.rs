//! The last lines of a search. Every `bestmove` is checked for legality here.

use std::time::Duration;

use shakmaty::{Move, Position};

use crate::chess::position::Game;
use crate::setup::{first_legal, legal_part};

#[derive(Clone, Debug)]
pub struct Reply {
    pub infos: Vec<String>,
    pub bestmove: String,
    /// Why another move replaces the chosen one.
    pub wrong: Option<String>,
}

impl Reply {
    pub fn no_move(game: &Game) -> Reply {
        let score = if game.position().is_check() { "mate 0" } else { "cp 0" };
        let info = format!(
            "info depth 0 seldepth 0 multipv 1 score {score} nodes 0 nps 0 hashfull 0 tbhits 0 time 0"
        );
        Reply { infos: vec![info], ..Reply::no_position() }
    }

    pub fn no_position() -> Reply {
        Reply { infos: Vec::new(), bestmove: "bestmove (none)".to_owned(), wrong: None }
    }

    /// For a book move, or the fallback after a failed search.
    pub fn unsearched(game: &Game, m: Move, chess960: bool, time: Duration) -> Reply {
        let best = Game::uci(m, chess960);
        let ms = time.as_millis();
        let info = format!(
            "info depth 1 seldepth 1 multipv 1 score cp 0 nodes 0 nps 0 hashfull 0 tbhits 0 time {ms} pv {best}"
        );
        Reply::searched(game, &[m], chess960, vec![info])
    }

    /// `line` begins with the best move and the ponder move. An illegal best move is replaced by a legal one and noted
    /// in [`Reply::wrong`].
    pub fn searched(game: &Game, line: &[Move], chess960: bool, infos: Vec<String>) -> Reply {
        let text = |m: &Move| Game::uci(*m, chess960);
        let mut wrong = None;
        let bestmove = match legal_part(game, line, chess960) {
            [best, reply, ..] => format!("bestmove {} ponder {}", text(best), text(reply)),
            [best] => format!("bestmove {}", text(best)),
            [] => {
                let chosen = line.first().map_or_else(|| "none".to_owned(), text);
                let Some(played) = first_legal(game, None).map(|m| text(&m)) else {
                    return Reply::no_move(game);
                };
                wrong =
                    Some(format!("move {chosen} is not legal in {}: {played} is played instead", game.fen()));
                format!("bestmove {played}")
            }
        };
        Reply { infos, bestmove, wrong }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(moves: &str) -> Vec<Move> {
        let mut game = Game::new();
        let play = |text| {
            let m = game.parse_uci(text).unwrap();
            game.play(m);
            m
        };
        moves.split(' ').map(play).collect()
    }

    #[test]
    fn a_wrong_move_is_replaced_by_a_legal_one() {
        let searched = |game: &Game, moves: &[Move]| Reply::searched(game, moves, false, Vec::new());
        let (start, moves) = (Game::new(), line("e2e4 e7e5 g1f3"));
        let reply = searched(&start, &moves);
        assert_eq!((&reply.bestmove[..], reply.wrong), ("bestmove e2e4 ponder e7e5", None));
        assert_eq!(searched(&start, &moves[..1]).bestmove, "bestmove e2e4");
        // An illegal second move is no ponder move.
        assert_eq!(searched(&start, &[moves[0], moves[2]]).bestmove, "bestmove e2e4");
        for wrong in [&moves[1..], &[]] {
            let reply = searched(&start, wrong);
            let played = reply.bestmove.strip_prefix("bestmove ").unwrap();
            assert!(start.parse_uci(played).is_ok(), "{reply:?}");
            assert!(reply.wrong.unwrap().contains(&format!("{played} is played instead")));
        }
        let mated = Game::from_fen("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1").unwrap();
        assert_eq!(searched(&mated, &moves).bestmove, "bestmove (none)");
    }

    #[test]
    fn castling_is_written_as_the_gui_wants() {
        let game = Game::from_fen("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1").unwrap();
        let short = game.parse_uci("e1g1").unwrap();
        let mut after = game.clone();
        after.play(short);
        let moves = [short, after.parse_uci("e8c8").unwrap()];
        assert_eq!(Reply::searched(&game, &moves, false, Vec::new()).bestmove, "bestmove e1g1 ponder e8c8");
        assert_eq!(Reply::searched(&game, &moves, true, Vec::new()).bestmove, "bestmove e1h1 ponder e8a8");
    }
}
