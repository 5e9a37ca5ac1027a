use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use engine::base::words::counted;

use crate::play::rl::buffer;
use crate::play::rl::networks::RunNetworks;

use super::RlLoop;

impl RlLoop {
    pub(super) fn clean_up(&mut self) -> Result<()> {
        let milestone = |iteration: &u64| iteration.is_multiple_of(self.config.milestone_every);
        let mut iterations = self.nets.iterations();
        iterations.retain(|iteration| !self.state.vetoed.contains(&RunNetworks::name(*iteration)));
        let mut kept: BTreeSet<String> =
            [&self.state.best, &self.state.current].into_iter().cloned().collect();
        let recent = iterations.iter().rev().take(2).copied();
        let needed = recent.chain(iterations.iter().copied().filter(milestone)).map(RunNetworks::name);
        kept.extend(needed);
        let lineups = self.state.lineups.values();
        kept.extend(lineups.flat_map(|lineup| [&lineup.best, &lineup.current]).cloned());
        self.nets.keep(&kept);
        let used: BTreeSet<String> = self.state.buffer.names().into_iter().map(str::to_owned).collect();
        // Leftovers of a killed process: partial files, lists of unfinished games, older training runs.
        for entry in std::fs::read_dir(self.games()).into_iter().flatten().flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "tmp") {
                _ = std::fs::remove_file(entry.path());
            }
        }
        (0..self.state.training).for_each(|number| _ = std::fs::remove_dir_all(self.training(number)));
        for iteration in 1..self.state.iteration {
            let name = self.games_name_of(iteration);
            _ = std::fs::remove_file(self.games().join(format!("{name}.json")));
            if !used.contains(&name) {
                self.remove_games(&name);
            }
        }
        let bound = self.config.disk << 20;
        for iteration in iterations.into_iter().filter(milestone) {
            let name = RunNetworks::name(iteration);
            if size(&self.folder) > bound && name != self.state.best && name != self.state.current {
                kept.remove(&name);
                self.nets.keep(&kept);
            }
        }
        let games = self.games();
        let of = |name: &str| buffer::files(&games, name).iter().map(|path| bytes(path)).sum::<u64>();
        let removed = self.state.buffer.release(size(&self.folder).saturating_sub(bound), of);
        if !removed.is_empty() {
            // The saved state must not refer to deleted files.
            self.save()?;
            removed.iter().for_each(|name| self.remove_games(name));
            let left = self.state.buffer.positions();
            self.log_event(&format!(
                "the games of the oldest {} were deleted, as `disk` is exceeded; {} left",
                counted(removed.len(), "iteration"),
                counted(left, "position")
            ))?;
        }
        if size(&self.folder) > bound {
            log::warn!(
                "{} is larger than the {} MiB that `disk` allows, and nothing more can be deleted",
                self.folder.display(),
                self.config.disk
            );
        }
        Ok(())
    }

    fn remove_games(&self, name: &str) {
        buffer::files(&self.games(), name).iter().for_each(|path| _ = std::fs::remove_file(path));
    }
}

fn bytes(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| metadata.len())
}

fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}
