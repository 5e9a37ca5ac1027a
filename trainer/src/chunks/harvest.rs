//! Several engines at work on many games: dealt by number, collected in their order, saved as they come.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ChunkWriter;
use crate::files::write_file;
use crate::games::{EngineCommand, EngineError, Game, Limit, UciEngine};

/// Of a file of hands.
const FORMAT: &str = "philidor-hands/1";
/// An engine that fails so often at one position isn't started again.
const FAILURES: u32 = 3;
/// How often the collector looks at the clock and whether it shall stop.
const GLANCE: Duration = Duration::from_millis(100);

/// Which engines, and how long they think.
#[derive(Args, Debug)]
pub struct EngineArgs {
    /// UCI engine; a name is also looked for in /usr/games
    #[arg(long, default_value = "stockfish")]
    engine: PathBuf,
    /// An option of the engine's, NAME=VALUE; can be repeated
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = name_and_value)]
    options: Vec<(String, String)>,
    /// Engines at work at once [default: one a processor]
    #[arg(long)]
    engines: Option<usize>,
    /// Plies that they search [default: 15, unless --nodes or --movetime]
    #[arg(long, conflicts_with_all = ["nodes", "movetime"], value_parser = clap::value_parser!(u32).range(1..))]
    depth: Option<u32>,
    /// Nodes that they search
    #[arg(long, conflicts_with = "movetime", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// Milliseconds that they search
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    movetime: Option<u64>,
    /// Seconds after which an engine that says nothing is started again
    #[arg(long, default_value_t = 60)]
    patience: u64,
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("an option is NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

impl EngineArgs {
    /// The limit that was chosen.
    pub fn limit(&self) -> Limit {
        match (self.depth, self.nodes, self.movetime) {
            (_, Some(nodes), _) => Limit::Nodes(nodes),
            (_, _, Some(milliseconds)) => Limit::Movetime(milliseconds),
            (depth, ..) => Limit::Depth(depth.unwrap_or(15)),
        }
    }

    fn count(&self) -> usize {
        self.engines.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).max(1)
    }

    /// The options to set, as text.
    pub fn options(&self) -> Vec<String> {
        self.options.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    /// What the engine calls itself; it is started for that.
    ///
    /// # Errors
    ///
    /// One line: it can't be started, or lacks an option that is to be set.
    pub fn name(&self, stop: &AtomicBool) -> Result<String, String> {
        let engine = UciEngine::start(&self.command(), stop).map_err(|error| error.to_string())?;
        Ok(engine.name().to_owned())
    }

    /// How an engine is started.
    pub fn command(&self) -> EngineCommand {
        let options = self.options.clone();
        EngineCommand { program: find(&self.engine), options, patience: Duration::from_secs(self.patience) }
    }
}

/// Debian keeps Stockfish in a folder that root's PATH lacks.
fn find(program: &Path) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let games = Path::new("/usr/games").join(program);
    let known = program.components().count() > 1
        || std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !known && games.is_file() { games } else { program.to_owned() }
}

/// Where the games go.
#[derive(Args, Debug)]
pub struct OutArgs {
    /// Folder for the files of games
    #[arg(long, default_value = "data")]
    pub out: PathBuf,
    /// Positions a file, about
    #[arg(long, default_value_t = 1_000_000)]
    chunk_size: usize,
    /// Seconds after which what is finished is written
    #[arg(long, default_value_t = 60)]
    save_every: u64,
    /// Go on with what was begun with the same arguments
    #[arg(long)]
    resume: bool,
}

/// A game that is being made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hand {
    /// Its place among all.
    pub number: u64,
    /// As far as it is.
    pub game: Game,
    /// Plies that an engine has judged.
    pub done: usize,
    /// Whether nothing is missing.
    pub finished: bool,
}

/// What is done with games.
pub trait Work: Sync {
    /// How much of the work a game is.
    fn weight(&self, game: &Game) -> u64;

    /// Hands out the games from number `from` on, in order, without those in `held`, until there are no more or
    /// `take` says no.
    ///
    /// # Errors
    ///
    /// One line: what can't be read.
    fn deal(
        &self,
        from: u64,
        held: &BTreeSet<u64>,
        stop: &AtomicBool,
        take: &mut dyn FnMut(Hand) -> bool,
    ) -> Result<(), String>;

    /// Works on a game until it is finished.
    ///
    /// # Errors
    ///
    /// If the engine fails or `stop` is raised; the hand is then as far as it came.
    fn work(&self, hand: &mut Hand, engine: &mut UciEngine, stop: &AtomicBool) -> Result<(), EngineError>;
}

/// What a harvest came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Harvest {
    /// Games in the files.
    pub games: u64,
    /// Files.
    pub files: usize,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

/// Beside the files of games: what they are made with, and the games that aren't in them yet.
#[derive(Serialize, Deserialize)]
struct Hands {
    format: String,
    settings: Value,
    hands: Vec<Hand>,
}

