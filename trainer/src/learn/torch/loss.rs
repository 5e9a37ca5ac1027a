use crate::config::TrainConfig;
use crate::learn::torch::families::Output;
use crate::learn::torch::families::{DeviceBatch, DeviceShares, DeviceTeacherTargets};
use tch::{Kind, Tensor};

/// Logit of illegal moves: finite, but far below any other.
pub(super) const ILLEGAL: f64 = -1e9;

pub struct Losses {
    /// Scalar to minimise: a weighted sum over the steps.
    pub total: Tensor,
    pub steps: Vec<StepLosses>,
}

/// Losses of one output step.
pub struct StepLosses {
    /// Scalar.
    pub total: Tensor,
    /// `[n]`: policy cross-entropy, as configured (masking, label smoothing).
    pub policy: Tensor,
    /// `[n]`: cross-entropy, or the squared error of a scalar value. Zero without a target or value head. In
    /// distillation the target includes the teacher's value, even if the game has none.
    pub wdl: Tensor,
    /// Scalar: mean of `wdl` over the samples with a target.
    pub mean_wdl: Tensor,
    /// `[n, size]`: logits, masked for illegal moves.
    pub legal_logits: Tensor,
}

impl StepLosses {
    pub fn detach(&self) -> StepLosses {
        StepLosses {
            total: self.total.detach(),
            policy: self.policy.detach(),
            wdl: self.wdl.detach(),
            mean_wdl: self.mean_wdl.detach(),
            legal_logits: self.legal_logits.detach(),
        }
    }
}

impl Losses {
    pub fn of(steps: Vec<StepLosses>, config: &TrainConfig) -> Losses {
        let weights = config.model.step_weights();
        debug_assert_eq!(weights.len(), steps.len(), "a weight for every step");
        let weighted = steps.iter().zip(weights).map(|(step, weight)| &step.total * weight);
        Losses {
            total: weighted.reduce(|sum, term| sum + term).expect("a network has at least one output"),
            steps,
        }
    }

    /// Losses of the step that inference uses.
    pub fn last(&self) -> &StepLosses {
        self.steps.last().expect("a network has at least one output")
    }
}

pub fn losses(output: &Output, batch: &DeviceBatch, config: &TrainConfig) -> Losses {
    let step = |(i, policy): (usize, &Tensor)| step_losses(policy, output.wdl.get(i), batch, config);
    let steps: Vec<StepLosses> = output.policy.iter().enumerate().map(step).collect();
    Losses::of(steps, config)
}

pub fn step_losses(
    policy_logits: &Tensor,
    wdl_logits: Option<&Tensor>,
    batch: &DeviceBatch,
    config: &TrainConfig,
) -> StepLosses {
    // fp16 cannot represent `ILLEGAL`.
    let raw_logits = policy_logits.to_kind(Kind::Float);
    let legal_logits = raw_logits.masked_fill(&batch.illegal, ILLEGAL);
    let logits = if config.mask_illegal { &legal_logits } else { &raw_logits };
    let log = logits.log_softmax(-1, Kind::Float);
    let mut policy = match &batch.shares {
        None => -log.gather(1, &batch.policy.unsqueeze(1), false).squeeze_dim(1),
        Some(DeviceShares { rows, places, shares, .. }) => {
            let terms = log.view([-1]).index_select(0, places) * shares;
            -Tensor::zeros([log.size()[0]], (Kind::Float, log.device())).index_add(0, rows, &terms)
        }
    };
    if config.label_smoothing > 0.0 {
        let even = if config.mask_illegal {
            let legal = batch.illegal.logical_not();
            let count = legal.sum_dim_intlist([-1i64].as_slice(), false, Kind::Float);
            log.masked_fill(&batch.illegal, 0.0).sum_dim_intlist([-1i64].as_slice(), false, Kind::Float)
                / count
        } else {
            log.mean_dim([-1i64].as_slice(), false, Kind::Float)
        };
        let smoothed = &policy * (1.0 - config.label_smoothing) - even * config.label_smoothing;
        policy = match &batch.shares {
            None => smoothed,
            Some(DeviceShares { played, .. }) => smoothed.where_self(played, &policy),
        };
    }
    let (wdl_target, mut total) = match &batch.teacher_targets {
        None => (batch.wdl.shallow_clone(), policy_mean(&policy, batch, config)),
        Some(teacher_targets) => {
            let alpha = config.teacher.alpha;
            let imitation = divergence(&legal_logits, teacher_targets, config.teacher.temperature);
            let target = &batch.wdl * (1.0 - alpha) + &teacher_targets.wdl * alpha;
            (target, policy_mean(&(&policy * (1.0 - alpha) + imitation * alpha), batch, config))
        }
    };
    let (wdl, mean_wdl) = match wdl_logits {
        Some(logits) => {
            let wdl = if config.model.has_scalar_value() {
                squared_error(logits, &wdl_target)
            } else {
                let log = logits.log_softmax(-1, Kind::Float);
                -(log * &wdl_target).sum_dim_intlist([-1i64].as_slice(), false, Kind::Float)
            };
            // A target sums to 1, or to 0 if missing.
            let mean = wdl.sum(Kind::Float) / wdl_target.sum(Kind::Float).clamp_min(1.0);
            total += &mean * config.value_weight;
            (wdl, mean)
        }
        None => (policy.zeros_like(), total.zeros_like()),
    };
    if config.entropy_weight > 0.0 {
        // An illegal move's term is zero, like its probability.
        let entropy = -(log.exp() * &log).sum_dim_intlist([-1i64].as_slice(), false, Kind::Float);
        total -= entropy.mean(Kind::Float) * config.entropy_weight;
    }
    StepLosses { total, policy, wdl, mean_wdl, legal_logits }
}

