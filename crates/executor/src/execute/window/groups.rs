//! Functions over windows that look no farther than at the peers of a row: they need no partition in memory.
//!
//! A row's place is known when it comes, and so is the value of an aggregate over all rows up to it. An aggregate over
//! all rows up to the last peer is known when the peers have ended: they are kept until then, on the device if need be
//! ([`KeptRows`]), and read again.

use std::cell::RefCell;

use functions::{Body, Place};
use logical::relation::FrameUnits;
use spill::{KeptReader, KeptRows};
use types::{Result, Scratch, Value, granted};

use super::{Sorted, running::Running};
use crate::execute::ExecutionContext;
use batch::Rows;
use planner::plan::{Window, WindowOrder, compare_keys};

/// A call, and its state.
struct Call<'p> {
    window: &'p Window,
    /// Aggregate over the rows of the partition so far; `None` for a window function.
    running: Option<Running<'p>>,
    /// Whether the value is that of the last peer.
    is_of_peers: bool,
}

impl<'p> Call<'p> {
    fn new(window: &'p Window) -> Self {
        let running = running(window);
        Self {
            is_of_peers: running.is_some() && window.units != FrameUnits::Rows,
            running,
            window,
        }
    }
}

/// Returns the state of a call before the first row of a partition, if it is an aggregate.
fn running(window: &Window) -> Option<Running<'_>> {
    match window.function.0.body {
        Body::Aggregate(definition) => Some(Running::new(window, definition)),
        _ => None,
    }
}

/// Difference of a row to the one before it.
#[derive(Clone, Copy, PartialEq)]
enum Difference {
    /// They are peers.
    None,
    Group,
    Partition,
}

pub(super) struct Groups<'p> {
    calls: Vec<Call<'p>>,
    /// Number of values in a row before those of the calls.
    width: usize,
    /// Keys of the row before, if there is one.
    last: Rows,
    /// Place of the next row, if it is of the same group.
    place: Place,
    /// Rows of the group that wait for its end or were read again, with the values that are known; rows before them.
    waiting: Rows,
    kept: RefCell<KeptRows>,
    /// Whether the group has ended, and its rows are given.
    is_giving: bool,
    /// Number of the rows of `waiting` that were given.
    given: usize,
    reader: KeptReader,
    /// Values of the group for the calls whose value is that of the last peer.
    of_group: Rows,
    scratch: Scratch,
}

