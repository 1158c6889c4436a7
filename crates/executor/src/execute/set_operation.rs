//! UNION ALL, INTERSECT, EXCEPT.
//!
//! Different rows of the right side are counted; then each row of the left is looked up among them. Once these have no
//! room, rows that are not among them are put by on the device, each with its side, those of the right before those of
//! the left; partitions of them are then looked at in the way of the two sides ([`PutBy`]).

use interleave::Gradual;
use types::{Charge, Result, Type, Value};

use super::{
    BATCH_ROWS, ExecutionContext, Input, Operator, Spilled, Step, node::OperatorNode,
    tuple_hash_table::TupleHashTable,
};
use batch::Rows;
use logical::relation::SetKind;
use spill::PutBy;

/// The operator that returns the rows of one input after those of the other.
pub(super) struct Append<'p> {
    left: OperatorNode<'p>,
    right: OperatorNode<'p>,
    is_left: bool,
}

impl<'p> Append<'p> {
    pub(super) fn new(left: OperatorNode<'p>, right: OperatorNode<'p>) -> Self {
        Self {
            left,
            right,
            is_left: true,
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        if self.is_left {
            if self.left.next(context, out).await? {
                return Ok(true);
            }
            self.is_left = false;
        }
        self.right.next(context, out).await
    }
}

impl Operator for Append<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn rewind(&mut self) {
        self.left.rewind();
        self.right.rewind();
        self.is_left = true;
    }
}

/// The operator that returns rows of the left that are, or are not, among those of the right.
pub(super) struct SetOperation<'p> {
    kind: SetKind,
    all: bool,
    left: Input<'p>,
    right: Input<'p>,
    types: &'p [Type],
    /// Distinct rows of the right, and how often each is there; then the rows that were given
    /// already.
    hash_table: TupleHashTable,
    counts: Gradual<Vec<u64>>,
    /// Whether all rows of the right were looked at.
    is_read: bool,
    /// Rows that were put by, each with whether it is of the left.
    put_by: PutBy,
    /// Number of values in a row.
    width: usize,
    /// Positions of the rows of the left's batch that are given: as many as a batch has at most.
    stay: Vec<usize>,
    /// Charge for the counts.
    charge: Charge,
}

impl<'p> SetOperation<'p> {
    pub(super) fn new(
        kind: SetKind,
        all: bool,
        left: Input<'p>,
        right: Input<'p>,
        types: &'p [Type],
    ) -> Self {
        Self {
            kind,
            all,
            types,
            width: left.batch.width(),
            left,
            right,
            hash_table: TupleHashTable::new(types),
            counts: Gradual::default(),
            is_read: false,
            put_by: PutBy::default(),
            stay: Vec::new(),
            charge: Charge::default(),
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        while !self.is_read && self.right.more(context).await? {
            self.look(context).await?;
            self.right.taken = self.right.batch.len();
        }
        self.is_read = true;
        loop {
            while out.is_empty() && self.more(context).await? {
                self.look(context).await?;
                let (stay, none) = (self.stay.iter().copied(), &mut Rows::default());
                self.left.hand_on_beside(stay, none, 0..self.width, out);
                debug_assert!(out.len() <= 2 * BATCH_ROWS);
            }
            if !out.is_empty() || !self.begin_partition(context).await? {
                return Ok(!out.is_empty());
            }
        }
    }

    /// Returns whether there are rows that were not looked at, of the left side or of a partition.
    async fn more(&mut self, context: &ExecutionContext<'_>) -> Result<bool> {
        let put_by = &mut self.put_by;
        self.left.more_or_put_by(put_by, context).await
    }

    /// Counts the rows of a batch that are of the right, and looks for those of the left that are given; puts those by
    /// that may have been counted or given already, or are counted or given later.
    async fn look(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        let input = match self.is_read {
            true => &self.left,
            false => &self.right,
        };
        let batch = &input.batch;
        // Rows of the left are remembered if each is given once, and is among those that were not met.
        let keeps_left = self.kind == SetKind::Except && !self.all;
        if !self.is_read || self.put_by.is_reading() || keeps_left {
            let beside = self.counts.capacity() * size_of::<u64>();
            let (table, rows) = (&mut self.hash_table, (batch.len(), beside));
            table
                .make_room_or_fill(&mut self.put_by, rows, context)
                .await?;
        }
        self.stay.clear();
        for at in input.taken..batch.len() {
            context.pause(1).await;
            let (row, side) = batch.row(at).split_at(self.width);
            let is_left = match side {
                [] => self.is_read,
                side => matches!(side, [Value::Bool(true)]),
            };
            let hash = self.hash_table.hash(row);
            let number = match self.hash_table.number_of(row, hash) {
                Some(number) => Some(number),
                None if self.put_by.is_full() => {
                    let row = row.iter().copied().chain([Value::Bool(is_left)]);
                    let session = context.session();
                    self.put_by.push(hash, row, context.budget, session).await?;
                    continue;
                }
                None if is_left && !keeps_left => None,
                None => {
                    self.counts.push(0);
                    Some(self.hash_table.add(row, hash)?)
                }
            };
            let mut none = 0;
            let count = match number {
                Some(number) => &mut self.counts[number as usize],
                None => &mut none,
            };
            if !is_left {
                *count += 1;
            } else if gives(self.kind, self.all, count) {
                self.stay.push(at);
            }
        }
        let (memory, counts) = (context.memory(), self.counts.capacity() * size_of::<u64>());
        let charged = self.hash_table.charge(memory);
        let charged = charged.and_then(|()| self.charge.set(memory, counts));
        self.hash_table.charged_or_fill(&mut self.put_by, charged)
    }

    /// Begins to look at the rows of the next partition, once the left side or the partition before has ended; returns
    /// false if there is none.
    async fn begin_partition(&mut self, context: &ExecutionContext<'_>) -> Result<bool> {
        self.put_by.end_partitions().await?;
        if !self.put_by.has_partitions() {
            return Ok(false);
        }
        self.hash_table = TupleHashTable::new(self.types);
        self.counts = Gradual::default();
        self.charge.lower(0);
        let width = self.width + 1;
        let batch = &mut self.left.batch;
        self.put_by.begin(batch, width, context.budget).await?;
        self.left.taken = 0;
        Ok(true)
    }
}

/// Returns whether a row of the left is given, if `count` of it are in the right; updates `count`.
fn gives(kind: SetKind, all: bool, count: &mut u64) -> bool {
    match (kind, all) {
        // Each of the right's rows pairs off with one of the left's.
        (SetKind::Intersect, true) => {
            let gives = *count > 0;
            *count = count.saturating_sub(1);
            gives
        }
        (SetKind::Except, true) => {
            let gives = *count == 0;
            *count = count.saturating_sub(1);
            gives
        }
        // The row is given once.
        (SetKind::Intersect, false) => std::mem::take(count) > 0,
        (SetKind::Except, false) => {
            let gives = *count == 0;
            *count = 1;
            gives
        }
        (SetKind::Union, _) => true,
    }
}

impl Operator for SetOperation<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn spilled(&self) -> Option<Spilled> {
        self.put_by.spilled()
    }

    fn rewind(&mut self) {
        self.left.rewind();
        self.left.batch.restart(self.width);
        self.right.rewind();
        self.hash_table.clear();
        self.counts.clear();
        self.put_by.clear();
        self.is_read = false;
    }
}
