//! The `review` command.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use shakmaty::Color;
use thiserror::Error;

use super::annotate::annotated;
use super::config::ReviewConfig;
use super::game_review::{GameReview, value_of_end};
use super::journal::{Evaluations, Journal, JournalError, ReviewKey};
use super::judge::{Judge, JudgeError, JudgedLine};
use super::page::{self, PageTitle};
use crate::apps::uci_client::UciPosition;
use crate::base::files::write_aside;
use crate::chess::pgn::{PgnGame, read_games};

/// Lines per search: the distance to the second tells whether the best move is the only good one.
const LINES: usize = 2;
const WRITE_INTERVAL: Duration = Duration::from_secs(60);

#[derive(Debug, Error)]
pub enum ReviewError {
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    #[error("{0}: no game that can be read")]
    NoGames(PathBuf),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("{0}")]
    Judge(String),
    /// Games finished, all games, reason.
    #[error("{2}, after {0} of {1} games; --resume continues")]
    Failed(usize, usize, String),
    /// Games finished, all games.
    #[error("interrupted after {0} of {1} games; --resume continues")]
    Interrupted(usize, usize),
}

/// Writes the paths of the results to `out`.
pub fn run(config: &ReviewConfig, stop: &Arc<AtomicBool>, out: &mut impl Write) -> Result<(), ReviewError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| ReviewError::File(path, error)
    };
    let text = if config.is_standard_input() {
        let mut text = Vec::new();
        io::stdin().lock().read_to_end(&mut text).map(|_| text)
    } else {
        std::fs::read(&config.game)
    };
    let text = text.map_err(failed(&config.game))?;
    let (games, broken) = read_games(&text);
    for broken in &broken {
        eprintln!("{}: {broken}, skipped", config.game.display());
    }
    if games.is_empty() {
        return Err(ReviewError::NoGames(config.game.clone()));
    }
    let games: Vec<PgnGame> = games.into_iter().map(|(_, game)| game).collect();
    let mut judge = config.judge(stop)?;
    let title = format!("{}{}, {} a position", judge.name(), config.options_text(), config.limit_text());
    let paths = config.paths();
    let key = ReviewKey::new(&text, title.clone());
    let (mut journal, mut evaluations) = Journal::open(&paths.journal, &key, config.resume, &games)?;
    let results = Results {
        config,
        games: &games,
        title: PageTitle { file: config.input_name(), judge: &title },
        paths: &paths,
    };
    let reviewed = review_all(config, &games, judge.as_mut(), &mut journal, &mut evaluations, &results, stop);
    let finished = results.write(&evaluations).map_err(failed(&paths.pgn))?;
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

/// Skips positions in the journal.
fn review_all(
    config: &ReviewConfig,
    games: &[PgnGame],
    judge: &mut dyn Judge,
    journal: &mut Journal,
    evaluations: &mut Evaluations,
    results: &Results<'_>,
    stop: &Arc<AtomicBool>,
) -> Result<(), ReviewError> {
    let first = |game: &PgnGame| config.from_ply.min(game.moves().len());
    let total: usize = games.iter().map(|game| game.moves().len() + 1 - first(game)).sum();
    let done = evaluations.iter().flatten().flatten().count();
    let bar = progress_bar(total as u64, done as u64);
    let mut last_written = Instant::now();
    let judged = |error: JudgeError| ReviewError::Judge(error.to_string());
    for (index, game) in games.iter().enumerate() {
        bar.set_message(format!("game {}/{}", index + 1, games.len()));
        let moves = game.moves();
        let wanted = first(game)..=moves.len();
        if wanted.clone().all(|ply| evaluations[index][ply].is_some()) {
            continue;
        }
        judge.new_game(stop).map_err(judged)?;
        let mut position = UciPosition::new(Some(&game.start().fen())).expect("a position that was read");
        for (ply, known) in evaluations[index].iter_mut().enumerate() {
            if wanted.contains(&ply) && known.is_none() {
                let lines: Vec<JudgedLine> = match value_of_end(&position.game) {
                    Some(_) => Vec::new(),
                    None => judge.judge(&position, LINES, stop).map_err(judged)?,
                };
                journal.append(index, ply, &lines)?;
                *known = Some(lines);
                bar.inc(1);
            }
            if let Some(m) = moves.get(ply) {
                position.play(*m);
            }
        }
        if last_written.elapsed() >= WRITE_INTERVAL && index + 1 < games.len() {
            let failed = |error| ReviewError::File(results.paths.pgn.clone(), error);
            results.write(evaluations).map_err(failed)?;
            last_written = Instant::now();
        }
    }
    bar.finish_and_clear();
    Ok(())
}

fn progress_bar(total: u64, done: u64) -> ProgressBar {
    let bar = ProgressBar::new(total);
    let template = "{wide_bar} {human_pos}/{human_len} positions, {msg}, {eta} left";
    bar.set_style(ProgressStyle::with_template(template).expect("a valid template"));
    bar.set_position(done);
    bar.reset_eta();
    bar
}

pub struct ReviewPaths {
    pub pgn: PathBuf,
    pub page: PathBuf,
    pub journal: PathBuf,
}

struct Results<'a> {
    config: &'a ReviewConfig,
    games: &'a [PgnGame],
    title: PageTitle<'a>,
    paths: &'a ReviewPaths,
}

impl Results<'_> {
    /// Writes the completely evaluated games and returns their number.
    fn write(&self, evaluations: &Evaluations) -> io::Result<usize> {
        let side: Option<Color> = self.config.side.into();
        let mut reviews = Vec::new();
        for (game, positions) in self.games.iter().zip(evaluations) {
            let first = self.config.from_ply.min(game.moves().len());
            if positions[first..].iter().all(Option::is_some) {
                reviews.push(GameReview::new(game, positions, side));
            }
        }
        write_aside(&self.paths.pgn, |file| {
            reviews.iter().try_for_each(|review| annotated(review, self.title.judge).write(file))
        })?;
        write_aside(&self.paths.page, |file| page::write(&self.title, &reviews, file))?;
        Ok(reviews.len())
    }
}
