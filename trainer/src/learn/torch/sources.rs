//! The configured sources of games, split into training and held-out games.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use engine::nets::eval::Schemes;

use super::validation::HeldOut;
use crate::base::network::{Backend, load_network};
use crate::config::{SourceConfig, TrainConfig};
use crate::data::loader::{Batch, Corpus, CorpusBuilder, Origin, Prefetch, SampleOrder, Source};
use crate::data::record::GameView;
use crate::data::samples::{SampleOptions, ValueTarget};
use crate::learn::run::Feed;
use crate::learn::run::sources::{self, GameFilter, GameSink, HELD_OUT_SEED, SplitGames};

/// Version of the sample order in checkpoints: 2 orders by position; 1, by game, was not stored.
const ORDER: u64 = 2;

#[derive(Clone, Default)]
pub struct Sources {
    train: Vec<Source>,
    validation: Vec<Source>,
    names: Vec<String>,
    /// Samples per epoch of each source.
    epochs: Vec<f64>,
}

impl Sources {
    /// Copies the games to temporary files in `folder`; `validation` percent are held out. A duplicate counts only
    /// where it occurs first.
    pub fn load(configs: &[SourceConfig], validation: u64, folder: &Path) -> Result<Sources> {
        ensure!(
            !configs.is_empty(),
            "no sources: name files of games under \"sources\" in the configuration"
        );
        let mut seen = HashSet::new();
        let mut sources = Sources::default();
        for config in configs {
            let [train, validation] = read(config, validation, folder, &mut seen)?;
            sources.epochs.push(epoch(&train, config.positions_per_game));
            sources.train.push(Source { corpus: Arc::new(train), weight: config.weight });
            sources.validation.push(Source { corpus: Arc::new(validation), weight: 1.0 });
            sources.names.push(config.name.clone());
        }
        Ok(sources)
    }

    /// Scales the weights of sources with games to sum to `total`.
    pub fn share(&mut self, total: f64) {
        sources::share(
            self.train.iter_mut().map(|source| (&mut source.weight, source.corpus.games())),
            total,
        );
    }

    pub fn add(&mut self, name: &str, weight: f64, train: Corpus, validation: Corpus) {
        self.epochs.push(epoch(&train, 0));
        self.train.push(Source { corpus: Arc::new(train), weight });
        self.validation.push(Source { corpus: Arc::new(validation), weight: 1.0 });
        self.names.push(name.to_owned());
    }

    /// Hashes the training games in order and `seed`. An [`Origin`] is valid only for the same hash.
    pub fn fingerprint(&self, seed: u64) -> u64 {
        let games = self.train.iter().flat_map(|source| [source.corpus.games(), source.corpus.digest()]);
        let step = |hash: u64, value: u64| (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
        [seed, ORDER].into_iter().chain(games).fold(0xcbf2_9ce4_8422_2325, step)
    }

    /// Returns the samples of an epoch, which, mixed by weight, passes over every source at least once.
    pub fn epoch(&self) -> f64 {
        let lengths = self.train.iter().zip(&self.epochs);
        sources::epoch(lengths.map(|(source, samples)| (*samples, source.weight)))
    }

    /// Sets `samples` and `validate_every` if they are given in epochs.
    pub fn resolve_epochs(&self, config: &mut TrainConfig) {
        // Replayed samples count towards `samples`, but not towards an epoch.
        let epoch = self.epoch() * config.batch as f64 / config.new_samples() as f64;
        let step = config.run().step_samples;
        config.in_epochs().resolve(epoch, step, &mut config.samples, &mut config.validate_every);
    }

    /// Returns an endless feed from batch number `first` on.
    pub fn feed(&self, config: &TrainConfig, first: u64) -> Result<Prefetch> {
        let recipe = recipe(config, config.history_dropout);
        let fresh = config.new_samples();
        let plan = SampleOrder::new(self.train.clone(), recipe, fresh, config.seed)?;
        let (plan, threads) = (Arc::new(plan), config.loader_threads);
        if config.teacher.net.is_empty() {
            return Ok(Prefetch::new(plan, first, threads));
        }
        let teacher = load_network(Path::new(&config.teacher.net)).context("teacher")?;
        log::info!("teacher: {}", teacher.describe());
        Prefetch::with_teacher(plan, first, threads, &|batch| Backend::evaluator(&teacher, batch))
    }

    /// Returns the number of held-out samples, equally many per source, before the smallest source repeats.
    pub fn held_out_samples(&self) -> u64 {
        let positions = self.validation.iter().map(|source| source.corpus.positions()).filter(|n| *n > 0);
        positions.clone().min().unwrap_or(0) * positions.count() as u64
    }

    /// All sources have the same weight.
    pub fn held_out(&self, config: &TrainConfig) -> Result<HeldOut> {
        let recipe = recipe(config, 0.0);
        let batches = match SampleOrder::new(self.validation.clone(), recipe, config.batch, HELD_OUT_SEED) {
            Ok(plan) => {
                let batch = |k| plan.batch(k, None).map(|(batch, _)| batch);
                (0..config.validation_batches as u64).map(batch).collect::<Result<_, _>>()?
            }
            Err(_) => Vec::new(),
        };
        Ok(HeldOut { batches, names: self.names.clone() })
    }
}

fn recipe(config: &TrainConfig, history_dropout: f64) -> SampleOptions {
    let Schemes { input, policy, .. } = config.model.schemes();
    let target = ValueTarget { lambda: config.value_lambda as f32 };
    SampleOptions { input, policy, target, history_dropout }
}

/// The number of positions in an epoch: `most` times the games, but no more than there are. All if `most` is 0.
fn epoch(corpus: &Corpus, most: u64) -> f64 {
    let all = corpus.positions();
    (if most == 0 { all } else { all.min(corpus.games().saturating_mul(most)) }) as f64
}

impl GameSink for CorpusBuilder {
    fn add(&mut self, game: &GameView<'_>) -> io::Result<()> {
        self.push(game)
    }

