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

use std::{
    cell::Cell,
    collections::VecDeque,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use crate::{
    config::{InFlight, Scheduling, WorkerConfig},
    inbox::{Inbox, Message, Start},
    slot::{Resumed, Slot, Wait},
    stats::WorkerStats,
    task::{JoinHandle, Place, Source, Ticket, drop_panicked, submit},
    timer::{Clock, Timers},
    tuner::Tuner,
};

/// What a worker carries for its tasks, and calls back between them. One value
/// per worker, reached only on its thread.
pub trait WorkerLocal: 'static {
    /// Called between resumptions, every few dozen microseconds under load.
    fn housekeep(&self) {}

    /// Called before the worker sleeps. `Some(d)` asks to be called again after
    /// `d` at the latest.
    fn before_sleep(&self) -> Option<Duration> {
        None
    }

    /// Called after sleep, before any task is resumed.
    fn after_sleep(&self) {}

    /// A running total of useful work, for [`InFlight::Auto`]. `None`: finished
    /// tasks are counted.
    fn progress(&self) -> Option<u64> {
        None
    }
}

impl WorkerLocal for () {}

/// Resumptions (a finished task counts as sixteen) between two housekeepings.
const HOUSEKEEPING_INTERVAL: u64 = 2048;
const TASK_WEIGHT: u64 = 16;
/// Tasks begun in one place of the rotation before the round goes on.
const STARTS_PER_ROUND_MAX: u32 = 32;

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

/// Sends tasks to one worker, from any thread.
pub struct Handle<L: 'static> {
    inbox: Arc<Inbox<L>>,
}

impl<L: 'static> Clone for Handle<L> {
    fn clone(&self) -> Handle<L> {
        Handle {
            inbox: self.inbox.clone(),
        }
    }
}

impl<L: 'static> std::fmt::Debug for Handle<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

impl<L: WorkerLocal> Handle<L> {
    /// Runs the future that `make` returns on the worker. `make` is called on
    /// the worker's thread, so the future need not be `Send`.
    pub fn submit<T, M, F>(&self, make: M) -> JoinHandle<T, L>
    where
        T: Send + 'static,
        M: FnOnce(&Rc<L>) -> F + Send + 'static,
        F: Future<Output = T> + 'static,
    {
        submit(&self.inbox, make)
    }

    /// Runs `order` on the worker between two rounds: to set a source or change
    /// the configuration.
    pub fn order(&self, order: impl FnOnce(&mut Worker<L>) + Send + 'static) {
        self.inbox.send(Message::Order(Box::new(order)));
    }

    /// Submitted tasks that have not ended.
    pub fn open_tasks(&self) -> u64 {
        self.inbox.open.load(Ordering::Relaxed)
    }

    /// Whether the worker has been shut down.
    pub fn is_closed(&self) -> bool {
        self.inbox.is_closed()
    }

    /// The worker's counters as last published (at most milliseconds old under
    /// load).
    pub fn stats(&self) -> WorkerStats {
        self.inbox.stats.read()
    }
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

    /// Takes in what other threads sent.
    pub fn receive(&mut self) {
        while !self.inbox.is_empty() {
            match self.inbox.receive() {
                None => return,
                Some(Message::Start(task, ticket)) => self.queue.push_back((task, ticket)),
                Some(Message::Wake(handle)) => {
                    handle.clear();
                    self.woken(handle.index());
                }
                Some(Message::Cancel(ticket)) => self.cancel(&ticket),
                Some(Message::Order(order)) => order(self),
            }
        }
    }

    fn woken(&mut self, index: u32) {
        let (slot, place, _) = &mut self.slots[index as usize];
        match place {
            Whereabouts::Free => {}
            // It may have been woken for something that is not its armed leaf.
            Whereabouts::Hot => slot.disarm_any(),
            Whereabouts::Parked => {
                slot.disarm_any();
                *place = Whereabouts::Hot;
                self.hot.push(slot.clone());
            }
        }
    }

