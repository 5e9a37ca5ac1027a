//! The learning-rate range test in libtorch.

use anyhow::Result;
use tch::Device;

use super::feed::Feed;
use super::learner::Learner;
use crate::config::TrainConfig;
use crate::learn::run::{self, RangeTestStep};

/// Runs [`run::range_test`] for a configuration.
pub fn range_test(
    config: &TrainConfig,
    device: Device,
    feed: &mut dyn Feed,
    range: [f64; 2],
    steps: u64,
    observer: &dyn Fn(&RangeTestStep),
) -> Result<Vec<RangeTestStep>> {
    let mut learner = Learner::new(config, device)?;
    let mut step = |lr: f64| {
        learner.step(&[feed.next_batch()?], lr);
        let report = learner.report();
        Ok((report.skipped == 0).then(|| report.measures.loss(config.value_weight)))
    };
    run::range_test(range, steps, &mut step, observer)
}
