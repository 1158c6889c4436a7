//! Sorting of rows that come in the order of the first keys: some at a time, so that few are kept.
//!
//! Rows that are equal in the first keys are a group. A portion of the rows is sorted by all keys and given before the
//! next portion is read; a portion ends with a group. Small groups share a portion, because beginning a portion costs
//! more than comparing some rows.

use types::Result;

use super::{ExecutionContext, Input, Operator, Spilled, Step, sort::Sorter};
use batch::Rows;
use planner::{plan::SortKey, program::Program};

pub(super) struct IncrementalSort<'p> {
    input: Input<'p>,
    /// Keys in whose order the rows come.
    presorted: &'p [SortKey],
    /// Rows of the present portion.
    sorter: Sorter<'p>,
}

impl<'p> IncrementalSort<'p> {
    /// Makes a sort of rows that come in the order of the first `presorted` of the keys.
    pub(super) fn new(
        input: Input<'p>,
        keys: &'p [SortKey],
        presorted: usize,
        limit: Option<&'p Program>,
    ) -> Self {
        Self {
            sorter: Sorter::new(input.batch.width(), keys, limit),
            presorted: &keys[..presorted],
            input,
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        while !self.sorter.give(context, out).await?
            && self.sorter.limit(context)? > 0
            && self.input.more(context).await?
        {
            self.sorter.clear();
            let presorted = Some(self.presorted);
            self.sorter
                .read(&mut self.input, presorted, context)
                .await?;
        }
        Ok(!out.is_empty())
    }
}

impl Operator for IncrementalSort<'_> {
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
