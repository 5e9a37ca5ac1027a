//! Networks of every scheme, with and without a value head, are loaded, checked and played.

use engine::chess::position::Game;
use engine::nets::encoding::{Input, Policy};
use engine::nets::eval::{Request, Schemes, ValueScheme, material, q_of_centipawns, shown_centipawns};
use engine::nets::onnx::{NetError, Network};

use crate::onnx::Tiny;
use crate::program::{Program, number};

/// Every input and every policy at least once; half of them without a value.
const SCHEMES: [Schemes; 6] = [
    Schemes { input: Input::Planes19, policy: Policy::Uci1968m, value: ValueScheme::Wdl },
    Schemes { input: Input::Planes14, policy: Policy::Gym4672, value: ValueScheme::None },
    Schemes { input: Input::Onehot832, policy: Policy::Uci1968, value: ValueScheme::None },
    Schemes { input: Input::Lc0112, policy: Policy::Lc01858, value: ValueScheme::Wdl },
    Schemes { input: Input::Planes72, policy: Policy::Az4672, value: ValueScheme::None },
    Schemes { input: Input::Planes72, policy: Policy::Lc01858, value: ValueScheme::Wdl },
];

const POSITIONS: [&str; 4] = [
    "startpos moves d2d4 d7d5",
    "startpos moves e2e4 e7e5 g1f3",
    "fen r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 3 20",
    "fen 1n2k3/P7/8/8/8/8/7p/4K1N1 b - - 0 1",
];

fn game(position: &str) -> Game {
    let (start, moves) = position.split_once(" moves ").unwrap_or((position, ""));
    Game::from_uci(start.strip_prefix("fen "), moves.split_whitespace()).unwrap()
}

fn tiny(number: usize) -> Tiny {
    Tiny::new(SCHEMES[number], number as u64)
}