/// `[n]`: squared error of win minus loss; zero without a target.
fn squared_error(logits: &Tensor, wdl_target: &Tensor) -> Tensor {
    let score = |wdl: &Tensor| wdl.select(-1, 0) - wdl.select(-1, 2);
    // The target sums to 1, or to 0 if missing. With the teacher's value alone it sums to `alpha`.
    let mass = wdl_target.sum_dim_intlist([-1i64].as_slice(), false, Kind::Float);
    let target = score(wdl_target) / mass.clamp_min(f64::from(f32::EPSILON));
    (score(&logits.softmax(-1, Kind::Float)) - target).square() * mass
}

/// Weighs the losses `[n]` of tactical positions by `tactical_weight`.
fn policy_mean(losses: &Tensor, batch: &DeviceBatch, config: &TrainConfig) -> Tensor {
    match &batch.tactical {
        Some(tactical) if config.tactical_weight != 1.0 => {
            let weights = tactical * (config.tactical_weight - 1.0) + 1.0;
            (losses * &weights).sum(Kind::Float) / weights.sum(Kind::Float).clamp_min(f64::from(f32::EPSILON))
        }
        _ => losses.mean(Kind::Float),
    }
}

/// `[n]`: KL divergence in nats from the teacher's policy at softmax temperature `temperature`. Multiplied by the
/// temperature's square to keep the scale of gradients (Hinton, Vinyals and Dean 2015).
fn divergence(legal_logits: &Tensor, teacher_targets: &DeviceTeacherTargets, temperature: f64) -> Tensor {
    let log = (legal_logits / temperature).log_softmax(-1, Kind::Float);
    let softened = teacher_targets.policy.pow_tensor_scalar(1.0 / temperature);
    let target = &softened / softened.sum_dim_intlist([-1i64].as_slice(), true, Kind::Float);
    // xlogy is 0 if the teacher's probability is 0.
    let terms = target.xlogy(&target) - &target * log;
    terms.sum_dim_intlist([-1i64].as_slice(), false, Kind::Float) * (temperature * temperature)
}