/// Games on their way to the files.
#[derive(Debug)]
pub struct Store {
    writer: ChunkWriter,
    path: PathBuf,
    settings: Value,
    save_every: Duration,
    /// The number of the next game to be written.
    next: u64,
    /// Finished ones before whose turn it is, and from an earlier time unfinished ones.
    held: BTreeMap<u64, Hand>,
}

impl Store {
    /// Opens the files `NAME-00000.h5` …, and `NAME.json` beside them, which says what they are made with.
    ///
    /// # Errors
    ///
    /// One line: there are such files and they aren't to be gone on with, they can't be read, or they were made
    /// with other settings.
    pub fn open(args: &OutArgs, name: &str, source: &str, settings: Value) -> Result<Store, String> {
        let path = args.out.join(format!("{name}.json"));
        let begun = args.resume && path.exists();
        let opened = if begun {
            ChunkWriter::resume(&args.out, name, source, args.chunk_size)
        } else {
            ChunkWriter::new(&args.out, name, source, args.chunk_size).map(|writer| (writer, 0))
        };
        let (writer, next) = opened.map_err(|error| match args.resume {
            false => format!("{error}; or go on with it: --resume"),
            true => error.to_string(),
        })?;
        let mut held = BTreeMap::new();
        if begun {
            let hands = read_hands(&path)?;
            let changes = differences(&hands.settings, &settings);
            if !changes.is_empty() {
                return Err(format!("{}: begun with other settings: {changes}", path.display()));
            }
            held = hands.hands.into_iter().map(|hand| (hand.number, hand)).collect();
            // Written after the games were, or not at all.
            held.retain(|number, _| *number >= next);
        }
        let save_every = Duration::from_secs(args.save_every);
        Ok(Store { writer, path, settings, save_every, next, held })
    }

    /// The number of games in the files.
    pub fn games(&self) -> u64 {
        self.next
    }

    fn push(&mut self, hand: Hand) -> Result<(), String> {
        self.held.insert(hand.number, hand);
        while let Some(entry) = self.held.first_entry()
            && *entry.key() == self.next
            && entry.get().finished
        {
            self.writer.push(&entry.remove().game).map_err(|error| error.to_string())?;
            self.next += 1;
        }
        Ok(())
    }

    /// First the games, then what else there is: a game that is in both counts as written.
    fn save(&self) -> Result<(), String> {
        self.writer.save().map_err(|error| error.to_string())?;
        self.save_hands()
    }

    /// Saves for the last time; gives the number of files.
    fn close(self) -> Result<usize, String> {
        self.save()?;
        self.writer.finish().map_err(|error| error.to_string())
    }

    fn save_hands(&self) -> Result<(), String> {
        let hands = self.held.values().cloned().collect();
        let hands = Hands { format: FORMAT.to_owned(), settings: self.settings.clone(), hands };
        let text = serde_json::to_string_pretty(&hands).expect("numbers and text make JSON");
        write_file(&self.path, text.as_bytes())
    }
}

fn read_hands(path: &Path) -> Result<Hands, String> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| at(&error))?;
    let hands: Hands = serde_json::from_str(&text).map_err(|error| at(&error))?;
    if hands.format == FORMAT {
        Ok(hands)
    } else {
        Err(at(&format!("format is \"{}\", expected \"{FORMAT}\"", hands.format)))
    }
}

/// Which settings differ, and how.
fn differences(then: &Value, now: &Value) -> String {
    let empty = serde_json::Map::new();
    let (then, now) = (then.as_object().unwrap_or(&empty), now.as_object().unwrap_or(&empty));
    let keys: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    let text = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    let differing = keys.into_iter().filter(|key| then.get(*key) != now.get(*key));
    let told: Vec<String> = differing
        .map(|key| format!("{key} was {}, is now {}", text(then.get(key)), text(now.get(key))))
        .collect();
    told.join("; ")
}

/// Has `engines` do the work, `total` games of it in all, and stores what comes of it; `bar` counts its weight.
///
/// Raising `stop` ends it soon, without a loss: games that aren't finished are kept as far as they are.
///
/// # Errors
///
/// One line: an engine can't be started or fails again and again, games can't be read or written. What was
/// finished is kept then, too.
pub fn harvest(
    work: &impl Work,
    engines: &EngineArgs,
    mut store: Store,
    bar: &ProgressBar,
    stop: &AtomicBool,
) -> Result<Harvest, String> {
    let command = engines.command();
    let halt = AtomicBool::new(false);
    let (hand_out, to_do) = bounded(0);
    let (report, reports) = unbounded();
    let held: BTreeSet<u64> = store.held.keys().copied().collect();
    let begun: Vec<Hand> = store.held.values().filter(|hand| !hand.finished).cloned().collect();
    let from = store.next;
    let (collected, dealt) = thread::scope(|scope| {
        let halt = &halt;
        let dealer = scope.spawn(move || {
            let mut take = |hand: Hand| hand_out.send(hand).is_ok();
            if begun.into_iter().all(&mut take) { work.deal(from, &held, halt, &mut take) } else { Ok(()) }
        });
        for _ in 0..engines.count() {
            let (to_do, report, command) = (to_do.clone(), report.clone(), &command);
            scope.spawn(move || labour(work, command, &to_do, &report, halt));
        }
        drop((to_do, report));
        let collected = collect(work, &mut store, &reports, bar, stop, halt);
        halt.store(true, Ordering::Relaxed);
        (collected, dealer.join().expect("dealing doesn't panic"))
    });
    bar.finish_and_clear();
    let games = store.next;
    let closed = store.close();
    collected.and(dealt)?;
    Ok(Harvest { games, files: closed?, stopped: stop.load(Ordering::Relaxed) })
}