    fn games(&self) -> u64 {
        CorpusBuilder::games(self)
    }

    fn positions(&self) -> u64 {
        CorpusBuilder::positions(self)
    }
}

/// Returns the training games and the held-out games.
fn read(config: &SourceConfig, percent: u64, folder: &Path, seen: &mut HashSet<u64>) -> Result<[Corpus; 2]> {
    let full = || format!("cannot write games to {}", folder.display());
    let filter = GameFilter {
        name: &config.name,
        paths: &config.paths,
        select: &config.select,
        fraction: config.fraction,
        validation_percent: percent,
        validates: true,
    };
    let empty =
        [CorpusBuilder::new(folder).with_context(full)?, CorpusBuilder::new(folder).with_context(full)?];
    let games = SplitGames::read(&filter, empty, 1, seen)?;
    // Unlike in the family sparse no error: a run of hours goes on if the files of one source cannot be read.
    if let Some(why) = games.no_training_games(&config.name) {
        log::warn!("{why}; its share goes to the other sources");
    }
    Ok([games.train.build().with_context(full)?, games.validation.build().with_context(full)?])
}

impl Feed for Prefetch {
    type Batch = Batch;

    fn next_batch(&mut self) -> Result<Batch> {
        Prefetch::next_batch(self)
    }

    fn again(&mut self, origins: &[Origin]) -> Result<Batch> {
        Prefetch::again(self, origins)
    }

