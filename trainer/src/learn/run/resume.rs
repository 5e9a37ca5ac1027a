//! The checkpoint from which a run goes on, and which games it must go on to hold out. `learn/torch/resume.rs` and
//! `learn/sparse/resume.rs` restore what it holds; a run of `rl` goes on in `play/rl/run/resume.rs`.

use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};

use super::RunFolder;
use super::folder::list;

impl RunFolder {
    /// Returns the result of `read` for the newest readable checkpoint, or the error of the newest.
    pub fn resumed<T>(&self, read: impl Fn(&Path) -> Result<T>) -> Result<T> {
        let mut newest = None;
        for path in list(self.path()).iter().rev() {
            match read(path) {
                Ok(value) => return Ok(value),
                Err(error) => {
                    log::warn!("{error:#}; skipped");
                    newest.get_or_insert(error);
                }
            }
        }
        let none = || anyhow!("it contains no checkpoint");
        Err(newest.unwrap_or_else(none))
            .with_context(|| format!("{} cannot be resumed", self.path().display()))
    }
}

/// Fails if a resumed run would split the games differently: it would train on held-out games, or validate on games
/// that it has learnt.
pub fn same_split(before: u64, now: u64) -> Result<()> {
    ensure!(
        before == now,
        "validation_percent was {before} and cannot become {now} in a run that is resumed: {}; keep it, or start a new \
         run",
        if now < before {
            "held-out games would become training games"
        } else {
            "games that were learnt would become held-out games"
        }
    );
    Ok(())
}

/// What to warn of when a run that holds out `now` per cent of the games begins with a network whose run held out
/// `before`: with more of them held out, some were learnt.
pub fn seen_before(before: u64, now: u64) -> Option<String> {
    (now > before).then(|| {
        format!(
            "the initial network was trained with validation_percent {before}, this run has {now}: it may have learnt \
             games that are held out here, and validations then flatter it"
        )
    })
}
