//! Executing plans: operators that hand batches of rows upwards, when they are asked.
//!
//! An [`Operator`] is the running side of a [`Plan`](planner::plan::Plan). It is asked for some
//! rows, adds them to a batch of the caller's, and waits where it has to: reads of the engine are
//! leaves that the worker resumes directly, however deep in operators they are. No operator runs
//! ahead of its caller, and a caller that takes no rows causes no work.
//!
//! | part | file |
//! | --- | --- |
//! | from plans to operators; an operator as its reader holds it; both as one | `open.rs`; `node.rs`; `opened.rs` |
//! | rows from tables; ranges of keys | `scan.rs`; `key.rs` |
//! | relations of the system's | `system.rs` |
//! | filters, computed columns | `simple.rs` |
//! | joins: by hash, by lookup, by nesting; output of the first two | `hash_join.rs`, `index_join.rs`, `nested_loop_join.rs`; `matches.rs` |
//! | scans that leave rows out by keys of joins | `join_filters.rs`, `batch/key_filter.rs` |
//! | rows by their values; by keys of joins; by integers; numbers by one integer | `tuple_hash_table.rs`; `join_hash_table.rs`; `batch/integer_hash_table.rs`; `batch/integer_keys.rs` |
//! | subqueries, their rows by hash; functions that wait; sequences; shared relations | `apply.rs`, `subplan_hash_table.rs`; `waiting_calls.rs`; `sequences.rs`; `shared.rs` |
//! | sorting, limits; set operations | `sort.rs`, `incremental_sort.rs`, `batch/merge_sort.rs`, `limit.rs`; `set_operation.rs`, `distinct.rs` |
//! | memory and time of an execution, rows on the device; its measurement | crate `spill`; `measure.rs` |
//! | rows that a client sends | `copy_source.rs` |
//! | groups; functions that return sets | `aggregate.rs`; `functions.rs` |
//! | groups by several workers | `parallel.rs` |
//! | inserting, updating, deleting; one row of these; MERGE | `insert.rs`, `change.rs`, `new_row.rs`; `change_row.rs`; `merge.rs` |
//! | keys changed under foreign keys; locks on many keys at once | `key_changes.rs`; `lock_rows.rs` |

mod aggregate;
mod apply;
mod change;
mod change_row;
mod copy_source;
mod distinct;
mod errors;
mod functions;
mod hash_join;
mod incremental_sort;
mod index_join;
mod insert;
mod join_filters;
mod join_hash_table;
mod key;
mod key_changes;
mod limit;
mod lock_rows;
mod matches;
mod measure;
mod merge;
mod nested_loop_join;
mod new_row;
mod node;
mod open;
mod opened;
mod parallel;
mod scan;
mod sequences;
mod set_operation;
mod shared;
mod simple;
mod sort;
mod subplan_hash_table;
mod system;
mod tuple_hash_table;
mod waiting_calls;
mod window;

use std::{future::Future, pin::Pin, rc::Rc, sync::Arc};

use ::functions::{Context, Environment, Patterns};
use engine::{Session, Transaction};
use interleave::{Turn, yield_now};
use types::{Memory, Result, Scratch, Settings, Value};

use advisory::SessionLocks;
use batch::{Rows, SpareRows};
use catalog::{Catalog, RowNumbers};
use planner::program::Evaluator;
use spill::PutBy;

pub use batch::BATCH_ROWS;
pub use spill::{Budget, Spilled};

pub use self::{
    key_changes::{Happened, KeyChanges, Noted, Place, Reference},
    lock_rows::lock_rows,
    measure::{Measurement, Measurements, Spent},
    opened::Opened,
    parallel::{Division, Helper, Helpers, Part},
    sequences::Counters,
    shared::SharedRows,
};

use self::{join_hash_table::JoinHashTable, node::OperatorNode};

/// Maximum rows that are found for a join at once, unless they have one key.
const ROWS_AT_ONCE: usize = 4096;

