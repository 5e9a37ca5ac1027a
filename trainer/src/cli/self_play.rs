//! `self-play`: games of a network against itself from the command line.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::interrupt;
use super::out_args::{OutArgs, report};
use crate::config::Rules;
use crate::config::layers;
use crate::datagen::DatagenSummary;
use crate::dataset::Store;
use crate::gameplay::network;
use crate::progress::progress;
use crate::selfplay::{Plan, Seats, Session, play};

/// Have a network play against itself, into files of games (games/1) with what its searches found
///
/// Many games at once share the batches of a session in each worker. Ctrl-C loses nothing; the same line with --resume
/// goes on, also to more --games. With one worker the same seed makes the same games. `export-pgn` writes them as PGN.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  philidor-trainer self-play --games 200 --set visits=200\n  \
    philidor-trainer self-play --net runs/first/first.onnx --games 1000 --set playout_cap.share=0.25 --set workers=2\n\n\
    Keys of --rules and --set, with their defaults:\n  {\"visits\": 800, \"playout_cap\": {\"share\": 1.0, \"visits\": 100}, \
    \"noise\": {\"alpha\": 0.3, \"epsilon\": 0.25}, \"gumbel\": {\"considered\": 0, \"c_visit\": 50, \"c_scale\": 1}, \"prune\": true,\n   \"temperature\": {\"opening\": 1.0, \"plies\": 30, \
    \"later\": 0.1}, \"search\": {\"c_puct\": 1.5, \"fpu\": 0.33, \"policy_temperature\": 1.0},\n   \"resign\": \
    {\"threshold\": 0.95, \"moves\": 3, \"played_on\": 0.1}, \"book\": \"\", \"random_plies\": 0, \"max_plies\": 400, \"cut_is_draw\": true, \
    \"syzygy\": \"\",\n   \"games\": 32 (at once), \"leaves\": 1, \"workers\": 0 (one a core), \"cache\": 64 (MiB)}")]
pub struct SelfPlayArgs {
    /// The network: an ONNX file, or `embedded` or `embedded.int8`, those of this program
    #[arg(long, default_value = "embedded.int8")]
    net: PathBuf,
    /// How many games
    #[arg(long, default_value_t = 100)]
    games: u64,
    /// The files' name, before -00000.h5
    #[arg(long, default_value = "self-play")]
    name: String,
    #[command(flatten)]
    out: OutArgs,
    /// How the games are played (JSON)
    #[arg(long)]
    rules: Option<PathBuf>,
    /// Override a key of the rules: visits=200
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Another seed, other games
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl SelfPlayArgs {
    /// Plays; says what came of it.
    ///
    /// # Errors
    ///
    /// One line: the rules or the network don't do, the network fails, or games can't be written.
    pub fn run(&self) -> Result<(), String> {
        let stop = interrupt::flag().map_err(|error| format!("{error:#}"))?;
        let Session { tally, evaluated, seconds, games, files, stopped, .. } = self.play(&stop)?;
        println!("{tally}");
        println!("{evaluated} evaluations in {seconds:.1} s: {:.0} a second", evaluated as f64 / seconds);
        report(DatagenSummary { games, files, stopped }, &self.out.out.join(&self.name));
        Ok(())
    }

    fn play(&self, stop: &AtomicBool) -> Result<Session, String> {
        let rules = self.read_rules()?;
        let network = network(&self.net)?;
        let source = format!("self-play: {}, {} visits, seed {}", network.name(), rules.visits, self.seed);
        let bytes = serde_json::to_vec(&network.card().golden).unwrap_or_default();
        // How many at once changes no game, or hardly.
        let same = Rules { games: 1, leaves: rules.leaves, workers: 1, cache: 0, ..rules.clone() };
        let settings = json!({
            "net": format!("{} {:016x}", network.name(), xxh3_64(&bytes)), "rules": same, "seed": self.seed,
        });
        let store = Store::open(&self.out.options(), &self.name, &source, settings)
            .map_err(|error| format!("{error:#}"))?;
        let bar = progress(self.games, store.games(), "games");
        let plan = Plan { rules, seed: self.seed, games: self.games };
        play(&plan, &Seats { network: Arc::new(network), other: None }, store, &bar, stop)
    }

    fn read_rules(&self) -> Result<Rules, String> {
        let mut json = Value::Object(Map::new());
        layers::lay_files(&mut json, self.rules.as_slice())?;
        layers::set(&mut json, &self.set)?;
        let rules: Rules = serde_json::from_value(json).map_err(|error| format!("rules: {error}"))?;
        rules.check().map_err(|error| format!("rules: {error}"))?;
        Ok(rules)
    }
}
