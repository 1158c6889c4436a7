//! UNION ALL, INTERSECT, EXCEPT.

use interleave::Gradual;
use types::{Charge, Result, Type};

use super::{
    BATCH_ROWS, ExecutionContext, Input, Operator, Step, node::OperatorNode,
    tuple_hash_table::TupleHashTable,
};
use batch::Rows;
use logical::relation::SetKind;

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
    /// Distinct rows of the right, and how often each is there; then the rows that were given
    /// already.
    hash_table: TupleHashTable,
    counts: Gradual<Vec<u64>>,
    is_read: bool,
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
        types: &[Type],
    ) -> Self {
        Self {
            kind,
            all,
            left,
            right,
            hash_table: TupleHashTable::new(types),
            counts: Gradual::default(),
            is_read: false,
            stay: Vec::new(),
            charge: Charge::default(),
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        if !self.is_read {
            while self.right.more(context).await? {
                let rows = self.right.batch.len();
                self.hash_table.make_room(rows, context).await?;
                for at in 0..rows {
                    context.pause(1).await;
                    let number = number(
                        &mut self.hash_table,
                        &mut self.counts,
                        self.right.batch.row(at),
                    )?;
                    self.counts[number] += 1;
                }
                self.right.taken = self.right.batch.len();
                self.hold(context)?;
            }
            self.is_read = true;
        }
        while out.is_empty() && self.left.more(context).await? {
            let rows = self.left.batch.len();
            self.hash_table.make_room(rows, context).await?;
            self.stay.clear();
            for at in self.left.taken..rows {
                context.pause(1).await;
                let row = self.left.batch.row(at);
                let number = number(&mut self.hash_table, &mut self.counts, row)?;
                if gives(self.kind, self.all, &mut self.counts[number]) {
                    self.stay.push(at);
                }
            }
            self.left.hand_on(self.stay.iter().copied(), out);
            self.hold(context)?;
            debug_assert!(out.len() <= 2 * BATCH_ROWS);
        }
        Ok(!out.is_empty())
    }
}

impl SetOperation<'_> {
    /// Charges what was kept of a batch.
    fn hold(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        self.hash_table.charge(context.memory())?;
        let counts = self.counts.capacity() * size_of::<u64>();
        self.charge.set(context.memory(), counts)
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

/// Returns the number of a row among distinct ones.
fn number(
    hash_table: &mut TupleHashTable,
    counts: &mut Vec<u64>,
    row: &[types::Value<'_>],
) -> Result<usize> {
    let hash = hash_table.hash(row);
    let mut candidates: Vec<u32> = hash_table.unsettled(hash).collect();
    hash_table.find(&[hash], |_, number| candidates.push(number));
    if let Some(number) = candidates
        .into_iter()
        .find(|number| hash_table.has_keys(*number, row))
    {
        return Ok(number as usize);
    }
    let number = hash_table.push(row.iter().copied(), hash)?;
    if hash_table.waiting() >= 32 {
        hash_table.settle()?;
    }
    counts.push(0);
    Ok(number as usize)
}

impl Operator for SetOperation<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn rewind(&mut self) {
        self.left.rewind();
        self.right.rewind();
        self.hash_table.clear();
        self.counts.clear();
        self.is_read = false;
    }
}
