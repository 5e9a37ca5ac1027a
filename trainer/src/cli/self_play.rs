use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use engine::base::words::counted;
use serde_json::{Map, Value, json};

use super::interrupt;
use super::out_args::{OutArgs, file_stem, report};
use crate::base::network::load_network;
use crate::base::progress::{Counted, progress};
use crate::config::bounds::MAX_GAMES;
use crate::config::{SelfPlayRules, layers};
use crate::data::datagen::DatagenSummary;
use crate::data::dataset::Store;
use crate::play::selfplay::{SelfPlayNetworks, SelfPlayPlan, SelfPlayReport, play};

/// Let a network play itself and store the games (games/1) with the results of its searches
///
/// Each worker plays many games at once, which share batches. Ctrl-C loses nothing; the same command with --resume
/// continues, also with a larger --games. With one worker the same seed gives the same games. `export-pgn` writes them
/// as PGN.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  philidor-trainer self-play --games 200 --set visits=200\n  \
    philidor-trainer self-play --net runs/first/first.onnx --games 1000 --set playout_cap.share=0.25 --set workers=2\n\n\
    Keys of --rules and --set, with their defaults:\n  {\"visits\": 800, \"playout_cap\": {\"share\": 1.0, \"visits\": 100}, \
    \"noise\": {\"alpha\": 0.3, \"epsilon\": 0.25}, \"gumbel\": {\"considered\": 0, \"c_visit\": 50, \"c_scale\": 1}, \"prune\": true,\n   \"temperature\": {\"opening\": 1.0, \"plies\": 30, \
    \"later\": 0.1}, \"search\": {\"c_puct\": 1.5, \"fpu\": 0.33, \"policy_temperature\": 1.0},\n   \"resign\": \
    {\"threshold\": 0.95, \"moves\": 3, \"played_on\": 0.1}, \"book\": \"\", \"random_plies\": 0, \"max_plies\": 400, \"cut_is_draw\": true, \
    \"syzygy\": \"\",\n   \"games\": 32 (at once), \"leaves\": 1, \"workers\": 0 (one a core), \"cache\": 64 (MiB)}")]
pub struct SelfPlayArgs {
    /// The network: an ONNX file, or `embedded` for the built-in one
    #[arg(long, default_value = "embedded")]
    net: PathBuf,
    /// Number of games
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=MAX_GAMES))]
    games: u64,
    /// Name of the files, before -00000.h5
    #[arg(long, default_value = "self-play", value_parser = file_stem)]
    name: String,
    #[command(flatten)]
    out: OutArgs,
    /// Rules of the games (JSON)
    #[arg(long)]
    rules: Option<PathBuf>,
    /// Override a key of the rules: visits=200
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Seed of the games
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl SelfPlayArgs {
    pub fn run(&self) -> Result<()> {
        let SelfPlayReport { stats, evaluated, seconds, games, waiting, files, stopped, .. } = self.play()?;
        let earlier = (games + waiting).saturating_sub(stats.games);
        match (stats.games, earlier) {
            (0, _) if !stopped => {
                say!("complete: all games were played earlier; a greater --games plays more");
            }
            (_, 0) => say!("{stats}"),
            _ => say!("now {stats}; earlier {}", counted(earlier, "game")),
        }
        if evaluated > 0 {
            let rate = evaluated as f64 / seconds;
            say!("{} in {seconds:.1} s: {rate:.0} a second", counted(evaluated, "evaluation"));
        }
        report(DatagenSummary { games, waiting, files, stopped }, &self.out.out.join(&self.name));
        Ok(())
    }

    fn play(&self) -> Result<SelfPlayReport> {
        // A pipe may keep this waiting, so a signal still ends the program.
        let rules = self.read_rules()?;
        let stop = interrupt::flag()?;
        let network = load_network(&self.net)?;
        let source = format!("self-play: {}, {} visits, seed {}", network.name(), rules.visits, self.seed);
        // Left out, because they hardly change the games: how many are played at once, and the cache.
        let same = SelfPlayRules { games: 1, leaves: rules.leaves, workers: 1, cache: 0, ..rules.clone() };
        let settings = json!({
            "net": format!("{} {:016x}", network.name(), network.fingerprint()), "rules": same, "seed": self.seed,
        });
        let store = Store::open(&self.out.options(), &self.name, &source, settings)?;
        let bar = progress(self.games, store.finished_of(self.games), Counted::Games);
        let plan = SelfPlayPlan { rules, seed: self.seed, games: self.games };
        play(&plan, &SelfPlayNetworks { network: Arc::new(network), other: None }, store, &bar, &stop)
    }

    fn read_rules(&self) -> Result<SelfPlayRules> {
        let mut json = Value::Object(Map::new());
        layers::lay_files(&mut json, self.rules.as_slice())?;
        layers::set(&mut json, &self.set)?;
        let rules: SelfPlayRules = layers::parsed(json).context("rules")?;
        rules.check().context("rules")?;
        Ok(rules)
    }
}
