//! One simulated worker, and its work.

use std::{cell::Cell, future::Future, rc::Rc, sync::Arc, time::Duration};

use engine::{Database, Session};
use interleave::{
    Clock, FromFn, Handle, InFlight, JoinHandle, Scheduling, Worker, WorkerConfig, WorkerLocal,
};

use crate::{dice::Dice, failure::Reason, parameters::Parameters};

/// A worker whose steps are chosen from outside.
pub(crate) struct Berth {
    worker: Worker<Session>,
    handle: Handle<Session>,
    naps: bool,
}

impl Berth {
    pub(crate) fn new(
        database: &Arc<Database>,
        parameters: &Parameters,
        clock: &Rc<Cell<Duration>>,
        dice: &mut Dice,
    ) -> Result<Berth, Reason> {
        let session = Session::with_clock(database, Clock::Manual(clock.clone()))
            .map_err(|error| Reason::Setup(error.to_string()))?;
        let scheduling = if dice.chance(800) {
            Scheduling::Pipelined
        } else {
            Scheduling::StrictBatch
        };
        let config = WorkerConfig {
            in_flight: InFlight::Fixed(dice.between(2, parameters.in_flight_max)),
            scheduling,
            open_tasks_max: dice.between(4, 60),
            idle_spin_us: 0,
            ..WorkerConfig::default()
        };
        let worker = Worker::new(config, session, Clock::Manual(clock.clone()));
        Ok(Berth {
            handle: worker.handle(),
            worker,
            naps: false,
        })
    }

    pub(crate) fn session(&self) -> Rc<Session> {
        self.worker.local().clone()
    }

    pub(crate) fn handle(&self) -> Handle<Session> {
        self.handle.clone()
    }

    pub(crate) fn open_tasks(&self) -> u64 {
        self.handle.open_tasks()
    }

    pub(crate) fn has_tasks(&self) -> bool {
        self.open_tasks() > 0
    }

    pub(crate) fn submit<M, F>(&self, make: M) -> JoinHandle<(), Session>
    where
        M: FnOnce(&Rc<Session>) -> F + Send + 'static,
        F: Future<Output = ()> + 'static,
    {
        self.handle.submit(make)
    }

    /// Draws further tasks from `source`, until it has none.
    pub(crate) fn draw<F>(&mut self, mut source: impl FnMut() -> Option<F> + 'static)
    where
        F: Future<Output = ()> + 'static,
    {
        self.worker
            .set_source(FromFn(move |_: &Rc<Session>| source()));
    }

    /// Returns whether a slot could be resumed.
    pub(crate) fn is_busy(&self) -> bool {
        self.worker.step_choices() > 0
    }

    /// Returns whether some task that the worker took in, or drew, has not
    /// ended.
    pub(crate) fn is_under_way(&self) -> bool {
        self.worker.step_open_tasks() > 0
    }

    /// Resumes any slot, if there is one.
    pub(crate) fn resume(&mut self, dice: &mut Dice) {
        let choices = self.worker.step_choices();
        if choices > 0 {
            self.wake();
            self.worker.step(dice.below(choices));
        }
    }

    pub(crate) fn take_in(&mut self) {
        self.wake();
        self.worker.step_intake();
    }

    pub(crate) fn housekeep(&mut self) {
        self.wake();
        self.worker.step_housekeep();
    }

    /// Goes to sleep like a worker that has nothing to resume. It may have
    /// parked transactions.
    pub(crate) fn nap(&mut self) {
        if self.worker.step_choices() == 0 && !self.naps {
            self.worker.step_housekeep();
            self.worker.local().before_sleep();
            self.naps = true;
        }
    }

    fn wake(&mut self) {
        if std::mem::take(&mut self.naps) {
            self.worker.local().after_sleep();
        }
    }

    pub(crate) fn next_timer(&self) -> Option<Duration> {
        self.worker.step_next_timer()
    }

    /// Returns whether the session, with nothing open, has nothing left to
    /// free.
    pub(crate) fn is_clean(&mut self) -> bool {
        self.wake();
        self.naps = true;
        let wait = self.worker.local().before_sleep();
        !self.worker.local().has_garbage() && wait != Some(Duration::ZERO)
    }

    /// Returns the number of tasks that panicked.
    pub(crate) fn panicked(&mut self) -> u64 {
        self.housekeep();
        self.handle.stats().tasks_panicked
    }
}
