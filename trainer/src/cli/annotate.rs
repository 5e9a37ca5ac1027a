use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::Args;
use engine::base::words::counted;
use serde_json::json;

use super::engine_args::EngineArgs;
use super::interrupt;
use super::out_args::{OutArgs, count, file_stem, report};
use crate::base::files::{file_name, name_and_hash, stem};
use crate::base::progress::{Counted, progress};
use crate::config::bounds::{MAX_MULTIPV, MAX_SECONDS};
use crate::data::datagen::{Annotate, DAMAGED, DatagenSummary, run_tasks};
use crate::data::dataset::Store;
use crate::data::import::{ReadReport, is_stream};
use crate::data::record::EvalSide;
use crate::play::units::{AnnotateRules, Inbox, OwnWork, label_by_units};

/// Add a UCI engine's evaluations to games: PGN or files of games in, files of games (games/1) out
///
/// Annotates all games, also those without a result; filter them with `import` first. Ctrl-C loses nothing; the same
/// command with --resume continues.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  philidor-trainer annotate data/mine-*.h5 --nodes 20000\n  \
    philidor-trainer annotate games.pgn.zst --name judged --movetime 100 --keep-known\n  \
    philidor-trainer annotate data/mine-*.h5 --nodes 20000 --inbox runs/inbox")]
pub struct AnnotateArgs {
    /// PGN files (plain, .gz, .zst, .bz2) or files of games; they are read twice, so none can be a pipe
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Name of the new files, before -00000.h5 [default: that of the first file plus "-annotated"]
    #[arg(long, value_parser = file_stem)]
    name: Option<String>,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten)]
    engines: EngineArgs,
    /// Keep existing evaluations
    #[arg(long)]
    keep_known: bool,
    /// Also record each position's best move as its policy target, with its WDL (win, draw, loss)
    #[arg(long)]
    best_move: bool,
    /// Record each position's K best moves with their scores, and share its policy target among these moves
    #[arg(long, value_name = "K", conflicts_with = "best_move", value_parser = count(1..=MAX_MULTIPV))]
    best_moves: Option<usize>,
    /// Let other machines label: list units of work in DIR/wanted.json and take results from DIR
    #[arg(long, value_name = "DIR")]
    inbox: Option<PathBuf>,
    /// With --inbox: start labelling here after this many seconds without a result
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(..=MAX_SECONDS))]
    inbox_patience: u64,
    /// The position to which an [%eval] comment of a PGN belongs
    #[arg(long = "evals", value_enum, default_value_t = EvalSide::Auto)]
    eval: EvalSide,
}

impl AnnotateArgs {
    /// Fails at the end if a file or a stored game is damaged.
    pub fn run(&self) -> anyhow::Result<()> {
        let name = self.name.clone().unwrap_or_else(|| format!("{}-annotated", stem(&self.files[0])));
        let stop = interrupt::flag()?;
        let (summary, damaged) = self.annotate(&name, &stop)?;
        report(summary, &self.out.out.join(name));
        ensure!(damaged.is_empty(), "damaged and left out: {damaged}");
        Ok(())
    }

    /// Also describes what was damaged and left out; empty if nothing was.
    fn annotate(&self, name: &str, stop: &AtomicBool) -> anyhow::Result<(DatagenSummary, String)> {
        if let Some(folder) = self.files.iter().find(|file| file.is_dir()) {
            bail!("{}: it is a folder: name files of games in it", folder.display());
        }
        if let Some(file) = self.files.iter().find(|file| is_stream(file)) {
            bail!("{}: annotate reads its files twice; write the games to a file first", file.display());
        }
        for file in &self.files {
            File::open(file).with_context(|| file.display().to_string())?;
        }
        let limit = self.engines.limit();
        let engine = self.engines.name(stop)?;
        let names: Vec<String> = self.files.iter().map(|path| file_name(path)).collect();
        let hashed: anyhow::Result<Vec<String>> = self.files.iter().map(|path| name_and_hash(path)).collect();
        let (files, eval) = (self.files.clone(), self.eval);
        let keep_known = self.keep_known;
        let best_moves = self.best_moves.unwrap_or(usize::from(self.best_move));
        let task = Annotate { files, eval, keep_known, best_moves, limit };
        let mut settings = json!({
            "engine": engine, "options": self.engines.options(), "limit": limit.to_string(), "files": hashed?,
            "eval": format!("{eval:?}"), "keep_known": keep_known, "best_move": best_moves > 0,
        });
        if best_moves > 1 {
            settings["best_moves"] = json!(best_moves);
        }
        let source = format!("annotated: {engine}, {limit}: {}", names.join(", "));
        let store = Store::open(&self.out.options(), name, &source, settings)?;
        let (mut games, mut all, mut done) = (0, 0, 0);
        let read = task.each_game(stop, true, &mut |number, game| {
            games += 1;
            all += game.moves.len() as u64;
            done += if store.has(number) { game.moves.len() as u64 } else { 0 };
            true
        })?;
        let interrupted = stop.load(Ordering::Relaxed);
        ensure!(games > 0 || interrupted, "no games to annotate: {}", read.reasons());
        let damaged = damaged(&read);
        let bar = progress(all, done, Counted::Plies);
        let command = self.engines.command();
        let Some(folder) = &self.inbox else {
            let done = run_tasks(&task, (&command, self.engines.count()), store, &bar, stop)?;
            return Ok((done, damaged));
        };
        let rules = AnnotateRules {
            program: self.engines.program(),
            engine,
            options: command.options,
            limit: limit.to_string(),
            patience: command.timeout.as_secs(),
            keep_known,
            best_moves,
        };
        rules.limit()?;
        let own = OwnWork {
            threads: self.engines.count(),
            folder: self.out.out.join(format!("{name}.units")),
            patience: Duration::from_secs(self.inbox_patience),
        };
        let inbox = Inbox::open(folder, true)?;
        Ok((label_by_units((&task, &rules), &inbox, &own, store, &bar, stop)?, damaged))
    }
}

fn damaged(read: &ReadReport) -> String {
    let games = read.broken.get(DAMAGED).map(|count| counted(*count, "stored game"));
    let files = &read.damaged_files;
    let names: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
    let files =
        (!files.is_empty()).then(|| format!("{} ({})", counted(files.len(), "file"), names.join(", ")));
    games.into_iter().chain(files).collect::<Vec<_>>().join(", ")
}
