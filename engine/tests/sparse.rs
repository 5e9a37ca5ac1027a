//! Integer kernels against floating point, and instruction sets against one another.

use engine::chess::position::Game;
use engine::nets::encoding::moves1::{self, Rows};
use engine::nets::encoding::sparse1::View;
use engine::nets::eval::{Answer, Evaluator, Request, SplitEvaluator, Wdl};
use engine::nets::onnx::OnnxSparseEvaluator;
use engine::nets::sparse::{SparseNetwork, SparseTensors};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use xxhash_rust::xxh3::xxh3_64;

fn positions(count: usize) -> Vec<Game> {
    let mut random = SmallRng::seed_from_u64(11);
    let mut all = Vec::new();
    while all.len() < count {
        let mut game = Game::new();
        for _ in 0..random.random_range(0..150) {
            let legal = game.legal_moves();
            if legal.is_empty() {
                break;
            }
            game.play(legal[random.random_range(0..legal.len())]);
        }
        if !game.legal_moves().is_empty() {
            all.push(game);
        }
    }
    all
}

fn softmax(logits: &[f64]) -> Vec<f64> {
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = logits.iter().map(|logit| (logit - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

fn sums(bias: &[f32], table: &[f32], features: &[u16]) -> Vec<f64> {
    let mut sums: Vec<f64> = bias.iter().map(|x| f64::from(*x)).collect();
    for feature in features {
        let row = &table[usize::from(*feature) * bias.len()..][..bias.len()];
        sums.iter_mut().zip(row).for_each(|(sum, weight)| *sum += f64::from(*weight));
    }
    sums
}

/// Computes the network as [`SparseTensors`] defines it: priors, then WDL.
fn reference(tensors: &SparseTensors, game: &Game) -> (Vec<f64>, Vec<f64>) {
    let view = View::of(game);
    let features = view.features();
    let clipped = sums(&tensors.policy_bias, &tensors.policy_embedding, &features);
    let clipped: Vec<f64> = clipped.into_iter().map(|sum| sum.clamp(0.0, 1.0)).collect();
    let (first, second) = clipped.split_at(clipped.len() / 2);
    let hidden: Vec<f64> = first.iter().zip(second).map(|(a, b)| a * b).collect();
    let legal = game.legal_moves();
    let mut rows = vec![Rows::default(); legal.len()];
    moves1::rows(&view, &legal, &mut rows);
    let dot = |table: &[f32], row: u16| -> f64 {
        let row = &table[usize::from(row) * hidden.len()..][..hidden.len()];
        hidden.iter().zip(row).map(|(hidden, weight)| hidden * f64::from(*weight)).sum()
    };
    let logit = |rows: &Rows| {
        dot(&tensors.rows_a, rows.a)
            + dot(&tensors.rows_b, rows.b)
            + f64::from(tensors.row_bias_a[usize::from(rows.a)])
            + f64::from(tensors.row_bias_b[usize::from(rows.b)])
    };
    let priors = softmax(&rows.iter().map(logit).collect::<Vec<_>>());
    let squared =
        |sums: Vec<f64>| sums.into_iter().map(|sum| sum.clamp(0.0, 1.0).powi(2)).collect::<Vec<_>>();
    let product = |inputs: &[f64], weights: &[f32], bias: &[f32]| -> Vec<f64> {
        let column = |unit: usize| {
            let weights = weights.iter().skip(unit).step_by(bias.len());
            f64::from(bias[unit]) + inputs.iter().zip(weights).map(|(x, w)| x * f64::from(*w)).sum::<f64>()
        };
        (0..bias.len()).map(column).collect()
    };
    let units = squared(sums(&tensors.value_bias, &tensors.value_embedding, &features));
    let units = squared(product(&units, &tensors.value_l1_weight, &tensors.value_l1_bias));
    (priors, softmax(&product(&units, &tensors.value_out_weight, &tensors.value_out_bias)))
}

fn evaluate(evaluator: &mut impl Evaluator, games: &[Game]) -> Vec<(Wdl, Vec<f32>)> {
    let answers = games.iter().map(|game| {
        let moves = game.legal_moves();
        let mut answers = evaluator.evaluate(&[Request { game, moves: &moves }]).unwrap();
        let answer = answers.pop().unwrap();
        (answer.wdl, answer.priors)
    });
    answers.collect()
}

/// Largest and mean error of the priors, then of the WDL.
fn errors(tensors: &SparseTensors) -> [f64; 4] {
    let games = positions(200);
    let answers = evaluate(&mut SparseNetwork::new(tensors).unwrap().evaluator(), &games);
    let (mut policy, mut value) = (Vec::new(), Vec::new());
    for (game, (wdl, priors)) in games.iter().zip(answers) {
        let (want_priors, want_wdl) = reference(tensors, game);
        policy.extend(priors.iter().zip(want_priors).map(|(prior, want)| (f64::from(*prior) - want).abs()));
        let shares = [wdl.win, wdl.draw, wdl.loss];
        value.extend(shares.into_iter().zip(want_wdl).map(|(share, want)| (f64::from(share) - want).abs()));
    }
    let largest = |errors: &[f64]| errors.iter().copied().fold(0.0, f64::max);
    let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
    [largest(&policy), mean(&policy), largest(&value), mean(&value)]
}

#[test]
fn integers_are_close_to_floating_point_numbers() {
    let mut tensors = SparseTensors::random(768, 256, 5);
    let any = errors(&tensors);
    // Random weights' rounding errors do not cancel as trained ones' do.
    assert!(any[0] < 0.05 && any[1] < 0.001 && any[2] < 0.05 && any[3] < 0.005, "{any:?}");
    // With weights in whole steps, only the hidden units are rounded.
    let round =
        |values: &mut [f32], steps: f32| values.iter_mut().for_each(|x| *x = (*x * steps).round() / steps);
    for values in [&mut tensors.policy_embedding, &mut tensors.value_embedding] {
        round(values, 255.0);
    }
    for values in [&mut tensors.policy_bias, &mut tensors.value_bias] {
        round(values, 255.0);
    }
    for values in [&mut tensors.rows_a, &mut tensors.rows_b] {
        round(values, 64.0);
    }
    round(&mut tensors.value_l1_weight, 512.0);
    let whole = errors(&tensors);
    assert!(whole[0] < 0.01 && whole[1] < 0.0005 && whole[2] < 0.001 && whole[3] < 0.0001, "{whole:?}");
}

/// The kernels compute sixteen units of the value's layer at a time.
#[test]
fn the_values_layer_may_have_any_width() {
    let few = SparseTensors::random(256, 64, 5);
    let (given, games) = (few.layer_width, positions(20));
    for width in [1, 15, 20, 31, 33, 50, 64, 80] {
        let columns = |of: &[f32]| -> Vec<f32> { (0..width).map(|unit| of[unit % given]).collect() };
        let mut tensors = SparseTensors { layer_width: width, ..few.clone() };
        tensors.value_l1_weight = few.value_l1_weight.chunks(given).flat_map(columns).collect();
        tensors.value_l1_bias =
            (0..width).map(|unit| few.value_l1_bias[unit % given] - unit as f32 / 99.0).collect();
        let outputs = (0..3 * width).map(|index| few.value_out_weight[index % (3 * given)] / 2.0);
        tensors.value_out_weight = outputs.collect();
        let errors = errors(&tensors);
        assert!(errors[2] < 0.05 && errors[3] < 0.005, "{width}: {errors:?}");
        let mut evaluators = SparseNetwork::new(&tensors).unwrap().evaluators();
        let answers: Vec<_> = evaluators.iter_mut().map(|evaluator| evaluate(evaluator, &games)).collect();
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{width}");
    }
}

#[test]
fn every_machine_gives_the_same_answers_to_the_bit() {
    let games = positions(300);
    for (policy, value, expected) in
        [(768, 256, 7_216_939_732_688_342_062), (384, 192, 18_138_178_454_459_642_252)]
    {
        let network = SparseNetwork::new(&SparseTensors::random(policy, value, 5)).unwrap();
        for mut evaluator in network.evaluators() {
            let mut bits: Vec<u8> = Vec::new();
            for (wdl, priors) in evaluate(&mut evaluator, &games) {
                let numbers = [wdl.win, wdl.draw, wdl.loss].into_iter().chain(priors);
                bits.extend(numbers.flat_map(|number| number.to_bits().to_le_bytes()));
            }
            let name = evaluator.instructions();
            assert_eq!(xxh3_64(&bits), expected, "{policy} + {value} with {name} instructions");
        }
    }
}

#[test]
fn value_and_policy_can_be_asked_for_alone() {
    let network = SparseNetwork::new(&SparseTensors::random(256, 64, 5)).unwrap();
    let mut evaluator = network.evaluator();
    for game in positions(20) {
        let legal = game.legal_moves();
        let mut both = vec![0.0; legal.len()];
        let wdl = evaluator.evaluate_into(&game, &legal, &mut both);
        let mut alone = vec![0.0; legal.len()];
        evaluator.policy(&game, &legal, 1.0, &mut alone);
        assert_eq!((evaluator.value(&game), &alone), (wdl, &both));
        let some = &legal[..legal.len().div_ceil(2)];
        let mut priors = vec![0.0; some.len()];
        evaluator.policy(&game, some, 1.0, &mut priors);
        let sum: f32 = both[..some.len()].iter().sum();
        for (prior, of_all) in priors.iter().zip(&both) {
            assert!((prior - of_all / sum).abs() < 1e-5);
        }
    }
}

#[test]
fn the_shipped_network_answers_the_same_in_onnx_runtime() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../nets/philidor.int8.onnx");
    let bytes = std::fs::read(path).unwrap();
    let mut reference = OnnxSparseEvaluator::open(&bytes, 16).unwrap();
    assert_eq!((reference.max_batch(), reference.precision()), (16, "int8"));
    let mut native = SparseNetwork::read(&bytes).unwrap().evaluator();
    let (mut worst, mut same, games) = (0f32, 0, positions(400));
    for batch in games.chunks(16) {
        let legal: Vec<_> = batch.iter().map(Game::legal_moves).collect();
        let requests: Vec<Request<'_>> =
            batch.iter().zip(&legal).map(|(game, moves)| Request { game, moves }).collect();
        let (theirs, ours) = (reference.evaluate(&requests).unwrap(), native.evaluate(&requests).unwrap());
        for (a, b) in theirs.iter().zip(&ours) {
            let flat = |answer: &Answer| {
                let Wdl { win, draw, loss } = answer.wdl;
                answer.priors.iter().copied().chain([win, draw, loss]).collect::<Vec<f32>>()
            };
            let differences = flat(a).into_iter().zip(flat(b)).map(|(a, b)| (a - b).abs());
            worst = differences.fold(worst, f32::max);
            let best = |answer: &Answer| {
                (0..answer.priors.len()).max_by(|i, j| answer.priors[*i].total_cmp(&answer.priors[*j]))
            };
            same += usize::from(best(a) == best(b));
        }
    }
    assert!(worst > 0.0 && worst < 0.02, "{worst}");
    assert!(same >= 396, "{same} of 400 positions have the same best move");
    let (game, legal) = (&games[0], games[0].legal_moves());
    let some = Request { game, moves: &legal[..legal.len().min(3)] };
    assert_eq!(reference.evaluate(&[some]).unwrap()[0].priors.len(), some.moves.len());
    let error = OnnxSparseEvaluator::open(b"no network", 1).err().unwrap().to_string();
    assert!(error.contains("not a usable ONNX file"), "{error}");
}
