//! Gradients against finite differences, overfitting, and the same steps on any number of threads.

use engine::nets::sparse::SparseTensors;

use super::learner::SparseLearner;
use super::network::SparseModel;
use super::pass::{SparsePass, SparseTally};
use super::samples::{SparseBatch, SparseSamples, SparseTargets};
use super::shape::SparseShape;
use crate::config::SparseAdam;
use crate::data::samples::Phase;

const SMALL: SparseShape =
    SparseShape { features: 40, rows_a: 30, rows_b: 12, policy: 24, value: 8, hidden: 5 };

fn samples(shape: &SparseShape, count: usize, seed: u64) -> SparseSamples {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut samples = SparseSamples::default();
    for _ in 0..count {
        let features: Vec<u16> = (0..rng.usize(4..9)).map(|_| rng.u16(..shape.features as u16)).collect();
        let rows: Vec<[u16; 2]> = (0..rng.usize(1..9))
            .map(|_| [rng.u16(..shape.rows_a as u16), rng.u16(..shape.rows_b as u16)])
            .collect();
        let shares: Vec<f32> =
            if rng.bool() { vec![1.0 / rows.len() as f32; rows.len()] } else { Vec::new() };
        let win = rng.f32() * 0.5;
        let targets = SparseTargets {
            best: rng.u16(..rows.len() as u16),
            wdl: [win, 0.5 - win, 0.5],
            policy_weight: [0.0, 0.3, 1.0][rng.usize(..3)],
            value_weight: [0.0, 0.5, 1.0][rng.usize(..3)],
            smoothing: 0.1,
            result: [0.0; 3],
            phase: Phase::Opening,
        };
        samples.push(&features, rows.into_iter(), &shares, targets);
    }
    samples
}

fn losses(network: &SparseModel, batch: &SparseBatch) -> SparseTally {
    SparsePass::default().run(network, batch, false, 1).0
}

#[test]
fn a_network_of_integers_keeps_them_and_a_tenth_of_a_step_moves_a_tenth() {
    let steps = SparseTensors::EMBEDDING_STEPS;
    let mut network = SparseModel::new(SparseShape { features: 400, ..SMALL }, 2);
    assert_eq!(network.clone().dithered(3), network, "these are no integers");
    let clip = network.policy_embedding.clip;
    for w in &mut network.policy_embedding.w {
        *w = ((*w * 20.0 * steps).round() / steps).clamp(-clip, clip);
    }
    let integers = |network: &SparseModel, shift: f32| -> Vec<i32> {
        network.policy_embedding.w.iter().map(|w| (w * steps + shift).round() as i32).collect()
    };
    let before = integers(&network, 0.0);
    assert!(before.contains(&505) && before.contains(&-505));
    let spread = network.clone().dithered(3);
    assert_eq!(integers(&spread, 0.0), before);
    assert!(spread.policy_embedding.w.iter().all(|w| w.abs() <= clip));
    let moved = |network, shift| {
        let after = integers(network, shift);
        let moved = after.iter().zip(&before).filter(|(after, before)| after != before).count();
        moved as f32 / before.len() as f32
    };
    assert_eq!(moved(&network, 0.4), 0.0);
    for shift in [0.1, -0.1, 0.4] {
        assert!((moved(&spread, shift) - shift.abs()).abs() < 0.02, "{shift}");
    }
    // Only tensors of integers are dithered.
    let others = SparseModel { policy_embedding: network.policy_embedding.clone(), ..spread };
    assert_eq!(others, network);

    // Larger weights than training keeps, as in networks up to `sparse-17`, are not cut.
    network.value_embedding.w.fill(300.0 / steps);
    assert!(network.value_embedding.clip < 300.0 / steps);
    let spread = network.clone().dithered(3).value_embedding;
    assert_ne!(spread, network.value_embedding);
    assert!(spread.w.iter().all(|w| (w * steps).round() == 300.0));
}

#[test]
fn a_wider_network_begins_with_the_same_answers_and_learns() {
    let batch = samples(&SMALL, 150, 1).batch(0..150);
    let network = SparseModel::new(SMALL, 2);
    let SparseShape { policy, value, hidden, .. } = SMALL;
    let before = losses(&network, &batch);
    for shape in [
        SparseShape { hidden: hidden + 4, ..SMALL },
        SparseShape { value: value + 8, ..SMALL },
        SparseShape { policy: policy + 6, ..SMALL },
        SparseShape { policy: policy + 2, value: value + 3, hidden: hidden + 1, ..SMALL },
    ] {
        let wide = network.clone().widened(shape, 3);
        assert_eq!((wide.shape, wide.parameters()), (shape, SparseModel::zeros(shape).parameters()));
        let after = losses(&wide, &batch);
        assert!((before.value() - after.value()).abs() < 1e-6, "{shape:?} {before:?} {after:?}");
        assert!((before.policy() - after.policy()).abs() < 1e-6, "{shape:?} {before:?} {after:?}");
        // Weights that read the new units learn at the first step.
        let mut learner = SparseLearner::new(wide, SparseAdam::default(), 1);
        learner.step(&batch, 0.01);
        let learnt = &learner.network;
        if shape.hidden > hidden {
            assert!(learnt.value_out_weight.w[3 * hidden..].iter().any(|w| *w != 0.0));
        }
        if shape.value > value {
            let read = |row| (0..shape.hidden).any(|column| learnt.value_l1_weight.get(row, column) != 0.0);
            assert!((value..shape.value).any(read));
        }
        if shape.policy > policy {
            let read = |row| learnt.rows_b.get(row, SMALL.half()) != 0.0;
            assert!((0..shape.rows_b).any(read));
        }
    }
    assert_eq!(network.clone().widened(SMALL, 3), network);
}

