use std::sync::atomic::Ordering;

use anyhow::{Result, ensure};

use crate::base::files::make_folder;
use crate::cli::train::{TrainArgs, TrainOutcome, Trained};
use crate::config::TrainConfig;
use crate::learn::run::little_averaged;
use crate::learn::torch::{Sources, TorchRun, batch_number, earlier_task};

pub fn train(args: &TrainArgs) -> Result<Trained> {
    let mut config = args.read_config()?;
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

impl TrainArgs {
    fn read_config(&self) -> Result<TrainConfig> {
        let mut config = self.settings.config(&self.files()?)?;
        if let Some(minutes) = self.minutes {
            config.minutes = minutes;
            config.check()?;
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::train::TrainPreset;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: TrainArgs,
    }

    #[test]
    fn a_resumed_run_keeps_what_the_command_line_does_not_override() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let begun = r#"{"batch": 7, "minutes": 5, "sources": [{"name": "games", "paths": ["a"]}]}"#;
        let own = TrainPreset::Neuralmateplay.parse(begun, &["lr=0.25".to_owned()]).unwrap();
        std::fs::write(at("config.json"), serde_json::to_string(&own).unwrap()).unwrap();
        let more = r#"{"batch": 9, "sources": [{"name": "games", "paths": ["b"]}]}"#;
        std::fs::write(at("more.json"), more).unwrap();
        let read = |more: &[&str]| {
            let run = at("");
            let line = ["train", "--run", &run, "--resume"];
            Line::parse_from(line.into_iter().chain(more.iter().copied())).args.read_config()
        };
        assert_eq!(read(&[]).unwrap(), own);
        let file = at("more.json");
        let mut expected = own.clone();
        (expected.batch, expected.sources[0].paths) = (9, vec!["b".to_owned()]);
        assert_eq!(
            expected.sources[0].select.min_elo, 2200,
            "from the preset with which the run was started"
        );
        assert_eq!(read(&["--config", &file]).unwrap(), expected);
        (expected.lr, expected.minutes) = (0.5, 2.0);
        assert_eq!(read(&["--config", &file, "--set", "lr=0.5", "--minutes", "2"]).unwrap(), expected);
        // A preset on the command line replaces the run's keys.
        let preset = read(&["--config", &file, "--preset", "linear"]).unwrap();
        assert_eq!((preset.batch, preset.model.family(), preset.minutes), (9, "linear", 0.0));
        assert!(read(&["--preset", "linear"]).unwrap_err().to_string().contains("--preset changes nothing"));
    }
}