/// The context of an execution: everything that its operators have in common.
#[derive(Clone, Copy)]
pub struct ExecutionContext<'r> {
    /// Transaction of the statement, which writes and locks.
    pub transaction: &'r Transaction,
    /// Transaction for reads: the statement's, or one that sees the present beside it.
    pub reads: &'r Transaction,
    /// Session settings by which values are read and written, such as the time zone.
    pub settings: &'r Settings,
    /// Session and database, as functions ask about them.
    pub environment: &'r dyn Environment,
    /// The catalog that the statement sees.
    pub catalog: &'r Catalog,
    /// Cache of the session's compiled patterns.
    pub patterns: &'r Patterns,
    /// One row: the client's parameters, then values of the rows around a subquery.
    pub parameters: &'r Rows,
    /// State that all operators of the execution share, such as rows that the client sends.
    pub shared: &'r SharedRows,
    /// Memory and time that the execution may take.
    pub budget: &'r Budget,
    /// Keys for rows of tables without a primary key.
    pub row_numbers: &'r RowNumbers,
    /// Sequences, for `nextval` and the like.
    pub counters: Counters<'r>,
    /// Advisory locks of the session.
    pub advisory: &'r SessionLocks,
    /// Log of changed keys, by which foreign keys are checked when the statement ends.
    pub key_changes: &'r KeyChanges<'r>,
    /// Whether keys are looked up one after the other, each waiting for its cache miss.
    pub is_sequential: bool,
    /// Maximum number of blocks of columns that a scan reads from the device ahead.
    pub read_ahead: usize,
    /// Way to other workers, if the execution may have help.
    pub helpers: Option<&'r dyn Helpers>,
    /// Share in a division, for the scan below an aggregate that is divided.
    pub part: Option<&'r Part>,
}

impl ExecutionContext<'_> {
    /// Counts `rows` that were looked at; once the turn is over, gives the worker's other tasks a
    /// turn and lets a request to give up the statement take effect. A statement that finds all
    /// that it reads in the cache waits for nothing else, so each loop that can be long calls this;
    /// a loop calls it for each of its rows if one row may take long, as it may where expressions
    /// are computed.
    #[inline]
    pub async fn pause(&self, rows: usize) {
        if self.turn().spend(rows) {
            self.end_turn().await;
        }
    }

    /// Gives other tasks a turn, as [`ExecutionContext::pause`] does, after the execution's turn has said that it is
    /// over ([`Turn::spend`]): in a visitor of records, which cannot wait itself. Operators that grow without reading
    /// rows, as windows do, find here that records have left memory for them.
    pub(crate) async fn end_turn(&self) {
        yield_now().await;
        self.budget.wait_for_room().await;
    }

    /// Gives other tasks a turn if work on large values has used up this one. A caller that counts
    /// its rows later needs it.
    #[inline]
    pub(crate) async fn catch_up(&self) {
        if self.turn().is_due() {
            self.pause(0).await;
        }
    }

    /// Returns the measure of how much of its turn the execution has had.
    #[inline]
    pub fn turn(&self) -> &Turn {
        self.budget.turn()
    }

    /// Returns the session of the statement, which has the device.
    pub(crate) fn session(&self) -> &Rc<Session> {
        self.transaction.session()
    }

    /// Returns the memory that the execution holds.
    pub fn memory(&self) -> &Rc<Memory> {
        self.budget.memory()
    }

    /// Returns a context for functions that keeps what they make in `scratch`, an arena of the
    /// execution's.
    pub fn function_context<'a>(&'a self, scratch: &'a Scratch) -> Context<'a> {
        scratch.charge_to(self.memory());
        Context {
            scratch,
            settings: self.settings,
            environment: self.environment,
            patterns: self.patterns,
            argument_types: &[],
        }
    }

    /// Returns an evaluator for programs that keeps what they make in `scratch`.
    pub fn evaluator<'a>(&'a self, scratch: &'a Scratch) -> Evaluator<'a> {
        Evaluator::new(self.function_context(scratch), self.parameters.row(0))
            .in_turn(self.turn())
            .with_lists(&self.shared.lists)
    }

    /// Returns a context that differs in its `parameters` only.
    pub fn with<'a>(&'a self, parameters: &'a Rows) -> ExecutionContext<'a> {
        ExecutionContext {
            parameters,
            ..*self
        }
    }

    /// Returns the execution's parameters followed by the values of `row` at `positions`: the
    /// parameters of a query within the row's query.
    pub(crate) fn extended(&self, row: &[Value<'_>], positions: &[usize]) -> Rows {
        let own = self.parameters.row(0);
        let mut extended = Rows::new(own.len() + positions.len());
        extended.push(
            own.iter()
                .copied()
                .chain(positions.iter().map(|at| row[*at])),
        );
        extended
    }
}

