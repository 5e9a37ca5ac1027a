use anyhow::Result;
use tch::Device;

use crate::cli::lr_finder::LrFinderArgs;
use crate::cli::overfit::OverfitArgs;
use crate::cli::trial::TrialArgs;
use crate::config::TrainConfig;
use crate::learn::run::{RangeTestStep, lr_range_test};
use crate::learn::torch::{self, Learner, Sources, distinct_positions};

impl TrialArgs {
    fn load(&self, mut config: TrainConfig) -> Result<(TrainConfig, Sources, Device)> {
        let device = self.settings.prepare(&mut config)?;
        let sources = Sources::load(&config.sources, config.validation_percent, &std::env::temp_dir())?;
        Ok((config, sources, device))
    }
}

pub fn overfit(args: &OverfitArgs, config: TrainConfig) -> Result<String> {
    let (config, sources, device) = args.trial.load(config)?;
    let config = TrainConfig { batch: args.samples, ..config };
    let batch = distinct_positions(&mut sources.feed(&config, 0)?, args.samples)?;
    args.show(&config, |curve| torch::overfit(&config, device, &batch, args.steps, args.loss, curve))
}

pub fn lr_range(
    args: &LrFinderArgs,
    config: TrainConfig,
    observer: &dyn Fn(&RangeTestStep),
) -> Result<Vec<RangeTestStep>> {
    let (config, sources, device) = args.trial.load(config)?;
    let mut feed = sources.feed(&config, 0)?;
    let mut learner = Learner::new(&config, device)?;
    lr_range_test(&mut learner, &mut feed, config.value_weight, [args.from, args.to], args.steps, observer)
}
