//! What the engines can do: each is started once, a few at a time.

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::{Semaphore, mpsc, watch};

use super::crew::{elo_range, plays_levels, plays_with_a_network, range_of};
use super::levels::{Level, LevelView};
use super::seats::{ActionError, Seat};
use super::view::EngineView;
use crate::engines::{EngineEvent, EngineSpec, OptionSpec, Roster, start};

/// Engines that are started at once: a folder of networks may make hundreds.
const MOST_AT_ONCE: usize = 4;

/// For the page.
#[derive(Serialize)]
struct KnownView<'a> {
    engines: &'a [EngineView],
    /// The weakest first.
    levels: Vec<LevelView>,
}

#[derive(Clone, Debug)]
pub struct KnownEngines {
    pub views: watch::Receiver<Arc<[EngineView]>>,
    /// The engines and the named levels as JSON.
    pub state: watch::Receiver<Arc<str>>,
}

fn text_of(engines: &[EngineView]) -> Arc<str> {
    let known = KnownView { engines, levels: Level::ALL.map(Level::view).to_vec() };
    serde_json::to_string(&known).expect("engines can be written as JSON").into()
}

/// An engine's name, and its options or the reason why it does not start.
type Probed = (String, Result<Vec<OptionSpec>, String>);

impl KnownEngines {
    /// Starts every engine once. The task ends with the last answer.
    pub fn probe(roster: &Roster) -> KnownEngines {
        let mut known: Vec<_> = roster.engines().iter().map(|spec| EngineView::unknown(&spec.name)).collect();
        let (out, views) = watch::channel(Arc::from(known.clone()));
        let (text_out, state) = watch::channel(text_of(&known));
        let mut probed = start_each(roster);
        let roster = roster.clone();
        tokio::spawn(async move {
            while let Some((name, answer)) = probed.recv().await {
                note(&roster, &mut known, &name, answer);
                out.send_replace(Arc::from(known.clone()));
                text_out.send_replace(text_of(&known));
            }
        });
        KnownEngines { views, state }
    }

    pub fn check_seat(&self, seat: &Seat) -> Result<(), ActionError> {
        let Seat::Engine { name, elo, level } = seat else { return Ok(()) };
        let invalid = |text| Err(ActionError::Invalid(text));
        let views = self.views.borrow();
        let Some(view) = views.iter().find(|view| view.name == *name) else {
            return invalid(format!("There is no engine called {name}: choose another."));
        };
        if level.is_some() && !view.levels {
            return invalid(format!(
                "{name} does not play the named levels, which are Philidor's: choose a rating or full strength."
            ));
        }
        match (elo, view.elo) {
            (Some(elo), Some((low, high))) if !(low..=high).contains(&i64::from(*elo)) => {
                invalid(format!("{name} plays at a rating of {low} to {high}."))
            }
            (Some(_), None) => {
                invalid(format!("The strength of {name} cannot be limited: choose full strength."))
            }
            _ => Ok(()),
        }
    }
}

fn note(roster: &Roster, known: &mut [EngineView], name: &str, answer: Result<Vec<OptionSpec>, String>) {
    let spec = roster.find(name);
    let limits = spec.is_some_and(|spec| plays_with_a_network(&spec.options));
    let Some(view) = known.iter_mut().find(|view| view.name == name) else { return };
    view.known = true;
    match answer {
        Ok(options) => {
            view.elo = elo_range(&options).filter(|_| limits);
            view.levels = spec.is_some_and(|spec| plays_levels(&spec.options, &options));
            view.threads = range_of(&options, "Threads");
            view.hash = range_of(&options, "Hash");
        }
        Err(reason) => view.error = Some(format!("{name} {reason}")),
    }
}

fn start_each(roster: &Roster) -> mpsc::UnboundedReceiver<Probed> {
    let (sender, probed) = mpsc::unbounded_channel();
    let permits = Arc::new(Semaphore::new(MOST_AT_ONCE));
    for spec in roster.engines().iter().cloned() {
        let (sender, permits) = (sender.clone(), permits.clone());
        tokio::spawn(async move {
            let _permit = permits.acquire_owned().await;
            let answer = ask(&spec).await;
            let _ = sender.send((spec.name, answer));
        });
    }
    probed
}

async fn ask(spec: &EngineSpec) -> Result<Vec<OptionSpec>, String> {
    let (report, mut reported) = mpsc::unbounded_channel();
    let _handle = start(spec, move |event| {
        let _ = report.send(event);
    });
    match reported.recv().await {
        Some(EngineEvent::Ready { options, .. }) => Ok(options),
        Some(EngineEvent::Failed { reason }) => Err(reason),
        _ => Err("did not start".to_owned()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_a_few_engines_are_started_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (log, go) = (folder.path().join("log"), folder.path().join("go"));
        // Each answers once the file is there.
        let script = format!(
            "while read -r l; do case $l in uci) echo 1 >> {log}; while [ ! -e {go} ]; do sleep 0.01; done; \
             echo -1 >> {log}; echo uciok;; isready) echo readyok;; quit) exit;; esac; done",
            log = log.display(),
            go = go.display()
        );
        let spec = |number: usize| EngineSpec {
            name: format!("engine {number}"),
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.clone()],
            options: Vec::new(),
        };
        let count = 2 * MOST_AT_ONCE + 1;
        let mut known = KnownEngines::probe(&Roster::new(None, (0..count).map(spec).collect()).unwrap());
        let logged = || std::fs::read_to_string(&log).unwrap_or_default();
        while logged().lines().count() < MOST_AT_ONCE {
            tokio::task::yield_now().await;
        }
        std::fs::write(&go, "").unwrap();
        known.views.wait_for(|views| views.iter().all(|view| view.known)).await.unwrap();
        let mut running = 0_i32;
        let text = logged();
        let most = text.lines().map(|change| {
            running += change.parse::<i32>().unwrap();
            running
        });
        assert_eq!((most.max(), text.lines().count()), (Some(MOST_AT_ONCE as i32), 2 * count));
    }
}
