//! Operators that look at each row by itself.

use types::{Result, Scratch, Value};

use super::{ExecutionContext, Input, Operator, Step};
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
    scratch: Scratch,
}

impl<'p> FilterOperator<'p> {
    pub(super) fn new(input: Input<'p>, predicate: &'p Program) -> Self {
        Self {
            input,
            predicate,
            scratch: Scratch::new(),
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        while out.is_empty() && self.input.more(context).await? {
            self.scratch.reset();
            let mut evaluator = context.evaluator(&self.scratch);
            for at in self.input.taken..self.input.batch.len() {
                context.pause(1).await;
                let row = self.input.batch.row(at);
                if self.predicate.holds(&mut evaluator, row)? {
                    out.push(row.iter().copied());
                }
            }
            self.input.taken = self.input.batch.len();
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

    fn rewind(&mut self) {
        self.input.rewind();
    }
}

/// The operator that computes rows of other values.
pub(super) struct ProjectionOperator<'p> {
    input: Input<'p>,
    values: &'p [Program],
    scratch: Scratch,
}

impl<'p> ProjectionOperator<'p> {
    pub(super) fn new(input: Input<'p>, values: &'p [Program]) -> Self {
        Self {
            input,
            values,
            scratch: Scratch::new(),
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        if !self.input.more(context).await? {
            return Ok(false);
        }
        self.scratch.reset();
        let mut evaluator = context.evaluator(&self.scratch);
        let mut values: Vec<Value<'_>> = Vec::with_capacity(self.values.len());
        for at in self.input.taken..self.input.batch.len() {
            context.pause(1).await;
            let row = self.input.batch.row(at);
            values.clear();
            for program in self.values {
                values.push(program.run(&mut evaluator, row)?);
            }
            out.push(values.iter().copied());
            self.input.taken = at + 1;
            if out.is_large() {
                break;
            }
        }
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

    fn rewind(&mut self) {
        self.input.rewind();
    }
}