    fn position(&self) -> serde_json::Value {
        serde_json::json!({ "batch": Prefetch::position(self), "order": ORDER })
    }
}

/// Fails if the sample order has changed since the checkpoint.
pub fn batch_number(position: &serde_json::Value) -> Result<u64> {
    let batch = position.get("batch").and_then(serde_json::Value::as_u64).unwrap_or(0);
    ensure!(
        batch == 0 || position.get("order") == Some(&ORDER.into()),
        "an earlier version of this program began the run and drew its samples in another order (by game instead of by \
         position): it cannot be resumed; start a new run with --init and its last checkpoint"
    );
    Ok(batch)
}

/// Converts a feed position from batches of `before` samples to batches of `now`. No sample repeats, and fewer than
/// `now` are skipped. A position without a batch number stays unchanged.
pub(super) fn rescaled(position: &serde_json::Value, before: u64, now: u64) -> serde_json::Value {
    if position.get("batch").is_none() {
        return position.clone();
    }
    let samples = u128::from(position["batch"].as_u64().unwrap_or(0)) * u128::from(before);
    let batch = samples.div_ceil(u128::from(now.max(1)));
    let mut rescaled = position.clone();
    rescaled["batch"] = u64::try_from(batch).unwrap_or(u64::MAX).into();
    rescaled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::dataset::ChunkWriter;
    use crate::data::record::GameRecord;
    use engine::chess::position::{Game as Board, PackedMove};

    /// Writes games of four plies. A game's number determines its first two moves.
    fn write(folder: &Path, name: &str, numbers: std::ops::Range<usize>) -> SourceConfig {
        let mut writer = ChunkWriter::new(folder, name, "a test", 1_000_000).unwrap();
        for number in numbers.clone() {
            let mut board = Board::new();
            let plies = [number % 20, number / 20, 0, 0].map(|choice| {
                let m = board.legal_moves()[choice];
                board.play(m);
                PackedMove::new(m)
            });
            writer
                .push(&GameRecord {
                    moves: plies.to_vec(),
                    white_elo: number as u16,
                    ..GameRecord::default()
                })
                .unwrap();
        }
        writer.finish().unwrap();
        let paths = [folder.join(format!("{name}-*.h5"))];
        serde_json::from_value(serde_json::json!({ "name": name, "paths": paths })).unwrap()
    }

    fn games(source: &Source) -> u64 {
        source.corpus.games()
    }

    #[test]
    fn a_game_in_several_sources_is_used_once() {
        let folder = tempfile::tempdir().unwrap();
        let first = write(folder.path(), "first", 0..200);
        let alone = write(folder.path(), "alone", 200..300);
        let second = write(folder.path(), "second", 100..300);
        let load = |configs: &[SourceConfig]| Sources::load(configs, 1, folder.path()).unwrap();
        let expected = load(&[first.clone(), alone]);
        let sources = load(&[first.clone(), second, first]);
        for (parts, expected) in
            [(&sources.train, &expected.train), (&sources.validation, &expected.validation)]
        {
            let counts: Vec<u64> = parts.iter().map(games).collect();
            assert_eq!(counts, [games(&expected[0]), games(&expected[1]), 0]);
        }
        assert!(games(&expected.train[1]) > 90);
    }

    #[test]
    fn a_source_is_filtered_by_its_selection() {
        let folder = tempfile::tempdir().unwrap();
        let all = write(folder.path(), "all", 0..200);
        let mut some = all.clone();
        some.select.max_elo = 49;
        let count = |config: SourceConfig| {
            let sources = Sources::load(&[config], 1, folder.path()).unwrap();
            games(&sources.train[0])
        };
        assert!(count(all) > 190);
        assert!((45..=50).contains(&count(some)));
    }

    #[test]
    fn a_network_of_the_family_sparse_teaches() {
        use crate::judge::export::{OnnxStorage, sparse_onnx};
        use crate::learn::sparse::{SparseModel, SparseShape};
        let folder = tempfile::tempdir().unwrap();
        let sources = Sources::load(&[write(folder.path(), "all", 0..60)], 1, folder.path()).unwrap();
        let shape = SparseShape { policy: 128, value: 64, ..SparseShape::STANDARD };
        let teacher = folder.path().join("teacher.onnx");
        let file = sparse_onnx("teacher", &SparseModel::new(shape, 1), "{}", OnnxStorage::Integer);
        std::fs::write(&teacher, file).unwrap();
        let overrides = [format!("teacher.net={}", teacher.display()), "batch=16".to_owned()];
        let config = TrainConfig::parse("{}", &overrides).unwrap();
        let batch = sources.feed(&config, 0).unwrap().next_batch().unwrap();
        let targets = batch.teacher_targets.expect("a teacher's answers");
        assert_eq!(targets.wdl.len(), 3 * 16);
        for wdl in targets.wdl.as_chunks::<3>().0 {
            assert!((wdl.iter().sum::<f32>() - 1.0).abs() < 1e-4, "{wdl:?}");
        }
        let missing = TrainConfig::parse("{}", &["teacher.net=nowhere.onnx".to_owned()]).unwrap();
        let error = format!("{:#}", sources.feed(&missing, 0).err().unwrap());
        assert!(error.contains("teacher") && error.contains("nowhere.onnx"), "{error}");
    }

    #[test]
    fn the_configured_percentage_of_games_is_held_out() {
        let folder = tempfile::tempdir().unwrap();
        let all = write(folder.path(), "all", 0..400);
        let sources = Sources::load(&[all], 20, folder.path()).unwrap();
        let (train, validation) = (games(&sources.train[0]), games(&sources.validation[0]));
        assert!((60..=100).contains(&validation) && (295..=335).contains(&train), "{train} {validation}");
    }

    #[test]
    fn a_fraction_takes_training_games_only_and_a_larger_has_those_of_a_smaller() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = write(folder.path(), "all", 0..400);
        let mut load = |fraction| {
            config.fraction = fraction;
            let sources = Sources::load(std::slice::from_ref(&config), 20, folder.path()).unwrap();
            (sources.fingerprint(1), [&sources.train[0], &sources.validation[0]].map(games))
        };
        let (_, [all, validation]) = load(1.0);
        let (same, [half, still]) = load(0.5);
        assert!((120..=200).contains(&half) && all > 290, "{half} of {all}");
        assert_eq!((still, load(0.5).0), (validation, same), "the same games again");
        let (_, [fewer, _]) = load(0.25);
        assert!((50..half).contains(&fewer), "{fewer}");
        config.fraction = 1e-9;
        let split = read(&config, 20, folder.path(), &mut HashSet::new()).unwrap();
        assert_eq!(split[0].games(), 0);
    }

