//! Rest of a worker that cannot resume any slot.

use std::time::Duration;

use crate::{
    timer::Clock,
    worker::{Worker, WorkerLocal},
};

/// Longest sleep: clocks and devices do not take unbounded times, which timers may have.
const SLEEP_MAX: Duration = Duration::from_secs(24 * 60 * 60);

impl<L: WorkerLocal> Worker<L> {
    /// Polls the inbox for a while, then sleeps: there is nothing to resume.
    pub(super) fn idle(&mut self, at_most: Option<Duration>) {
        self.housekeep();
        self.local.poll(true);
        let since = self.mark_own();
        let waits_for_device = self.at_device > 0;
        self.rest(since, at_most);
        let rested = self.clock.now().saturating_sub(since);
        if let Some(tuner) = &mut self.tuner {
            // With more in flight there would have been something to do while the device was busy.
            match waits_for_device {
                true => tuner.interrupt(),
                false => tuner.rested(rested.as_nanos() as u64),
            }
        }
    }

    fn rest(&mut self, since: Duration, at_most: Option<Duration>) {
        let spin_until = since + Duration::from_micros(self.config.idle_spin_us.into());
        let wishes = [at_most, self.timers.next(), self.overdue_in(since)];
        let at_most = wishes.into_iter().flatten().min();
        let at_most = at_most.map(|at_most| at_most.min(SLEEP_MAX));
        if at_most == Some(Duration::ZERO) || self.stopping && self.is_out_of_work() {
            return;
        }
        let sleep_until = at_most.map(|at_most| self.clock.now() + at_most);
        while matches!(self.clock, Clock::Real(_))
            && (self.clock.now() < spin_until || self.spins_on_device())
        {
            if sleep_until.is_some_and(|until| self.clock.now() >= until) {
                return;
            }
            if !self.inbox.is_empty() {
                return;
            }
            std::hint::spin_loop();
            self.local.poll(true);
        }
        let wish = self.local.before_sleep();
        let at_most = match (at_most, wish) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.stats.sleeps += 1;
        self.publish();
        self.inbox
            .sleep(at_most, |at_most| self.local.sleep(at_most));
        self.local.after_sleep();
    }
}