/// A game that an engine is done with, and what went wrong with it.
type Report = (Hand, Option<String>);

fn labour(
    work: &impl Work,
    command: &EngineCommand,
    to_do: &Receiver<Hand>,
    report: &Sender<Report>,
    halt: &AtomicBool,
) {
    let mut engine = None;
    for mut hand in to_do {
        let outcome = persist(work, command, &mut engine, &mut hand, halt);
        let ended = !hand.finished;
        if report.send((hand, outcome.err())).is_err() || ended {
            return;
        }
    }
}

/// Works on a game with engines that may fail now and then. Told to halt it ends without an error.
fn persist(
    work: &impl Work,
    command: &EngineCommand,
    engine: &mut Option<UciEngine>,
    hand: &mut Hand,
    halt: &AtomicBool,
) -> Result<(), String> {
    let mut failures = 0;
    loop {
        let before = hand.done;
        let attempt = match engine.take() {
            Some(running) => Ok(running),
            None => UciEngine::start(command, halt),
        }
        .and_then(|running| work.work(hand, engine.insert(running), halt));
        let error = match attempt {
            Ok(()) => {
                hand.finished = true;
                return Ok(());
            }
            Err(EngineError::Interrupted) => return Ok(()),
            Err(error @ EngineError::Failed(..)) => error,
            Err(error) => return Err(error.to_string()),
        };
        *engine = None;
        failures = if hand.done > before { 1 } else { failures + 1 };
        if failures == FAILURES {
            return Err(format!("{error}, {FAILURES} times in game {} at ply {}", hand.number, hand.done));
        }
        log::warn!("{error} in game {} at ply {}; started again", hand.number, hand.done);
    }
}

fn collect(
    work: &impl Work,
    store: &mut Store,
    reports: &Receiver<Report>,
    bar: &ProgressBar,
    stop: &AtomicBool,
    halt: &AtomicBool,
) -> Result<(), String> {
    let started = Instant::now();
    let (mut saved, mut positions, mut failure) = (started, 0, None);
    loop {
        if stop.load(Ordering::Relaxed) {
            halt.store(true, Ordering::Relaxed);
        }
        match reports.recv_timeout(GLANCE) {
            Ok((hand, error)) => {
                if hand.finished {
                    positions += hand.game.moves.len() as u64;
                    bar.inc(work.weight(&hand.game));
                }
                store.push(hand)?;
                if error.is_some() {
                    halt.store(true, Ordering::Relaxed);
                    failure = failure.or(error);
                }
                let rate = positions as f64 / started.elapsed().as_secs_f64().max(1e-3);
                bar.set_message(format!("{rate:.1} positions/s"));
            }
            Err(RecvTimeoutError::Timeout) => bar.tick(),
            Err(RecvTimeoutError::Disconnected) => return failure.map_or(Ok(()), Err),
        }
        if saved.elapsed() >= store.save_every {
            store.save()?;
            saved = Instant::now();
            if bar.is_hidden() {
                log::info!(
                    "{}/{}, {}",
                    HumanCount(bar.position()),
                    HumanCount(bar.length().unwrap_or(0)),
                    bar.message()
                );
            }
        }
    }
}

/// Progress on stderr over `total` of `unit`, of which some were done before.
pub fn progress(total: u64, done: u64, unit: &str) -> ProgressBar {
    let bar = ProgressBar::new(total);
    let template = format!("{{wide_bar}} {{human_pos}}/{{human_len}} {unit}, {{msg}}, {{eta}} left");
    bar.set_style(ProgressStyle::with_template(&template).expect("a fixed template"));
    bar.set_position(done);
    bar.reset_eta();
    bar
}

/// What a command says in the end.
pub fn tell(harvest: &Harvest, path: &Path) {
    println!("{} games in {} files: {}-*.h5", harvest.games, harvest.files, path.display());
    if harvest.stopped {
        println!("stopped before the end; nothing is lost: the same line with --resume goes on");
    }
}