#[test]
fn gradients_are_those_of_finite_differences() {
    let batch = samples(&SMALL, 150, 1).batch(0..150);
    let mut network = SparseModel::new(SMALL, 2);
    // With so few features the deviations would be small, and no unit clipped.
    network.policy_embedding.w.iter_mut().chain(&mut network.value_embedding.w).for_each(|w| *w *= 2.5);
    // A step of rate 0 whose first moment is the gradient.
    let adam = SparseAdam { beta1: 0.0, lazy: false, ..SparseAdam::default() };
    let mut learner = SparseLearner::new(network.clone(), adam, 1);
    learner.step(&batch, 0.0);
    assert!(learner.network.tensors().iter().zip(network.tensors()).all(|(a, b)| a.w == b.w));
    let loss = |network: &SparseModel| {
        let tally = losses(network, &batch);
        tally.policy() + tally.value()
    };
    let start = loss(&network);
    let mut rng = fastrand::Rng::with_seed(3);
    for index in 0..network.tensors().len() {
        let (mut checked, mut greatest) = (0, 0.0f64);
        for _ in 0..40 {
            let at = rng.usize(..network.tensors()[index].w.len());
            let gradient = f64::from(learner.network.tensors()[index].m[at]);
            let at_step = |step: f32| {
                let mut moved = network.clone();
                moved.tensors_mut()[index].w[at] += step;
                loss(&moved)
            };
            let step = 4e-3;
            let (up, down) = ((at_step(step) - start) / 4e-3, (start - at_step(-step)) / 4e-3);
            let fine = (up + down) / 2.0;
            // The two differ if a unit reaches its clip in between.
            if (up - down).abs() > 3e-5 + 0.03 * fine.abs() {
                continue;
            }
            let name = network.tensors()[index].name;
            assert!((gradient - fine).abs() < 4e-5 + 0.05 * fine.abs(), "{name}[{at}]: {gradient}, {fine}");
            checked += 1;
            greatest = greatest.max(fine.abs());
        }
        assert!(checked > 0 && greatest > 1e-4, "{}: {checked}, {greatest}", network.tensors()[index].name);
    }
}

#[test]
fn a_pass_answers_as_the_definition_says() {
    let network = SparseModel::new(SMALL, 2);
    let batch = samples(&SMALL, 90, 1).batch(0..90);
    let mut pass = SparsePass::default();
    let tally = pass.run(&network, &batch, false, 1).0;
    let cross_entropy = |target: &[f32], logits: &[f32]| {
        let total: f64 = logits.iter().map(|x| f64::from(*x).exp()).sum();
        target.iter().zip(logits).map(|(t, x)| f64::from(*t) * (total.ln() - f64::from(*x))).sum::<f64>()
    };
    let mut losses = [0.0; 2];
    for sample in 0..90 {
        let moves = batch.moves(sample);
        let rows: Vec<[u16; 2]> = moves.clone().map(|m| [batch.rows_a[m], batch.rows_b[m]]).collect();
        let answer = network.evaluate(batch.features(sample), &rows);
        for (logit, expected) in pass.logits[moves.clone()].iter().zip(&answer.policy) {
            assert!((logit - expected).abs() < 1e-5, "{logit} {expected}");
        }
        let weights = [batch.policy_weight[sample], batch.value_weight[sample]].map(f64::from);
        losses[0] += weights[0] * cross_entropy(&batch.shares[moves], &answer.policy);
        losses[1] += weights[1] * cross_entropy(&batch.wdl[sample], &answer.wdl);
    }
    assert!((tally.policy_loss - losses[0]).abs() < 1e-3, "{tally:?} {losses:?}");
    assert!((tally.value_loss - losses[1]).abs() < 1e-3, "{tally:?} {losses:?}");
}

