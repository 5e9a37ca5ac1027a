use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;

use crate::judge::evaluate::report::markdown;
use crate::judge::evaluate::{BestMeasure, BestOfRun, BestOfRuns, best_of_runs};

/// Find the best network over all runs, by their validations
#[derive(Args, Debug)]
#[command(after_help = "Example: philidor-trainer best runs/\n\
    Every folder below with a metrics.jsonl is a run; its best validation counts. Policy losses over legal moves and over\n\
    all outputs (mask_illegal false) are ranked apart, as they are not comparable. Losses are comparable between runs that\n\
    hold out the same games; `evaluate accuracy` compares networks on the same positions.")]
pub struct BestArgs {
    /// Folders of runs
    #[arg(default_value = "runs", value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// The measure to compare
    #[arg(long, value_enum, default_value_t = BestMeasure::PolicyLoss)]
    by: BestMeasure,
    /// Print only the path of the best run's network: its best checkpoint, or else its last, which may be later than
    /// the compared validation
    #[arg(long)]
    path: bool,
}

impl BestArgs {
    pub fn run(&self) -> Result<()> {
        let BestOfRuns { runs, left_out } = best_of_runs(&self.folders, self.by)?;
        left_out.iter().for_each(|why| log::warn!("{why}; left out"));
        let groups: Vec<&[BestOfRun]> = match self.by {
            BestMeasure::PolicyLoss => runs.chunk_by(|a, b| a.loss_over == b.loss_over).collect(),
            BestMeasure::WdlLoss | BestMeasure::Top1 => vec![&runs],
        };
        if self.path {
            ensure!(groups.len() == 1, "{}", not_comparable(&groups));
            let network = runs[0].network.as_ref();
            let network = network
                .ok_or_else(|| anyhow::anyhow!("{} has no checkpoint any more", runs[0].folder.display()))?;
            say!("{}", network.display());
            return Ok(());
        }
        for group in &groups {
            if groups.len() > 1 {
                say!("Policy loss over {}:\n", group[0].loss_over.name());
            }
            say!("{}", table(group));
        }
        if groups.len() > 1 {
            log::warn!("{}", not_comparable(&groups));
        }
        Ok(())
    }
}

fn not_comparable(groups: &[&[BestOfRun]]) -> String {
    let counts = groups.iter().map(|runs| format!("{} over {}", runs.len(), runs[0].loss_over.name()));
    format!(
        "policy losses of these runs cannot be ranked together: {}; rank these runs with --by top1",
        counts.collect::<Vec<_>>().join(", ")
    )
}

fn table(runs: &[BestOfRun]) -> String {
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
    markdown(head.into(), runs.iter().map(row).collect())
}