/// `[n, 2]` fp32, 0 or 1: whether the move played ranks first, and in the first five. Ties are misses.
pub fn hits(logits: &Tensor, played: &Tensor) -> Tensor {
    let own = logits.gather(1, &played.unsqueeze(1), false);
    let rank = logits.ge_tensor(&own).sum_dim_intlist([-1i64].as_slice(), false, Kind::Int64);
    // A NaN logit is not equal to itself: rank 0 is a miss.
    let first = rank.eq(1);
    let among_five = rank.ge(1).logical_and(&rank.le(5));
    Tensor::stack(&[first, among_five], 1).to_kind(Kind::Float)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TeacherConfig;

    fn one_sample(legal: &[i64], played: i64) -> DeviceBatch {
        let illegal = Tensor::ones([1, 8], (Kind::Bool, tch::Device::Cpu));
        for &index in legal {
            _ = illegal.get(0).get(index).fill_(0);
        }
        DeviceBatch {
            input: Tensor::zeros([1], (Kind::Float, tch::Device::Cpu)),
            illegal,
            policy: Tensor::from_slice(&[played]),
            wdl: Tensor::from_slice(&[0.5f32, 0.5, 0.0]).view([1, 3]),
            source: Tensor::from_slice(&[0i64]),
            tactical: None,
            shares: None,
            teacher_targets: None,
        }
    }

    fn equal_logits() -> Output {
        let zeros = |n| Tensor::zeros([1, n], (Kind::Float, tch::Device::Cpu));
        Output { policy: vec![zeros(8)], wdl: vec![zeros(3)] }
    }

    fn value(tensor: &Tensor) -> f64 {
        tensor.double_value(&[])
    }

    #[test]
    fn equal_logits_cost_the_logarithm_of_the_choices() {
        let batch = one_sample(&[1, 2, 5, 7], 2);
        let masked = losses(&equal_logits(), &batch, &TrainConfig::default());
        assert!((value(&masked.last().policy.get(0)) - 4f64.ln()).abs() < 1e-6);
        assert!((value(&masked.last().wdl.get(0)) - 3f64.ln()).abs() < 1e-6);
        assert!((value(&masked.total) - 4f64.ln() - 3f64.ln()).abs() < 1e-6);
        let raw = TrainConfig { mask_illegal: false, value_weight: 2.0, ..TrainConfig::default() };
        let raw = losses(&equal_logits(), &batch, &raw);
        assert!((value(&raw.total) - 8f64.ln() - 2.0 * 3f64.ln()).abs() < 1e-6);
    }

    #[test]
    fn tactical_positions_count_as_often_as_their_weight_says() {
        let (one, other) = (one_sample(&[1, 2], 2), one_sample(&[1, 2, 5, 7], 2));
        let mut batch = one_sample(&[1, 2], 2);
        batch.illegal = Tensor::cat(&[&one.illegal, &other.illegal], 0);
        batch.policy = Tensor::cat(&[&one.policy, &other.policy], 0);
        batch.wdl = Tensor::cat(&[&one.wdl, &other.wdl], 0);
        batch.tactical = Some(Tensor::from_slice(&[0f32, 1.0]));
        let logits = Tensor::zeros([2, 8], (Kind::Float, tch::Device::Cpu));
        let total = |tactical_weight| {
            let config = TrainConfig { tactical_weight, ..TrainConfig::default() };
            value(&step_losses(&logits, None, &batch, &config).total)
        };
        // The losses are ln 2 and, for the tactical position, ln 4.
        let [two, four] = [2f64.ln(), 4f64.ln()];
        assert!((total(1.0) - (two + four) / 2.0).abs() < 1e-6);
        assert!((total(3.0) - (two + 3.0 * four) / 4.0).abs() < 1e-6);
        assert!((total(0.0) - two).abs() < 1e-6);
    }

    #[test]
    fn a_sample_without_a_value_target_leaves_the_value_alone() {
        let mut batch = one_sample(&[1, 2], 2);
        let twice = |tensor: &Tensor| Tensor::cat(&[tensor, tensor], 0);
        batch.illegal = twice(&batch.illegal);
        batch.policy = twice(&batch.policy);
        batch.wdl = Tensor::from_slice(&[1f32, 0.0, 0.0, 0.0, 0.0, 0.0]).view([2, 3]);
        let wdl = Tensor::from_slice(&[1f32, 0.0, 0.0, 5.0, 0.0, 0.0]).view([2, 3]).set_requires_grad(true);
        let output = Output { policy: vec![twice(equal_logits().last_policy())], wdl: vec![wdl] };
        let losses = losses(&output, &batch, &TrainConfig::default());
        // The mean over the one sample with a target is -ln(e / (e + 2)).
        assert!((value(&losses.last().mean_wdl) - (1.0 + 2.0 * (-1f64).exp()).ln()).abs() < 1e-6);
        losses.total.backward();
        let pull = Vec::<f32>::try_from(output.wdl[0].grad().view([6])).unwrap();
        assert!(pull[..3].iter().all(|g| *g != 0.0) && pull[3..].iter().all(|g| *g == 0.0), "{pull:?}");
    }

    #[test]
    fn a_scalar_value_is_judged_by_its_squared_error() {
        let model = serde_json::from_str(r#"{"value_head": "scalar"}"#).unwrap();
        let config = TrainConfig { model, ..TrainConfig::default() };
        // The target, half win and half draw, scores +0.5; the network's value is tanh(1).
        let (batch, scalar) = (one_sample(&[1, 2], 2), 1f64);
        let wdl = Tensor::from_slice(&[scalar as f32, -20.0, -scalar as f32]).view([1, 3]);
        let output = Output { wdl: vec![wdl], ..equal_logits() };
        let losses = losses(&output, &batch, &config);
        assert!((value(&losses.last().mean_wdl) - (scalar.tanh() - 0.5).powi(2)).abs() < 1e-6);
        let mut without = one_sample(&[1, 2], 2);
        _ = without.wdl.fill_(0.0);
        let judged = |batch: &DeviceBatch, config: &TrainConfig| {
            value(&super::losses(&output, batch, config).last().wdl.get(0))
        };
        assert_eq!(judged(&without, &config), 0.0);
        // The teacher's value alone is the target, weighted by its share of the loss.
        let wdl = Tensor::from_slice(&[1f32, 0.0, 0.0]).view([1, 3]);
        let policy = Tensor::from_slice(&[0f32, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0]).view([1, 8]);
        without.teacher_targets = Some(DeviceTeacherTargets { policy, wdl });
        let teacher = TeacherConfig { alpha: 0.25, ..TeacherConfig::default() };
        let taught = judged(&without, &TrainConfig { teacher, ..config });
        assert!((taught - 0.25 * (scalar.tanh() - 1.0).powi(2)).abs() < 1e-6, "{taught}");
    }

    #[test]
    fn a_network_without_a_value_learns_the_policy_alone() {
        let batch = one_sample(&[1, 2, 5, 7], 2);
        let output = Output { wdl: Vec::new(), ..equal_logits() };
        let losses = losses(&output, &batch, &TrainConfig::default());
        assert!((value(&losses.total) - 4f64.ln()).abs() < 1e-6);
        assert_eq!((value(&losses.last().mean_wdl), value(&losses.last().wdl.get(0))), (0.0, 0.0));
    }

    #[test]
    fn smoothing_spreads_over_legal_moves_only() {
        let batch = one_sample(&[0, 1], 0);
        let policy = Tensor::from_slice(&[2f32, 0.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0]).view([1, 8]);
        let output = Output { policy: vec![policy], ..equal_logits() };
        let config = TrainConfig { label_smoothing: 0.2, ..TrainConfig::default() };
        // The logs are -ln(1 + e^-2) and -2 - ln(1 + e^-2), the targets 0.9 and 0.1.
        let expected = 0.1 * 2.0 + (1.0 + (-2f64).exp()).ln();
        assert!((value(&losses(&output, &batch, &config).last().policy.get(0)) - expected).abs() < 1e-6);
    }

    #[test]
    fn an_undecided_policy_is_rewarded() {
        let batch = one_sample(&[1, 2, 5, 7], 2);
        let config = TrainConfig { entropy_weight: 0.5, ..TrainConfig::default() };
        let plain = losses(&equal_logits(), &batch, &TrainConfig::default());
        let rewarded = losses(&equal_logits(), &batch, &config);
        assert!((value(&plain.total) - value(&rewarded.total) - 0.5 * 4f64.ln()).abs() < 1e-6);
    }

    #[test]
    fn a_teacher_takes_its_share_of_the_loss() {
        let mut batch = one_sample(&[0, 1], 0);
        let policy = Tensor::from_slice(&[0.2f32, 0.8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).view([1, 8]);
        let wdl = Tensor::from_slice(&[0.0f32, 0.0, 1.0]).view([1, 3]);
        batch.teacher_targets = Some(DeviceTeacherTargets { policy, wdl });
        let teacher = TeacherConfig { alpha: 0.25, temperature: 2.0, ..TeacherConfig::default() };
        let config = TrainConfig { teacher, ..TrainConfig::default() };
        let got = losses(&equal_logits(), &batch, &config);
        // At temperature 2 the teacher's policy is 1/3 and 2/3, the network's 1/2 and 1/2.
        let divergence = 4.0 * ((1.0 / 3.0f64) * (2.0 / 3.0f64).ln() + (2.0 / 3.0f64) * (4.0 / 3.0f64).ln());
        let expected = 0.75 * 2f64.ln() + 0.25 * divergence + 3f64.ln();
        assert!((value(&got.total) - expected).abs() < 1e-6, "{} {expected}", value(&got.total));
        assert!(
            (value(&got.last().policy.get(0)) - 2f64.ln()).abs() < 1e-6,
            "the reported loss is that of the game's move"
        );
    }

    #[test]
    fn shares_are_a_policy_of_more_than_one_move() {
        let mut batch = one_sample(&[0, 1, 3], 1);
        let twice = |tensor: &Tensor| Tensor::cat(&[tensor, tensor], 0);
        (batch.illegal, batch.wdl) = (twice(&batch.illegal), twice(&batch.wdl));
        batch.policy = twice(&batch.policy);
        // The first sample has shares, the second a move played.
        batch.shares = Some(DeviceShares {
            rows: Tensor::from_slice(&[0i64, 0, 1]),
            places: Tensor::from_slice(&[1i64, 3, 8 + 1]),
            shares: Tensor::from_slice(&[0.75f32, 0.25, 1.0]),
            played: Tensor::from_slice(&[false, true]),
        });
        let policy = twice(&Tensor::from_slice(&[0f32, 1.0, 9.0, 2.0, 9.0, 9.0, 9.0, 9.0]).view([1, 8]));
        let policy = policy.set_requires_grad(true);
        let output = Output {
            policy: vec![policy.shallow_clone()],
            wdl: vec![Tensor::zeros([2, 3], (Kind::Float, tch::Device::Cpu))],
        };
        let losses = losses(&output, &batch, &TrainConfig::default());
        let total = (1.0 + 1f64.exp() + 2f64.exp()).ln();
        let expected = [0.75 * (total - 1.0) + 0.25 * (total - 2.0), total - 1.0];
        for (row, expected) in expected.into_iter().enumerate() {
            assert!((losses.last().policy.double_value(&[row as i64]) - expected).abs() < 1e-5);
        }
        let config = TrainConfig { label_smoothing: 0.2, ..TrainConfig::default() };
        let smoothed = super::losses(&output, &batch, &config);
        let even = [0.0, 1.0, 2.0].map(|logit| total - logit).iter().sum::<f64>() / 3.0;
        for (row, expected) in [expected[0], 0.8 * expected[1] + 0.2 * even].into_iter().enumerate() {
            let found = smoothed.last().policy.double_value(&[row as i64]);
            assert!((found - expected).abs() < 1e-5, "only the move played is smoothed: {found} {expected}");
        }
        losses.total.backward();
        let pull = Vec::<f32>::try_from(policy.grad().get(0)).unwrap();
        // The gradient is probability minus share, halved by the mean over two samples.
        let probability = |logit: f64| ((logit - total).exp()) as f32;
        for (index, logit, share) in [(0, 0.0, 0.0), (1, 1.0, 0.75), (3, 2.0, 0.25)] {
            assert!((pull[index] - (probability(logit) - share) / 2.0).abs() < 1e-5, "{pull:?}");
        }
        assert_eq!(pull[2], 0.0);
    }

    #[test]
    fn hits_count_ties_against_the_network() {
        let logits = Tensor::from_slice(&[3f32, 3.0, 2.0, 1.0, 1.0, 1.0, 0.0, f32::NAN]).view([1, 8]);
        let hit =
            |played: i64| Vec::<f32>::try_from(hits(&logits, &Tensor::from_slice(&[played])).get(0)).unwrap();
        assert_eq!(hit(0), [0.0, 1.0]);
        assert_eq!(hit(2), [0.0, 1.0]);
        assert_eq!(hit(3), [0.0, 0.0]);
        assert_eq!(hit(7), [0.0, 0.0]);
    }
}
