//! Timers of one worker, and the clock they run on.

use std::{
    cell::{Cell, RefCell},
    cmp::Reverse,
    collections::BinaryHeap,
    future::Future,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use crate::slot;

/// The clock of a worker: real, or moved by a simulator.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The operating system's monotonic clock.
    Real(Instant),
    /// Time since the start, moved by hand.
    Manual(Rc<Cell<Duration>>),
}

impl Clock {
    /// The operating system's monotonic clock, starting now.
    pub fn real() -> Clock {
        Clock::Real(Instant::now())
    }

    /// Time since the clock's start.
    pub fn now(&self) -> Duration {
        match self {
            Clock::Real(start) => start.elapsed(),
            Clock::Manual(now) => now.get(),
        }
    }
}

pub(crate) struct Timers {
    clock: Clock,
    /// Earliest first; the second number keeps equal deadlines in order.
    heap: RefCell<BinaryHeap<Reverse<Entry>>>,
    sequence: Cell<u64>,
}

struct Entry {
    deadline: Duration,
    sequence: u64,
    waker: Waker,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        (self.deadline, self.sequence) == (other.deadline, other.sequence)
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        (self.deadline, self.sequence).cmp(&(other.deadline, other.sequence))
    }
}

impl Timers {
    pub(crate) fn new(clock: Clock) -> Rc<Timers> {
        Rc::new(Timers {
            clock,
            heap: RefCell::new(BinaryHeap::new()),
            sequence: Cell::new(0),
        })
    }

    fn insert(&self, deadline: Duration, waker: Waker) {
        let sequence = self.sequence.get();
        self.sequence.set(sequence + 1);
        self.heap.borrow_mut().push(Reverse(Entry {
            deadline,
            sequence,
            waker,
        }));
    }

    /// Wakes everything that is due. True if anything was.
    pub(crate) fn fire(&self) -> bool {
        if self.heap.borrow().is_empty() {
            return false;
        }
        let now = self.clock.now();
        let mut fired = false;
        loop {
            let due = {
                let mut heap = self.heap.borrow_mut();
                match heap.peek() {
                    Some(Reverse(entry)) if entry.deadline <= now => heap.pop(),
                    _ => None,
                }
            };
            let Some(Reverse(entry)) = due else {
                return fired;
            };
            entry.waker.wake();
            fired = true;
        }
    }

    /// Time until the next deadline.
    pub(crate) fn next(&self) -> Option<Duration> {
        let heap = self.heap.borrow();
        heap.peek()
            .map(|Reverse(entry)| entry.deadline.saturating_sub(self.clock.now()))
    }
}

/// Waits `duration`, as an event: the slot leaves the hot rotation. Outside a
/// worker's slot it does not wait.
pub fn sleep(duration: Duration) -> Sleep {
    Sleep {
        duration,
        deadline: None,
        registered: None,
    }
}

/// See [`sleep`].
#[derive(Debug)]
#[must_use = "a sleep waits only when it is awaited"]
pub struct Sleep {
    duration: Duration,
    deadline: Option<Duration>,
    /// The waker in the heap, so that spurious polls do not add another.
    registered: Option<Waker>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(timers) = slot::timers(context) else {
            return Poll::Ready(());
        };
        let now = timers.clock.now();
        let duration = self.duration;
        let deadline = *self.deadline.get_or_insert(now + duration);
        if deadline <= now {
            return Poll::Ready(());
        }
        if !self
            .registered
            .as_ref()
            .is_some_and(|waker| waker.will_wake(context.waker()))
        {
            timers.insert(deadline, context.waker().clone());
            self.registered = Some(context.waker().clone());
        }
        Poll::Pending
    }
}
