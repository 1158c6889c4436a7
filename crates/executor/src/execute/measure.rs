//! Measurements of an execution's operators, for EXPLAIN ANALYZE: rows, repetitions, the
//! distribution of their time, and the most memory that they have held together.
//!
//! # Time
//! A [`Timed`] future is around the whole execution (number 0) and each call of an operator. There
//! is one clock, which runs for one of them at a time:
//! - On entering a future, the time since the last reading of the clock is charged to the one that
//!   ran before, as computing; on leaving it, to the one that is left.
//! - When the outermost future returns `Pending`, the execution waits; its slot has noted the kind
//!   of wait ([`noted_wait`]). The time until it is polled again is charged, under that kind, to
//!   the deepest future that returned `Pending`: the deepest one waits for the event, and those
//!   around it wait for the deepest.
//!
//! Each moment between the first poll of the execution and its end is thus charged to one future,
//! once. This requires that the execution is polled from the outermost at each resumption, which
//! [`Observed`] sees to; otherwise no future above a leaf would hear of it.
//!
//! Waits that the worker does not hear of count as computing: lookups of one statement that overlap
//! each other's cache misses, and misses that no task suspends for while the worker has one task in
//! flight. The time that other tasks compute during a wait is part of the wait.
//!
//! Without [`Measurements::timed`] there is no clock and nothing is observed. Other executions pay
//! nothing: their plans have no [`Plan::Explained`](planner::plan::Plan).

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    future::Future,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use interleave::{Observed, Wait, noted_wait};
use types::Result;

use super::{ExecutionContext, JoinTables, Operator, Step, node::OperatorNode};
use batch::Rows;
use spill::Spilled;

/// Number of the execution itself, outside its operators.
const EXECUTION: usize = 0;

/// The measurement of one operator.
#[derive(Debug, Clone, Default)]
pub struct Measurement {
    /// Number of times that the operator was begun.
    pub loops: u64,
    /// Number of rows that the operator gave, in all loops, also on workers that helped.
    pub rows: u64,
    /// Most workers that helped in a loop, beside the execution's own.
    pub helpers: usize,
    /// Rows that the operator has put by on the device.
    pub spilled: Option<Spilled>,
    /// Time until the first rows, including the operators below, in all loops.
    pub first_rows: Duration,
    /// Time of the operator and those below it, in all loops.
    pub total: Duration,
    /// Time of the operator without those below it.
    pub own: Spent,
}

impl Measurement {
    /// Returns the average number of rows per loop.
    pub fn rows_per_loop(&self) -> f64 {
        self.rows as f64 / self.loops.max(1) as f64
    }

    /// Returns the average per loop, in milliseconds, of a `time` that covers all loops.
    pub fn per_loop(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e3 / self.loops.max(1) as f64
    }
}

/// A division of time into computing and waits.
#[derive(Debug, Clone, Default)]
pub struct Spent {
    /// Time outside waits.
    pub computing: Duration,
    /// Number and time of the waits, by their kind; a kind that did not occur is missing.
    pub waits: BTreeMap<Wait, Waited>,
}

/// The number and the time of the waits of one kind.
#[derive(Debug, Clone, Copy, Default)]
pub struct Waited {
    pub count: u64,
    pub time: Duration,
}

impl Spent {
    /// Adds the times of `other`.
    pub fn add(&mut self, other: &Spent) {
        self.computing += other.computing;
        for (wait, waited) in &other.waits {
            let own = self.waits.entry(*wait).or_default();
            own.count += waited.count;
            own.time += waited.time;
        }
    }
}

/// The measurements of an execution.
#[derive(Default)]
pub struct Measurements {
    /// Measurements by the operators' numbers; those that were never begun may be missing.
    all: RefCell<Vec<Measurement>>,
    clock: Option<Clock>,
    /// The most bytes that the execution has held at once; known at its end.
    pub peak_bytes: usize,
}

impl Measurements {
    /// Makes measurements with a clock.
    pub(super) fn timed() -> Self {
        Self {
            clock: Some(Clock::default()),
            ..Self::default()
        }
    }

    /// Returns the measurement of an operator, by its number.
    pub fn operator(&self, number: usize) -> Measurement {
        let all = self.all.borrow();
        all.get(number).cloned().unwrap_or_default()
    }

    /// Returns the rows that each operator gave, by number.
    pub(super) fn rows(&self) -> Vec<(usize, u64)> {
        let all = self.all.borrow();
        let rows = all.iter().map(|measured| measured.rows).enumerate();
        rows.collect()
    }

    /// Adds rows that operators gave on a worker that helped; its time is not that of this execution.
    pub(super) fn add_rows(&self, rows: &[(usize, u64)]) {
        for (number, more) in rows {
            self.change(*number, |measured| measured.rows += more);
        }
    }

    /// Returns the measurement of the execution: the time spent outside its operators, and its
    /// whole time; `None` without a clock.
    pub fn execution(&self) -> Option<Measurement> {
        self.clock.as_ref()?;
        Some(self.operator(EXECUTION))
    }

    /// Returns the time of the execution and all its operators.
    pub fn all_spent(&self) -> Spent {
        let mut all = Spent::default();
        for measured in &*self.all.borrow() {
            all.add(&measured.own);
        }
        all
    }

