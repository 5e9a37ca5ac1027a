//! Wins in which the evaluator's value is flat.

use engine::chess::position::{Game, Outcome};
use engine::chess::tables::{ProbeRules, Tables};
use engine::search::{Params, Pool};

use super::support::*;

const ROOK: [&str; 3] =
    ["8/8/8/3k4/8/8/8/KR6 w - - 0 1", "8/8/8/8/4k3/8/1R6/7K w - - 0 1", "8/8/2k5/8/8/8/3R4/K7 w - - 0 1"];

/// Whether White mates against the longest defence within the fifty-move rule, at 400 visits per move, with a constant
/// evaluator and without tables.
fn mates(fen: &str, progress: f32) -> bool {
    let tables = Tables::builtin(ProbeRules::default());
    let mut pool = Pool::new(vec![Box::new(WhiteWins)], Params { progress, ..Params::default() }, 64 << 20);
    let mut game = Game::from_fen(fen).expect("a position");
    while game.outcome().is_none() {
        let m = if game.turn().is_white() {
            search_by(&mut pool, &game, visits(400)).report.lines[0].pv[0]
        } else {
            tables.root(&game).expect("a known result").moves[0].m
        };
        game.play(m);
    }
    matches!(game.outcome(), Some(Outcome::Decisive { .. }))
}

/// Priors are uniform, so not every game must be won.
#[test]
fn progress_mates_a_bare_king() {
    let won = |progress| ROOK.into_iter().filter(|fen| mates(fen, progress)).count();
    assert!(won(Params::default().progress) >= 2);
    assert_eq!(won(0.0), 0, "without it, no move comes closer");
}

/// Without a bare king at the root nothing changes, although captures and promotions may create one.
#[test]
fn progress_does_not_count_until_the_root_has_a_bare_king() {
    let stats = |fen: &str, progress| {
        let params = Params { progress, ..Params::default() };
        let mut pool = Pool::new(vec![Box::new(WhiteWins)], params, 64 << 20);
        search_by(&mut pool, &Game::from_fen(fen).expect("a position"), visits(400)).stats
    };
    for fen in ["8/8/8/3k3p/8/8/1BN5/KR6 w - - 0 1", "8/3P4/8/3k4/8/8/2N5/KR6 w - - 0 1"] {
        assert_eq!(stats(fen, 1.0), stats(fen, 0.0), "{fen}");
    }
    let bare = "8/8/8/3k4/8/8/1BN5/KR6 w - - 0 1";
    assert_ne!(stats(bare, 1.0), stats(bare, 0.0));
}
