//! A recurrent network that is also computed here: with `h = input · A`, a step is `z ← z/2 + h` and `y ← y/2 + mean of
//! z`; the outputs are `y · B` and `y · C`. It converges to `y = 4h`.

use std::path::{Path, PathBuf};

use engine::chess::position::Game;
use engine::nets::encoding::{Input, Policy};
use engine::nets::eval::{Answer, Golden, Request, Schemes, ValueScheme};
use engine::nets::onnx::{Network, StepLimits};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::onnx::{
    Outlet, best_prior, card, golden, integers, node, probabilities, product, tensor, write_model,
};
use crate::program::{Program, number};

const WIDTH: usize = 4;
const STEPS: usize = 6;
const SCHEMES: Schemes =
    Schemes { input: Input::Planes19, policy: Policy::Uci1968m, value: ValueScheme::Wdl };
const FIRST_ANSWER: [f32; WIDTH] = [0.5, -0.25, 1.0, -2.0];

const POSITIONS: [&str; 4] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R b KQkq - 8 8",
    "8/8/4k3/8/8/4K3/4P3/8 w - - 0 1",
    "8/8/8/4k3/8/8/8/R3K3 b - - 0 1",
];

struct TinyRecurrent {
    into: Vec<f32>,
    policy: Vec<f32>,
    wdl: Vec<f32>,
}

impl TinyRecurrent {
    fn new() -> TinyRecurrent {
        let mut random = SmallRng::seed_from_u64(5);
        let mut matrix = |size: usize, scale: f32| {
            (0..size).map(|_| (random.random::<f32>() - 0.5) * scale).collect::<Vec<_>>()
        };
        TinyRecurrent {
            into: matrix(SCHEMES.input.size() * WIDTH, 0.2),
            policy: matrix(WIDTH * SCHEMES.policy.size(), 1.5),
            wdl: matrix(WIDTH * 3, 1.0),
        }
    }

    /// Outputs after every step.
    fn steps(&self, game: &Game, steps: usize) -> Vec<(Vec<f32>, [f32; 3])> {
        let seen = product(&SCHEMES.input.tensor(std::slice::from_ref(game)), &self.into, WIDTH);
        let (mut y, mut z) = (FIRST_ANSWER.to_vec(), vec![0.0; WIDTH]);
        let step = |_| {
            z.iter_mut().zip(&seen).for_each(|(z, h)| *z = *z / 2.0 + h);
            y.iter_mut().zip(&z).for_each(|(y, z)| *y = *y / 2.0 + z);
            let logits = product(&y, &self.policy, SCHEMES.policy.size());
            probabilities(game, SCHEMES.policy, &logits, &product(&y, &self.wdl, 3))
        };
        (0..steps).map(step).collect()
    }

    /// Final outputs, number of steps.
    fn answer(&self, game: &Game, limits: StepLimits) -> (Vec<f32>, [f32; 3], usize) {
        let most = if limits.steps == 0 { STEPS } else { limits.steps };
        let outputs = self.steps(game, most);
        let far = |a: &[f32], b: &[f32]| a.iter().zip(b).any(|(a, b)| (a - b).abs() > limits.epsilon);
        let rests = |at: &usize| {
            let (now, before) = (&outputs[*at], &outputs[at - 1]);
            !far(&now.0, &before.0) && !far(&now.1, &before.1)
        };
        let end = (1..most).find(rests).filter(|_| limits.epsilon > 0.0).unwrap_or(most - 1);
        let (policy, wdl) = outputs[end].clone();
        (policy, wdl, end + 1)
    }

    fn golden(&self, steps: usize) -> Vec<Golden> {
        let limits = StepLimits { steps, epsilon: 0.0 };
        golden(|game| {
            let (policy, wdl, _) = self.answer(game, limits);
            (policy, wdl)
        })
    }

    fn write(&self, name: &str) -> PathBuf {
        let first_answer = serde_json::to_string(&FIRST_ANSWER).unwrap();
        let properties = [("steps", "6"), ("y0", first_answer.as_str())];
        self.write_with(name, &properties, &self.golden(STEPS), ("z_out", 64))
    }

