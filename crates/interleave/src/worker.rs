//! The worker: one thread's scheduler.
//!
//! A worker has a *hot rotation* (slots that wait for memory, resumed one after
//! the other, round and round), parked slots (waiting for an event, found again
//! through their wakers) and a queue of tasks that wait for room. Nothing in the
//! rotation allocates, takes a latch or touches memory that other threads write;
//! inbox, timers and housekeeping are looked at once per round or more rarely.
//!
//! A worker needs no thread of its own: [`Worker::run`] turns the calling thread
//! into one, [`Worker::run_until`] lends it for one task, and the `step_*`
//! functions let a simulator decide what runs next.
//!
//! A panic in a task ends that task: it is caught around the rotation (so that
//! the rotation itself pays nothing), the slot's future is dropped, the others
//! go on.

mod admission;
mod handle;
mod idle;
mod intake;
mod local;
mod rotation;
mod steps;

use std::{
    cell::Cell,
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

pub use self::{handle::Handle, local::WorkerLocal};
use crate::{
    config::{InFlight, WorkerConfig},
    inbox::{Inbox, Start},
    slot::Slot,
    stats::WorkerStats,
    task::{JoinHandle, Source, Ticket, drop_panicked},
    timer::{Clock, Timers},
    tuner::Tuner,
};

/// Resumptions (a finished task counts as several) between two housekeepings.
const HOUSEKEEPING_INTERVAL: u64 = 2048;

thread_local! {
    static WORKERS_ON_THREAD: Cell<u32> = const { Cell::new(0) };
}

/// Whether a worker is running on this thread.
pub(crate) fn on_worker_thread() -> bool {
    WORKERS_ON_THREAD.get() > 0
}

struct Running;

impl Running {
    fn new() -> Running {
        WORKERS_ON_THREAD.set(WORKERS_ON_THREAD.get() + 1);
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        WORKERS_ON_THREAD.set(WORKERS_ON_THREAD.get() - 1);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Whereabouts {
    Free,
    Hot,
    Parked,
}

/// One thread's scheduler. See the module text.
pub struct Worker<L: 'static> {
    local: Rc<L>,
    inbox: Arc<Inbox<L>>,
    config: WorkerConfig,
    timers: Rc<Timers>,
    clock: Clock,
    /// All slots by index, and where each is.
    slots: Vec<(Rc<Slot>, Whereabouts, Option<Arc<Ticket>>)>,
    free: Vec<u32>,
    hot: Vec<Rc<Slot>>,
    queue: VecDeque<(Box<dyn Start<L>>, Arc<Ticket>)>,
    source: Option<Box<dyn Source<L>>>,
    in_flight: usize,
    tuner: Option<Tuner>,
    stopping: bool,
    stats: WorkerStats,
    since_housekeeping: u64,
}

impl<L: WorkerLocal> Worker<L> {
    /// A worker for the thread that will run it.
    pub fn new(config: WorkerConfig, local: Rc<L>, clock: Clock) -> Worker<L> {
        let mut worker = Worker {
            local,
            inbox: Inbox::new(),
            config,
            timers: Timers::new(clock.clone()),
            clock,
            slots: Vec::new(),
            free: Vec::new(),
            hot: Vec::new(),
            queue: VecDeque::new(),
            source: None,
            in_flight: 1,
            tuner: None,
            stopping: false,
            stats: WorkerStats::default(),
            since_housekeeping: 0,
        };
        worker.configure(config);
        worker
    }

    /// For other threads (and this one) to send tasks.
    pub fn handle(&self) -> Handle<L> {
        Handle {
            inbox: self.inbox.clone(),
        }
    }

    /// What the worker carries for its tasks.
    pub fn local(&self) -> &Rc<L> {
        &self.local
    }

    /// Changes the configuration from the next round on.
    pub fn configure(&mut self, config: WorkerConfig) {
        self.config = config;
        self.tuner = match config.in_flight {
            InFlight::Auto => Some(Tuner::new()),
            InFlight::Fixed(_) => None,
        };
        self.apply_in_flight();
    }

    fn apply_in_flight(&mut self) {
        self.in_flight = match (&self.tuner, self.config.in_flight) {
            (Some(tuner), _) => tuner.in_flight(),
            (None, InFlight::Fixed(n)) => n.max(1),
            (None, InFlight::Auto) => unreachable!("configure made a tuner"),
        };
        for (slot, ..) in &self.slots {
            slot.set_suspends(self.in_flight > 1);
        }
        self.stats.in_flight = self.tuner.as_ref().map_or(self.in_flight, Tuner::settled) as u64;
    }

    /// Draws tasks from `source` whenever there is room and nothing is queued.
    pub fn set_source(&mut self, source: impl Source<L>) {
        self.source = Some(Box::new(source));
    }

    /// Ends [`Worker::run`] once every task that was sent before has ended.
    pub fn stop(&mut self) {
        self.stopping = true;
        self.source = None;
    }

    /// Works until [`Worker::stop`].
    pub fn run(&mut self) {
        let _running = Running::new();
        while !(self.stopping && self.is_out_of_work()) {
            self.round(None);
        }
        self.publish();
    }

    /// Works until `task` has ended, and returns its result. Other tasks make
    /// progress meanwhile and stay where they are afterwards.
    pub fn run_until<T>(&mut self, task: JoinHandle<T, L>) -> Result<T, crate::task::Lost> {
        {
            let _running = Running::new();
            while !task.is_ready() {
                self.round(None);
            }
            self.publish();
        }
        pollster::block_on(task)
    }

    /// Works until nothing is left to do but wait for events from outside (its
    /// own timers are waited for).
    pub fn run_until_idle(&mut self) {
        let _running = Running::new();
        loop {
            let timers_only = self.hot.is_empty() && self.inbox.is_empty() && !self.has_supply();
            match (timers_only, self.timers.next()) {
                (true, None) => return self.publish(),
                (true, timer) => self.round(timer),
                (false, _) => self.round(Some(Duration::ZERO)),
            }
        }
    }

    fn is_out_of_work(&self) -> bool {
        self.free.len() == self.slots.len() && self.queue.is_empty() && self.inbox.is_empty()
    }

    fn round(&mut self, sleep_at_most: Option<Duration>) {
        self.receive();
        self.timers.fire();
        self.admit();
        if self.hot.is_empty() {
            self.idle(sleep_at_most);
            return;
        }
        self.rotate();
        if self.since_housekeeping >= HOUSEKEEPING_INTERVAL {
            self.housekeep();
        }
    }

    fn housekeep(&mut self) {
        self.since_housekeeping = 0;
        self.local.housekeep();
        if let Some(tuner) = &mut self.tuner {
            let progress = self.local.progress().unwrap_or(self.stats.tasks_finished);
            if tuner.tick(self.clock.now().as_nanos() as u64, progress) {
                self.apply_in_flight();
            }
        }
        self.publish();
    }

    fn publish(&self) {
        self.inbox.stats.publish(&self.stats);
    }
}

impl<L: 'static> Drop for Worker<L> {
    fn drop(&mut self) {
        self.queue.clear();
        self.source = None;
        for (slot, ..) in &self.slots {
            // SAFETY: the worker is being dropped, hence nothing is resumed.
            let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { slot.root() }.clear()));
            if let Err(payload) = dropped {
                drop_panicked(payload, || ());
            }
        }
        // Last: futures that were dropped may have woken or sent something.
        self.inbox.close();
    }
}
