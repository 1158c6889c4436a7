//! Sorting in memory; if a limit is known, only that many rows are kept.
//!
//! [`SortOperator`] sorts all rows of its input at once by a [`Sorter`]; `incremental_sort.rs` sorts some at a time.

use std::cmp::Ordering;

use interleave::released;
use types::{Result, Scratch, Value, compare::compare_as};

use super::{
    BATCH_ROWS, ExecutionContext, Input, Operator, Step,
    merge_sort::{Order, bytes_of},
};
use batch::Rows;
use planner::{plan::SortKey, program::Program};

/// Returns the order of two rows of keys.
pub(super) fn compare_keys(keys: &[SortKey], left: &[Value<'_>], right: &[Value<'_>]) -> Ordering {
    for (key, (left, right)) in keys.iter().zip(left.iter().zip(right)) {
        let order = match (left.is_null(), right.is_null()) {
            (true, true) => continue,
            (true, false) if key.nulls_first => Ordering::Less,
            (true, false) => Ordering::Greater,
            (false, true) if key.nulls_first => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) if key.descending => compare_as(key.ty, *right, *left),
            (false, false) => compare_as(key.ty, *left, *right),
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// Rows that are read, put in order, and then given.
pub(super) struct Sorter<'p> {
    keys: &'p [SortKey],
    limit: Option<&'p Program>,
    /// Most rows that are still given, once the limit was computed.
    most: Option<usize>,
    /// Number of values of a row without its keys.
    width: usize,
    /// Rows, each followed by its keys.
    rows: Rows,
    /// Positions of the rows, in order; `None` before they were read.
    order: Option<Order>,
    next: usize,
}

impl<'p> Sorter<'p> {
    pub(super) fn new(width: usize, keys: &'p [SortKey], limit: Option<&'p Program>) -> Self {
        Self {
            keys,
            limit,
            most: None,
            width,
            rows: Rows::new(width + keys.len()),
            order: None,
            next: 0,
        }
    }

    /// Returns whether rows were read; they may all be given already.
    fn is_read(&self) -> bool {
        self.order.is_some()
    }

    /// Adds the next rows in order to `out`; returns false if all were given.
    pub(super) fn give(&mut self, out: &mut Rows) -> bool {
        let order = self.order.as_deref().unwrap_or_default();
        for &at in &order[self.next..] {
            out.push(self.rows.row(at as usize)[..self.width].iter().copied());
            if out.is_full() {
                break;
            }
        }
        self.next += out.len();
        if let Some(most) = &mut self.most {
            *most = most.saturating_sub(out.len());
        }
        !out.is_empty()
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
    /// Errors of the input and of the keys; 53200 if the statement may not hold as much.
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
                for key in self.keys {
                    values.push(key.value.run(&mut evaluator, row)?);
                }
                if let Some(keys) = presorted
                    && (self.rows.len() >= enough || self.rows.is_large())
                {
                    let last = self.rows.row(self.rows.len() - 1);
                    let (last, own) = (&last[self.width..], &values[self.width..]);
                    ended = compare_keys(keys, last, own).is_ne();
                    if ended {
                        break;
                    }
                }
                self.rows.push(values.iter().copied());
                input.taken += 1;
            }
            self.rows.settle(context.memory())?;
            self.keep(limit, context).await?;
        }
        let mut order = self.in_order(context).await?;
        order.truncate(limit);
        self.order = Some(order);
        Ok(())
    }

    /// Returns the positions of all rows in order; equal rows stay in their order.
    async fn in_order(&self, context: &ExecutionContext<'_>) -> Result<Order> {
        let keys = |at| &self.rows.row(at)[self.width..];
        let compare = |left, right| compare_keys(self.keys, keys(left), keys(right));
        Order::of(self.rows.len(), context, |at| bytes_of(keys(at)), compare).await
    }

    /// Forgets all but the first `limit` rows, once there are far more.
    async fn keep(&mut self, limit: usize, context: &ExecutionContext<'_>) -> Result<()> {
        if self.rows.len() < (limit.saturating_mul(2)).max(4 * BATCH_ROWS) {
            return Ok(());
        }
        let mut kept = Rows::new(self.rows.width());
        for (at, row) in self.in_order(context).await?.iter().take(limit).enumerate() {
            context.pause(1).await;
            kept.push(self.rows.row(*row as usize).iter().copied());
            if at % BATCH_ROWS == 0 {
                kept.settle(context.memory())?;
            }
        }
        self.rows = kept;
        // The other rows are charged until they are given back.
        released().await;
        self.rows.settle(context.memory())
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.order = None;
        self.next = 0;
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
        Ok(self.sorter.give(out))
    }
}

impl Operator for SortOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.sorter.rewind();
    }
}
