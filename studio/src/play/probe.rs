//! What the engines can do: each is started once.

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::{mpsc, watch};

use super::crew::{elo_range, plays_levels, plays_with_a_network, range_of};
use super::levels::{Level, LevelView};
use super::seats::{ActionError, Seat};
use super::view::EngineView;
use crate::engines::{EngineEvent, OptionSpec, Roster, start};

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
    for spec in roster.engines() {
        let (name, sender) = (spec.name.clone(), sender.clone());
        let (report, mut reported) = mpsc::unbounded_channel();
        let handle = start(spec, move |event| {
            let _ = report.send(event);
        });
        tokio::spawn(async move {
            let answer = match reported.recv().await {
                Some(EngineEvent::Ready { options, .. }) => Ok(options),
                Some(EngineEvent::Failed { reason }) => Err(reason),
                _ => Err("did not start".to_owned()),
            };
            drop(handle);
            let _ = sender.send((name, answer));
        });
    }
    probed
}