    fn cancel(&mut self, ticket: &Arc<Ticket>) {
        if let Some(at) = self
            .queue
            .iter()
            .position(|(_, queued)| Arc::ptr_eq(queued, ticket))
        {
            self.queue.remove(at);
            self.ended();
            self.stats.tasks_cancelled += 1;
            return;
        }
        let found = self
            .slots
            .iter()
            .position(|(_, _, t)| t.as_ref().is_some_and(|t| Arc::ptr_eq(t, ticket)));
        let Some(index) = found else { return };
        if let Some(at) = self
            .hot
            .iter()
            .position(|slot| slot.index() == index as u32)
        {
            self.hot.swap_remove(at);
        }
        self.stats.tasks_cancelled += 1;
        let slot = self.slots[index].0.clone();
        // SAFETY: no slot is being resumed: this runs between rounds.
        let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { slot.root() }.clear()));
        if let Err(payload) = dropped {
            drop_panicked(payload, || ());
        }
        self.release(index as u32);
    }

    fn ended(&self) {
        self.inbox.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Begins tasks while there is room.
    pub fn admit(&mut self) {
        if self.config.scheduling == Scheduling::StrictBatch && !self.hot.is_empty() {
            return;
        }
        while self.hot.len() < self.in_flight && self.has_supply() {
            let Some(slot) = self.vacant() else { return };
            self.slots[slot.index() as usize].1 = Whereabouts::Hot;
            self.hot.push(slot.clone());
            if !self.fill_contained(&slot) {
                self.hot.pop();
                self.release(slot.index());
            }
        }
    }

    #[inline]
    fn has_supply(&self) -> bool {
        !self.queue.is_empty() || self.source.is_some()
    }

    fn vacant(&mut self) -> Option<Rc<Slot>> {
        if let Some(index) = self.free.pop() {
            return Some(self.slots[index as usize].0.clone());
        }
        if self.slots.len() >= self.config.open_tasks_max {
            return None;
        }
        let index = self.slots.len() as u32;
        let slot = Slot::new(
            index,
            self.inbox.clone(),
            self.timers.clone(),
            self.in_flight > 1,
        );
        self.slots.push((slot.clone(), Whereabouts::Free, None));
        Some(slot)
    }

    /// [`Worker::fill`] outside the rotation's own containment.
    fn fill_contained(&mut self, slot: &Rc<Slot>) -> bool {
        match catch_unwind(AssertUnwindSafe(|| self.fill(slot))) {
            Ok(filled) => filled,
            Err(payload) => {
                // Only a source's own code can get here; it is not asked again.
                drop_panicked(payload, || self.source = None);
                false
            }
        }
    }

    /// Puts the next task into an empty slot. False when there is none.
    #[inline]
    fn fill(&mut self, slot: &Rc<Slot>) -> bool {
        // SAFETY: the slot is empty and not being resumed.
        let root = unsafe { slot.root() };
        while let Some((task, ticket)) = self.queue.pop_front() {
            if ticket.cancelled.load(Ordering::Acquire) {
                self.stats.tasks_cancelled += 1;
                self.ended();
                continue;
            }
            task.start(&self.local, Place::new(root));
            if root.is_empty() {
                // The closure that makes the future panicked; its handle knows.
                self.stats.tasks_panicked += 1;
                self.ended();
                continue;
            }
            self.slots[slot.index() as usize].2 = Some(ticket);
            return true;
        }
        if let Some(source) = &mut self.source {
            source.next(&self.local, Place::new(root));
            if !root.is_empty() {
                return true;
            }
            self.source = None;
        }
        false
    }

    fn release(&mut self, index: u32) {
        let (_, place, ticket) = &mut self.slots[index as usize];
        *place = Whereabouts::Free;
        if ticket.take().is_some() {
            self.ended();
        }
        self.free.push(index);
    }

    /// One turn for every slot in the hot rotation.
    fn rotate(&mut self) {
        let mut cursor = 0;
        while let Err(payload) = catch_unwind(AssertUnwindSafe(|| self.rotate_from(&mut cursor))) {
            self.contain(cursor, payload);
        }
    }

    /// Ends the task at `cursor`, which has panicked.
    fn contain(&mut self, cursor: usize, payload: Box<dyn std::any::Any + Send>) {
        self.stats.tasks_panicked += 1;
        let slot = self.hot.swap_remove(cursor);
        drop_panicked(payload, || {
            // SAFETY: the slot's resumption has just unwound.
            let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { slot.root() }.clear()));
            if let Err(second) = dropped {
                drop_panicked(second, || ());
            }
        });
        self.release(slot.index());
    }

    #[inline]
    fn rotate_from(&mut self, cursor: &mut usize) {
        let refill = self.config.scheduling == Scheduling::Pipelined;
        let mut starts_left = STARTS_PER_ROUND_MAX;
        while *cursor < self.hot.len() {
            let slot: *const Slot = &*self.hot[*cursor];
            self.since_housekeeping += 1;
            self.stats.resumptions += 1;
            // SAFETY: the slot is kept by `slots`, whose entries are never removed
            // while the worker lives; hot slots have a future; nothing else is
            // being resumed here.
            match unsafe { (*slot).resume() } {
                Resumed::Pending(Wait::Memory) => {
                    self.stats.waits_memory += 1;
                    *cursor += 1;
                }
                Resumed::Pending(Wait::Event) => self.park(*cursor),
                Resumed::Done => {
                    self.finished(*cursor, refill && starts_left > 0);
                    starts_left = starts_left.saturating_sub(1);
                }
            }
        }
    }

    fn park(&mut self, cursor: usize) {
        self.stats.waits_event += 1;
        let slot = self.hot.swap_remove(cursor);
        self.slots[slot.index() as usize].1 = Whereabouts::Parked;
    }

    /// The task at `cursor` has finished: the next one takes its place, or the
    /// slot leaves the rotation.
    #[inline]
    fn finished(&mut self, cursor: usize, refill: bool) {
        self.stats.tasks_finished += 1;
        self.since_housekeeping += TASK_WEIGHT;
        let slot = self.hot[cursor].clone();
        let ticket = &mut self.slots[slot.index() as usize].2;
        if ticket.take().is_some() {
            self.ended();
        }
        // SAFETY: not being resumed.
        self.stats.frame_bytes_max = self
            .stats
            .frame_bytes_max
            .max(unsafe { slot.root() }.bytes() as u64);
        let room = self.hot.len() <= self.in_flight;
        if !(refill && room && self.has_supply() && self.fill(&slot)) {
            self.hot.swap_remove(cursor);
            self.release(slot.index());
        }
    }

    /// Nothing to resume: poll the inbox for a while, then sleep.
    fn idle(&mut self, at_most: Option<Duration>) {
        if let Some(tuner) = &mut self.tuner {
            tuner.interrupt();
        }
        self.housekeep();
        let spin_until = self.clock.now() + Duration::from_micros(self.config.idle_spin_us.into());
        let at_most = match (at_most, self.timers.next()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if at_most == Some(Duration::ZERO) || self.stopping && self.is_out_of_work() {
            return;
        }
        while matches!(self.clock, Clock::Real(_)) && self.clock.now() < spin_until {
            if !self.inbox.is_empty() {
                return;
            }
            std::hint::spin_loop();
        }
        let wish = self.local.before_sleep();
        let at_most = match (at_most, wish) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.stats.sleeps += 1;
        self.publish();
        self.inbox.sleep(at_most);
        self.local.after_sleep();
    }

    /// For simulators: number of slots that could be resumed now.
    pub fn step_choices(&self) -> usize {
        self.hot.len()
    }

    /// For simulators: resumes the `choice`-th of [`Worker::step_choices`].
    pub fn step(&mut self, choice: usize) {
        let _running = Running::new();
        let slot = self.hot[choice].clone();
        self.since_housekeeping += 1;
        // SAFETY: as in `rotate_from`.
        match catch_unwind(AssertUnwindSafe(|| unsafe { slot.resume() })) {
            Ok(Resumed::Pending(Wait::Memory)) => {}
            Ok(Resumed::Pending(Wait::Event)) => self.park(choice),
            Ok(Resumed::Done) => self.finished(choice, false),
            Err(payload) => self.contain(choice, payload),
        }
    }

    /// For simulators: fires due timers, takes messages in, begins tasks.
    pub fn step_intake(&mut self) {
        let _running = Running::new();
        self.receive();
        self.timers.fire();
        self.receive();
        self.admit();
    }

    /// For simulators: calls the housekeeping of the local.
    pub fn step_housekeep(&mut self) {
        self.housekeep();
    }

    /// For simulators: time until the next timer.
    pub fn step_next_timer(&self) -> Option<Duration> {
        self.timers.next()
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
