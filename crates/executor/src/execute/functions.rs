//! Functions that return sets: in FROM, and in select lists.

use functions::Body;
use types::{Result, Scratch, SqlError, SqlState, Value};

use super::{ExecutionContext, Input, Operator, Step};
use batch::Rows;
use planner::{plan::Call, program::Evaluator};

/// Returns all rows of a call.
async fn rows_of<'a>(
    call: &'a Call,
    evaluator: &mut Evaluator<'a>,
    row: &[Value<'a>],
    context: &ExecutionContext<'_>,
) -> Result<Rows> {
    let mut rows = Rows::new(call.columns);
    let mut arguments = Vec::with_capacity(call.arguments.len());
    for argument in &call.arguments {
        arguments.push(argument.run(evaluator, row)?);
    }
    if call.function.0.strict && arguments.iter().any(Value::is_null) {
        return Ok(rows);
    }
    let mut function_context = evaluator.context;
    function_context.argument_types = &call.argument_types;
    match call.function.0.body {
        Body::Set(function) => {
            for found in function(&function_context, &arguments)? {
                context.pause(1).await;
                match found? {
                    Value::Record(record)
                        if call.columns > 1 || record.values.len() == 1 && call.columns == 1 =>
                    {
                        rows.push(record.values.iter().copied());
                    }
                    value => rows.push([value]),
                }
                rows.settle(context.memory())?;
            }
        }
        Body::Scalar(function) => rows.push([function(&function_context, &arguments)?]),
        _ => {
            return Err(SqlError::new(
                SqlState::INTERNAL_ERROR,
                "not a function that returns rows",
            ));
        }
    }
    Ok(rows)
}

/// Returns all rows of each of several calls.
async fn rows_of_all<'a>(
    calls: &'a [Call],
    evaluator: &mut Evaluator<'a>,
    row: &[Value<'a>],
    context: &ExecutionContext<'_>,
) -> Result<Vec<Rows>> {
    let mut rows = Vec::with_capacity(calls.len());
    for call in calls {
        rows.push(rows_of(call, evaluator, row, context).await?);
    }
    Ok(rows)
}

/// The operator that returns the rows of calls side by side.
pub(super) struct FunctionScanOperator<'p> {
    calls: &'p [Call],
    ordinality: bool,
    /// Whether the rows stay the same when they are read again.
    is_fixed: bool,
    rows: Option<Vec<Rows>>,
    next: usize,
}

impl<'p> FunctionScanOperator<'p> {
    pub(super) fn new(calls: &'p [Call], ordinality: bool, is_fixed: bool) -> Self {
        Self {
            calls,
            ordinality,
            is_fixed,
            rows: None,
            next: 0,
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        let rows = match &mut self.rows {
            Some(rows) => rows,
            none => {
                let scratch = Scratch::new();
                let mut evaluator = context.evaluator(&scratch);
                none.insert(rows_of_all(self.calls, &mut evaluator, &[], context).await?)
            }
        };
        let longest = rows.iter().map(Rows::len).max().unwrap_or(0);
        while self.next < longest && !out.is_full() {
            let values = side_by_side(rows, self.next);
            self.next += 1;
            let number = self
                .ordinality
                .then(|| Value::Int8(i64::try_from(self.next).unwrap_or(i64::MAX)));
            out.push(values.chain(number));
        }
        Ok(!out.is_empty())
    }
}

/// Returns the values of several sets at a position; a set that is shorter has NULLs.
fn side_by_side(rows: &[Rows], at: usize) -> impl Iterator<Item = Value<'_>> {
    rows.iter().flat_map(move |rows| {
        (0..rows.width()).map(move |column| {
            if at < rows.len() {
                rows.row(at)[column]
            } else {
                Value::Null
            }
        })
    })
}

impl Operator for FunctionScanOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn rewind(&mut self) {
        if !self.is_fixed {
            self.rows = None;
        }
        self.next = 0;
    }
}

/// The operator that returns each input row with the rows of calls over it.
pub(super) struct ProjectSetOperator<'p> {
    input: Input<'p>,
    calls: &'p [Call],
    /// Rows of the calls over the current row.
    rows: Option<Vec<Rows>>,
    next: usize,
    scratch: Scratch,
}

impl<'p> ProjectSetOperator<'p> {
    pub(super) fn new(input: Input<'p>, calls: &'p [Call]) -> Self {
        Self {
            input,
            calls,
            rows: None,
            next: 0,
            scratch: Scratch::new(),
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        while !out.is_full() && self.input.more(context).await? {
            let row = self.input.batch.row(self.input.taken);
            let rows = match &mut self.rows {
                Some(rows) => rows,
                none => {
                    self.scratch.reset();
                    let mut evaluator = context.evaluator(&self.scratch);
                    none.insert(rows_of_all(self.calls, &mut evaluator, row, context).await?)
                }
            };
            let longest = rows.iter().map(Rows::len).max().unwrap_or(0);
            while self.next < longest && !out.is_full() {
                out.push(row.iter().copied().chain(side_by_side(rows, self.next)));
                self.next += 1;
            }
            if self.next >= longest {
                self.input.taken += 1;
                self.rows = None;
                self.next = 0;
            }
        }
        Ok(!out.is_empty())
    }
}

impl Operator for ProjectSetOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.rows = None;
        self.next = 0;
    }
}
