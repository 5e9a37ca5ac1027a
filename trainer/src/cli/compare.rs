use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;

use super::interrupt;
use super::out_args::count;
use crate::base::files::write_file;
use crate::config::bounds::{MAX_SECONDS, MAX_THREADS};
use crate::config::worker_count;
use crate::play::units::{ComparisonPlan, Inbox, OwnWork, compare_by_units};

/// Play matches between search settings, in units of work that other machines can do
///
/// One network (a file, or `embedded`) plays itself with a fixed number of visits on paired openings. Ctrl-C loses only the units in progress;
/// the same command continues. OUT gets each unit's games (philidor-match/1) and finally results.json with the first
/// player's scores in half points.
#[derive(Args, Debug)]
#[command(after_help = "Example, with plan.json:\n  \
    {\"format\": \"philidor-comparison/1\", \"network\": \"nets/philidor.int8.onnx\", \"visits\": 200,\n   \
    \"matches\": [{\"pairs\": 50, \"options\": [[[\"CPuct\", \"2.5\"]], []]}]}\n  \
    philidor-trainer compare plan.json --out runs/cpuct --inbox runs/inbox\n  \
    scripts/fleet.py --inbox runs/inbox --until-done\n\n\
    Other keys: seed, pairs_per_unit, rules (those of rl's arena.rules); a match can have first, the number of its first \
    opening.")]
pub struct CompareArgs {
    /// The plan of the matches (JSON)
    plan: PathBuf,
    /// Folder for the results
    #[arg(long)]
    out: PathBuf,
    /// Let other machines play: list units of work in DIR/wanted.json and take results from DIR
    #[arg(long, value_name = "DIR")]
    inbox: Option<PathBuf>,
    /// With --inbox: start playing here after this many seconds without a result
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(..=MAX_SECONDS))]
    patience: u64,
    /// Threads [default: one per core]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_parser = count(0..=MAX_THREADS))]
    workers: usize,
}

impl CompareArgs {
    pub fn run(&self) -> Result<()> {
        let plan = ComparisonPlan::read(&self.plan)?;
        // Until here a signal ends the program: the plan may be a pipe.
        let stop = interrupt::flag()?;
        let own = OwnWork {
            threads: worker_count(self.workers),
            folder: self.out.join("units"),
            patience: Duration::from_secs(self.patience),
        };
        let inbox = match &self.inbox {
            Some(folder) => Inbox::open(folder, true)?,
            None => Inbox::open(&self.out.join("inbox"), false)?,
        };
        let Some(matches) = compare_by_units(&plan, &inbox, own, &self.out, &stop)? else {
            bail!("stopped before the end; the same command continues");
        };
        for (number, points) in (1..).zip(&matches) {
            say!("match {number}: {}", points.results());
        }
        let text =
            json!({ "format": "philidor-comparison-results/1", "matches": matches }).to_string() + "\n";
        write_file(&self.out.join("results.json"), text.as_bytes())
    }
}