#[test]
fn answers_are_those_of_their_matrices() {
    for (number, schemes) in SCHEMES.into_iter().enumerate() {
        let tiny = tiny(number);
        let file = tiny.write(&format!("answers-{number}"), &tiny.golden());
        let network = Network::load(&file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(network.schemes(), schemes);
        let described = format!("{} -> {}", schemes.input.name(), schemes.policy.name());
        assert!(network.describe().contains(&described), "{}", network.describe());
        let mut evaluator = network.evaluator(4).unwrap();
        let games = POSITIONS.map(game);
        let legal: Vec<_> = games.iter().map(Game::legal_moves).collect();
        let requests: Vec<_> =
            games.iter().zip(&legal).map(|(game, moves)| Request { game, moves }).collect();
        let answers = evaluator.evaluate(&requests).unwrap();
        for (game, answer) in games.iter().zip(answers) {
            let (policy, [win, draw, loss]) = tiny.answer(game);
            let close =
                |got: f32, want: f32| assert!((got - want).abs() < 1e-4, "{described}, {}", game.fen());
            answer.priors.iter().zip(&policy).for_each(|(got, want)| close(*got, *want));
            match schemes.value {
                ValueScheme::Wdl => {
                    close(answer.wdl.win, win);
                    close(answer.wdl.draw, draw);
                    close(answer.wdl.loss, loss);
                }
                ValueScheme::None => assert_eq!(answer.wdl, material::wdl(game.position())),
            }
        }
    }
}

#[test]
fn answers_that_are_not_the_cards_are_noticed() {
    for number in 0..SCHEMES.len() {
        let tiny = tiny(number);
        let mut golden = tiny.golden();
        for probability in golden[2].policy.values_mut().take(1) {
            *probability += 0.02;
        }
        let error = Network::load(&tiny.write(&format!("golden-{number}"), &golden)).err().expect("refused");
        let NetError::InFile(_, error) = error else { panic!("{error}") };
        assert!(matches!(*error, NetError::Golden(_)), "{error}");
    }
    // A wrong value is noticed only if the network has a value.
    for (number, schemes) in SCHEMES.into_iter().enumerate() {
        let tiny = tiny(number);
        let mut golden = tiny.golden();
        golden[1].wdl[0] += 0.02;
        let loaded = Network::load(&tiny.write(&format!("value-{number}"), &golden));
        assert_eq!(loaded.is_ok(), schemes.value == ValueScheme::None);
    }
}

#[test]
fn a_tensor_of_another_scheme_is_named() {
    let refusal = |named: Schemes| {
        let file = tiny(2).write_as("misnamed", named, &tiny(2).golden());
        Network::load(&file).err().expect("refused").to_string()
    };
    let error = refusal(Schemes { input: Input::Planes19, ..SCHEMES[2] });
    assert!(error.ends_with("tensor \"input\" is f32 [-1, 832], expected f32 [batch, 19, 8, 8]"), "{error}");
    let error = refusal(Schemes { policy: Policy::Az4672, ..SCHEMES[2] });
    assert!(error.ends_with("tensor \"policy\" is f32 [-1, 1968], expected f32 [batch, 4672]"), "{error}");
    let error = refusal(Schemes { value: ValueScheme::Wdl, ..SCHEMES[2] });
    assert!(error.ends_with("tensor \"wdl\" is missing among policy, expected f32 [batch, 3]"), "{error}");
}

#[test]
fn the_program_plays_them() {
    let mut engine = Program::start();
    engine.send("setoption name Threads value 1\nsetoption name SyzygyProbeLimit value 0");
    for (place, schemes) in SCHEMES.into_iter().enumerate() {
        let tiny = tiny(place);
        let file = tiny.write(&format!("played-{place}"), &tiny.golden());
        let notes = engine.answer(&format!("setoption name WeightsFile value {}", file.display()));
        let missing =
            format!("info string {} is missing: playing in fp32", file.with_extension("int8.onnx").display());
        assert_eq!(notes, [missing]);
        for position in POSITIONS {
            // A single visit is the root's own evaluation, so the move with the highest prior is played.
            let search = engine.search(&format!("position {position}"), "go nodes 1");
            assert_eq!(
                search.best(),
                tiny.best_prior(&game(position)),
                "{} {position}",
                schemes.input.name()
            );
            let search = engine.search(&format!("position {position}"), "go nodes 60");
            assert!(game(position).parse_uci(search.best()).is_ok());
            assert!(number(search.last(), "nodes") >= 60, "{}", search.last());
        }
    }
}

#[test]
fn without_a_value_the_material_decides() {
    // White's rook can take the queen; the policy is flattened.
    let tiny = tiny(2);
    let file = tiny.write("material", &tiny.golden());
    let mut engine = Program::start();
    engine.send(&format!(
        "setoption name Threads value 1\nsetoption name WeightsFile value {}",
        file.display()
    ));
    engine.send("setoption name PolicyTemperature value 10");
    let search = engine.search("position fen 3qk3/8/8/8/8/8/5P2/3RK3 w - - 0 1", "go nodes 300");
    assert_eq!(search.best(), "d1d8", "{}", search.last());
    // More pieces than the built-in tablebases know, and no bare king.
    let search = engine.search("position fen 4k3/5p2/8/8/8/8/5P2/R3K3 w - - 0 1", "go nodes 1");
    // Rook a1: 500 − 50 centipawns; pawns and kings cancel.
    let expected = shown_centipawns(q_of_centipawns(450));
    assert_eq!(number(search.last(), "cp"), i64::from(expected), "{}", search.last());
}

#[test]
fn a_temperature_draws_other_moves_in_other_games() {
    let tiny = tiny(1);
    let file = tiny.write("drawn", &tiny.golden());
    let mut engine = Program::start();
    engine.send(&format!(
        "setoption name Threads value 1\nsetoption name WeightsFile value {}",
        file.display()
    ));
    let mut best = |temperature: &str| {
        engine.send(&format!("setoption name Temperature value {temperature}\nucinewgame"));
        engine.search("position startpos", "go nodes 1").best().to_owned()
    };
    let best_prior = tiny.best_prior(&Game::new());
    assert!((0..5).all(|_| best("0") == best_prior));
    // Twenty nearly equal moves: the same move thirty times has probability 1 in 20^29.
    let first = best("100");
    assert!((0..30).any(|_| best("100") != first));
}
