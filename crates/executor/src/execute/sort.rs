//! Sorting; if a limit is known, only that many rows are kept.
//!
//! [`SortOperator`] sorts all rows of its input at once by a [`Sorter`]; `incremental_sort.rs` sorts some at a time.
//! Rows for which there is no memory are put by on the device in sorted runs, which are merged in the end
//! ([`External`]).

use std::cmp::Ordering;

use interleave::released;
use types::{Result, Scratch, Value, granted};

use super::{BATCH_ROWS, ExecutionContext, Input, Operator, Step};
use batch::{InOrder, Order, Rows, bytes_of};
use planner::{
    plan::{SortKey, compare_keys},
    program::{Evaluator, Program},
};
use spill::{External, Spilled};

/// Returns the order of two rows of `width` values, each followed by its keys.
fn comparing(
    keys: &[SortKey],
    width: usize,
) -> impl Fn(&[Value<'_>], &[Value<'_>]) -> Ordering + '_ {
    move |left, right| compare_keys(keys, &left[width..], &right[width..])
}

/// Adds the keys of a row to `values`.
fn add_keys<'a>(
    keys: &'a [SortKey],
    evaluator: &mut Evaluator<'a>,
    row: &'a [Value<'a>],
    values: &mut Vec<Value<'a>>,
) -> Result<()> {
    for key in keys {
        values.push(key.value.run(evaluator, row)?);
    }
    Ok(())
}

/// Reason why rows are to be put by.
enum Short {
    /// They are near the most that the sort may keep.
    Share,
    /// The statement was refused memory for them.
    Refused,
}

/// Rows for each that a limit wants, from which on the others are forgotten rather than put by: there is memory for
/// both for a moment.
const FEW_OF: usize = 8;

/// Rows that are read, put in order, and then given.
pub(super) struct Sorter<'p> {
    keys: &'p [SortKey],
    limit: Option<&'p Program>,
    /// Most rows that are still given, once the limit was computed.
    most: Option<usize>,
    /// Number of values of a row without its keys.
    width: usize,
    /// Divisor of the operator's memory for the rows and for the merge of those that were put by.
    part: usize,
    /// Rows, each followed by its keys.
    rows: Rows,
    /// Positions of the rows, in order; `None` before they were read.
    order: Option<Order>,
    next: usize,
    /// Rows that were put by, and the memory to put more by.
    external: External,
    /// The last row that was kept before all of them were put by, if there is one.
    last: Rows,
}

impl<'p> Sorter<'p> {
    pub(super) fn new(width: usize, keys: &'p [SortKey], limit: Option<&'p Program>) -> Self {
        Self {
            keys,
            limit,
            most: None,
            width,
            part: 1,
            rows: Rows::new(width + keys.len()),
            order: None,
            next: 0,
            external: External::default(),
            last: Rows::new(width + keys.len()),
        }
    }

    /// Makes a sort for an operator that takes the rows one by one ([`Sorter::first`]), with a part of the operator's
    /// memory.
    pub(super) fn one_by_one(width: usize, keys: &'p [SortKey], part: usize) -> Self {
        Self {
            part,
            ..Self::new(width, keys, None)
        }
    }

    /// Returns whether rows were read; they may all be given already.
    fn is_read(&self) -> bool {
        self.order.is_some()
    }

    /// Returns what was put by on the device, if anything was.
    pub(super) fn spilled(&self) -> Option<Spilled> {
        self.external.spilled()
    }

    /// Adds the next rows in order to `out`; returns false if all were given.
    ///
    /// # Errors
    /// Errors of the device, and 53200, if rows were put by.
    pub(super) async fn give(
        &mut self,
        context: &ExecutionContext<'_>,
        out: &mut Rows,
    ) -> Result<bool> {
        if self.external.is_merging() {
            let (compare, most) = (comparing(self.keys, self.width), self.most);
            let (most, budget) = (most.unwrap_or(usize::MAX), context.budget);
            let giving = self.external.give(most, self.width, &compare, budget, out);
            giving.await?;
        } else {
            let order = self.order.as_deref().unwrap_or_default();
            for &at in &order[self.next..] {
                out.push(self.rows.row(at as usize)[..self.width].iter().copied());
                if out.is_full() {
                    break;
                }
            }
            self.next += out.len();
        }
        if let Some(most) = &mut self.most {
            *most = most.saturating_sub(out.len());
        }
        Ok(!out.is_empty())
    }

