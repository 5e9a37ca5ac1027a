use std::sync::atomic::Ordering;

use anyhow::{Result, ensure};

use crate::base::files::make_folder;
use crate::cli::train::{TrainArgs, TrainOutcome, Trained};
use crate::config::TrainConfig;
use crate::learn::run::little_averaged;
use crate::learn::torch::{Sources, TorchRun, batch_number, earlier_task};

pub fn train(args: &TrainArgs, mut config: TrainConfig) -> Result<Trained> {
    let device = args.settings.prepare(&mut config)?;
    let stop = crate::cli::interrupt::flag()?;
    let folder = args.folder(&stop)?;
    let cache = args.cache.as_deref().unwrap_or(&args.run);
    make_folder(cache)?;
    let sources = Sources::load(&config.sources, config.validation_percent, cache)?;
    sources.resolve_epochs(&mut config);
    let mut run = if args.resume {
        TorchRun::resume(folder, &config, device)?
    } else {
        if let Some(why) = args.init.as_ref().and_then(|_| little_averaged(&config.run())) {
            log::warn!("{why}");
        }
        TorchRun::start(folder, &config, device, args.init.as_deref())?
    };
    if let Some(why) = run.complete().filter(|_| args.resume) {
        return Ok(Trained { outcome: args.complete(why, config.epochs), checkpoint: run.result() });
    }
    if config.ewc.weight > 0.0 && !args.resume {
        ensure!(
            args.init.is_some(),
            "ewc.weight penalises changes of a run's initial weights: name them with --init"
        );
        let penalty = earlier_task(&config, cache, &run.learner.net, &run.learner.weights)?;
        run.learner.elastic = Some(penalty);
    }
    log::info!("{:?}, {} parameters, run {}", device, run.learner.weights.flat.numel(), args.run.display());
    run.learner.set_sources(&sources);
    let mut feed = sources.feed(&config, batch_number(&run.learner.position)?)?;
    let held_out = sources.held_out(&config)?;
    if held_out.batches.is_empty() {
        log::warn!("no game is held out: there are no validations, and no best.safetensors");
    }
    let end = run.train(&mut feed, &held_out, &|_| stop.load(Ordering::Relaxed))?;
    if feed.damaged() > 0 {
        log::warn!("samples of damaged games, replaced by others: {}", feed.damaged());
    }
    Ok(Trained { outcome: TrainOutcome::Ended(end), checkpoint: run.result() })
}
