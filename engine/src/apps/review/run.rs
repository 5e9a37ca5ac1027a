//! The `review` command.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shakmaty::Color;
use thiserror::Error;

use super::annotate::annotated;
use super::config::{ReviewConfig, is_standard_input};
use super::evidence::Evidence;
use super::game_review::GameReview;
use super::journal::{Journal, JournalError, KeptSearches, ReviewKey};
use super::judge::{Judge, JudgeError};
use super::page::{self, Collection, EXERCISES, PageTitle};
use super::player::{self, PlayerReport};
use super::verify::Reviewer;
use crate::base::files::write_aside;
use crate::base::progress::Progress;
use crate::base::words::counted;
use crate::chess::pgn::{PgnGame, TEXT_HEAD, read_games, why_no_text};

const WRITE_INTERVAL: Duration = Duration::from_secs(60);

/// Names in the message about a player who is not there.
const SUGGESTED: usize = 5;

/// Of the progress, per position.
const TICKS: u64 = 1000;

#[derive(Debug, Error)]
pub enum ReviewError {
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    #[error("{0}: no game that can be read")]
    NoGames(PathBuf),
    #[error("{0}: {1}")]
    NoText(PathBuf, &'static str),
    #[error("a name for the results is needed for several files: --out PATH")]
    NoName,
    /// The player asked for, and names that the games have.
    #[error("no game has a player called {0}; the games are by {1}")]
    NoPlayer(String, String),
    #[error("--from-ply {0}: no game has more plies, so nothing would be reviewed")]
    NoPly(usize),
    #[error("{0}: the review would replace the file that it reads; name another with --out")]
    ReplacesInput(PathBuf),
    #[error("{0}: it exists; choose another --out, or replace it with --force")]
    Exists(PathBuf),
    #[error(
        "there is no unfinished review to continue, and {0} exists: choose another --out, or replace it with --force"
    )]
    Finished(PathBuf),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("{0}")]
    Judge(String),
    /// Games finished, all games, reason.
    #[error("{}, after {} of {}; --resume continues", .2, .0, counted(*.1, "game"))]
    Failed(usize, usize, String),
    /// Games finished, all games.
    #[error("interrupted after {} of {}; --resume continues", .0, counted(*.1, "game"))]
    Interrupted(usize, usize),
}

/// What a review reads before it begins.
pub struct ReviewInput {
    paths: ReviewPaths,
    text: Vec<u8>,
    games: Vec<PgnGame>,
}

/// May wait for a pipe. Nothing is written before it returns, so until then a signal may end the program.
pub fn read(config: &ReviewConfig) -> Result<ReviewInput, ReviewError> {
    let paths = config.paths().ok_or(ReviewError::NoName)?;
    let (mut text, mut games) = (Vec::new(), Vec::new());
    for file in &config.files {
        let read = read_text(file)?;
        games.extend(read_pgn(file, &read)?);
        text.extend(read);
        let real = |path: &Path| path.canonicalize().ok();
        let input = real(if is_standard_input(file) { Path::new("/dev/stdin") } else { file });
        for output in [&paths.pgn, &paths.page, &paths.pages, &paths.journal] {
            if real(output).is_some_and(|output| Some(output) == input) {
                return Err(ReviewError::ReplacesInput(output.clone()));
            }
        }
    }
    if let Some(name) = &config.player {
        games = games_of(name, games)?;
    }
    if config.from_ply > 0 && games.iter().all(|game| game.moves().len() <= config.from_ply) {
        return Err(ReviewError::NoPly(config.from_ply));
    }
    paths.check(config)?;
    Ok(ReviewInput { paths, text, games })
}