    #[test]
    fn a_game_beyond_the_fraction_of_a_source_is_used_by_another() {
        let folder = tempfile::tempdir().unwrap();
        let all = write(folder.path(), "all", 0..400);
        let mut half = all.clone();
        half.fraction = 0.5;
        let load = |configs: &[SourceConfig]| Sources::load(configs, 20, folder.path()).unwrap();
        let expected = load(std::slice::from_ref(&all));
        let sources = load(&[half, all]);
        let [first, second] = [0, 1].map(|source| games(&sources.train[source]));
        assert!(first > 100 && second > 100, "{first} {second}");
        assert_eq!(first + second, games(&expected.train[0]));
        let held_out: Vec<u64> = sources.validation.iter().map(games).collect();
        assert_eq!(held_out, [games(&expected.validation[0]), 0]);
    }

    #[test]
    fn tactical_replay_forgets_positions_of_other_games() {
        let folder = tempfile::tempdir().unwrap();
        let load = |name: &str, numbers| {
            let config = write(folder.path(), name, numbers);
            Sources::load(&[config], 1, folder.path()).unwrap()
        };
        let [few, more] = [load("few", 0..50), load("more", 0..60)];
        let config: TrainConfig = TrainConfig::parse(
            r#"{"model": {"filters": 8, "blocks": 1}, "precision": "fp32", "batch": 10,
                "tactical_replay": {"share": 0.4, "threshold": 0.0}}"#,
            &[],
        )
        .unwrap();
        let run_folder = folder.path().join("run");
        let folder_of_run = crate::learn::run::RunFolder::open(&run_folder).unwrap();
        let run = crate::learn::torch::TorchRun::start(folder_of_run, &config, tch::Device::Cpu, None);
        let mut learner = run.unwrap().learner;
        learner.set_sources(&few);
        let mut batch = few.feed(&config, 0).unwrap().next_batch().unwrap();
        batch.tactical.fill(true);
        let losses = vec![1.0; batch.size];
        learner.hard.update(&batch, 0, &losses, &config.tactical_replay);
        let kept = learner.hard.len();
        assert!(kept > 0);
        learner.set_sources(&few);
        assert_eq!(learner.hard.len(), kept, "the same games");
        learner.set_sources(&more);
        assert!(learner.hard.is_empty(), "the same draws would be other positions");
        // As many other games with as many positions, and the same games in another order.
        let counts = |sources: &Sources| {
            let train = sources.train.iter();
            train.map(|source| (source.corpus.games(), source.corpus.positions())).collect::<Vec<_>>()
        };
        let others = (1..7).map(|k| load(&format!("others{k}"), 50 * k..50 * k + 50));
        let others = others.into_iter().find(|others| counts(others) == counts(&few)).expect("one of six");
        let again = load("again", 0..50);
        assert_ne!(others.fingerprint(1), few.fingerprint(1), "other games");
        assert_eq!(again.fingerprint(1), few.fingerprint(1), "the same games in another file");
        let halves = [load("low", 0..25), load("high", 25..50)].map(|half| half.train[0].clone());
        let [ordered, reversed] = [[0, 1], [1, 0]].map(|order| Sources {
            train: order.map(|half: usize| halves[half].clone()).to_vec(),
            ..Sources::default()
        });
        assert_ne!(ordered.fingerprint(1), reversed.fingerprint(1), "another order");
        assert_ne!(few.fingerprint(1), few.fingerprint(2), "the seed decides which position a draw is");
    }

    #[test]
    fn a_position_is_kept_when_the_batch_size_changes() {
        let position = |batch: u64| serde_json::json!({ "batch": batch, "order": ORDER });
        assert_eq!(rescaled(&position(30), 100, 50), position(60));
        assert_eq!(rescaled(&position(31), 50, 100), position(16), "none is repeated, 50 are skipped");
        assert_eq!(rescaled(&position(7), 11, 11), position(7));
        assert_eq!(rescaled(&77.into(), 11, 22), serde_json::Value::from(77));

        let folder = tempfile::tempdir().unwrap();
        let sources = Sources::load(&[write(folder.path(), "all", 0..200)], 1, folder.path()).unwrap();
        let config = |batch| TrainConfig { batch, ..TrainConfig::default() };
        let draws = |batch, first| {
            let mut feed = sources.feed(&config(batch), first).unwrap();
            feed.next_batch().unwrap().draw
        };
        let next = batch_number(&rescaled(&position(3), 20, 10)).unwrap();
        assert_eq!([draws(10, next), draws(10, next + 1)].concat(), draws(20, 3));
    }

    #[test]
    fn another_order_of_samples_is_not_resumed() {
        let old = |batch: u64| batch_number(&serde_json::json!({ "batch": batch }));
        let error = old(5).unwrap_err().to_string();
        assert!(error.contains("in another order") && error.contains("--init"), "{error}");
        assert_eq!(old(0).unwrap(), 0, "nothing was drawn yet");
        assert_eq!(batch_number(&serde_json::Value::Null).unwrap(), 0);
    }

    #[test]
    fn a_source_without_readable_files_has_no_share() {
        let folder = tempfile::tempdir().unwrap();
        let [good, bad] =
            [("good", 0..50), ("bad", 50..60)].map(|(name, games)| write(folder.path(), name, games));
        std::fs::write(folder.path().join("bad-00000.h5"), "no games").unwrap();
        let mut sources = Sources::load(&[good, bad], 1, folder.path()).unwrap();
        sources.share(0.25);
        let more = Sources::load(&[write(folder.path(), "more", 100..200)], 1, folder.path()).unwrap();
        let corpus = CorpusBuilder::new(folder.path()).unwrap().build().unwrap();
        sources.train.push(Source { weight: 0.75, ..more.train[0].clone() });
        sources.validation.push(Source { corpus: Arc::new(corpus), weight: 1.0 });
        let config = TrainConfig { batch: 1024, ..TrainConfig::default() };
        let batch = sources.feed(&config, 0).unwrap().next_batch().unwrap();
        let of = |source| batch.source.iter().filter(|other| **other == source).count();
        assert_eq!([of(0), of(1), of(2)], [256, 0, 768]);
    }

    #[test]
    fn an_epoch_passes_over_every_source() {
        let folder = tempfile::tempdir().unwrap();
        let mut configs = [write(folder.path(), "few", 0..50), write(folder.path(), "many", 100..300)];
        configs[0].weight = 3.0;
        let epoch = |configs: &[SourceConfig]| Sources::load(configs, 1, folder.path()).unwrap();
        let all = epoch(&configs);
        // Four plies a game, and only one sample in four is of the larger source.
        assert_eq!(all.epoch(), 4.0 * 4.0 * games(&all.train[1]) as f64);
        configs[1].positions_per_game = 1;
        assert_eq!(epoch(&configs).epoch(), 4.0 * games(&all.train[1]) as f64);
        configs[1].positions_per_game = 100;
        assert_eq!(epoch(&configs).epoch(), all.epoch(), "a game has no more positions than it has");
    }
}
