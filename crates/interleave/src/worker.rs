//! The worker: one thread's scheduler.
//!
//! A worker has a *hot rotation* (slots that wait for memory, resumed a cohort at a time, so that
//! no slot waits for ever), parked slots (waiting for an event or a device, found again through
//! their wakers; their use of the room depends on [`Scheduling`]) and a queue of tasks that wait
//! for room. Nothing in the rotation allocates, takes a latch or touches memory that other threads
//! write; inbox, timers and housekeeping are looked at once per round or more rarely.
//!
//! A worker needs no thread of its own: [`Worker::run`] turns the calling thread
//! into one, [`Worker::run_until`] lends it for one task, and the `step_*`
//! functions let a simulator decide what runs next.
//!
//! # What foreign code may do
//! Tasks, sources, orders and the values they own may panic wherever they are
//! called or dropped, and cancel or submit tasks from there:
//! - A panic in a task ends that task: it is caught around the rotation (so that
//!   the rotation itself pays nothing), the slot's future is dropped, the others
//!   go on. A panic of a leaf that was resumed directly first goes to the root.
//! - Other foreign code is called or dropped within [`end`], or has its own place where a panic is
//!   caught. Only the worker's [`WorkerLocal`] is trusted.
//! - Foreign code never gets hold of the worker itself: its messages arrive in the inbox and are
//!   looked at between two rounds. Hence [`Slot::root`] is borrowed once at a time. Orders do get
//!   the worker, between rounds, and may call anything.

mod admission;
mod device;
mod frames;
mod handle;
mod idle;
mod intake;
mod local;
mod pace;
mod rotation;
mod steps;

use std::{
    cell::Cell,
    collections::VecDeque,
    future::Future,
    pin::Pin,
    ptr::NonNull,
    rc::Rc,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll, Wake},
    time::Duration,
};

use self::{frames::Frames, pace::Pace};
pub use self::{
    handle::Handle,
    local::{Rouser, WorkerLocal},
};
use crate::{
    class::{Class, Shares},
    config::{InFlight, Scheduling, WorkerConfig},
    demand::Demand,
    gradual,
    inbox::{Inbox, Message, Start},
    slot::Slot,
    stage::{Chained, Cohorts},
    stats::WorkerStats,
    task::{JoinHandle, Lost, Source, Ticket, end},
    timer::{Clock, Timers},
    tuner::{Totals, Tuner, Waiting},
    visits::Visits,
};

/// Resumptions (a finished task counts as several, and so does time) between two housekeepings.
const HOUSEKEEPING_INTERVAL: u64 = 2048;
/// Weight of a look around, in resumptions: where resumptions are long, there is a housekeeping
/// every eighth time, about a millisecond after the last.
const LOOK_WEIGHT: u64 = HOUSEKEEPING_INTERVAL / 8;

thread_local! {
    static WORKERS_ON_THREAD: Cell<u32> = const { Cell::new(0) };
}

/// Returns whether a worker is running on this thread.
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
    /// The slot waits for an event.
    Parked,
    /// The slot waits for the device.
    AtDevice,
    /// The device has answered; the slot waits for room in the rotation.
    Staged,
}

/// A slot in the hot rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HotSlot(NonNull<Slot>);

impl HotSlot {
    fn new(slot: &Rc<Slot>) -> HotSlot {
        HotSlot(NonNull::from(&**slot))
    }

    /// Returns the slot.
    ///
    /// # Safety
    /// The worker that the slot belongs to lives: [`Worker::slots`] keeps the slot, and its entries
    /// are never removed.
    #[inline(always)]
    unsafe fn get<'w>(self) -> &'w Slot {
        // SAFETY: the caller's promise.
        unsafe { self.0.as_ref() }
    }
}

impl Chained for HotSlot {
    #[inline(always)]
    fn next(self) -> Option<HotSlot> {
        // SAFETY: only the worker's rotation calls this, while the worker lives.
        unsafe { self.get() }.next.get().map(HotSlot)
    }

    #[inline(always)]
    fn set_next(self, next: HotSlot) {
        // SAFETY: only the worker's rotation calls this, while the worker lives.
        unsafe { self.get() }.next.set(Some(next.0));
    }
}

