use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, ensure};
use indicatif::HumanCount;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::check::{ResultCheck, check_result};
use super::gather::{Admission, Gathering, OwnWork};
use super::inbox::Inbox;
use super::task::UnitTask;
use super::unit::{Unit, UnitKind};
use super::unit_rules::MatchUnitRules;
use crate::base::files::{make_folder, write_file};
use crate::base::network::{Backend, load_network};
use crate::base::progress::{Counted, games_per_hour, progress};
use crate::config::MatchRules;
use crate::data::record::GameRecord;
use crate::play::arena::{MatchResults, halves_of};

const FORMAT: &str = "philidor-comparison/1";

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComparisonPlan {
    pub format: String,
    /// A file, or `embedded`.
    pub network: PathBuf,
    pub visits: u64,
    #[serde(default)]
    pub rules: MatchRules,
    #[serde(default = "one")]
    pub seed: u64,
    #[serde(default = "pairs_per_unit")]
    pub pairs_per_unit: u64,
    pub matches: Vec<ComparedMatch>,
    /// More plans follow, for which workers wait.
    #[serde(default)]
    pub more: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComparedMatch {
    /// Number of the first pair; determines the openings.
    #[serde(default)]
    pub first: u64,
    pub pairs: u64,
    /// UCI options of each player's search (name, value).
    pub options: [Vec<(String, String)>; 2],
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MatchPoints {
    /// In each pair's first game the first player has White.
    pub halves: Vec<u8>,
}

fn one() -> u64 {
    1
}

fn pairs_per_unit() -> u64 {
    8
}

impl ComparisonPlan {
    pub fn read(path: &Path) -> Result<ComparisonPlan> {
        let at = || path.display().to_string();
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let plan: ComparisonPlan = serde_json::from_slice(&bytes).with_context(at)?;
        ensure!(plan.format == FORMAT, "{}: format is \"{}\", expected \"{FORMAT}\"", at(), plan.format);
        plan.rules.check_visits(plan.visits).with_context(at)?;
        Ok(plan)
    }

    fn match_rules(&self, of: &ComparedMatch) -> MatchUnitRules {
        let rules = MatchRules { workers: 1, ..self.rules.clone() };
        MatchUnitRules { rules, visits: self.visits, options: of.options.clone() }
    }

    pub fn games(&self) -> u64 {
        self.matches.iter().map(|of| 2 * of.pairs).sum()
    }
}

impl MatchPoints {
    pub fn results(&self) -> MatchResults {
        let mut results = MatchResults::default();
        self.halves.chunks_exact(2).for_each(|pair| results.add_pair([pair[0], pair[1]]));
        results
    }
}

struct MatchUnits {
    rules: MatchUnitRules,
    units: Vec<Unit>,
}

/// Other machines find the units in the inbox. Reuses results in the folder. Matches are in order; `None` if interrupted.
pub fn compare_by_units(
    plan: &ComparisonPlan,
    inbox: &Inbox,
    own: OwnWork,
    results: &Path,
    stop: &AtomicBool,
) -> Result<Option<Vec<MatchPoints>>> {
    make_folder(results)?;
    let files = inbox.files();
    let network: Arc<dyn Backend> = Arc::new(load_network(&plan.network)?);
    let input = files.add_network(&plan.network)?;
    let book = match plan.rules.book.is_empty() {
        true => String::new(),
        false => files.add(plan.rules.book.as_ref())?,
    };
    let units = |of: &ComparedMatch| -> Result<MatchUnits> {
        let rules = plan.match_rules(of);
        let mut sent = rules.clone();
        sent.rules.book.clone_from(&book);
        let sent = files.add_json(&sent)?;
        let unit = |numbers| {
            let inputs = vec![input.clone(), input.clone()];
            Unit::new(UnitKind::Match, inputs, sent.clone(), plan.seed, numbers)
        };
        let numbers = of.first..of.first + of.pairs;
        Ok(MatchUnits { rules, units: Unit::parts(numbers, plan.pairs_per_unit).map(unit).collect() })
    };
    let matches = plan.matches.iter().map(units).collect::<Result<Vec<MatchUnits>>>()?;
    let rules: BTreeMap<String, &MatchUnitRules> =
        matches.iter().flat_map(|of| of.units.iter().map(|unit| (unit.file(), &of.rules))).collect();
    let task = |unit: &Unit| -> Result<UnitTask> {
        let rules = rules[&unit.file()];
        let player = |index| rules.network_player(index, &input, Arc::clone(&network));
        Ok(UnitTask::Match(rules.clone(), [player(0)?, player(1)?]))
    };
    let all: Vec<Unit> = matches.iter().flat_map(|of| of.units.iter().cloned()).collect();
    let mut points: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut check = match all.first() {
        Some(unit) => Some(ResultCheck::new(task(unit)?, plan.seed)?),
        None => None,
    };
    let mut checked = |unit: &Unit, path: &Path| -> Result<Result<Vec<u8>>> {
        let with = check.take().expect("there is a unit").for_task(task(unit)?);
        let games = check_result(unit, path, &with);
        check = Some(with);
        Ok(games.map(|games| halves(&games)))
    };
    let mut wanted: Vec<Unit> = Vec::new();
    let mut kept = 0;
    for unit in all {
        let path = results.join(unit.file());
        match path.exists().then(|| checked(&unit, &path)).transpose()? {
            Some(Ok(halves)) => {
                kept += halves.len() as u64;
                points.insert(unit.file(), halves);
            }
            _ if points.contains_key(&unit.file()) || wanted.contains(&unit) => {}
            _ => wanted.push(unit),
        }
    }
    let bar = progress(plan.games(), kept, Counted::Games);
    let mut admit = |unit: &Unit, path: &Path| -> Result<Admission> {
        Ok(match checked(unit, path)? {
            Ok(halves) => {
                let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
                write_file(&results.join(unit.file()), &bytes)?;
                bar.inc(halves.len() as u64);
                points.insert(unit.file(), halves);
                Admission::Taken(Vec::new())
            }
            Err(why) => Admission::Refused(format!("{why:#}")),
        })
    };
    let about = json!({ "matches": plan.matches.len() });
    let gathering = Gathering { inbox, own, ahead: &[], about, stop };
    let report = gathering.run(&wanted, &task, &mut admit, &mut |report| {
        bar.set_message(format!(
            "{}, units: {} by others, {} own, {} refused",
            games_per_hour(bar.position() - kept, bar.elapsed()),
            HumanCount(report.others),
            HumanCount(report.own),
            HumanCount(report.refused)
        ));
        bar.tick();
    })?;
    bar.finish_and_clear();
    if report.stopped {
        return Ok(None);
    }
    let finished = json!({ "finished": !plan.more });
    inbox.publish(std::iter::empty(), &finished)?;
    let of = |of: &MatchUnits| MatchPoints {
        halves: of.units.iter().flat_map(|unit| points[&unit.file()].iter().copied()).collect(),
    };
    Ok(Some(matches.iter().map(of).collect()))
}

fn halves(games: &[GameRecord]) -> Vec<u8> {
    (0..).zip(games).map(|(number, game)| halves_of(number, game)).collect()
}