    /// Writes the network with these card properties, and another name or number of tokens of the scratchpad output.
    fn write_with(
        &self,
        name: &str,
        properties: &[(&str, &str)],
        golden: &[Golden],
        (scratchpad, tokens): (&'static str, usize),
    ) -> PathBuf {
        let nodes = [
            node("Flatten", &["input"], "x"),
            node("MatMul", &["x", "a"], "h"),
            node("Reshape", &["h", "token"], "seen"),
            node("Mul", &["z", "half"], "less"),
            node("Add", &["less", "seen"], scratchpad),
            node("MatMul", &["mean", scratchpad], "thought"),
            node("Mul", &["y", "half"], "rest"),
            node("Add", &["rest", "thought"], "y_out"),
            node("Flatten", &["y_out"], "answer"),
            node("MatMul", &["answer", "b"], "policy"),
            node("MatMul", &["answer", "c"], "wdl"),
        ];
        let constants = [
            tensor("a", &[SCHEMES.input.size(), WIDTH], &self.into),
            tensor("b", &[WIDTH, SCHEMES.policy.size()], &self.policy),
            tensor("c", &[WIDTH, 3], &self.wdl),
            tensor("half", &[1], &[0.5]),
            tensor("mean", &[1, tokens], &vec![1.0 / tokens as f32; tokens]),
            integers("token", &[0, 1, WIDTH as i64]),
        ];
        let thoughts: [Outlet; 2] = [("y", vec![1, WIDTH]), ("z", vec![tokens, WIDTH])];
        let inputs = [&[("input", SCHEMES.input.shape().to_vec())][..], &thoughts].concat();
        let outputs = [
            ("policy", vec![SCHEMES.policy.size()]),
            ("wdl", vec![3]),
            ("y_out", vec![1, WIDTH]),
            (scratchpad, vec![tokens, WIDTH]),
        ];
        let golden = serde_json::to_string(golden).unwrap();
        let card = [&card(name, "trm", SCHEMES, &golden)[..], properties].concat();
        write_model(name, &nodes, &constants, &inputs, &outputs, &card)
    }
}

fn load(file: &Path) -> Network {
    Network::load(file).unwrap_or_else(|error| panic!("{error}"))
}

fn evaluate(network: &Network, limits: StepLimits, games: &[Game]) -> Vec<Answer> {
    let legal: Vec<_> = games.iter().map(Game::legal_moves).collect();
    let requests: Vec<_> = games.iter().zip(&legal).map(|(game, moves)| Request { game, moves }).collect();
    network.evaluator_with(games.len(), limits).unwrap().evaluate(&requests).unwrap()
}

fn games() -> Vec<Game> {
    POSITIONS.iter().map(|fen| Game::from_fen(fen).unwrap()).collect()
}

fn assert_close(answer: &Answer, policy: &[f32], wdl: [f32; 3], what: &str) {
    let got = answer.priors.iter().chain([&answer.wdl.win, &answer.wdl.draw, &answer.wdl.loss]);
    for (got, want) in got.zip(policy.iter().chain(&wdl)) {
        assert!((got - want).abs() < 1e-5, "{got} instead of {want}: {what}");
    }
}

#[test]
fn the_number_of_steps_can_be_set() {
    let tiny = TinyRecurrent::new();
    let network = load(&tiny.write("recurrent-steps"));
    assert!(network.describe().contains("uci1968m/1, 6 steps, "), "{}", network.describe());
    for steps in [0, 1, 2, 6, 25] {
        let limits = StepLimits { steps, epsilon: 0.0 };
        for (game, answer) in games().iter().zip(evaluate(&network, limits, &games())) {
            let (policy, wdl, _) = tiny.answer(game, limits);
            assert_close(&answer, &policy, wdl, &format!("{steps} steps, {}", game.fen()));
        }
    }
    let games = games();
    let bare = network.session().unwrap().run(&SCHEMES.input.tensor(&games), |logits| logits.policy.to_vec());
    let (policy, ..) = probabilities(&games[0], SCHEMES.policy, &bare.unwrap(), &[0.0; 3]);
    assert_close(
        &evaluate(&network, StepLimits::default(), &games)[0],
        &policy,
        tiny.answer(&games[0], StepLimits::default()).1,
        "a bare session takes the steps of the card",
    );
}

#[test]
fn positions_that_settle_early_do_not_affect_the_others() {
    let tiny = TinyRecurrent::new();
    let network = load(&tiny.write("recurrent-settles"));
    let games = games();
    for (epsilon, steps) in [(0.02, 0), (0.005, 30), (0.0005, 30), (1.0, 9)] {
        let limits = StepLimits { steps, epsilon };
        let together = evaluate(&network, limits, &games);
        assert_eq!(together, evaluate(&network, limits, &games), "the same every time");
        let mut ends = Vec::new();
        for (game, answer) in games.iter().zip(&together) {
            let (policy, wdl, end) = tiny.answer(game, limits);
            assert_close(answer, &policy, wdl, &format!("{epsilon} in {steps}, {}", game.fen()));
            let alone = evaluate(&network, limits, std::slice::from_ref(game)).remove(0);
            assert_close(&alone, &answer.priors, wdl, "alone");
            ends.push(end);
        }
        match epsilon {
            1.0 => assert_eq!(ends, [2; 4], "two answers are the least to compare"),
            _ => assert!(ends.iter().any(|end| *end != ends[0]), "{epsilon}: {ends:?}"),
        }
    }
}

#[test]
fn settling_does_not_depend_on_the_requested_moves() {
    let network = load(&TinyRecurrent::new().write("recurrent-moves"));
    let limits = StepLimits { steps: 30, epsilon: 0.005 };
    let game = Game::new();
    let legal = game.legal_moves();
    let mut evaluator = network.evaluator_with(1, limits).unwrap();
    let all = evaluator.evaluate(&[Request { game: &game, moves: &legal }]).unwrap().remove(0);
    let two = evaluator.evaluate(&[Request { game: &game, moves: &legal[3..5] }]).unwrap().remove(0);
    assert_eq!(all.wdl, two.wdl);
    assert!((two.priors[0] / two.priors[1] - all.priors[3] / all.priors[4]).abs() < 1e-4);
}

#[test]
fn cards_and_tensors_that_do_not_fit_are_named() {
    let tiny = TinyRecurrent::new();
    let golden = tiny.golden(STEPS);
    let answer = ("y0", "[0.5, -0.25, 1.0, -2.0]");
    let refusal = |name: &str, properties: &[(&str, &str)], golden: &[Golden], scratchpad| {
        let error = Network::load(&tiny.write_with(name, properties, golden, scratchpad)).err();
        error.expect("refused").to_string()
    };
    let good = ("z_out", 64);
    for (properties, scratchpad, complaint) in [
        (&[answer][..], good, "the ONNX metadata lack philidor.steps"),
        (&[("steps", "6")], good, "the ONNX metadata lack philidor.y0"),
        (&[("steps", "0"), answer], good, "philidor.steps is \"0\", expected a whole number from 1 to 256"),
        (
            &[("steps", "6"), ("y0", "[1, 2]")],
            good,
            "tensor \"y\" is f32 [-1, 1, 4], expected f32 [batch, 1, 2]",
        ),
        (
            &[("steps", "6"), answer],
            ("z_out", 8),
            "tensor \"z\" is f32 [-1, 8, 4], expected f32 [batch, 64, 4]",
        ),
        (
            &[("steps", "6"), answer],
            ("z_new", 64),
            "tensor \"z_out\" is missing among policy, wdl, y_out, z_new, expected f32 [batch, 64, 4]",
        ),
    ] {
        let error = refusal("recurrent-refused", properties, &golden, scratchpad);
        assert!(error.ends_with(complaint), "{error}");
    }
    // The golden answers are those after the card's number of steps.
    let error = refusal("recurrent-golden", &[("steps", "2"), answer], &golden, good);
    assert!(error.contains("wrong answers"), "{error}");
    load(&tiny.write_with("recurrent-two", &[("steps", "2"), answer], &tiny.golden(2), good));
}

#[test]
fn the_options_set_the_steps() {
    let tiny = TinyRecurrent::new();
    let file = tiny.write("recurrent-played");
    let mut engine = Program::start();
    engine.send(&format!(
        "setoption name Threads value 1\nsetoption name WeightsFile value {}",
        file.display()
    ));
    engine.send("setoption name SyzygyProbeLimit value 0");
    let mut wins = Vec::new();
    for (steps, epsilon) in [(0, 0.0), (1, 0.0), (2, 0.0), (30, 0.0), (30, 0.02), (0, 1.0)] {
        engine.send(&format!("setoption name ThinkSteps value {steps}"));
        engine.send(&format!(
            "setoption name ThinkEpsilon value {epsilon}\nsetoption name UCI_ShowWDL value true"
        ));
        for game in games() {
            let search = engine.search(&format!("position fen {}", game.fen()), "go nodes 1");
            let (policy, [win, ..], _) = tiny.answer(&game, StepLimits { steps, epsilon });
            assert_eq!(search.best(), best_prior(&game, &policy), "{steps} {epsilon} {}", game.fen());
            let shown = number(search.last(), "wdl");
            assert!((shown - (1000.0 * win) as i64).abs() <= 1, "{win}: {}", search.last());
            wins.push(shown);
        }
    }
    assert!(wins[..4] != wins[4..8], "one step is not six: {wins:?}");
    let search = engine.search("position startpos", "go nodes 200");
    assert!(Game::new().parse_uci(search.best()).is_ok());
    engine.send("setoption name WeightsFile value <embedded>\nsetoption name ThinkSteps value 9");
    assert!(Game::new().parse_uci(engine.search("position startpos", "go nodes 3").best()).is_ok());
}
