//! When each engine at the table searches, and how its answers are used.

use std::time::Instant;

use shakmaty::Color;

use super::super::analysts::{ANALYSTS, AnalystSettings, FIRST, THREAT, after_pass};
use super::super::crew::{Role, Task, player_limits};
use super::super::pgn::SIDES;
use super::super::played::PlayedGame;
use super::super::seats::{ActionError, Seat};
use super::super::thoughts::PositionValue;
use super::super::variations::game_to;
use super::{Analysed, Table};
use crate::engines::EngineEvent;

impl Table {
    pub(super) fn has_to_move(&self, color: Color) -> bool {
        self.session.engine_to_move().is_some() && self.session.game().turn() == color
    }

    /// Nobody looks at this suspended game: its engine would start the person's clock by its move.
    pub(super) fn rests(&self) -> bool {
        self.session.is_suspended() && !self.is_seen
    }

    /// Starts the searches that the position needs and stops all others.
    pub(super) fn drive(&mut self) {
        for color in SIDES {
            let role = Role::Player(color);
            let seat = self.session.seats().get(color).clone();
            match &seat {
                Seat::Person => {
                    self.crew.dismiss(role);
                }
                Seat::Engine { name, .. } => {
                    if self.has_to_move(color) && !self.stalled && !self.rests() {
                        let (go, longest) = self.session.go(Instant::now());
                        let (options, more) = player_limits(&seat);
                        let task = Task { options, go: go + more, longest };
                        let (game, revision) = (self.session.game().clone(), self.session.revision());
                        self.ask(role, name, &game, revision, task);
                    } else if self.is_asleep {
                        self.crew.dismiss(role);
                    } else {
                        self.crew.stop(role, self.session.revision());
                    }
                }
            }
        }
        self.drive_hint();
        self.turn_analysts();
        self.seek_permit();
        (0..ANALYSTS).for_each(|number| self.drive_analyst(number));
    }

    fn drive_analyst(&mut self, number: usize) {
        let (role, analyst) = (Role::Analyst(number), &self.analysts[number]);
        let AnalystSettings { on, paused, limit, .. } = analyst.settings;
        if !on || self.permit.is_none() {
            self.crew.dismiss(role);
            return;
        }
        let search = analyst.search;
        match analyst.game.clone().filter(|_| !paused) {
            Some(game) => {
                let (go, longest) = limit.go();
                let task = Task { options: analyst.settings.options(), go, longest };
                let first = self.around.roster.engines().first().map(|spec| spec.name.clone());
                if let Some(name) = analyst.settings.engine.clone().or(first) {
                    self.ask(role, &name, &game, search, task);
                }
            }
            None => self.crew.stop(role, search),
        }
    }

    /// Turns the analysts to the position that is looked at. Edits elsewhere in the tree change nothing for them.
    fn turn_analysts(&mut self) {
        let tree = self.session.tree();
        self.values.retain(|node, _| tree.node(*node).is_some());
        self.looked = self.looked.and_then(|node| tree.node(node.index()));
        let node = self.looked.unwrap_or(self.session.at());
        let game = game_to(tree, node, self.session.game().start());
        let command = game.as_ref().map(PlayedGame::position_command);
        let is_same = command == self.analysed.game.as_ref().map(PlayedGame::position_command);
        if is_same && self.analysed.number == self.number {
            self.analysts.iter_mut().for_each(|analyst| analyst.thoughts.node = node.index());
            return;
        }
        self.analysed = Analysed { number: self.number, game };
        (0..ANALYSTS).for_each(|number| self.turn(number, node.index()));
    }

    pub(super) fn turn(&mut self, number: usize, node: u32) {
        let game = self.analysed.game.clone();
        let game = if number == THREAT { game.as_ref().and_then(after_pass) } else { game };
        self.analysts[number].turn_to(node, game);
    }

    /// For the two analysts that a person sets up.
    pub(super) fn set_up(&mut self, number: usize, settings: AnalystSettings) -> Result<(), ActionError> {
        if number >= THREAT {
            return Err(ActionError::Invalid(format!("There are {THREAT} engines to set up: 0 and 1.")));
        }
        if settings.on {
            settings.check(&self.around.engines.views.borrow())?;
        }
        let before = &self.analysts[number].settings;
        let goes_on = |settings: &AnalystSettings| AnalystSettings { paused: false, ..settings.clone() };
        let pauses = settings.on && settings.paused && goes_on(before) == goes_on(&settings);
        if before.needs_restart(&settings) {
            self.crew.dismiss(Role::Analyst(number));
        }
        self.analysts[number].settings = settings;
        if pauses {
            // What it has found stays.
            self.analysts[number].search += 1;
        } else {
            self.turn(number, self.analysts[number].thoughts.node);
        }
        Ok(())
    }

    pub(super) fn turn_threat(&mut self, settings: AnalystSettings) {
        self.analysts[THREAT].settings = settings;
        self.turn(THREAT, self.analysts[THREAT].thoughts.node);
    }

