//! An operator as its reader holds it.
//!
//! A scan is held in place, and any other operator behind a pointer. A scan is the lowest operator of most plans and
//! the only one of many, and most statements run one for a single record: neither the operator nor its future takes
//! memory of its own then.

use types::Result;

use super::{ExecutionContext, JoinTables, Operator, Spilled, Step, scan::ScanOperator};
use batch::Rows;

/// The running side of a plan or of a part of one.
pub(super) enum OperatorNode<'p> {
    Scan(ScanOperator<'p>),
    Other(Box<dyn Operator + 'p>),
}

impl OperatorNode<'_> {
    /// Adds rows to `out`: see [`Operator::next`].
    ///
    /// # Errors
    /// Errors of [`Operator::next`].
    ///
    /// # Cancellation
    /// Dropping the future ends the execution, as with [`Operator::next`].
    #[inline]
    pub(super) async fn next(
        &mut self,
        context: &ExecutionContext<'_>,
        out: &mut Rows,
    ) -> Result<bool> {
        match self {
            OperatorNode::Scan(scan) => scan.advance(context, out).await,
            OperatorNode::Other(operator) => operator.next(context, out).await,
        }
    }

    /// Returns the future of [`OperatorNode::next`] in one allocation at most.
    pub(super) fn step<'f>(
        &'f mut self,
        context: &'f ExecutionContext<'_>,
        out: &'f mut Rows,
    ) -> Step<'f> {
        match self {
            OperatorNode::Scan(scan) => Box::pin(scan.advance(context, out)),
            OperatorNode::Other(operator) => operator.next(context, out),
        }
    }

    /// Settles the operator: see [`Operator::settle`].
    pub(super) fn settle<'f>(&'f mut self, context: &'f ExecutionContext<'_>) -> Step<'f> {
        match self {
            OperatorNode::Scan(_) => Box::pin(std::future::ready(Ok(false))),
            OperatorNode::Other(operator) => operator.settle(context),
        }
    }

    /// Makes ready what parts share: see [`Operator::share`]. Parts of a scan share its counter of chunks.
    pub(super) fn share<'f>(
        &'f mut self,
        context: &'f ExecutionContext<'_>,
        tables: &'f mut JoinTables,
    ) -> Step<'f> {
        match self {
            OperatorNode::Scan(_) => Box::pin(std::future::ready(Ok(true))),
            OperatorNode::Other(operator) => operator.share(context, tables),
        }
    }

    /// Returns whether the operator knows that it has given its last row: see [`Operator::is_over`].
    pub(super) fn is_over(&self) -> bool {
        match self {
            OperatorNode::Scan(scan) => scan.is_over(),
            OperatorNode::Other(operator) => operator.is_over(),
        }
    }

    /// Returns the number of workers that have helped: see [`Operator::helpers`].
    pub(super) fn helpers(&self) -> usize {
        match self {
            OperatorNode::Scan(_) => 0,
            OperatorNode::Other(operator) => operator.helpers(),
        }
    }

    /// Returns what the operator has put by on the device: see [`Operator::spilled`].
    pub(super) fn spilled(&self) -> Option<Spilled> {
        match self {
            OperatorNode::Scan(_) => None,
            OperatorNode::Other(operator) => operator.spilled(),
        }
    }

    /// Begins again: see [`Operator::rewind`].
    pub(super) fn rewind(&mut self) {
        match self {
            OperatorNode::Scan(scan) => scan.rewind(),
            OperatorNode::Other(operator) => operator.rewind(),
        }
    }
}
