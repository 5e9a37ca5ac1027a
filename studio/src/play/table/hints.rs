//! Hints in a game. Their engine is a process of its own, so that neither the opponent nor the clock is disturbed.

use std::time::Duration;

use super::super::crew::{Role, Task, player_options};
use super::super::hint::Hint;
use super::super::seats::ActionError;
use super::Table;

const HINT_TIME: Duration = Duration::from_secs(1);

impl Table {
    /// The first time the piece, the second time the move.
    pub(super) fn ask_hint(&mut self) -> Result<(), ActionError> {
        let not_now = |text: &str| Err(ActionError::NotNow(text.to_owned()));
        if self.session.end().is_some() {
            return not_now("The game is over: the evaluation shows the best moves.");
        }
        if !self.session.person_moves() {
            return not_now("It is not your move: a hint is for the one to move.");
        }
        let Some(spec) = self.around.roster.engines().first() else {
            return not_now("There is no engine to ask for a hint: name one with --engine.");
        };
        let revision = self.session.revision();
        match &mut self.hint {
            Some(hint) if hint.revision == revision => {
                hint.is_whole = !hint.thinking;
                self.show_hint();
            }
            _ => self.hint = Some(Hint::asked(revision, spec.name.clone())),
        }
        Ok(())
    }

    /// Searches for the hint that was asked for. The search of another position ends.
    pub(super) fn drive_hint(&mut self) {
        let revision = self.session.revision();
        match &self.hint {
            Some(Hint { revision: asked, thinking: true, engine, .. }) if *asked == revision => {
                let go = format!("go movetime {}", HINT_TIME.as_millis());
                let task = Task { options: player_options(None), go, longest: HINT_TIME };
                let (engine, game) = (engine.clone(), self.session.game().clone());
                self.ask(Role::Hint, &engine, &game, revision, task);
            }
            _ => {
                self.crew.dismiss(Role::Hint);
            }
        }
    }

    pub(super) async fn take_hint(&mut self, revision: u64, text: &str) {
        let m = self.session.game().game().parse_uci(text);
        match (m, &mut self.hint) {
            (Ok(m), Some(hint)) if hint.revision == revision && self.session.revision() == revision => {
                hint.best = Some(m);
                self.show_hint();
                self.changed().await;
            }
            (Err(_), _) if self.session.revision() == revision => {
                self.hint_failed(&format!("answered \"{text}\", which is no legal move"));
            }
            _ => (),
        }
    }

    pub(super) fn hint_failed(&mut self, reason: &str) {
        self.crew.dismiss(Role::Hint);
        if let Some(hint) = self.hint.take() {
            self.notice = Some(format!("{} {reason}: there is no hint. Ask again.", hint.engine));
            self.publish();
        }
    }

    /// Shows what was asked for, and notes it in the game.
    fn show_hint(&mut self) {
        let Some(hint) = &mut self.hint else { return };
        hint.show(self.session.game());
        if let Some(note) = hint.note() {
            self.session.note_hint(&note, &hint.engine);
        }
    }
}