/// Writes the paths of the results to `out`.
pub fn run(
    config: &ReviewConfig,
    input: ReviewInput,
    stop: &Arc<AtomicBool>,
    out: &mut impl Write,
) -> Result<(), ReviewError> {
    let ReviewInput { paths, text, games } = input;
    let mut judge = config.judge(stop)?;
    let title = format!("{}{}, {}", judge.name(), config.options_text(), config.effort.text());
    let key = ReviewKey::new(&text, format!("{title}{}", config.further_text()));
    if config.force {
        Journal::discard(&paths.journal)?;
    }
    let (mut journal, kept) = Journal::open(&paths.journal, &key, config.resume, &games)?;
    let results = Results {
        config,
        games: &games,
        title: PageTitle { games: &config.games_name(), judge: &title },
        paths: &paths,
    };
    let mut done: Vec<Vec<Evidence>> = Vec::new();
    let reviewed = review_all(&results, judge.as_mut(), &mut journal, &kept, &mut done, stop);
    if !done.is_empty() || reviewed.is_ok() {
        results.write(&done, 0)?;
    }
    let finished = done.len();
    match reviewed {
        Ok(()) => journal.delete()?,
        Err(ReviewError::Judge(_)) if stop.load(Ordering::Relaxed) => {
            return Err(ReviewError::Interrupted(finished, games.len()));
        }
        Err(ReviewError::Judge(why)) => return Err(ReviewError::Failed(finished, games.len(), why)),
        Err(error) => return Err(error),
    }
    match writeln!(out, "{}\n{}", paths.pgn.display(), paths.page.display()) {
        // A reader such as `head -1` may close the pipe early; the files are complete by then.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(failed(Path::new("stdout"))),
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> ReviewError + '_ {
    |error| ReviewError::File(path.to_owned(), error)
}

/// Refuses what is no text by its first bytes: a device such as `/dev/zero` has no end.
fn read_text(file: &Path) -> Result<Vec<u8>, ReviewError> {
    let mut reader: Box<dyn Read> = match is_standard_input(file) {
        true => Box::new(io::stdin().lock()),
        false => Box::new(File::open(file).map_err(failed(file))?),
    };
    let mut text = Vec::new();
    reader.by_ref().take(TEXT_HEAD).read_to_end(&mut text).map_err(failed(file))?;
    if let Some(why) = why_no_text(&text) {
        return Err(ReviewError::NoText(file.to_owned(), why));
    }
    reader.read_to_end(&mut text).map_err(failed(file))?;
    Ok(text)
}

/// Reports broken games and leaves them out.
fn read_pgn(file: &Path, text: &[u8]) -> Result<Vec<PgnGame>, ReviewError> {
    let (games, broken) = read_games(text);
    for broken in &broken {
        eprintln!("{}: {broken}, skipped", file.display());
    }
    if games.is_empty() {
        return Err(ReviewError::NoGames(file.to_owned()));
    }
    Ok(games.into_iter().map(|(_, game)| game).collect())
}

fn games_of(name: &str, games: Vec<PgnGame>) -> Result<Vec<PgnGame>, ReviewError> {
    let (own, others): (Vec<PgnGame>, Vec<PgnGame>) =
        games.into_iter().partition(|game| player::side_of(game, name).is_some());
    if !own.is_empty() {
        return Ok(own);
    }
    let mut names = player::names(&others);
    let more = names.len().saturating_sub(SUGGESTED);
    names.truncate(SUGGESTED);
    let more = if more > 0 { format!(" and {}", counted(more as u64, "other")) } else { String::new() };
    Err(ReviewError::NoPlayer(name.to_owned(), names.join("; ") + &more))
}

/// Searches in the journal are not repeated. `done` takes the finished games.
fn review_all(
    results: &Results<'_>,
    judge: &mut dyn Judge,
    journal: &mut Journal,
    kept: &KeptSearches,
    done: &mut Vec<Vec<Evidence>>,
    stop: &Arc<AtomicBool>,
) -> Result<(), ReviewError> {
    let config = results.config;
    let weights: Vec<u64> = results.games.iter().map(|game| game.moves().len() as u64 + 1).collect();
    let mut progress = Progress::new(weights.iter().sum::<u64>() * TICKS, "");
    let mut last_written = Instant::now();
    let mut pages = 0;
    for (index, game) in results.games.iter().enumerate() {
        progress.set_message(format!("game {}/{}", index + 1, results.games.len()));
        let before = weights[..index].iter().sum::<u64>() * TICKS;
        let of_game = (weights[index] * TICKS) as f64;
        let budget = config.effort.budget();
        let mut reviewer = Reviewer { budget, first_ply: config.from_ply, judge: &mut *judge, stop };
        let evidence = reviewer.review(game, &kept[index], &mut |new| {
            progress.reach(before + (new.spent * of_game) as u64);
            let written = journal.append(index, new.ply, new.key, &new.evidence[new.ply]);
            written.map_err(|error| JudgeError::Failed(error.to_string()))
        });
        done.push(evidence.map_err(|error| ReviewError::Judge(error.to_string()))?);
        if last_written.elapsed() >= WRITE_INTERVAL && index + 1 < results.games.len() {
            results.write(done, pages)?;
            pages = done.len();
            last_written = Instant::now();
        }
    }
    Ok(())
}

pub struct ReviewPaths {
    pub pgn: PathBuf,
    /// Of one game, or the index of several.
    pub page: PathBuf,
    /// Folder of the pages of several games.
    pub pages: PathBuf,
    pub journal: PathBuf,
}

impl ReviewPaths {
    /// An unfinished review has written some of its results already. The journal says whether it may be continued.
    fn check(&self, config: &ReviewConfig) -> Result<(), ReviewError> {
        let existing = [&self.pgn, &self.page, &self.pages].into_iter().find(|path| path.exists());
        match existing.filter(|_| !config.force && !self.journal.exists()) {
            Some(path) if config.resume => Err(ReviewError::Finished(path.clone())),
            Some(path) => Err(ReviewError::Exists(path.clone())),
            None => Ok(()),
        }
    }
}

struct Results<'a> {
    config: &'a ReviewConfig,
    games: &'a [PgnGame],
    title: PageTitle<'a>,
    paths: &'a ReviewPaths,
}