    pub(super) fn ask(&mut self, role: Role, name: &str, game: &PlayedGame, number: u64, task: Task) {
        let Some(spec) = self.around.roster.find(name) else {
            self.stalled = true;
            self.notice = Some(format!("There is no engine called {name} any more: start a new game."));
            return;
        };
        self.crew.seat(role, spec);
        self.crew.ask(role, game, number, task);
    }

    pub(super) async fn hear(&mut self, role: Role, event: EngineEvent) {
        match (event, role) {
            (EngineEvent::Ready { .. }, _) => (),
            (EngineEvent::Failed { reason }, Role::Hint) => self.hint_failed(&reason),
            (EngineEvent::Best { id, text }, Role::Hint) => self.take_hint(id, &text).await,
            (EngineEvent::Info { .. } | EngineEvent::Numbers { .. } | EngineEvent::Tree(_), Role::Hint) => (),
            (EngineEvent::Failed { reason }, _) => self.engine_failed(role, &reason).await,
            (EngineEvent::Info { id, info }, Role::Analyst(number)) => {
                let analyst = &mut self.analysts[number];
                let most = usize::from(analyst.settings.lines);
                if let Some(game) = analyst.game.as_ref().filter(|_| id == analyst.search)
                    && analyst.thoughts.hear(game, &info, most)
                {
                    if let Some(line) = analyst.thoughts.lines.first().filter(|_| number == FIRST) {
                        self.values.insert(analyst.thoughts.node, line.value);
                    }
                    self.publish_thoughts();
                }
            }
            (EngineEvent::Numbers { id, numbers }, Role::Analyst(number)) => {
                let analyst = &mut self.analysts[number];
                if let Some(game) = analyst.game.as_ref().filter(|_| id == analyst.search) {
                    analyst.thoughts.hear_numbers(game, &numbers);
                }
            }
            (EngineEvent::Tree(answer), Role::Analyst(FIRST)) => self.answer_tree(answer),
            (EngineEvent::Tree(_), Role::Analyst(_)) => (),
            (EngineEvent::Best { id, .. }, Role::Analyst(number)) => {
                let analyst = &mut self.analysts[number];
                analyst.thoughts.done |= id == analyst.search;
                self.publish_thoughts();
            }
            (EngineEvent::Numbers { .. } | EngineEvent::Tree(_), Role::Player(_)) => (),
            (EngineEvent::Info { id, info }, Role::Player(color)) => {
                if info.rank == 0 {
                    self.last_score = Some(info.score);
                    let value = PositionValue::of(color, &info);
                    self.move_value = info.pv.into_iter().next().map(|first| (id, first, value));
                }
            }
            (EngineEvent::Best { id, text }, Role::Player(_)) => {
                let before = self.session.at();
                match self.session.move_by_engine(id, &text, Instant::now()) {
                    Ok(()) => {
                        // A weakened engine may play another move than its line's.
                        let is_moves =
                            |(search, first, _): &(u64, String, _)| *search == id && *first == text;
                        let value = self.move_value.take().filter(is_moves);
                        if let Some((_, _, value)) = value.filter(|_| self.session.at() != before) {
                            self.values.insert(self.session.at().index(), value);
                        }
                        self.changed().await;
                    }
                    Err(_) => {
                        let reason = format!("answered \"{text}\", which is no legal move");
                        self.engine_failed(role, &reason).await;
                    }
                }
            }
        }
    }

    /// Restarts an engine after its first failure in a position. After the second, a player waits for `Action::Retry`
    /// and the evaluation is switched off.
    pub(super) async fn engine_failed(&mut self, role: Role, reason: &str) {
        let Some(name) = self.crew.dismiss(role) else { return };
        if role == Role::Analyst(FIRST) {
            self.tree_questions.clear();
        }
        let is_wanted = match role {
            Role::Analyst(number) => self.analysts[number].game.is_some(),
            Role::Player(color) => self.has_to_move(color),
            Role::Hint => false,
        };
        // The engine is started again when there is something to search.
        if !is_wanted {
            return;
        }
        let number = match role {
            Role::Analyst(number) => self.analysts[number].search,
            Role::Player(_) | Role::Hint => self.session.revision(),
        };
        let again = (role, number);
        let stays_down = self.failed_at == Some(again);
        self.failed_at = Some(again);
        self.notice = Some(match (stays_down, role) {
            (false, _) => format!("{name} {reason}. It was started again."),
            (true, Role::Player(_) | Role::Hint) => {
                format!(
                    "{name} {reason}, again. Start it once more, or begin a new game against another engine."
                )
            }
            (true, Role::Analyst(THREAT)) => format!("{name} {reason}, again. Threats are switched off."),
            (true, Role::Analyst(_)) => format!("{name} {reason}, again. Its evaluation is switched off."),
        });
        if stays_down {
            match role {
                Role::Player(_) | Role::Hint => self.stalled = true,
                Role::Analyst(number) => self.analysts[number].settings.on = false,
            }
        }
        self.changed().await;
    }
}
