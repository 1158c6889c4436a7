//! Rows whose groups have no room: they are put by on the device, and grouped when the groups in memory were handed
//! over ([`PutBy`]).
//!
//! Rows of groups that are in memory are taken into account as before; other rows are put by as they are, with their
//! keys behind them. An aggregate with several grouping sets cannot put rows by: it fails with 53200.

use std::ops::Range;

use types::{Result, Value};

use super::{
    AggregateOperator,
    groups::{Groups, NONE},
};
use crate::execute::ExecutionContext;
use batch::{COLUMN_ROWS, Rows};
use spill::PutBy;

/// Number of groups from which on room for those of a batch is made before the batch is looked at.
const MANY_GROUPS: usize = 4 * COLUMN_ROWS;

/// Growth for which states that keep values have room when no group is added any more.
const GROWN: usize = 2;

/// Puts the first `width` values of some rows of a batch by, with their keys, if they have no group.
///
/// # Errors
/// 53200 if the statement may not hold the writers' memory; errors of the device.
pub(super) async fn put_others_by(
    put_by: &mut PutBy,
    (batch, width, rows): (&Rows, usize, Range<usize>),
    keys: &[Value<'_>],
    (found, groups): (&[u32], &Groups),
    context: &ExecutionContext<'_>,
) -> Result<()> {
    let of_row = keys.len() / rows.len().max(1);
    for ((at, group), keys) in rows.zip(found).zip(keys.chunks(of_row.max(1))) {
        if *group == NONE {
            let row = batch.row(at)[..width].iter().chain(keys).copied();
            let (hash, session) = (groups.hash(keys), context.session());
            put_by.push(hash, row, context.budget, session).await?;
        }
    }
    Ok(())
}

impl AggregateOperator<'_> {
    /// Returns whether rows can be put by.
    pub(super) fn can_put_by(&self, context: &ExecutionContext<'_>) -> bool {
        self.sets.len() == 1
            && !self.plan.sets[0].is_empty()
            && self.put_by.is_possible(context.session())
    }

    /// Returns whether the groups have no room for others.
    pub(super) fn is_short(&self, context: &ExecutionContext<'_>) -> bool {
        let bytes: usize = self.sets.iter().map(Groups::bytes).sum();
        // States that keep values grow also when no group is added any more.
        let grows = self.calls.iter().any(|call| call.grows);
        let bytes = bytes * if grows { GROWN } else { 1 };
        let each = bytes / self.sets[0].rows().len().max(1);
        // Few groups may be large ones, of which a batch hardly adds as many.
        let more = (each * self.input.batch.len()).min(bytes);
        context.budget.is_short(bytes, more)
    }

    /// Holds memory for the groups of a batch, and for partitions; or adds no groups from now on, if there is no room
    /// for more.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the groups that there are.
    pub(super) async fn hold(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        if self.put_by.is_full() || context.part.is_some() || !self.can_put_by(context) {
            return Ok(());
        }
        let groups = &self.sets[0];
        let is_much = groups.rows().len() >= MANY_GROUPS || context.budget.is_much(groups.bytes());
        if groups.rows().is_empty() || !is_much {
            return Ok(());
        }
        // Where the memory for partitions is refused, rows could not be put by: the groups go on as long as they can.
        if !self.put_by.hold_room(context.budget)? {
            return Ok(());
        }
        let made = self.sets[0].make_room(self.input.batch.len(), context);
        let made = made.await;
        let is_short = self.is_short(context);
        match self.put_by.fill_if(made, || is_short)? {
            true => self.sets[0].close(),
            false => Ok(()),
        }
    }

    /// Begins to group the next partition, once all groups were handed over; returns false if there is none.
    ///
    /// # Errors
    /// 53200 if the statement may not hold a reader's memory; errors of the device.
    pub(super) async fn begin_partition(&mut self, context: &ExecutionContext<'_>) -> Result<bool> {
        if !self.put_by.has_partitions() {
            return Ok(false);
        }
        // A list that was cleared would keep memory for many groups.
        self.sets[0] = Groups::new(&self.plan.key_types, &self.calls);
        let width = self.width + self.plan.keys.len();
        let batch = &mut self.input.batch;
        self.put_by.begin(batch, width, context.budget).await?;
        self.input.taken = 0;
        self.next = (0, 0);
        self.is_read = false;
        Ok(true)
    }
}
