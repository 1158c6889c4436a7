//! Subqueries within expressions: run once, run for each row that they refer to, or answered by
//! hash.

use types::{Array, Result, Scalar, Scratch, SqlError, SqlState, Value};

use super::{ExecutionContext, Input, Operator, Step, subplan_hash_table::SubplanHashTable};
use batch::Rows;
use planner::plan::{Apply, ApplyKind};

pub(super) struct ApplyOperator<'p> {
    apply: &'p Apply,
    input: Input<'p>,
    query: Input<'p>,
    /// Rows of a query that refers to no row around it, or its answer.
    once: Option<Rows>,
    /// Rows of a query that is answered by hash.
    hash_table: Option<SubplanHashTable<'p>>,
    scratch: Scratch,
}

impl<'p> ApplyOperator<'p> {
    pub(super) fn new(apply: &'p Apply, input: Input<'p>, query: Input<'p>) -> Self {
        Self {
            apply,
            input,
            query,
            once: None,
            hash_table: None,
            scratch: Scratch::new(),
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        if !self.input.more(context).await? {
            return Ok(false);
        }
        if let ApplyKind::Hashed(subplan) = &self.apply.kind {
            let table = match &mut self.hash_table {
                Some(table) => table,
                none => {
                    none.insert(SubplanHashTable::read(subplan, &mut self.query, context).await?)
                }
            };
            for at in self.input.taken..self.input.batch.len() {
                self.scratch.reset();
                let row = self.input.batch.row(at);
                let answer = table.answer(row, context, &self.scratch).await?;
                out.push(row.iter().copied().chain([answer]));
                context.pause(1).await;
            }
            self.input.taken = self.input.batch.len();
            return Ok(true);
        }
        let correlated = !self.apply.correlated.is_empty();
        for at in self.input.taken..self.input.batch.len() {
            self.scratch.reset();
            let row = self.input.batch.row(at);
            if !correlated && self.once.is_none() {
                self.once = Some(gather(self.apply, &mut self.query, context).await?);
            }
            let own;
            let rows = match &self.once {
                Some(rows) => rows,
                None => {
                    let parameters = context.extended(row, &self.apply.correlated);
                    self.query.rewind();
                    own = gather(self.apply, &mut self.query, &context.with(&parameters)).await?;
                    &own
                }
            };
            let answer = answer(self.apply, context, &self.scratch, row, rows).await?;
            out.push(row.iter().copied().chain([answer]));
            self.input.taken = at + 1;
            if out.is_large() {
                break;
            }
        }
        Ok(true)
    }
}

/// Returns the query's rows, as many as the answer needs.
async fn gather(
    apply: &Apply,
    query: &mut Input<'_>,
    context: &ExecutionContext<'_>,
) -> Result<Rows> {
    let mut rows = Rows::new(query.batch.width());
    while query.more(context).await? {
        query.keep(&mut rows);
        rows.settle(context.memory())?;
        match apply.kind {
            ApplyKind::Exists => break,
            ApplyKind::Scalar if rows.len() > 1 => {
                let message = "more than one row returned by a subquery used as an expression";
                return Err(SqlError::new(SqlState::CARDINALITY_VIOLATION, message));
            }
            _ => {}
        }
    }
    Ok(rows)
}

async fn answer<'a>(
    apply: &'a Apply,
    context: &'a ExecutionContext<'_>,
    scratch: &'a Scratch,
    row: &[Value<'a>],
    rows: &'a Rows,
) -> Result<Value<'a>> {
    match &apply.kind {
        ApplyKind::Exists => Ok(Value::Bool(!rows.is_empty())),
        ApplyKind::Scalar => Ok(rows.iter().next().map_or(Value::Null, |row| row[0])),
        ApplyKind::Array(element) => {
            // The array is in memory together with the list that it is made from.
            context.memory().ask(rows.bytes().saturating_mul(2))?;
            array(*element, rows, scratch)
        }
        ApplyKind::Hashed(_) => Err(SqlError::new(
            SqlState::INTERNAL_ERROR,
            "a query that is answered by hash was asked",
        )),
        ApplyKind::Any(tests) => {
            let mut evaluator = context.evaluator(scratch);
            let mut unknown = false;
            let mut both = Vec::with_capacity(row.len() + rows.width());
            for found in rows.iter() {
                context.pause(1).await;
                both.clear();
                both.extend_from_slice(row);
                both.extend_from_slice(found);
                let mut all = Some(true);
                for test in tests {
                    match test.run(&mut evaluator, &both)? {
                        Value::Bool(true) => {}
                        Value::Bool(false) => {
                            all = Some(false);
                            break;
                        }
                        _ => all = None,
                    }
                }
                match all {
                    Some(true) => return Ok(Value::Bool(true)),
                    Some(false) => {}
                    None => unknown = true,
                }
            }
            Ok(if unknown {
                Value::Null
            } else {
                Value::Bool(false)
            })
        }
    }
}

fn array<'a>(element: Scalar, rows: &Rows, scratch: &'a Scratch) -> Result<Value<'a>> {
    let values: Vec<Value<'_>> = rows.iter().map(|row| row[0]).collect();
    Array::of(element, &values, scratch).map(Value::Array)
}

impl Operator for ApplyOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        if !self.apply.is_fixed {
            self.query.rewind();
            self.once = None;
            self.hash_table = None;
        }
    }
}