impl Results<'_> {
    /// `done` are the first games; the pages of the first `written` are complete.
    fn write(&self, done: &[Vec<Evidence>], written: usize) -> Result<(), ReviewError> {
        let side = |game: &PgnGame| match &self.config.player {
            Some(name) => player::side_of(game, name),
            None => self.config.side.into(),
        };
        let reviewed = self.games.iter().zip(done);
        let reviews: Vec<GameReview<'_>> =
            reviewed.map(|(game, evidence)| GameReview::new(game, evidence, side(game))).collect();
        let of_player: Option<Vec<(Color, &GameReview<'_>)>> = self
            .config
            .player
            .as_ref()
            .map(|_| reviews.iter().filter_map(|review| Some((side(review.game)?, review))).collect());
        let report = of_player.map(|reviews| PlayerReport::new(&reviews));
        let report = self.config.player.as_deref().zip(report.as_ref());
        write_aside(&self.paths.pgn, |file| {
            reviews.iter().try_for_each(|review| annotated(review, self.title.judge).write(file))
        })
        .map_err(failed(&self.paths.pgn))?;
        if let ([_], [review]) = (self.games, &reviews[..]) {
            write_aside(&self.paths.page, |file| page::write(&self.title, report, review, file))
                .map_err(failed(&self.paths.page))?;
            return self.remove_pages_from(1, true).map_err(failed(&self.paths.pages));
        }
        self.write_pages(report, &reviews, written).map_err(failed(&self.paths.pages))
    }

    fn write_pages(
        &self,
        report: Option<(&str, &PlayerReport)>,
        reviews: &[GameReview<'_>],
        written: usize,
    ) -> io::Result<()> {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (index, folder) = (name(&self.paths.page), name(&self.paths.pages));
        let all = Collection { title: self.title, index: &index, folder: &folder, report, reviews };
        fs::create_dir_all(&self.paths.pages)?;
        let in_folder = |file: &str| self.paths.pages.join(file);
        // The last page written lacks the link to the next.
        for number in written.max(1)..=reviews.len() {
            write_aside(&in_folder(&Collection::file(number)), |file| all.write_game(number, file))?;
        }
        if report.is_some() {
            write_aside(&in_folder(EXERCISES), |file| all.write_exercises(file))?;
        }
        write_aside(&self.paths.page, |file| all.write_index(file))?;
        self.remove_pages_from(reviews.len() + 1, report.is_none())
    }

    /// Those of an earlier review, which are not written again.
    fn remove_pages_from(&self, number: usize, with_exercises: bool) -> io::Result<()> {
        let in_folder = |file: &str| self.paths.pages.join(file);
        let numbered = (number..).map(|number| in_folder(&Collection::file(number)));
        numbered.take_while(|page| page.exists()).try_for_each(fs::remove_file)?;
        let exercises = in_folder(EXERCISES);
        if with_exercises && exercises.exists() {
            fs::remove_file(exercises)?;
        }
        if number == 1 && self.paths.pages.is_dir() {
            // A folder with files of others stays.
            let _ = fs::remove_dir(&self.paths.pages);
        }
        Ok(())
    }
}
