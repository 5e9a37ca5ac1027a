//! What a board does while some tab shows it, and when nobody has looked at it for a while.

use std::time::Instant;

use tokio::sync::OwnedSemaphorePermit;

use super::super::analysts::ANALYSTS;
use super::Table;

impl Table {
    pub(super) fn look_around(&mut self, is_shown: bool) {
        if is_shown == self.is_shown {
            return;
        }
        self.is_shown = is_shown;
        let now = Instant::now();
        self.sleeps_at = (!is_shown).then_some(now + self.around.linger);
        if is_shown {
            // Of a game that was suspended.
            self.session.attach(now);
            self.is_asleep = false;
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
