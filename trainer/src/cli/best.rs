//! `best`: the best network over all runs.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::judge::evaluate::report::markdown;
use crate::judge::evaluate::{BestMeasure, BestOfRun, best_of_runs};

/// Find the best network over all runs, by their validations
#[derive(Args, Debug)]
#[command(after_help = "Example: philidor-trainer best runs/\n\
    Every folder below with a metrics.jsonl is a run; its best validation counts. Losses are comparable between runs that \
    hold out the same games and take the softmax over the same moves (mask_illegal). `evaluate accuracy` compares networks \
    on the same positions.")]
pub struct BestArgs {
    /// Folders of runs
    #[arg(default_value = "runs", value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// What is compared
    #[arg(long, value_enum, default_value_t = BestMeasure::PolicyLoss)]
    by: BestMeasure,
    /// Print the path of the best run's network alone: its best checkpoint, or where none is kept its last one, which may
    /// be later than the validation that is compared
    #[arg(long)]
    path: bool,
}

impl BestArgs {
    /// Prints a table, best first, or the best network's path.
    ///
    /// # Errors
    ///
    /// A folder cannot be read, or no run in it has a validation.
    pub fn run(&self) -> Result<()> {
        let runs = best_of_runs(&self.folders, self.by)?;
        let mut out = io::stdout().lock();
        if self.path {
            let network = runs[0].network.as_ref();
            let network = network
                .ok_or_else(|| anyhow::anyhow!("{} has no checkpoint any more", runs[0].folder.display()))?;
            writeln!(out, "{}", network.display())?;
            return Ok(());
        }
        let head = ["run", "samples", "policy loss", "WDL loss", "top-1", "network"].map(str::to_owned);
        let loss = |loss: Option<f64>| loss.map_or("–".to_owned(), |loss| format!("{loss:.4}"));
        let row = |run: &BestOfRun| {
            vec![
                run.folder.display().to_string(),
                run.samples.to_string(),
                loss(run.policy_loss),
                loss(run.wdl_loss),
                run.top1.map_or("–".to_owned(), |top1| format!("{:.2} %", 100.0 * top1)),
                run.network.as_ref().map_or("–".to_owned(), |path| path.display().to_string()),
            ]
        };
        writeln!(out, "{}", markdown(head.into(), runs.iter().map(row).collect()))?;
        Ok(())
    }
}