/// One thread's scheduler; see the module text.
pub struct Worker<L: 'static> {
    local: Rc<L>,
    inbox: Arc<Inbox<L>>,
    config: WorkerConfig,
    timers: Rc<Timers>,
    clock: Clock,
    /// All slots by index, and the whereabouts of each.
    slots: Vec<(Rc<Slot>, Whereabouts, Option<Arc<Ticket>>)>,
    free: Vec<u32>,
    frames: Frames,
    /// The rotations, one for each [`Class`].
    hot: [Cohorts<HotSlot>; Class::ALL.len()],
    /// The class that has its turn, or had it last.
    class: Class,
    shares: Shares,
    demand: Demand,
    pace: Pace,
    queue: VecDeque<(Box<dyn Start<L>>, Arc<Ticket>)>,
    source: Option<Box<dyn Source<L>>>,
    /// Whether the source is being called, or has panicked in a call.
    asks_source: bool,
    in_flight: usize,
    /// Part of `in_flight` that tasks that wait for the device leave free.
    room: usize,
    /// Whether a finished task is replaced at once.
    refills: bool,
    /// Tasks that wait for the device.
    at_device: usize,
    /// Whether some of these tasks began to wait after the last hand-over to the device.
    asked_device: bool,
    /// Slots of tasks that the device has answered, and that wait for room.
    staging: VecDeque<u32>,
    visits: Visits,
    tuner: Option<Tuner>,
    stopping: bool,
    stats: WorkerStats,
    since_housekeeping: u64,
}

impl<L: WorkerLocal> Worker<L> {
    /// Returns a worker for the thread that will run it.
    pub fn new(config: WorkerConfig, local: Rc<L>, clock: Clock) -> Worker<L> {
        let mut worker = Worker {
            local,
            inbox: Inbox::new(),
            config,
            timers: Timers::new(clock.clone()),
            pace: Pace::new(),
            clock,
            slots: Vec::new(),
            free: Vec::new(),
            frames: Frames::default(),
            hot: [Cohorts::new(), Cohorts::new()],
            class: Class::default(),
            shares: Shares::new(config.batch_percent),
            demand: Demand::new(config.demand_percent),
            queue: VecDeque::new(),
            source: None,
            asks_source: false,
            in_flight: 1,
            room: 1,
            refills: true,
            at_device: 0,
            asked_device: false,
            staging: VecDeque::new(),
            visits: Visits::new(config.scheduling),
            tuner: None,
            stopping: false,
            stats: WorkerStats::default(),
            since_housekeeping: 0,
        };
        worker.configure(config);
        if let Some(rouser) = worker.local.rouser() {
            worker.inbox.rouse_by(rouser);
        }
        worker
    }

    /// Returns a handle by which threads, this one included, send tasks.
    pub fn handle(&self) -> Handle<L> {
        Handle {
            inbox: self.inbox.clone(),
        }
    }

    /// Returns the data that the worker carries for its tasks.
    pub fn local(&self) -> &Rc<L> {
        &self.local
    }

    /// Changes the configuration from the next round on.
    pub fn configure(&mut self, config: WorkerConfig) {
        self.config = config;
        self.config.open_tasks_max = config.open_tasks_max.max(1);
        if config.scheduling == Scheduling::Sequential {
            self.config.in_flight = InFlight::Fixed(1);
        }
        self.tuner = match self.config.in_flight {
            InFlight::Auto => Some(Tuner::new()),
            InFlight::Fixed(_) => None,
        };
        self.visits = Visits::new(config.scheduling);
        self.shares = Shares::new(config.batch_percent);
        self.demand = Demand::new(config.demand_percent);
        self.local.schedule(config.scheduling);
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
        self.visits.rounds_change();
        self.make_room();
        self.stats.in_flight = self.tuner.as_ref().map_or(self.in_flight, Tuner::settled) as u64;
    }

    /// Draws tasks from `source` whenever there is room and nothing is queued.
    pub fn set_source(&mut self, source: impl Source<L>) {
        self.source = Some(Box::new(source));
    }

    /// Ends [`Worker::run`] once every task that was sent before has ended.
    pub fn stop(&mut self) {
        self.stopping = true;
        self.drop_source();
    }

    /// Works until [`Worker::stop`].
    pub fn run(&mut self) {
        let _running = Running::new();
        while !(self.stopping && self.is_out_of_work()) {
            self.round(None);
        }
        gradual::release_all();
        self.publish();
    }

    /// Works until `task`, of this worker or another, has ended, and returns its result. This
    /// worker's other tasks make progress meanwhile and stay where they are afterwards; nothing is
    /// left undone that other workers wait for ([`WorkerLocal::leave`]).
    ///
    /// # Errors
    /// Returns the error that awaiting the task returns.
    pub fn run_until<T>(&mut self, mut task: JoinHandle<T, L>) -> Result<T, Lost> {
        let _running = Running::new();
        // A task of another worker would not rouse this one.
        let onlooker = Arc::new(Onlooker(self.inbox.clone())).into();
        loop {
            let polled = Pin::new(&mut task).poll(&mut Context::from_waker(&onlooker));
            if let Poll::Ready(result) = polled {
                self.leave();
                return result;
            }
            while !task.is_ready() {
                self.round(None);
            }
        }
    }

