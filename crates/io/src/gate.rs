//! A gate in front of the device, which bounds the reads of one thread under way.
//!
//! A device takes more at once than helps it: beyond some depth a read only waits inside the device
//! instead of in front of it, where more urgent reads can still overtake it, and where it does not
//! delay the writes of the log. A reader therefore asks for a [`Pass`]. If all passes are given
//! away the reader waits, or is refused, as the [`GateRule`] says.
//!
//! # Order
//! Waiters of one [`Priority`] are served first come, first served. Interactive waiters go first,
//! but of [`TURNS`] that are let in while both kinds wait one is of the other kind, so that no
//! waiter waits for ever. A newcomer does not overtake a waiter: while there is one, all passes are
//! given away.
//!
//! # Duration of a pass
//! A pass is held until the device has ended the transfer ([`crate::Port::begin_through`]), also if
//! no task waits for the transfer any more: the device's work is what counts. A pass that is
//! dropped before its read begins is free at once. A holder of passes may therefore wait for
//! another one.
//!
//! The gate is not synchronised: it belongs to a thread, as its port does.

mod depth;
#[cfg(test)]
mod tests;

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    fmt,
    future::Future,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use self::depth::DepthFinder;
pub use self::depth::{DEPTH_MAX, DEPTH_START};

/// Waiters let in, while both kinds wait, for each that is not urgent.
pub const TURNS: u32 = 8;

/// Urgency of a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Priority {
    /// A task waits for the read.
    #[default]
    Interactive,
    /// The read may be done at any later time.
    Batch,
}

/// Maximum reads under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// As many as the device gets most done with: starts at [`DEPTH_START`], and stays between 1
    /// and [`DEPTH_MAX`].
    #[default]
    Adapted,
    /// Always this many; at least one.
    Fixed(usize),
}

/// Treatment of a read when all passes are given away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// The read waits in line.
    #[default]
    Wait,
    /// The read is refused.
    Refuse,
}

/// Rule of a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateRule {
    /// Maximum reads let in.
    pub depth: Depth,
    /// Treatment of other reads.
    pub when_full: WhenFull,
}

/// Error: all passes are given away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("as many reads as are allowed are under way; try again later")
    }
}

impl std::error::Error for Full {}

/// Counters of the reads through a gate since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateStats {
    /// Reads begun.
    pub begun: u64,
    /// Reads that the device has ended.
    pub completed: u64,
    /// Reads refused.
    pub refused: u64,
    /// Reads that had to wait and were let in.
    pub waits: u64,
    /// Time that all these reads waited together, in nanoseconds.
    pub waited_ns: u64,
    /// Sum, over the reads begun, of the reads then under way, the begun one included: divided by
    /// `begun`, the depth that was used.
    pub depth_sum: u64,
}

/// One thread's gate; see the module text.
pub struct Gate {
    /// Clock of the gate.
    clock: Box<dyn Fn() -> Duration>,
    rule: Cell<GateRule>,
    finder: RefCell<DepthFinder>,
    /// Number of reads let in now.
    depth: Cell<usize>,
    /// Passes given away.
    open: Cell<usize>,
    /// Waiters by priority.
    waiting: RefCell<[VecDeque<Rc<Waiter>>; 2]>,
    /// Urgent waiters let in since another one was, while both kinds waited.
    turn: Cell<u32>,
    stats: Cell<GateStats>,
}

/// A reader in line.
struct Waiter {
    since: Duration,
    /// Waker of the reader; `None` once the reader has been let in.
    waker: RefCell<Option<Waker>>,
}

impl Gate {
    /// Returns a gate that lets in as many reads as helps the device. `clock` returns the time
    /// since any fixed moment.
    pub fn new(clock: impl Fn() -> Duration + 'static) -> Rc<Gate> {
        let now = clock();
        Rc::new(Gate {
            clock: Box::new(clock),
            rule: Cell::default(),
            finder: RefCell::new(DepthFinder::new(now)),
            depth: Cell::new(DEPTH_START),
            open: Cell::new(0),
            waiting: RefCell::default(),
            turn: Cell::new(0),
            stats: Cell::default(),
        })
    }

    /// Changes the rule. A reader that waits already is not refused any more.
    pub fn set_rule(&self, rule: GateRule) {
        self.rule.set(rule);
        self.depth.set(match rule.depth {
            Depth::Fixed(depth) => depth.max(1),
            Depth::Adapted => self.finder.borrow().depth(),
        });
        self.let_in();
    }

    /// Returns the number of reads let in now.
    pub fn depth(&self) -> usize {
        self.depth.get()
    }

    /// Returns the number of passes given away.
    pub fn open(&self) -> usize {
        self.open.get()
    }

    /// Returns the number of reads that wait for a pass.
    pub fn waiting(&self) -> usize {
        self.waiting.borrow().iter().map(VecDeque::len).sum()
    }

    /// Returns the counters.
    pub fn stats(&self) -> GateStats {
        self.stats.get()
    }

    /// Asks for a pass.
    ///
    /// # Errors
    /// [`Full`] if all passes are given away and the rule is to refuse.
    ///
    /// # Cancellation
    /// Dropping the future gives up the place in line.
    pub fn enter(self: &Rc<Self>, priority: Priority) -> Entry {
        self.entry(priority, self.rule.get().when_full)
    }

