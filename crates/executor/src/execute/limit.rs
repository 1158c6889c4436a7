//! LIMIT, OFFSET, WITH TIES.

use std::cmp::Ordering;

use types::{Result, Scratch, SqlError, SqlState, Value};

use super::{ExecutionContext, Input, Operator, Step};
use batch::Rows;
use planner::{
    plan::{SortKey, compare_keys},
    program::Program,
};

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
            let batch = &self.input.batch;
            let skipped = (batch.len() - self.input.taken).min(at_most(skip));
            skip -= skipped as u64;
            let first = self.input.taken + skipped;
            let given = (batch.len() - first).min(at_most(give));
            give -= given as u64;
            let mut end = first + given;
            if let (1.., 0, Some(keys)) = (given, give, self.with_ties) {
                let last = batch.row(end - 1);
                self.last = Some(keys_of(keys, context, &self.scratch, last)?);
            }
            while end < batch.len()
                && let (Some(last), Some(keys)) = (&self.last, self.with_ties)
            {
                let own = keys_of(keys, context, &self.scratch, batch.row(end))?;
                match compare_keys(keys, last.row(0), own.row(0)) {
                    Ordering::Equal => end += 1,
                    _ => self.last = None,
                }
            }
            // Rows behind the last one are not asked for again.
            self.input.hand_on(first..end, out);
        }
        self.rest = Some((skip, give));
        Ok(!out.is_empty())
    }
}

/// Returns a number of rows of a batch: `rows`, or more than a batch has.
fn at_most(rows: u64) -> usize {
    usize::try_from(rows).unwrap_or(usize::MAX)
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