    /// Runs an execution.
    ///
    /// # Errors
    /// Errors of the execution.
    pub(super) async fn measure<T>(&self, execution: impl Future<Output = Result<T>>) -> Result<T> {
        if self.clock.is_none() {
            return execution.await;
        }
        Observed::new(self.during(EXECUTION, true, pin!(execution))).await
    }

    /// Wraps a call of an operator; `is_first` says whether it is the first of a loop.
    fn during<F: Future + Unpin>(&self, number: usize, is_first: bool, inner: F) -> Timed<'_, F> {
        Timed {
            measurements: self,
            number,
            is_first,
            entered: None,
            inner,
        }
    }

    fn change(&self, number: usize, change: impl FnOnce(&mut Measurement)) {
        let mut all = self.all.borrow_mut();
        if all.len() <= number {
            all.resize_with(number + 1, Measurement::default);
        }
        change(&mut all[number]);
    }
}

/// A clock that runs for one operator at a time.
#[derive(Default)]
struct Clock {
    /// Time of the last reading.
    looked_at: Cell<Option<Instant>>,
    running: Cell<Option<usize>>,
    /// Number of the deepest future that has returned `Pending` in this poll of the outermost.
    waiting: Cell<Option<usize>>,
    /// Number of the future that waits between two polls of the outermost, and the kind of wait.
    suspended: Cell<Option<(usize, Wait)>>,
}

impl Clock {
    /// Reads the clock; returns the time since the last reading, and the present.
    fn look(&self) -> (Duration, Instant) {
        let now = Instant::now();
        let before = self.looked_at.replace(Some(now)).unwrap_or(now);
        (now.duration_since(before), now)
    }
}

/// A future whose time is charged to a number.
struct Timed<'m, F> {
    measurements: &'m Measurements,
    number: usize,
    is_first: bool,
    /// Time of the first poll.
    entered: Option<Instant>,
    inner: F,
}

impl<F: Future + Unpin> Timed<'_, F> {
    /// Lets the clock run for this future; returns the number of the one that ran before.
    fn enter(&mut self, clock: &Clock) -> Option<usize> {
        let (passed, now) = clock.look();
        self.entered.get_or_insert(now);
        let outer = clock.running.replace(Some(self.number));
        match (outer, clock.suspended.take()) {
            (Some(outer), _) => self.measurements.change(outer, |measured| {
                measured.own.computing += passed;
            }),
            (None, Some((who, wait))) => self.measurements.change(who, |measured| {
                let waited = measured.own.waits.entry(wait).or_default();
                waited.count += 1;
                waited.time += passed;
            }),
            // The execution begins.
            (None, None) => {}
        }
        outer
    }

    fn leave(&self, clock: &Clock, outer: Option<usize>, is_pending: bool) {
        let (passed, now) = clock.look();
        clock.running.set(outer);
        self.measurements.change(self.number, |measured| {
            measured.own.computing += passed;
            if !is_pending {
                let took = now.duration_since(self.entered.unwrap_or(now));
                measured.total += took;
                if self.is_first {
                    measured.first_rows += took;
                }
            }
        });
        if !is_pending {
            // A future that waited within has been given up, or has what it waited for.
            clock.waiting.set(None);
            return;
        }
        let deepest = clock.waiting.get().unwrap_or(self.number);
        clock.waiting.set(Some(deepest));
        if outer.is_none() {
            clock.waiting.set(None);
            clock.suspended.set(Some((deepest, noted_wait())));
        }
    }
}

impl<F: Future + Unpin> Future for Timed<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let measurements = self.measurements;
        let Some(clock) = &measurements.clock else {
            return Pin::new(&mut self.inner).poll(context);
        };
        let outer = self.enter(clock);
        let polled = Pin::new(&mut self.inner).poll(context);
        self.leave(clock, outer, polled.is_pending());
        polled
    }
}

/// An operator that is measured.
pub(super) struct Measured<'p> {
    number: usize,
    operator: OperatorNode<'p>,
    is_begun: bool,
}

impl<'p> Measured<'p> {
    pub(super) fn new(number: usize, operator: OperatorNode<'p>) -> Self {
        Self {
            number,
            operator,
            is_begun: false,
        }
    }
}

impl Operator for Measured<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        let measurements = &context.shared.measurements;
        Box::pin(async move {
            let more = {
                let inner = pin!(self.operator.next(context, out));
                measurements.during(self.number, is_first, inner).await?
            };
            measurements.change(self.number, |measured| {
                measured.loops += u64::from(is_first);
                measured.rows += out.len() as u64;
                measured.helpers = measured.helpers.max(self.operator.helpers());
                measured.spilled = self.operator.spilled().or(measured.spilled);
            });
            Ok(more)
        })
    }

    fn share<'f>(
        &'f mut self,
        context: &'f ExecutionContext<'_>,
        tables: &'f mut JoinTables,
    ) -> Step<'f> {
        let measurements = &context.shared.measurements;
        Box::pin(async move {
            let is_shared = {
                let inner = pin!(self.operator.share(context, tables));
                // The time until the first rows is that of both calls.
                measurements.during(self.number, true, inner).await?
            };
            measurements.change(self.number, |measured| {
                measured.spilled = self.operator.spilled().or(measured.spilled);
            });
            Ok(is_shared)
        })
    }

    fn rewind(&mut self) {
        self.is_begun = false;
        self.operator.rewind();
    }
}