/// The future of an operator's answer.
pub type Step<'f> = Pin<Box<dyn Future<Output = Result<bool>> + 'f>>;

/// The tables of hash joins that lie upon each other, from the uppermost on.
#[derive(Default)]
pub struct JoinTables(Vec<Arc<JoinHashTable>>);

/// The running side of a plan.
pub trait Operator {
    /// Adds rows to `out`, around [`BATCH_ROWS`] at most; returns false, and adds no rows, at the
    /// end. `out` is empty when it is called.
    ///
    /// # Errors
    /// Errors of expressions and of the engine. The execution is over then.
    ///
    /// # Cancellation
    /// Dropping the future ends the execution; its transaction can go on from a savepoint.
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f>;

    /// Reads the rest of what the operator needs from tables, and keeps it, so that nothing written
    /// from now on is in its rows. Returns false if the operator cannot do so, and the caller has
    /// to take all of its rows instead. An operator can do so if it locks rows, since it must not
    /// lock rows that no caller has asked for, or if it only hands on what it is given.
    ///
    /// # Errors
    /// Errors of [`Operator::next`].
    ///
    /// # Cancellation
    /// Dropping the future ends the execution, as with [`Operator::next`].
    fn settle<'f>(&'f mut self, _: &'f ExecutionContext<'_>) -> Step<'f> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// Makes ready what all parts of a divided aggregate have in common of this operator and of those below it: the
    /// tables of joins are built, and added to `tables` from the uppermost join on. Returns false if a part cannot do
    /// without something that is this operator's alone; the operator can go on alone in any case.
    ///
    /// # Errors
    /// Errors of [`Operator::next`].
    ///
    /// # Cancellation
    /// Dropping the future ends the execution, as with [`Operator::next`].
    fn share<'f>(&'f mut self, _: &'f ExecutionContext<'_>, _: &'f mut JoinTables) -> Step<'f> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// Returns whether the operator knows that it has given its last row: a caller need not ask again. An operator
    /// that does not know returns false.
    fn is_over(&self) -> bool {
        false
    }

    /// Returns the number of workers that have helped the operator so far, beside the execution's own.
    fn helpers(&self) -> usize {
        0
    }

    /// Returns what the operator has put by on the device so far, if anything.
    fn spilled(&self) -> Option<Spilled> {
        None
    }

    /// Begins again, perhaps with other parameters.
    fn rewind(&mut self);
}

/// An operator that is read, and the batch that it gave last.
pub struct Input<'p> {
    operator: OperatorNode<'p>,
    /// Batch that the operator gave last; empty before the first.
    pub batch: Rows,
    /// Number of the batch's rows that were looked at.
    pub taken: usize,
    /// Taker of the batch's memory at the end.
    spare: Rc<SpareRows>,
}

impl Drop for Input<'_> {
    fn drop(&mut self) {
        self.spare.give_back(std::mem::take(&mut self.batch));
    }
}

