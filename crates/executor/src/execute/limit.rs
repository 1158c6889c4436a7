//! LIMIT, OFFSET, WITH TIES.

use std::cmp::Ordering;

use types::{Result, Scratch, SqlError, SqlState, Value};

use super::{ExecutionContext, Input, Operator, Step, sort::compare_keys};
use batch::Rows;
use planner::{plan::SortKey, program::Program};

pub(super) struct LimitOperator<'p> {
    input: Input<'p>,
    limit: Option<&'p Program>,
    offset: Option<&'p Program>,
    with_ties: Option<&'p [SortKey]>,
    /// Numbers of rows still to be passed over, and to be given; unknown at the beginning.
    rest: Option<(u64, u64)>,
    /// Sort keys of the last row that was given.
    last: Option<Rows>,
    scratch: Scratch,
}

impl<'p> LimitOperator<'p> {
    pub(super) fn new(
        input: Input<'p>,
        limit: Option<&'p Program>,
        offset: Option<&'p Program>,
        with_ties: Option<&'p [SortKey]>,
    ) -> Self {
        Self {
            input,
            limit,
            offset,
            with_ties,
            rest: None,
            last: None,
            scratch: Scratch::new(),
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        let (mut skip, mut give) = match self.rest {
            Some(rest) => rest,
            None => {
                let offset = count(
                    self.offset,
                    context,
                    SqlState::INVALID_ROW_COUNT_IN_OFFSET,
                    "OFFSET",
                )?;
                let limit = count(
                    self.limit,
                    context,
                    SqlState::INVALID_ROW_COUNT_IN_LIMIT,
                    "LIMIT",
                )?;
                (offset.unwrap_or(0), limit.unwrap_or(u64::MAX))
            }
        };
        while out.is_empty()
            && (give > 0 || self.last.is_some())
            && self.input.more(context).await?
        {
            self.scratch.reset();
            while self.input.taken < self.input.batch.len() {
                let row = self.input.batch.row(self.input.taken);
                if skip > 0 {
                    skip -= 1;
                } else if give > 0 {
                    give -= 1;
                    out.push(row.iter().copied());
                    if let (0, Some(keys)) = (give, self.with_ties) {
                        self.last = Some(keys_of(keys, context, &self.scratch, row)?);
                    }
                } else {
                    let (Some(last), Some(keys)) = (&self.last, self.with_ties) else {
                        break;
                    };
                    let own = keys_of(keys, context, &self.scratch, row)?;
                    if compare_keys(keys, last.row(0), own.row(0)) != Ordering::Equal {
                        self.last = None;
                        break;
                    }
                    out.push(row.iter().copied());
                }
                self.input.taken += 1;
            }
        }
        self.rest = Some((skip, give));
        Ok(!out.is_empty())
    }
}

fn keys_of(
    keys: &[SortKey],
    context: &ExecutionContext<'_>,
    scratch: &Scratch,
    row: &[Value<'_>],
) -> Result<Rows> {
    let mut found = Rows::new(keys.len());
    let mut evaluator = context.evaluator(scratch);
    let values = keys.iter().map(|key| key.value.run(&mut evaluator, row));
    found.push(values.collect::<Result<Vec<_>>>()?);
    Ok(found)
}

/// Returns a number of rows; `None` if the value is NULL.
fn count(
    program: Option<&Program>,
    context: &ExecutionContext<'_>,
    state: SqlState,
    name: &str,
) -> Result<Option<u64>> {
    let Some(program) = program else {
        return Ok(None);
    };
    let scratch = Scratch::new();
    match program.run(&mut context.evaluator(&scratch), &[])? {
        Value::Int8(count) => match u64::try_from(count) {
            Ok(count) => Ok(Some(count)),
            Err(_) => Err(SqlError::new(state, format!("{name} must not be negative"))),
        },
        _ => Ok(None),
    }
}

impl Operator for LimitOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn settle<'f>(&'f mut self, context: &'f ExecutionContext<'_>) -> Step<'f> {
        self.input.settle(context)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.rest = None;
        self.last = None;
    }
}