    /// Returns the rows that are left, in order, each followed by its keys, if all are in memory.
    pub(super) fn in_memory(&self) -> Option<InOrder<'_>> {
        let order = self.order.as_deref().unwrap_or_default();
        (!self.external.is_merging()).then(|| InOrder {
            rows: &self.rows,
            order: Some(&order[self.next..]),
        })
    }

    /// Leaves the next `rows` rows behind, which are in memory.
    pub(super) fn skip(&mut self, rows: usize) {
        self.next += rows;
    }

    /// Returns the next row in order, followed by its keys; `None` if there are no more.
    pub(super) fn first(&self) -> Option<&[Value<'_>]> {
        if self.external.is_merging() {
            return self.external.first();
        }
        let rows = self.in_memory()?;
        (!rows.is_empty()).then(|| rows.row(0))
    }

    /// Leaves the next row behind.
    ///
    /// # Errors
    /// Errors of the device, and 53200, if rows were put by.
    pub(super) async fn advance(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        if self.external.is_merging() {
            let compare = comparing(self.keys, self.width);
            return self.external.advance(&compare, context.budget).await;
        }
        self.skip(1);
        context.pause(1).await;
        Ok(())
    }

    /// Returns the number of rows that are still to be given. The limit is computed once from the beginning on: it may
    /// be another one the next time.
    ///
    /// # Errors
    /// Errors of the limit.
    pub(super) fn limit(&mut self, context: &ExecutionContext<'_>) -> Result<usize> {
        if let Some(most) = self.most {
            return Ok(most);
        }
        let scratch = Scratch::new();
        let limit = match self.limit {
            Some(limit) => limit.run(&mut context.evaluator(&scratch), &[])?,
            None => Value::Null,
        };
        let most = match limit {
            Value::Int8(limit) => usize::try_from(limit).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        self.most = Some(most);
        Ok(most)
    }

    /// Reads rows and puts them in order: all rows, or those before the first that differs from the row before in the
    /// keys `presorted`, after as many rows as the limit says, or as many rows, or bytes, as a batch has.
    ///
    /// A row is compared with the last one that is kept. If rows behind that one were dropped, as many as the limit
    /// says come before, and those are given next, whether the row is of the last one's group or of a later one.
    ///
    /// # Errors
    /// Errors of the input and of the keys; 53200 if the statement may not hold as much and there is no device; errors
    /// of the device.
    pub(super) async fn read(
        &mut self,
        input: &mut Input<'_>,
        presorted: Option<&[SortKey]>,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        let limit = self.limit(context)?;
        let enough = limit.clamp(1, BATCH_ROWS);
        let mut scratch = Scratch::new();
        let mut ended = false;
        while !ended && input.more(context).await? {
            scratch.reset();
            let mut evaluator = context.evaluator(&scratch);
            let mut values = Vec::with_capacity(self.rows.width());
            while input.taken < input.batch.len() {
                context.pause(1).await;
                let row = input.batch.row(input.taken);
                values.clear();
                values.extend_from_slice(row);
                add_keys(self.keys, &mut evaluator, row, &mut values)?;
                if let Some(keys) = presorted
                    && let Some(last) = self.last_if(enough)
                {
                    let (last, own) = (&last[self.width..], &values[self.width..]);
                    ended = compare_keys(keys, last, own).is_ne();
                    if ended {
                        break;
                    }
                }
                self.rows.push(values.iter().copied());
                input.taken += 1;
            }
            self.hold_some(limit, presorted.is_some(), context).await?;
        }
        self.end(context).await
    }

    /// Takes over all rows of a batch that were not looked at, without a copy.
    ///
    /// # Errors
    /// Errors of [`Sorter::read`].
    pub(super) async fn take(
        &mut self,
        batch: &mut Rows,
        taken: usize,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        let mut keys = Rows::new(self.keys.len());
        let scratch = Scratch::new();
        let mut evaluator = context.evaluator(&scratch);
        let mut values = Vec::with_capacity(self.keys.len());
        for at in taken..batch.len() {
            context.pause(1).await;
            values.clear();
            add_keys(self.keys, &mut evaluator, batch.row(at), &mut values)?;
            keys.push(values.iter().copied());
        }
        let left = taken..batch.len();
        self.rows.adopt(batch, left, &mut keys);
        self.hold_some(usize::MAX, false, context).await
    }

    /// Charges the rows; forgets some of them, or puts them by, if they are more than are wanted or have no room.
    async fn hold_some(
        &mut self,
        limit: usize,
        keeps_last: bool,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        match self.hold(context)? {
            Some(Short::Share) if self.rows.len() / FEW_OF >= limit => {
                self.keep(limit, context).await
            }
            Some(_) => self.put_by(limit, keeps_last, context).await,
            None if self.rows.len() / 2 >= limit.max(2 * BATCH_ROWS) => {
                self.keep(limit, context).await
            }
            None => Ok(()),
        }
    }

    /// Puts the rows that were read in order.
    ///
    /// # Errors
    /// Errors of [`Sorter::read`].
    pub(super) async fn end(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        let limit = self.limit(context)?;
        if self.external.has_runs() {
            if !self.rows.is_empty() {
                self.put_by(limit, false, context).await?;
            }
            let compare = comparing(self.keys, self.width);
            let part = self.part;
            let merging = self.external.merge(limit, part, &compare, context.budget);
            merging.await?;
        }
        let mut order = self.in_order(context).await?;
        order.truncate(limit);
        self.order = Some(order);
        Ok(())
    }

    /// Returns the last row that is kept or was put by, if the rows are `enough` for a batch.
    fn last_if(&self, enough: usize) -> Option<&[Value<'_>]> {
        if self.rows.is_empty() {
            return (!self.last.is_empty()).then(|| self.last.row(0));
        }
        let are_enough =
            self.rows.len() >= enough || self.rows.is_large() || self.external.has_runs();
        are_enough.then(|| self.rows.row(self.rows.len() - 1))
    }

    /// Charges the rows to the statement; returns why they are to be put by on the device, if they are.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much and there is no device.
    fn hold(&mut self, context: &ExecutionContext<'_>) -> Result<Option<Short>> {
        if !context.transaction.session().has_temporary_files() {
            self.rows.settle(context.memory())?;
            return Ok(None);
        }
        Ok(
            match granted(
                self.external
                    .hold(&mut self.rows, self.part, context.budget),
            )? {
                Some(is_short) => is_short.then_some(Short::Share),
                None => Some(Short::Refused),
            },
        )
    }

    /// Writes the rows to the device as a run, in order, and keeps the last one if that is asked for.
    async fn put_by(
        &mut self,
        limit: usize,
        keeps_last: bool,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        let mut order = self.in_order(context).await?;
        order.truncate(limit);
        let (budget, session) = (context.budget, context.session());
        self.external
            .write(&self.rows, &order, budget, session)
            .await?;
        drop(order);
        self.last.clear();
        if let Some(last) = self.rows.len().checked_sub(1).filter(|_| keeps_last) {
            self.last.push(self.rows.row(last).iter().copied());
        }
        let none = Rows::new(self.rows.width());
        self.replace(none, context).await?;
        self.last.settle(context.memory())
    }

    /// Returns the positions of all rows in order; equal rows stay in their order.
    async fn in_order(&mut self, context: &ExecutionContext<'_>) -> Result<Order> {
        let charge = self.external.take_charge();
        let keys = |at| &self.rows.row(at)[self.width..];
        let compare = |left, right| compare_keys(self.keys, keys(left), keys(right));
        let key_bytes = |at| bytes_of(keys(at));
        let (rows, own) = (self.rows.len(), (context.memory(), context.turn()));
        Order::of(rows, own, charge, key_bytes, compare).await
    }

    /// Forgets all but the first `limit` rows.
    async fn keep(&mut self, limit: usize, context: &ExecutionContext<'_>) -> Result<()> {
        let mut kept = Rows::new(self.rows.width());
        for (at, row) in self.in_order(context).await?.iter().take(limit).enumerate() {
            context.pause(1).await;
            kept.push(self.rows.row(*row as usize).iter().copied());
            if at % BATCH_ROWS == 0 {
                kept.settle(context.memory())?;
            }
        }
        self.replace(kept, context).await
    }

    /// Keeps `rows` in place of the others, which are charged until they are given back.
    async fn replace(&mut self, rows: Rows, context: &ExecutionContext<'_>) -> Result<()> {
        self.rows = rows;
        released().await;
        self.rows.settle(context.memory())
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.order = None;
        self.next = 0;
        self.last.clear();
        self.external.clear();
    }

    /// Begins anew.
    pub(super) fn rewind(&mut self) {
        self.clear();
        self.most = None;
    }
}

pub(super) struct SortOperator<'p> {
    input: Input<'p>,
    sorter: Sorter<'p>,
}

impl<'p> SortOperator<'p> {
    pub(super) fn new(input: Input<'p>, keys: &'p [SortKey], limit: Option<&'p Program>) -> Self {
        Self {
            sorter: Sorter::new(input.batch.width(), keys, limit),
            input,
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        if !self.sorter.is_read() {
            self.sorter.read(&mut self.input, None, context).await?;
        }
        self.sorter.give(context, out).await
    }
}

impl Operator for SortOperator<'_> {
    fn spilled(&self) -> Option<Spilled> {
        self.sorter.spilled()
    }

    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.sorter.rewind();
    }
}
