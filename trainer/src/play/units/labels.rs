use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use indicatif::{HumanCount, ProgressBar};
use serde_json::json;

use super::check::{ResultCheck, check_result};
use super::gather::{Admission, Gathering, OwnWork};
use super::inbox::Inbox;
use super::task::UnitTask;
use super::unit::{Unit, UnitKind};
use super::unit_rules::AnnotateRules;
use crate::data::datagen::{Annotate, DatagenSummary};
use crate::data::dataset::{self, Chunk, PendingGame, Store};

/// Games per unit: about a minute at a thousand nodes per position.
const BLOCK: usize = 64;
/// Units wanted at once; the following ones are listed as `ahead`.
const WINDOW: usize = 256;

struct Block {
    number: u64,
    games: Chunk,
}

/// Stores the same files as [`run_tasks`](crate::data::datagen::run_tasks). `bar` counts positions.
pub fn label_by_units(
    (task, rules): (&Annotate, &AnnotateRules),
    inbox: &Inbox,
    own: &OwnWork,
    mut store: Store,
    bar: &ProgressBar,
    stop: &AtomicBool,
) -> Result<DatagenSummary> {
    let rules_file = inbox.files().add_json(rules)?;
    let blocks = blocks(task, &store, stop)?;
    let scratch = tempfile::tempdir()?;
    let unit = |block: &Block| -> Result<Unit> {
        let path = scratch.path().join("block.h5");
        dataset::write(&block.games, &path)?;
        let numbers = block.number..block.number + block.games.games() as u64;
        Ok(Unit::new(UnitKind::Annotate, vec![inbox.files().add(&path)?], rules_file.clone(), 0, numbers))
    };
    let mut windows =
        blocks.chunks(WINDOW).map(|blocks| blocks.iter().map(&unit).collect::<Result<Vec<Unit>>>());
    let mut next = windows.next().transpose()?.unwrap_or_default();
    let mut stopped = false;
    while !next.is_empty() && !stopped {
        let units = std::mem::take(&mut next);
        next = windows.next().transpose()?.unwrap_or_default();
        let own = own.clone();
        let about = json!({ "labels": rules.engine });
        let gathering = Gathering { inbox, own, ahead: &next, about, stop };
        let load = |unit: &Unit| UnitTask::load(unit, &inbox.files());
        let mut admit = |unit: &Unit, path: &Path| -> Result<Admission> {
            let checked = check_result(unit, path, &ResultCheck::new(load(unit)?, unit.seed)?);
            let records = match checked {
                Ok(records) => records,
                Err(why) => return Ok(Admission::Refused(format!("{why:#}"))),
            };
            for (number, game) in unit.numbers().zip(records) {
                if !store.has(number) {
                    bar.inc(game.moves.len() as u64);
                    store.push(PendingGame { number, done: game.moves.len(), game, finished: true })?;
                }
            }
            store.save()?;
            Ok(Admission::Taken(Vec::new()))
        };
        let report = gathering.run(&units, &load, &mut admit, &mut |report| {
            bar.set_message(format!(
                "units: {} by others, {} own, {} refused",
                HumanCount(report.others),
                HumanCount(report.own),
                HumanCount(report.refused)
            ));
            bar.tick();
        })?;
        stopped = report.stopped;
    }
    bar.finish_and_clear();
    if !stopped {
        inbox.publish(std::iter::empty(), &json!({ "finished": true }))?;
    }
    let (games, waiting) = (store.games(), store.waiting().count() as u64);
    Ok(DatagenSummary { games, waiting, files: store.close()?, stopped })
}

/// The blocks of games without stored labels.
fn blocks(task: &Annotate, store: &Store, stop: &AtomicBool) -> Result<Vec<Block>> {
    let mut blocks: Vec<Block> = Vec::new();
    task.each_game(stop, false, &mut |number, game| {
        let block = number - number % BLOCK as u64;
        if blocks.last().is_none_or(|last| last.number != block) {
            blocks.push(Block { number: block, games: Chunk::new("games to label") });
        }
        blocks.last_mut().expect("one was pushed").games.push(&game);
        true
    })?;
    blocks.retain(|block| {
        !(block.number..block.number + block.games.games() as u64).all(|game| store.has(game))
    });
    Ok(blocks)
}