impl<'p> Groups<'p> {
    /// Makes the state of calls for rows with `width` values each.
    pub(super) fn new(width: usize, calls: &[&'p Window]) -> Self {
        let all = width + calls.len();
        Self {
            calls: calls.iter().map(|window| Call::new(window)).collect(),
            width,
            last: Rows::default(),
            place: Place::default(),
            waiting: Rows::new(all),
            kept: RefCell::new(KeptRows::new(all)),
            is_giving: false,
            given: 0,
            reader: KeptReader::default(),
            of_group: Rows::new(calls.len()),
            scratch: Scratch::new(),
        }
    }

    /// Returns the most bytes that groups have had on the device.
    pub(super) fn bytes(&self) -> u64 {
        self.kept.borrow().bytes()
    }

    /// Adds the next rows with the values of the calls to `out`; returns false if there are none.
    ///
    /// # Errors
    /// Errors of the functions and of the device; 53200 if the statement may not hold the batch.
    pub(super) async fn give(
        &mut self,
        sorted: &mut Sorted<'_>,
        context: &ExecutionContext<'_>,
        out: &mut Rows,
    ) -> Result<bool> {
        while !out.is_full() {
            if self.is_giving {
                self.give_group(context, out).await?;
                continue;
            }
            let row = sorted.row();
            let difference = row.map(|(_, keys)| self.difference(sorted.order, keys));
            let has_waiting = !self.waiting.is_empty() || !self.kept.get_mut().is_empty();
            if has_waiting && difference != Some(Difference::None) {
                self.end_group(context).await?;
                continue;
            }
            let (Some((row, keys)), Some(difference)) = (row, difference) else {
                break;
            };
            self.begin(difference, keys, context)?;
            self.add(row, context, out).await?;
            sorted.advance(context).await?;
        }
        Ok(!out.is_empty())
    }

    fn difference(&self, order: &WindowOrder, keys: &[Value<'_>]) -> Difference {
        if self.last.is_empty() {
            return Difference::Partition;
        }
        let (last, first) = (self.last.row(0), order.partition);
        if compare_keys(&order.keys[..first], &last[..first], &keys[..first]).is_ne() {
            Difference::Partition
        } else if compare_keys(&order.keys[first..], &last[first..], &keys[first..]).is_ne() {
            Difference::Group
        } else {
            Difference::None
        }
    }

    /// Notes that a row with these keys comes next.
    fn begin(
        &mut self,
        difference: Difference,
        keys: &[Value<'_>],
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        match difference {
            Difference::None => return Ok(()),
            Difference::Group => {
                self.place.peers = self.place.row;
                self.place.group += 1;
            }
            Difference::Partition => {
                self.place = Place::default();
                for call in &mut self.calls {
                    call.running = running(call.window);
                }
            }
        }
        self.last.restart(keys.len());
        self.last.push(keys.iter().copied());
        self.last.settle(context.memory())
    }

    /// Takes a row into account, and adds it to `out`, or to those that wait.
    async fn add(
        &mut self,
        row: &[Value<'_>],
        context: &ExecutionContext<'_>,
        out: &mut Rows,
    ) -> Result<()> {
        self.scratch.reset();
        let mut values = Vec::with_capacity(self.calls.len());
        for call in &mut self.calls {
            let value = match (&mut call.running, call.window.function.0.body) {
                (Some(running), _) => {
                    let frame = 0..self.place.row + 1;
                    running
                        .take(&frame, |_| row, context, &self.scratch)
                        .await?;
                    match call.is_of_peers {
                        true => Value::Null,
                        false => running.value(context, &self.scratch)?,
                    }
                }
                (None, Body::Window(function)) => self.place.value(function)?,
                (None, _) => Value::Null,
            };
            values.push(value);
        }
        self.place.row += 1;
        let row = row.iter().copied().chain(values);
        if !self.calls.iter().any(|call| call.is_of_peers) {
            out.push(row);
            return Ok(());
        }
        self.waiting.push(row);
        let charged = granted(self.waiting.settle(context.memory()))?;
        if charged.is_none() || self.waiting.is_full() {
            self.keep(context).await?;
        }
        Ok(())
    }

    /// Moves rows that wait to those before them.
    async fn keep(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        let none = Rows::new(self.waiting.width());
        let waiting = std::mem::replace(&mut self.waiting, none);
        let kept = self.kept.get_mut();
        kept.add(waiting, context.budget, context.session()).await
    }

    /// Computes the values of the group, whose rows are given next.
    async fn end_group(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        self.scratch.reset();
        self.of_group.clear();
        let values = self.calls.iter().map(|call| match &call.running {
            Some(running) if call.is_of_peers => running.value(context, &self.scratch),
            _ => Ok(Value::Null),
        });
        self.of_group.try_push(values)?;
        self.of_group.settle(context.memory())?;
        if !self.kept.get_mut().is_empty() {
            self.keep(context).await?;
            self.kept.get_mut().end();
        }
        self.is_giving = true;
        self.given = 0;
        Ok(())
    }

    /// Adds rows of the group to `out`, and forgets the group after the last.
    async fn give_group(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<()> {
        if self.given == self.waiting.len() {
            self.given = 0;
            self.waiting.clear();
            let kept = self.kept.get_mut();
            if self.reader.next() == kept.len() {
                kept.clear();
                self.reader = KeptReader::default();
                self.is_giving = false;
                return Ok(());
            }
            let columns: Vec<usize> = (0..self.waiting.width()).collect();
            let (kept, read) = (&self.kept, &mut self.waiting);
            self.reader
                .give(kept, &columns, context.budget, read)
                .await?;
            self.waiting.settle(context.memory())?;
        }
        let of_group = self.of_group.row(0);
        while self.given < self.waiting.len() && !out.is_full() {
            let (row, values) = self.waiting.row(self.given).split_at(self.width);
            let values = values.iter().zip(of_group).zip(&self.calls);
            let values = values.map(|((own, of_group), call)| match call.is_of_peers {
                true => *of_group,
                false => *own,
            });
            out.push(row.iter().copied().chain(values));
            self.given += 1;
        }
        Ok(())
    }
}
