//! Functions of sequences: called for each row, in the order of the rows.
//!
//! `nextval` may have to wait for a counter's record, and therefore cannot be called within an
//! expression. If a whole batch will be asked for, the values for its rows are taken together: the
//! counter is locked, and its record written, once for all of them. A value that was taken for a row
//! which then fails is lost, like a value whose transaction is rolled back.

use engine::Transaction;
use types::{Result, SqlError, SqlState, Value};

use catalog::{Catalog, Catalogs, CounterState, ObjectId, Sequence, SessionValues};
use logical::relation::SequenceFunction;

/// The sequences, as a statement reaches them.
#[derive(Clone, Copy)]
pub struct Counters<'r> {
    /// Catalogs of the database, which count the sequences' values.
    pub catalogs: &'r Catalogs,
    /// Catalog from which the statement's plan was made.
    pub catalog: &'r Catalog,
    /// Values that the session has taken from sequences, for `currval` and `lastval`.
    pub session: &'r SessionValues,
    /// Whether the transaction only reads, and takes no values.
    pub is_read_only: bool,
}

/// Values that were taken for the rows of a batch.
#[derive(Default)]
pub(super) struct Ahead {
    /// Values of each sequence, the next one last.
    of: Vec<(ObjectId, Vec<i64>)>,
}

impl Ahead {
    fn of(&mut self, sequence: ObjectId) -> &mut Vec<i64> {
        let at = self.of.iter().position(|(id, _)| *id == sequence);
        let at = at.unwrap_or_else(|| {
            self.of.push((sequence, Vec::new()));
            self.of.len() - 1
        });
        &mut self.of[at].1
    }
}

impl<'r> Counters<'r> {
    pub(super) async fn call(
        &self,
        transaction: &Transaction,
        function: SequenceFunction,
        arguments: &[Value<'_>],
        wanted: usize,
        ahead: &mut Ahead,
    ) -> Result<Value<'static>> {
        let value = match function {
            SequenceFunction::Last => self
                .session
                .last(|id| self.catalog.sequence(id).is_some())?,
            SequenceFunction::Current => self.session.current(self.sequence(arguments)?)?,
            SequenceFunction::Next => {
                let sequence = self.sequence(arguments)?;
                self.may_write("nextval()")?;
                let values = ahead.of(sequence.id);
                if values.is_empty() {
                    let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
                    self.catalogs
                        .next_values(transaction, sequence, wanted, values)
                        .await?;
                    values.reverse();
                }
                let missing = || SqlError::new(SqlState::INTERNAL_ERROR, "a sequence gave nothing");
                let value = values.pop().ok_or_else(missing)?;
                self.session.note(sequence, value, true);
                value
            }
            SequenceFunction::Set => {
                let sequence = self.sequence(arguments)?;
                self.may_write("setval()")?;
                let (last, is_called) = match arguments {
                    [_, Value::Int8(last)] => (*last, true),
                    [_, Value::Int8(last), Value::Bool(is_called)] => (*last, *is_called),
                    _ => return Err(SqlError::new(SqlState::INTERNAL_ERROR, "setval of nothing")),
                };
                let state = CounterState { last, is_called };
                self.catalogs
                    .set_value(transaction, sequence, state)
                    .await?;
                ahead.of(sequence.id).clear();
                if is_called {
                    self.session.note(sequence, last, false);
                }
                last
            }
        };
        Ok(Value::Int8(value))
    }

    /// Checks that the transaction may take values.
    ///
    /// # Errors
    /// 25006 in a transaction that only reads.
    fn may_write(&self, function: &str) -> Result<()> {
        if !self.is_read_only {
            return Ok(());
        }
        let message = format!("cannot execute {function} in a read-only transaction");
        Err(SqlError::new(SqlState::READ_ONLY_SQL_TRANSACTION, message))
    }

    fn sequence(&self, arguments: &[Value<'_>]) -> Result<&'r Sequence> {
        let Some(Value::Oid(id)) = arguments.first() else {
            return Err(SqlError::new(
                SqlState::INTERNAL_ERROR,
                "no sequence is named",
            ));
        };
        self.catalog
            .expect_sequence(ObjectId(*id))
            .map(|sequence| &**sequence)
    }
}
