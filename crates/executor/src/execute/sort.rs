//! Sorting in memory; if a limit is known, only that many rows are kept.

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

pub(super) struct SortOperator<'p> {
    input: Input<'p>,
    keys: &'p [SortKey],
    limit: Option<&'p Program>,
    /// All rows, each followed by its keys.
    rows: Rows,
    /// Positions of the rows, in order; `None` before they were read.
    order: Option<Order>,
    next: usize,
}

impl<'p> SortOperator<'p> {
    pub(super) fn new(input: Input<'p>, keys: &'p [SortKey], limit: Option<&'p Program>) -> Self {
        let rows = Rows::new(input.batch.width() + keys.len());
        Self {
            input,
            keys,
            limit,
            rows,
            order: None,
            next: 0,
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        if self.order.is_none() {
            self.read(context).await?;
        }
        let width = self.input.batch.width();
        let order = self.order.as_deref().unwrap_or_default();
        for &at in &order[self.next..] {
            out.push(self.rows.row(at as usize)[..width].iter().copied());
            if out.is_full() {
                break;
            }
        }
        self.next += out.len();
        Ok(!out.is_empty())
    }

    async fn read(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        let limit = match self.limit {
            Some(limit) => match limit.run(&mut context.evaluator(&Scratch::new()), &[])? {
                Value::Int8(limit) => usize::try_from(limit).ok(),
                _ => None,
            },
            None => None,
        };
        let mut scratch = Scratch::new();
        while self.input.more(context).await? {
            scratch.reset();
            let mut evaluator = context.evaluator(&scratch);
            let mut values = Vec::with_capacity(self.rows.width());
            for at in 0..self.input.batch.len() {
                context.pause(1).await;
                let row = self.input.batch.row(at);
                values.clear();
                values.extend_from_slice(row);
                for key in self.keys {
                    values.push(key.value.run(&mut evaluator, row)?);
                }
                self.rows.push(values.iter().copied());
            }
            self.input.taken = self.input.batch.len();
            self.rows.settle(context.memory())?;
            if let Some(limit) = limit {
                self.keep(limit, context).await?;
            }
        }
        let mut order = self.in_order(context).await?;
        order.truncate(limit.unwrap_or(usize::MAX));
        self.order = Some(order);
        Ok(())
    }

    /// Returns the positions of all rows in order; equal rows stay in their order.
    async fn in_order(&self, context: &ExecutionContext<'_>) -> Result<Order> {
        let width = self.input.batch.width();
        let keys = |at| &self.rows.row(at)[width..];
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
}

impl Operator for SortOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.rows.clear();
        self.order = None;
        self.next = 0;
    }
}
