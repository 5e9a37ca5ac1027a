//! What a board does while some tab shows it, and when nobody has looked at it for a while.

use std::collections::HashSet;
use std::time::Instant;

use tokio::sync::OwnedSemaphorePermit;

use super::super::analysts::ANALYSTS;
use super::{Table, eyes_on, names};

impl Table {
    /// `shown` has the [`names`] of the streams that tabs show, and [`eyes_on`] every board in a visible window.
    pub(super) fn look_around(&mut self, shown: &HashSet<String>) {
        let (is_shown, is_seen) = (shown.contains(&names(self.id)[0]), shown.contains(&eyes_on(self.id)));
        let now = Instant::now();
        let comes_into_view = is_shown && !self.is_shown;
        if is_shown != self.is_shown {
            self.is_shown = is_shown;
            self.sleeps_at = (!is_shown).then_some(now + self.around.linger);
            self.is_asleep &= !is_shown;
        }
        let is_new = is_seen && !self.is_seen;
        self.is_seen = is_seen;
        let goes_on = is_new && self.session.attach(now);
        if comes_into_view || goes_on {
            self.drive();
            self.publish();
        }
    }

    /// The time has come for a flag to fall, or for the board to fall asleep.
    pub(super) async fn pass_time(&mut self) {
        let now = Instant::now();
        if self.session.flag(now) {
            self.changed().await;
        }
        if self.sleeps_at.is_some_and(|sleeps_at| sleeps_at <= now) {
            self.fall_asleep();
        }
    }

    pub(super) fn fall_asleep(&mut self) {
        (self.sleeps_at, self.is_asleep) = (None, true);
        // Their engines end: they begin anew when somebody looks.
        (0..ANALYSTS).for_each(|number| self.turn(number, self.analysts[number].thoughts.node));
        self.drive();
        self.publish();
    }

    fn wants_analysis(&self) -> bool {
        !self.is_asleep && self.analysts.iter().any(|analyst| analyst.settings.on)
    }

    /// As many other boards are analysed as may be.
    pub(super) fn waits(&self) -> bool {
        self.wants_analysis() && self.permit.is_none()
    }

    pub(super) fn seek_permit(&mut self) {
        if !self.wants_analysis() {
            self.permit = None;
        } else if self.permit.is_none() {
            self.permit = self.around.permits.clone().try_acquire_owned().ok();
            if self.permit.is_none() {
                self.around.wanted.notify_waiters();
            }
        }
    }

    pub(super) fn take_permit(&mut self, permit: OwnedSemaphorePermit) {
        self.permit = Some(permit);
        self.drive();
        self.publish();
    }
}
