//! Functions that wait, or whose effect outlives the statement: called for each row, in the order
//! of the rows. Each answer is a further column.
//!
//! The calls are made before it is known whether the rows are needed. The first row is therefore
//! handed over alone, and each time one more than all before: if a statement fails at its nth row,
//! or takes no more than n, fewer than 2n rows have had their calls.

use std::time::Duration;

use types::{Result, Scratch, Value};

use super::{BATCH_ROWS, ExecutionContext, Input, Operator, Step, sequences::Ahead};
use advisory::VOID;
use batch::Rows;
use logical::relation::WaitingFunction;
use planner::plan::{WaitingCall, WaitingCalls};

pub(super) struct WaitingCallsOperator<'p> {
    plan: &'p WaitingCalls,
    input: Input<'p>,
    /// Maximum number of rows that are handed over next.
    rows: usize,
    scratch: Scratch,
}

impl<'p> WaitingCallsOperator<'p> {
    pub(super) fn new(plan: &'p WaitingCalls, input: Input<'p>) -> Self {
        Self {
            plan,
            input,
            rows: 1,
            scratch: Scratch::new(),
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        if !self.input.more(context).await? {
            return Ok(false);
        }
        self.scratch.reset();
        let batch = &self.input.batch;
        let end = batch.len().min(self.input.taken + self.rows);
        if !self.plan.one_by_one {
            // The number grows by the rows that were there: batches may be smaller.
            self.rows = (self.rows + end - self.input.taken).min(BATCH_ROWS);
        }
        let mut evaluator = context.evaluator(&self.scratch);
        let mut ahead = Ahead::default();
        let mut row: Vec<Value<'_>> = Vec::with_capacity(batch.width() + self.plan.calls.len());
        let mut arguments: Vec<Value<'_>> = Vec::with_capacity(3);
        for at in self.input.taken..end {
            row.clear();
            row.extend_from_slice(batch.row(at));
            for call in &self.plan.calls {
                arguments.clear();
                for argument in &call.arguments {
                    arguments.push(argument.run(&mut evaluator, &row)?);
                }
                let answer = answer(call, &arguments, end - at, &mut ahead, context).await?;
                row.push(answer);
            }
            out.push(row.iter().copied());
        }
        self.input.taken = end;
        Ok(true)
    }
}

/// Makes a call; `rows` rows of the batch may be left, this one included.
async fn answer(
    call: &WaitingCall,
    arguments: &[Value<'_>],
    rows: usize,
    ahead: &mut Ahead,
    context: &ExecutionContext<'_>,
) -> Result<Value<'static>> {
    if arguments.iter().any(|argument| argument.is_null()) {
        return Ok(Value::Null);
    }
    match call.function {
        WaitingFunction::Sequence(function) => {
            let wanted = if call.is_fixed { rows } else { 1 };
            let counters = context.counters;
            let called = counters.call(context.transaction, function, arguments, wanted, ahead);
            called.await
        }
        WaitingFunction::Sleep => {
            if let [Value::Float8(seconds)] = arguments
                && *seconds > 0.0
            {
                // A sleep that is too long for a duration does not end.
                let duration = Duration::try_from_secs_f64(*seconds).unwrap_or(Duration::MAX);
                interleave::sleep(duration).await;
            }
            Ok(VOID)
        }
        WaitingFunction::Advisory(function) => context.advisory.call(function, arguments).await,
    }
}

impl Operator for WaitingCallsOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.rows = 1;
    }
}