    /// Works until nothing is left to do but wait for events from outside. The worker waits for its
    /// own timers and devices, unless the clock is moved by hand.
    pub fn run_until_idle(&mut self) {
        let _running = Running::new();
        loop {
            let begins = self.hot_max() > 0
                && self.has_supply()
                && self.has_vacancy()
                && self.local.admits();
            let goes_on = !self.is_at_rest() || !self.staging.is_empty();
            if goes_on || !self.inbox.is_empty() || begins {
                self.round(Some(Duration::ZERO));
                continue;
            }
            let by_hand = matches!(self.clock, Clock::Manual(_));
            match self.timers.next() {
                wait if self.local.awaits_device() && !by_hand => self.round(wait),
                Some(wait) if wait.is_zero() || !by_hand => self.round(Some(wait)),
                _ => return self.leave(),
            }
        }
    }

    /// Prepares for the thread to do something else.
    fn leave(&self) {
        gradual::release_all();
        if matches!(self.clock, Clock::Real(_)) {
            self.local.leave();
        }
        self.publish();
    }

    fn is_out_of_work(&self) -> bool {
        self.free.len() == self.slots.len() && self.queue.is_empty() && self.inbox.is_empty()
    }

    /// Returns whether no slot can be resumed.
    #[inline]
    fn is_at_rest(&self) -> bool {
        self.hot.iter().all(Cohorts::is_empty)
    }

    fn round(&mut self, sleep_at_most: Option<Duration>) {
        self.demand.publish();
        let is_due = self.pace.is_due;
        if self.at_device == 0 || self.visits_device() {
            self.local.poll(false);
        }
        if is_due {
            self.local.look_outside();
            if gradual::is_left() {
                gradual::release_some();
            }
        }
        self.receive();
        if is_due || self.is_at_rest() {
            self.timers.fire();
        }
        self.admit();
        if self.is_at_rest() {
            self.settle_clock();
            if gradual::is_left() {
                // Each of these rounds looks around.
                self.since_housekeeping += LOOK_WEIGHT;
                if self.since_housekeeping >= HOUSEKEEPING_INTERVAL {
                    self.housekeep();
                }
                self.local.poll(true);
                self.mark_own();
                self.pace.is_due = true;
                return;
            }
            self.idle(sleep_at_most);
            self.mark();
            return;
        }
        if is_due {
            self.since_housekeeping += LOOK_WEIGHT;
            self.mark_own();
        }
        self.rotate();
        self.hand_over();
        if self.since_housekeeping >= HOUSEKEEPING_INTERVAL {
            self.settle_clock();
            self.housekeep();
            let was_due = self.pace.is_due;
            self.mark_own();
            self.pace.is_due = was_due;
        }
    }

    fn housekeep(&mut self) {
        self.local.housekeep();
        self.since_housekeeping = match self.local.is_behind() {
            true => HOUSEKEEPING_INTERVAL - LOOK_WEIGHT,
            false => 0,
        };
        self.keep_frames();
        let are_all = self.is_at_rest();
        if let Some(tuner) = &mut self.tuner {
            let finished = self.stats.tasks_finished;
            let totals = Totals {
                progress: self.local.progress().unwrap_or(finished),
                finished,
                answered: self.stats.waits_device - self.at_device as u64,
            };
            let waiting = Waiting {
                for_tasks: self.local.waiting(),
                for_device: self.at_device,
                are_all,
            };
            let now = self.clock.now().as_nanos() as u64;
            if tuner.tick(now, totals, waiting) {
                self.apply_in_flight();
            }
        }
        self.publish();
    }

    fn publish(&self) {
        self.inbox.stats.publish(&self.stats);
    }
}

/// Ends a worker's sleep, or its spinning, to look again.
struct Onlooker<L: 'static>(Arc<Inbox<L>>);

impl<L: 'static> Wake for Onlooker<L> {
    fn wake(self: Arc<Self>) {
        self.0.send(Message::Rouse);
    }
}

impl<L: 'static> Drop for Worker<L> {
    fn drop(&mut self) {
        // A value dropped here may try to block on a task; this is refused.
        let _running = Running::new();
        // The inbox closes first: a value dropped here may send tasks, which no worker would run.
        self.inbox.close();
        while let Some((task, _)) = self.queue.pop_front() {
            end(None, || drop(task));
            self.inbox.open.fetch_sub(1, Ordering::Relaxed);
        }
        let source = self.source.take();
        end(None, || drop(source));
        for (slot, _, ticket) in &self.slots {
            // SAFETY: the worker is being dropped, hence nothing is resumed.
            end(None, || unsafe { slot.vacate() });
            if ticket.is_some() {
                self.inbox.open.fetch_sub(1, Ordering::Relaxed);
            }
        }
        gradual::release_all();
    }
}
