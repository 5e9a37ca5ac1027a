//! One thread decompresses and splits files, others replay games; the order is kept.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};
use engine::chess::pgn::unix_lines;
use thiserror::Error;

use super::arrays::ArrayFile;
use super::blocks::{self, TextBlock, TextBlocks, TextFormat};
use super::pgn::{self, BrokenGame, Exclusion, ParsedGame};
use super::puzzles;
use crate::base::stream::Stopping;
use crate::data::record::{EvalCounts, EvalSide, GameRecord, GameResult};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filters {
    /// For both players, or for the puzzle. Unknown ratings pass.
    pub min_elo: u16,
    pub max_elo: u16,
    pub rated_only: bool,
    /// Games without a move are never kept.
    pub min_plies: usize,
    pub max_plies: usize,
    pub draws: bool,
    pub unknown_results: bool,
    /// −100 to 100, for puzzles.
    pub min_popularity: i16,
    pub min_plays: u32,
}

impl Default for Filters {
    /// Every game with a known result.
    fn default() -> Filters {
        Filters {
            min_elo: 0,
            max_elo: u16::MAX,
            rated_only: false,
            min_plies: 1,
            max_plies: usize::from(u16::MAX),
            draws: true,
            unknown_results: false,
            min_popularity: -100,
            min_plays: 0,
        }
    }
}

impl Filters {
    /// 0 is an unknown rating.
    pub(super) fn exclude_ratings(&self, white: u16, black: u16) -> Option<Exclusion> {
        let out = |elo: u16| elo != 0 && !(self.min_elo..=self.max_elo).contains(&elo);
        if out(white) || out(black) {
            Some(Exclusion::Rating)
        } else if self.rated_only && (white == 0 || black == 0) {
            Some(Exclusion::Unrated)
        } else {
            None
        }
    }

    pub(super) fn exclude_length(&self, plies: usize) -> Option<Exclusion> {
        if plies < self.min_plies.max(1) {
            Some(Exclusion::TooShort)
        } else if plies > self.max_plies {
            Some(Exclusion::TooLong)
        } else {
            None
        }
    }