#[test]
fn where_no_policy_counts_the_value_learns_the_same_and_the_policy_stays() {
    let with = samples(&SMALL, 90, 1).batch(0..90);
    let mut without = SparseSamples::default();
    for sample in 0..90 {
        let targets = SparseTargets {
            best: 0,
            wdl: with.wdl[sample],
            policy_weight: 0.0,
            value_weight: with.value_weight[sample],
            smoothing: 0.0,
            result: [0.0; 3],
            phase: Phase::Opening,
        };
        without.push(with.features(sample), std::iter::empty(), &[], targets);
    }
    let without = without.batch(0..90);
    let adam = SparseAdam { weight_decay: 0.1, lazy: false, ..SparseAdam::default() };
    let start = SparseModel::new(SMALL, 2);
    let learn = |batch: &SparseBatch| {
        let mut learner = SparseLearner::new(start.clone(), adam, 2);
        let tally = (0..3).map(|_| learner.step(batch, 0.01)).last().unwrap();
        (learner.network, tally)
    };
    let ((both, tally), (value, alone)) = (learn(&with), learn(&without));
    assert_eq!((tally.value_loss, tally.samples), (alone.value_loss, alone.samples));
    assert_eq!((tally.policies, alone.policies, alone.policy_weight), (90, 0, 0.0));
    for ((both, value), start) in both.tensors().iter().zip(value.tensors()).zip(start.tensors()) {
        let is_policy = !value.name.starts_with("value");
        assert_eq!(value.w == start.w, is_policy, "{}", value.name);
        assert!(is_policy || both.w == value.w, "{}", value.name);
    }
}

#[test]
fn where_no_value_counts_the_policy_learns_the_same_and_the_value_stays() {
    let with = samples(&SMALL, 90, 1).batch(0..90);
    let mut without = with.clone();
    without.value_weight.fill(0.0);
    without.totals[1] = 0.0;
    let adam = SparseAdam { weight_decay: 0.1, lazy: false, ..SparseAdam::default() };
    let start = SparseModel::new(SMALL, 2);
    let learn = |batch: &SparseBatch| {
        let mut learner = SparseLearner::new(start.clone(), adam, 2);
        for _ in 0..3 {
            learner.step(batch, 0.01);
        }
        learner.network
    };
    let (both, policy) = (learn(&with), learn(&without));
    for ((both, policy), start) in both.tensors().iter().zip(policy.tensors()).zip(start.tensors()) {
        let is_value = policy.name.starts_with("value");
        assert_eq!(policy.w == start.w, is_value, "{}", policy.name);
        assert!(is_value || both.w == policy.w, "{}", policy.name);
    }
}

#[test]
fn a_few_hundred_samples_are_memorised() {
    let shape = SparseShape { features: 300, rows_a: 200, rows_b: 50, policy: 64, value: 64, hidden: 16 };
    let mut rng = fastrand::Rng::with_seed(5);
    let mut samples = SparseSamples::default();
    for _ in 0..300 {
        let features: Vec<u16> = (0..20).map(|_| rng.u16(..300)).collect();
        let rows: Vec<[u16; 2]> = (0..20).map(|_| [rng.u16(..200), rng.u16(..50)]).collect();
        let mut wdl = [0.0; 3];
        wdl[rng.usize(..3)] = 1.0;
        let best = rng.u16(..20);
        let targets = SparseTargets {
            best,
            wdl,
            policy_weight: 1.0,
            value_weight: 1.0,
            smoothing: 0.0,
            result: [0.0; 3],
            phase: Phase::Opening,
        };
        samples.push(&features, rows.into_iter(), &[], targets);
    }
    let mut learner = SparseLearner::new(SparseModel::new(shape, 6), SparseAdam::default(), 1);
    for _ in 0..60 {
        samples.shuffle(&mut rng);
        for first in (0..300).step_by(50) {
            learner.step(&samples.batch(first..first + 50), 5e-3);
        }
    }
    let tally = losses(&learner.network, &samples.batch(0..300));
    assert!(tally.policy() < 0.2 && tally.value() < 0.2, "{tally:?}");
    assert!(tally.top1 >= 290 && tally.top5 >= tally.top1, "{tally:?}");
    for tensor in learner.network.tensors() {
        assert!(tensor.w.iter().all(|w| w.abs() <= tensor.clip), "{}", tensor.name);
    }
}

#[test]
fn threads_make_no_difference() {
    let samples = samples(&SMALL, 700, 7);
    let run = |threads| {
        let mut learner = SparseLearner::new(SparseModel::new(SMALL, 8), SparseAdam::default(), threads);
        let tallies: Vec<SparseTally> =
            (0..4).map(|k| learner.step(&samples.batch(100 * k..100 * k + 300), 1e-2)).collect();
        (learner.network, tallies)
    };
    let one = run(1);
    assert_eq!(one, run(1));
    assert_eq!(one, run(3));
}

#[test]
fn lazy_steps_leave_unused_rows() {
    let samples = samples(&SMALL, 3, 9);
    let start = SparseModel::new(SMALL, 10);
    let moved = |lazy| {
        let mut learner = SparseLearner::new(start.clone(), SparseAdam { lazy, ..SparseAdam::default() }, 1);
        learner.step(&samples.batch(0..3), 1e-2);
        learner.step(&samples.batch(0..1), 1e-2);
        let plain = |network: &SparseModel| network.policy_embedding.plain(&network.policy_embedding.w);
        let (before, after) = (plain(&start), plain(&learner.network));
        let width = SMALL.policy;
        (0..SMALL.features)
            .filter(|row| before[row * width..][..width] != after[row * width..][..width])
            .count()
    };
    assert!(moved(true) < SMALL.features && moved(true) <= moved(false));
}