    /// Returns a pass if one is free, for a reader that has something else to do otherwise. Where readers are refused
    /// when all passes are given away, it gets none.
    pub fn try_enter(self: &Rc<Self>) -> Option<Pass> {
        match self.rule.get().when_full {
            WhenFull::Wait => self.take_pass(),
            WhenFull::Refuse => None,
        }
    }

    fn take_pass(self: &Rc<Self>) -> Option<Pass> {
        let is_free = self.open.get() < self.depth.get();
        is_free.then(|| {
            self.give_pass();
            Pass(self.clone())
        })
    }

    /// Asks for a pass for a reader that has had one and needs another to get on: this entry is
    /// never refused.
    pub fn enter_again(self: &Rc<Self>, priority: Priority) -> Entry {
        self.entry(priority, WhenFull::Wait)
    }

    fn entry(self: &Rc<Self>, priority: Priority, when_full: WhenFull) -> Entry {
        Entry {
            gate: self.clone(),
            priority,
            when_full,
            waiter: None,
        }
    }

    fn count(&self, change: impl FnOnce(&mut GateStats)) {
        let mut stats = self.stats.get();
        change(&mut stats);
        self.stats.set(stats);
    }

    fn give_pass(&self) {
        self.open.set(self.open.get() + 1);
    }

    fn take_back(&self) {
        self.open.set(self.open.get() - 1);
        self.let_in();
    }

    /// Lets waiters in, as far as there is room.
    fn let_in(&self) {
        while self.open.get() < self.depth.get() {
            let Some(waiter) = self.next() else { return };
            self.give_pass();
            let waker = waiter.waker.take();
            let waited = (self.clock)().saturating_sub(waiter.since);
            self.count(|stats| {
                stats.waits += 1;
                stats.waited_ns += waited.as_nanos() as u64;
            });
            // The waker is foreign code: nothing is borrowed.
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    fn next(&self) -> Option<Rc<Waiter>> {
        let mut waiting = self.waiting.borrow_mut();
        let [interactive, batch] = &mut *waiting;
        if interactive.is_empty() || batch.is_empty() {
            return interactive.pop_front().or_else(|| batch.pop_front());
        }
        let turn = self.turn.get() + 1;
        self.turn.set(turn % TURNS);
        if turn == TURNS {
            batch.pop_front()
        } else {
            interactive.pop_front()
        }
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("rule", &self.rule)
            .field("depth", &self.depth)
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}

/// A wait for a [`Pass`].
#[must_use = "nobody waits in line who is not polled"]
pub struct Entry {
    gate: Rc<Gate>,
    priority: Priority,
    when_full: WhenFull,
    /// Waiter in line, or let in and not yet told.
    waiter: Option<Rc<Waiter>>,
}

impl Future for Entry {
    type Output = Result<Pass, Full>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let gate = self.gate.clone();
        if let Some(waiter) = &self.waiter {
            let mut waker = waiter.waker.borrow_mut();
            if let Some(known) = &mut *waker {
                let old = (!known.will_wake(context.waker()))
                    .then(|| std::mem::replace(known, context.waker().clone()));
                // The drop of a waker may be foreign code.
                drop(waker);
                drop(old);
                return Poll::Pending;
            }
            drop(waker);
            self.waiter = None;
            return Poll::Ready(Ok(Pass(gate)));
        }
        if let Some(pass) = gate.take_pass() {
            return Poll::Ready(Ok(pass));
        }
        if self.when_full == WhenFull::Refuse {
            gate.count(|stats| stats.refused += 1);
            return Poll::Ready(Err(Full));
        }
        let waiter = Rc::new(Waiter {
            since: (gate.clock)(),
            waker: RefCell::new(Some(context.waker().clone())),
        });
        gate.waiting.borrow_mut()[self.priority as usize].push_back(waiter.clone());
        self.waiter = Some(waiter);
        Poll::Pending
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let Some(waiter) = self.waiter.take() else {
            return;
        };
        if waiter.waker.borrow().is_none() {
            // The reader was let in and will never know.
            self.gate.take_back();
            return;
        }
        let queue = &mut self.gate.waiting.borrow_mut()[self.priority as usize];
        queue.retain(|other| !Rc::ptr_eq(other, &waiter));
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}

/// The right to have one read under way.
#[must_use = "a pass that is dropped is free again"]
pub struct Pass(Rc<Gate>);

impl Pass {
    /// Counts the begin of the pass's read.
    pub(crate) fn begin(&self) {
        let open = self.0.open.get() as u64;
        self.0.count(|stats| {
            stats.begun += 1;
            stats.depth_sum += open;
        });
    }

    /// Counts the end of the pass's read, and gives the pass back.
    pub(crate) fn end(self) {
        let gate = &self.0;
        gate.count(|stats| stats.completed += 1);
        if gate.rule.get().depth == Depth::Adapted {
            let limits = gate.waiting() > 0;
            let mut finder = gate.finder.borrow_mut();
            gate.depth.set(finder.completed((gate.clock)(), limits));
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.0.take_back();
    }
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pass").finish_non_exhaustive()
    }
}