    pub(super) fn exclude(&self, game: &GameRecord) -> Option<Exclusion> {
        self.exclude_length(game.moves.len()).or(match game.result {
            GameResult::Draw if !self.draws => Some(Exclusion::Drawn),
            GameResult::Unknown if !self.unknown_results => Some(Exclusion::NoResult),
            _ => None,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// The position to which an evaluation belongs.
    pub evals: EvalSide,
    pub filters: Filters,
    pub max_games: u64,
    pub threads: usize,
}

impl Default for ReadOptions {
    fn default() -> ReadOptions {
        ReadOptions {
            evals: EvalSide::Auto,
            filters: Filters::default(),
            max_games: u64::MAX,
            threads: thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadReport {
    pub games: u64,
    pub positions: u64,
    pub excluded: BTreeMap<Exclusion, u64>,
    pub broken: BTreeMap<&'static str, u64>,
    pub evals: EvalCounts,
    /// With the reasons.
    pub damaged_files: Vec<(PathBuf, String)>,
    /// Ended early, by the stop flag or the maximum number of games.
    pub stopped: bool,
}

impl ReadReport {
    pub fn reasons(&self) -> String {
        let excluded = self.excluded.iter().map(|(reason, count)| format!("{count} left out ({reason})"));
        let broken = self.broken.iter().map(|(kind, count)| format!("{count} broken ({kind})"));
        let damaged = self.damaged_files.iter().map(|(path, why)| format!("{}: {why}", path.display()));
        let reasons: Vec<String> = excluded.chain(broken).chain(damaged).collect();
        if reasons.is_empty() { "the files have none".to_owned() } else { reasons.join(", ") }
    }

    pub fn add(&mut self, other: ReadReport) {
        self.games += other.games;
        self.positions += other.positions;
        other
            .excluded
            .into_iter()
            .for_each(|(reason, count)| *self.excluded.entry(reason).or_default() += count);
        other.broken.into_iter().for_each(|(kind, count)| *self.broken.entry(kind).or_default() += count);
        self.evals.add(other.evals);
        self.damaged_files.extend(other.damaged_files);
        self.stopped |= other.stopped;
    }
}

pub enum ReadEvent<'a> {
    Game(GameRecord),
    Broken(&'a Path, &'a BrokenGame),
    /// Compressed bytes of all files that are read, after a block is done.
    Bytes(u64),
}

#[derive(Debug, Error)]
pub enum ImportError<E> {
    #[error("cannot read {}: {}", .0.display(), .1)]
    Open(PathBuf, io::Error),
    /// Neither PGN nor a puzzle table with known columns.
    #[error("{}: {}", .0.display(), .1)]
    Format(PathBuf, String),
    #[error("{0}")]
    Receiver(E),
}

/// Passes the games of PGN or puzzle files (plain, .gz, .zst, .bz2) or arrays to `receive`, in file order for any
/// number of threads. Skips broken games and repeats of an earlier game's start and moves. Reads truncated files as far
/// as possible. Setting `stop` ends reading soon.
pub fn read_games<E>(
    files: &[PathBuf],
    options: &ReadOptions,
    stop: &AtomicBool,
    mut receive: impl FnMut(ReadEvent<'_>) -> Result<(), E>,
) -> Result<ReadReport, ImportError<E>> {
    for path in files {
        if let Some(array) = ArrayFile::detect(path) {
            array.check(path).map_err(|why| ImportError::Format(path.clone(), why))?;
            continue;
        }
        let line = blocks::first_line(path).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => ImportError::Format(path.clone(), error.to_string()),
            _ => ImportError::Open(path.clone(), error),
        })?;
        TextFormat::detect(&line).map_err(|why| ImportError::Format(path.clone(), why))?;
    }
    let threads = options.threads.max(1);
    let bytes_read = Arc::new(AtomicU64::new(0));
    let enough = AtomicBool::new(false);
    let stopping = || stop.load(Ordering::Relaxed) || enough.load(Ordering::Relaxed);
    let (work, to_do) = bounded::<(u64, TextBlock)>(2 * threads);
    let (done, results) = bounded(2 * threads);

    thread::scope(|scope| {
        let counter = bytes_read.clone();
        let read_done = done.clone();
        scope.spawn(move || read_files(files, options, &counter, &stopping, &work, &read_done));
        for _ in 0..threads {
            let (to_do, done) = (to_do.clone(), done.clone());
            scope.spawn(move || replay_blocks(&to_do, &done, options));
        }
        drop((to_do, done));
        let mut collector = Collector {
            files,
            max_games: options.max_games,
            seen: HashSet::new(),
            report: ReadReport::default(),
        };
        let outcome = collector.collect(&results, &enough, |event| match event {
            ReadEvent::Bytes(_) => receive(ReadEvent::Bytes(bytes_read.load(Ordering::Relaxed))),
            other => receive(other),
        });
        // Ends the threads that still send.
        enough.store(true, Ordering::Relaxed);
        drop(results);
        collector.report.stopped |= stop.load(Ordering::Relaxed);
        outcome.map(|()| collector.report).map_err(ImportError::Receiver)
    })
}

/// In order, with errors for broken games; without filtered and duplicate games.
pub(crate) fn games_of_text(text: &[u8], options: &ReadOptions) -> Vec<Result<GameRecord, BrokenGame>> {
    let text = unix_lines(text).into_owned();
    let block = TextBlock { file: 0, format: TextFormat::Pgn, first_line: 1, text };
    let mut seen = HashSet::new();
    let kept =
        pgn::parse_block(&block, options.evals, &options.filters).into_iter().filter_map(
            |parsed| match parsed {
                ParsedGame::Game(game, _) => seen.insert(game.identity()).then_some(Ok(game)),
                ParsedGame::Excluded(_) => None,
                ParsedGame::Broken(broken) => Some(Err(broken)),
            },
        );
    kept.collect()
}

enum Done {
    TextBlock { file: usize, parsed: Vec<ParsedGame> },
    Damaged { file: usize, why: String },
}

fn read_files(
    files: &[PathBuf],
    options: &ReadOptions,
    bytes_read: &Arc<AtomicU64>,
    stopping: Stopping<'_>,
    work: &Sender<(u64, TextBlock)>,
    done: &Sender<(u64, Done)>,
) {
    let mut number = 0;
    for (file, path) in files.iter().enumerate() {
        if let Some(array) = ArrayFile::detect(path) {
            let mut sends = true;
            let before = bytes_read.load(Ordering::Relaxed);
            let length = path.metadata().map_or(0, |metadata| metadata.len());
            let read = array.games(path, &options.filters, |parsed, share| {
                bytes_read.store(before + (length as f64 * share) as u64, Ordering::Relaxed);
                sends = !stopping() && done.send((number, Done::TextBlock { file, parsed })).is_ok();
                number += u64::from(sends);
                sends
            });
            if let Err(why) = read {
                sends = done.send((number, Done::Damaged { file, why })).is_ok();
                number += 1;
            }
            if !sends {
                return;
            }
            bytes_read.store(before + length, Ordering::Relaxed);
            continue;
        }
        let mut blocks = match blocks::open(path, bytes_read.clone(), stopping) {
            Ok(reader) => TextBlocks::new(reader, file),
            Err(_) if stopping() => return,
            Err(error) => {
                if done.send((number, Done::Damaged { file, why: error.to_string() })).is_err() {
                    return;
                }
                number += 1;
                continue;
            }
        };
        loop {
            if stopping() {
                // A file can be read again, a stream cannot.
                if !blocks::is_regular(path) {
                    send_complete(&mut blocks, number, work);
                }
                return;
            }
            let sent = match blocks.next() {
                Ok(Some(block)) => work.send((number, block)).is_ok(),
                Ok(None) => break,
                Err(_) if stopping() => {
                    send_complete(&mut blocks, number, work);
                    return;
                }
                Err(error) => done.send((number, Done::Damaged { file, why: error.to_string() })).is_ok(),
            };
            if !sent {
                return;
            }
            number += 1;
        }
    }
}

fn send_complete<R: Read>(blocks: &mut TextBlocks<R>, number: u64, work: &Sender<(u64, TextBlock)>) {
    if let Some(games) = blocks.complete_games() {
        // Nothing receives it if enough games were read.
        _ = work.send((number, games));
    }
}

fn replay_blocks(to_do: &Receiver<(u64, TextBlock)>, done: &Sender<(u64, Done)>, options: &ReadOptions) {
    for (number, block) in to_do {
        let parsed = match block.format {
            TextFormat::Pgn => pgn::parse_block(&block, options.evals, &options.filters),
            TextFormat::Puzzles(columns) => puzzles::parse_block(&block, columns, &options.filters),
        };
        if done.send((number, Done::TextBlock { file: block.file, parsed })).is_err() {
            return;
        }
    }
}

struct Collector<'a> {
    files: &'a [PathBuf],
    max_games: u64,
    seen: HashSet<u64>,
    report: ReadReport,
}

impl Collector<'_> {
    /// Receives results in order of their numbers.
    fn collect<E>(
        &mut self,
        results: &Receiver<(u64, Done)>,
        enough: &AtomicBool,
        mut receive: impl FnMut(ReadEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut early = BTreeMap::new();
        let mut next = 0;
        for (number, result) in results {
            early.insert(number, result);
            while let Some(result) = early.remove(&next) {
                next += 1;
                match result {
                    Done::TextBlock { file, parsed } => self.take(file, parsed, &mut receive)?,
                    Done::Damaged { file, why } => {
                        self.report.damaged_files.push((self.files[file].clone(), why));
                    }
                }
                receive(ReadEvent::Bytes(0))?;
                if self.report.games == self.max_games {
                    self.report.stopped = true;
                    enough.store(true, Ordering::Relaxed);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn take<E>(
        &mut self,
        file: usize,
        parsed: Vec<ParsedGame>,
        receive: &mut impl FnMut(ReadEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for item in parsed {
            match item {
                ParsedGame::Game(game, evals) if self.seen.insert(game.identity()) => {
                    self.report.games += 1;
                    self.report.evals.add(evals);
                    self.report.positions += game.moves.len() as u64;
                    receive(ReadEvent::Game(game))?;
                    if self.report.games == self.max_games {
                        return Ok(());
                    }
                }
                ParsedGame::Game(..) => *self.report.excluded.entry(Exclusion::Duplicate).or_default() += 1,
                ParsedGame::Excluded(why) => *self.report.excluded.entry(why).or_default() += 1,
                ParsedGame::Broken(broken) => {
                    *self.report.broken.entry(broken.error.kind()).or_default() += 1;
                    receive(ReadEvent::Broken(&self.files[file], &broken))?;
                }
            }
        }
        Ok(())
    }
}