impl<'p> Input<'p> {
    /// Makes an input that reads `operator`, whose rows have `width` values each. Its batch takes memory from
    /// `spare` and gives it back.
    fn new(operator: OperatorNode<'p>, width: usize, spare: &Rc<SpareRows>) -> Self {
        Self {
            operator,
            batch: spare.take(width),
            taken: 0,
            spare: spare.clone(),
        }
    }

    /// Returns whether there are rows that were not looked at; reads a batch if the last one is
    /// used up.
    pub async fn more(&mut self, context: &ExecutionContext<'_>) -> Result<bool> {
        if self.taken < self.batch.len() {
            return Ok(true);
        }
        let is_over = self.is_over();
        self.batch.clear();
        self.taken = 0;
        if is_over {
            return Ok(false);
        }
        context.pause(BATCH_ROWS).await;
        context.budget.wait_for_room().await;
        let more = self.operator.next(context, &mut self.batch).await?;
        self.batch.settle(context.memory())?;
        Ok(more)
    }

    /// Returns whether there are rows that were not looked at, of the input or of the partition of rows that were put
    /// by which is read in its place; reads a batch if the last one is used up.
    pub(crate) async fn more_or_put_by(
        &mut self,
        put_by: &mut PutBy,
        context: &ExecutionContext<'_>,
    ) -> Result<bool> {
        if !put_by.is_reading() {
            return self.more(context).await;
        }
        if self.taken < self.batch.len() {
            return Ok(true);
        }
        self.batch.clear();
        self.taken = 0;
        put_by.read(&mut self.batch, context.budget).await
    }

    /// Returns whether all rows were looked at, and the operator knows that there are no more.
    pub(crate) fn is_over(&self) -> bool {
        self.taken == self.batch.len() && self.operator.is_over()
    }

    /// Hands on the batch's rows at the positions `stay`, and leaves out the others.
    pub(crate) fn hand_on(
        &mut self,
        stay: impl ExactSizeIterator<Item = usize> + Clone,
        out: &mut Rows,
    ) {
        let columns = 0..self.batch.width();
        self.hand_on_beside(stay, &mut Rows::default(), columns, out);
    }

    /// Hands on the `columns` of the batch's rows at the positions `stay`, each followed by a row of `apart`, and
    /// leaves out the others.
    pub(crate) fn hand_on_beside(
        &mut self,
        stay: impl ExactSizeIterator<Item = usize> + Clone,
        apart: &mut Rows,
        columns: impl Iterator<Item = usize> + Clone,
        out: &mut Rows,
    ) {
        out.take_batch(&mut self.batch, stay, apart, columns);
        self.taken = 0;
    }

    /// Adds the batch's rows that are left to `kept`.
    pub(crate) fn keep(&mut self, kept: &mut Rows) {
        let left = self.taken..self.batch.len();
        kept.adopt(&mut self.batch, left, &mut Rows::default());
        self.taken = 0;
    }

    /// Returns all rows that are left.
    pub async fn all(&mut self, context: &ExecutionContext<'_>) -> Result<Rows> {
        let mut rows = Rows::new(self.batch.width());
        while self.more(context).await? {
            self.keep(&mut rows);
            rows.settle(context.memory())?;
        }
        Ok(rows)
    }

    /// Reads all rows into the batch before the first is looked at.
    pub(crate) async fn read_all(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        self.batch = self.all(context).await?;
        self.taken = 0;
        Ok(())
    }

    /// Settles the operator: see [`Operator::settle`].
    pub fn settle<'f>(&'f mut self, context: &'f ExecutionContext<'_>) -> Step<'f> {
        self.operator.settle(context)
    }

    /// Makes ready what parts share: see [`Operator::share`].
    fn share<'f>(
        &'f mut self,
        context: &'f ExecutionContext<'_>,
        tables: &'f mut JoinTables,
    ) -> Step<'f> {
        self.operator.share(context, tables)
    }

    /// Begins the operator again and drops the rows of the batch.
    pub fn rewind(&mut self) {
        self.operator.rewind();
        self.batch.clear();
        self.taken = 0;
    }
}
