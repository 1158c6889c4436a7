//! Timers of one worker, and the clock they run on.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

use crate::{slice::LongSlice, slot, task::end};

/// The clock of a worker: real, or moved by a simulator.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The operating system's monotonic clock.
    Real(Instant),
    /// Time since the start, moved by hand.
    Manual(Rc<Cell<Duration>>),
}

impl Clock {
    /// Returns the operating system's monotonic clock, starting now.
    pub fn real() -> Clock {
        Clock::Real(Instant::now())
    }

    /// Returns the time since the clock's start.
    pub fn now(&self) -> Duration {
        match self {
            Clock::Real(start) => start.elapsed(),
            Clock::Manual(now) => now.get(),
        }
    }

    /// Returns the processor time of the calling thread, if the clock is real: by a system call.
    pub(crate) fn thread_time(&self) -> Option<Duration> {
        match self {
            Clock::Real(_) => Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).ok(),
            Clock::Manual(_) => None,
        }
    }
}

/// Deadline, and a number that keeps equal deadlines in order.
type Key = (Duration, u64);

pub(crate) struct Timers {
    clock: Clock,
    /// A tree rather than a heap: a sleep that is given up (the usual end of a
    /// time limit) is taken out at once.
    pending: RefCell<BTreeMap<Key, Waker>>,
    sequence: Cell<u64>,
    /// Time at which the worker last read the clock between two resumptions.
    read_at: Cell<Duration>,
    /// The worker's longest slice, for its tasks.
    longest: Cell<Option<LongSlice>>,
}

impl Timers {
    pub(crate) fn new(clock: Clock) -> Rc<Timers> {
        Rc::new(Timers {
            clock,
            pending: RefCell::new(BTreeMap::new()),
            sequence: Cell::new(0),
            read_at: Cell::new(Duration::ZERO),
            longest: Cell::new(None),
        })
    }

    pub(crate) fn now(&self) -> Duration {
        self.clock.now()
    }

    /// Returns the time at which the worker last read the clock between two resumptions: the
    /// running task has run for no longer.
    #[inline]
    pub(crate) fn read_at(&self) -> Duration {
        self.read_at.get()
    }

    pub(crate) fn longest(&self) -> Option<LongSlice> {
        self.longest.get()
    }

    pub(crate) fn set_longest(&self, longest: Option<LongSlice>) {
        self.longest.set(longest);
    }

    pub(crate) fn set_read_at(&self, now: Duration) {
        self.read_at.set(now);
    }

    fn insert(&self, deadline: Duration, waker: Waker) -> Key {
        let sequence = self.sequence.get();
        self.sequence.set(sequence + 1);
        let key = (deadline, sequence);
        self.pending.borrow_mut().insert(key, waker);
        key
    }

    fn remove(&self, key: Key) {
        // The waker may be foreign; its drop must not find the map borrowed.
        let waker = self.pending.borrow_mut().remove(&key);
        drop(waker);
    }

    /// Wakes every task whose timer is due.
    pub(crate) fn fire(&self) {
        if self.pending.borrow().is_empty() {
            return;
        }
        let now = self.clock.now();
        while let Some(waker) = self.due(now) {
            // The waker may be a combinator's: foreign code.
            end(None, || waker.wake());
        }
    }

    fn due(&self, now: Duration) -> Option<Waker> {
        let mut pending = self.pending.borrow_mut();
        let entry = pending.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }

    /// Returns the time until the next deadline.
    pub(crate) fn next(&self) -> Option<Duration> {
        let pending = self.pending.borrow();
        let (&(deadline, _), _) = pending.first_key_value()?;
        Some(deadline.saturating_sub(self.clock.now()))
    }
}

/// Returns a future that waits `duration`, as an event: the slot leaves the hot rotation. The
/// future does not wait outside a worker's slot.
pub fn sleep(duration: Duration) -> Sleep {
    Sleep {
        duration,
        deadline: None,
        registered: None,
    }
}

/// A wait for a duration; see [`sleep`].
#[must_use = "a sleep waits only when it is awaited"]
pub struct Sleep {
    duration: Duration,
    deadline: Option<Duration>,
    registered: Option<Registered>,
}

/// An entry among a worker's timers.
struct Registered {
    timers: Rc<Timers>,
    key: Key,
    /// Waker in that entry, kept so that spurious polls do not add another entry.
    waker: Waker,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.timers.remove(self.key);
    }
}

impl std::fmt::Debug for Sleep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sleep")
            .field("duration", &self.duration)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(timers) = slot::timers() else {
            return Poll::Ready(());
        };
        let now = timers.clock.now();
        let duration = self.duration;
        let deadline = *self
            .deadline
            .get_or_insert_with(|| now.saturating_add(duration));
        if deadline <= now {
            self.registered = None;
            return Poll::Ready(());
        }
        let stands = self.registered.as_ref().is_some_and(|registered| {
            registered.waker.will_wake(context.waker()) && Rc::ptr_eq(&registered.timers, &timers)
        });
        if !stands {
            let waker = context.waker().clone();
            let key = timers.insert(deadline, waker.clone());
            self.registered = Some(Registered { timers, key, waker });
        }
        Poll::Pending
    }
}
