//! Operators that look at each row by itself.

use types::{Result, Scratch};

use super::{ExecutionContext, Input, JoinTables, Operator, Step};
use batch::Rows;
use planner::program::Program;

/// The operator of VALUES: rows that are written out.
pub(super) struct ValuesScanOperator<'p> {
    rows: &'p [Vec<Program>],
    next: usize,
    scratch: Scratch,
}

impl<'p> ValuesScanOperator<'p> {
    pub(super) fn new(rows: &'p [Vec<Program>]) -> Self {
        Self {
            rows,
            next: 0,
            scratch: Scratch::new(),
        }
    }

    fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        self.scratch.reset();
        let rest = &self.rows[self.next..];
        let mut evaluator = context.evaluator(&self.scratch);
        for row in rest {
            let values = row.iter().map(|value| value.run(&mut evaluator, &[]));
            out.push(values.collect::<Result<Vec<_>>>()?);
            self.next += 1;
            if out.is_full() {
                break;
            }
        }
        Ok(!out.is_empty())
    }
}

impl Operator for ValuesScanOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(std::future::ready(self.advance(context, out)))
    }

    fn rewind(&mut self) {
        self.next = 0;
    }
}

/// The operator that returns rows for which a program holds.
pub(super) struct FilterOperator<'p> {
    input: Input<'p>,
    predicate: &'p Program,
    /// Positions of the batch's rows for which the program holds: as many as a batch has at most.
    stay: Vec<usize>,
    scratch: Scratch,
}

impl<'p> FilterOperator<'p> {
    pub(super) fn new(input: Input<'p>, predicate: &'p Program) -> Self {
        Self {
            input,
            predicate,
            stay: Vec::new(),
            scratch: Scratch::new(),
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        while out.is_empty() && self.input.more(context).await? {
            self.scratch.reset();
            self.stay.clear();
            let mut evaluator = context.evaluator(&self.scratch);
            for at in self.input.taken..self.input.batch.len() {
                context.pause(1).await;
                let row = self.input.batch.row(at);
                if self.predicate.holds(&mut evaluator, row)? {
                    self.stay.push(at);
                }
            }
            self.input.hand_on(self.stay.iter().copied(), out);
        }
        Ok(!out.is_empty())
    }
}

impl Operator for FilterOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn settle<'f>(&'f mut self, context: &'f ExecutionContext<'_>) -> Step<'f> {
        self.input.settle(context)
    }

    fn share<'f>(
        &'f mut self,
        context: &'f ExecutionContext<'_>,
        tables: &'f mut JoinTables,
    ) -> Step<'f> {
        self.input.share(context, tables)
    }

    fn is_over(&self) -> bool {
        self.input.is_over()
    }

    fn rewind(&mut self) {
        self.input.rewind();
    }
}

/// The operator that computes rows of other values. Columns that it hands on as they are move to the output with their
/// batch; the rows of a batch that is handed on in several portions, since the computed values are large, are copied
/// but for the last ones.
pub(super) struct ProjectionOperator<'p> {
    input: Input<'p>,
    /// Programs that compute values.
    programs: Vec<&'p Program>,
    /// Position of each of the output's values in a row of the input that is followed by the computed values.
    columns: Vec<usize>,
    /// Computed values of some rows of the input's batch; empty in between.
    computed: Rows,
    scratch: Scratch,
}

impl Drop for ProjectionOperator<'_> {
    fn drop(&mut self) {
        let computed = std::mem::take(&mut self.computed);
        self.input.spare.give_back(computed);
    }
}

impl<'p> ProjectionOperator<'p> {
    pub(super) fn new(input: Input<'p>, values: &'p [Program]) -> Self {
        let mut programs = Vec::new();
        let columns = values.iter().map(|value| match value.as_column() {
            Some(column) => column,
            None => {
                programs.push(value);
                input.batch.width() + programs.len() - 1
            }
        });
        Self {
            columns: columns.collect(),
            computed: input.spare.take(programs.len()),
            programs,
            input,
            scratch: Scratch::new(),
        }
    }

    /// Computes the values of the batch's next rows, until they have many bytes; `columns` of them and the rows are
    /// handed on.
    ///
    /// The output has the bytes of the input's batch and about [`BATCH_BYTES`](batch::BATCH_BYTES) of computed values
    /// at most. As many more come with each projection above another, of which a statement has no more than nested
    /// queries; the reader of each charges them.
    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        if !self.input.more(context).await? {
            return Ok(false);
        }
        self.scratch.reset();
        let mut evaluator = context.evaluator(&self.scratch);
        let (batch, computed) = (&self.input.batch, &mut self.computed);
        let first = self.input.taken;
        let mut until = first;
        while until < batch.len() && !computed.is_large() {
            context.pause(1).await;
            let row = batch.row(until);
            let programs = self.programs.iter();
            computed.try_push(programs.map(|program| program.run(&mut evaluator, row)))?;
            until += 1;
        }
        computed.settle(context.memory())?;
        let columns = self.columns.iter().copied();
        if until == batch.len() {
            self.input
                .hand_on_beside(first..until, computed, columns, out);
            return Ok(true);
        }
        for (row, computed) in (first..until).zip(computed.iter()) {
            let (row, width) = (batch.row(row), batch.width());
            out.push(columns.clone().map(|at| match row.get(at) {
                Some(value) => *value,
                None => computed[at - width],
            }));
        }
        computed.clear();
        self.input.taken = until;
        Ok(true)
    }
}

impl Operator for ProjectionOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn settle<'f>(&'f mut self, context: &'f ExecutionContext<'_>) -> Step<'f> {
        self.input.settle(context)
    }

    fn share<'f>(
        &'f mut self,
        context: &'f ExecutionContext<'_>,
        tables: &'f mut JoinTables,
    ) -> Step<'f> {
        self.input.share(context, tables)
    }

    fn is_over(&self) -> bool {
        self.input.is_over()
    }

    fn rewind(&mut self) {
        self.input.rewind();
    }
}
