//! A statement that runs: its operators, and the position up to which its rows were handed over.
//!
//! The statement stays open between the calls of a client that takes its rows bit by bit, and
//! computes no more than it is asked for. All that it reads is of one moment, also under read
//! committed (`engine/transaction/statement_snapshot.rs`).

use std::{rc::Rc, sync::Arc};

use engine::{Seeing, Transaction};
use interleave::released;
use types::{Charge, Memory, Result, SqlError, SqlState, Value};

use super::{
    CommandTag, Field, ResultRow, Session, Sink, environment::StatementEnvironment,
    helpers::StatementHelpers, query::CachedPlan,
};
use batch::{Rows, SpareRows};
use catalog::{Catalog, from_engine};
use executor::execute::{
    BATCH_ROWS, Budget, Counters, ExecutionContext, KeyChanges, Opened, SharedRows,
};
use system_catalog::Lookup;

/// Number of columns shown up to which a batch below [`Rows::is_large`] is handed over without looking at its bytes:
/// they may be as many times those of the batch.
const FEW_OUTPUTS: usize = 16;

/// The point up to which a statement is to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The statement's end.
    All,
    /// The point where this many rows are handed over.
    Rows(usize),
    /// The point from which on later writes cannot be in its rows: its end, or its present point if
    /// its operators can keep what they read ([`Operator::settle`](executor::execute::Operator)).
    Settled,
}

/// A statement under way.
pub(super) struct Execution {
    cached_plan: Arc<CachedPlan>,
    opened: Opened,
    batch: Rows,
    /// Number of the batch's rows that were handed over.
    taken: usize,
    shared: SharedRows,
    /// Snapshot of the statement, once it has been left open.
    seeing: Option<Seeing>,
    /// Whether the operators have given their last row.
    has_all: bool,
    is_over: bool,
    /// Taker of the batch's memory at the end.
    spare_rows: Rc<SpareRows>,
}

impl Execution {
    /// Opens a planned statement, whose batches take memory from `spare_rows` and give it back.
    ///
    /// # Errors
    /// XX000 for a plan that no operator can run.
    fn new(
        cached_plan: &Arc<CachedPlan>,
        budget: Budget,
        spare_rows: &Rc<SpareRows>,
    ) -> Result<Self> {
        let opened = Opened::new(cached_plan.statement.plan.clone(), spare_rows)?;
        Ok(Self {
            batch: spare_rows.take(opened.width()),
            cached_plan: cached_plan.clone(),
            opened,
            taken: 0,
            shared: SharedRows::new(budget),
            seeing: None,
            has_all: false,
            is_over: false,
            spare_rows: spare_rows.clone(),
        })
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        self.spare_rows.give_back(std::mem::take(&mut self.batch));
    }
}

impl Session {
    /// Runs a statement on, in the session's transaction; returns how many rows were handed over,
    /// or were written.
    ///
    /// # Errors
    /// Errors of the statement, and of `sink`. 34000 if its transaction has ended.
    pub(super) async fn run_on(
        &self,
        execution: &mut Execution,
        parameters: &Rows,
        wanted: Wanted,
        sink: &mut impl Sink,
    ) -> Result<u64> {
        let Some(transaction) = self.transaction.begun() else {
            return Err(ended());
        };
        let snapshot = match execution.seeing {
            None => {
                self.environment.begin_statement();
                transaction.statement_snapshot().map_err(from_engine)?
            }
            Some(seeing) => transaction
                .statement_snapshot_at(seeing)
                .map_err(|_| ended())?,
        };
        let cached_plan = &*execution.cached_plan;
        let command = match cached_plan.statement.is_command {
            true => Some(transaction.command().map_err(from_engine)?),
            false => None,
        };
        let environment = self.statement_environment(&cached_plan.catalog);
        let key_changes = KeyChanges::new(&cached_plan.catalog, &execution.shared.budget);
        let shared = &execution.shared;
        let context =
            self.execution_context(transaction, &environment, parameters, shared, &key_changes);
        let outputs = &cached_plan.statement.outputs;
        // Most plans give their columns in the order in which they are shown, and no others before them.
        let are_first = outputs.iter().copied().eq(0..outputs.len());
        let mut values: Vec<Value<'_>> = Vec::new();
        let mut count = 0_u64;
        let most = match wanted {
            Wanted::All => u64::MAX,
            Wanted::Rows(most) => most as u64,
            Wanted::Settled if execution.opened.settle(&context).await? => 0,
            Wanted::Settled => u64::MAX,
        };
        let batch = &mut execution.batch;
        while count < most {
            if execution.taken == batch.len() {
                // The values are of the old batch.
                values = Vec::new();
                batch.clear();
                execution.taken = 0;
                if execution.has_all || !execution.opened.next(&context, batch).await? {
                    execution.has_all = true;
                    execution.is_over = true;
                    break;
                }
                execution.has_all = execution.opened.is_over();
                batch.settle(context.memory())?;
            }
            // Large values are also in the bytes that are sent to the client, as often as they are shown. Those of
            // a row are charged, and the client takes rows before the next one if it has no room for it.
            let mut sent = Charge::default();
            let rows = (batch.len() - execution.taken).min((most - count) as usize);
            let is_large = batch.is_large() || outputs.len() > FEW_OUTPUTS;
            if cached_plan.shows_rows() {
                for at in execution.taken..execution.taken + rows {
                    context.pause(1).await;
                    if is_large {
                        if !sink.has_room() {
                            sink.drain().await?;
                        }
                        sent.set(context.memory(), batch.borrowed_bytes(at, outputs))?;
                    }
                    let row = batch.row(at);
                    if !are_first {
                        values.clear();
                        values.extend(outputs.iter().map(|output| row[*output]));
                    }
                    sink.row(&ResultRow {
                        fields: &cached_plan.fields,
                        values: match are_first {
                            true => &row[..outputs.len()],
                            false => &values,
                        },
                        context: self.context(&self.names(&cached_plan.catalog)),
                    })?;
                }
            }
            count += rows as u64;
            execution.taken += rows;
            sink.drain().await?;
            context.pause(BATCH_ROWS).await;
        }
        if !execution.is_over && execution.seeing.is_none() {
            execution.seeing = Some(snapshot.keep());
        }
        // Checks of foreign keys read what the statement has written.
        drop(command);
        drop(snapshot);
        self.keep_references(&key_changes).await?;
        let changed_rows = self.transaction.changed_rows();
        changed_rows.note(count, cached_plan.written());
        Ok(count)
    }

    /// Runs a statement to its end; returns how many rows it handed over, or wrote. Its memory is
    /// given back by then: the client's next statement may need as much.
    ///
    /// # Errors
    /// Errors of [`Session::run_on`].
    pub(super) async fn run_to_end(
        &self,
        mut execution: Execution,
        parameters: &Rows,
        sink: &mut impl Sink,
    ) -> Result<u64> {
        let outcome = self
            .run_on(&mut execution, parameters, Wanted::All, sink)
            .await;
        let memory = execution.memory();
        drop(execution);
        // Large lists are on their way back.
        if memory.used() > 0 {
            released().await;
        }
        outcome
    }

    /// Returns the context of the statement's execution.
    pub(super) fn execution_context<'r>(
        &'r self,
        transaction: &'r Transaction,
        environment: &'r StatementEnvironment<'r>,
        parameters: &'r Rows,
        shared: &'r SharedRows,
        key_changes: &'r KeyChanges<'r>,
    ) -> ExecutionContext<'r> {
        ExecutionContext {
            transaction,
            reads: transaction,
            settings: &self.settings.inputs().settings,
            environment,
            catalog: environment.catalog,
            patterns: self.environment.patterns(),
            parameters,
            shared,
            row_numbers: &self.database.row_numbers,
            counters: Counters {
                catalogs: &self.database.catalogs,
                catalog: environment.catalog,
                session: self.environment.sequences(),
                is_read_only: self.characteristics().read_only,
            },
            advisory: self.transaction.advisory(),
            budget: &shared.budget,
            key_changes,
            is_sequential: self.settings.effects().is_sequential,
            read_ahead: self.settings.effects().read_ahead,
            helpers: Some(&environment.helpers),
            part: None,
        }
    }

    /// Opens a planned statement.
    ///
    /// # Errors
    /// XX000 for a plan that no operator can run.
    pub(super) fn execution(&self, cached_plan: &Arc<CachedPlan>) -> Result<Execution> {
        Execution::new(cached_plan, self.budget(), self.memory.spare_rows())
    }

    /// Returns the budget of an execution that is about to begin.
    pub(super) fn budget(&self) -> Budget {
        let effects = self.settings.effects();
        let budget = self.memory.budget(effects.statement_memory);
        budget.with_operator_bytes(effects.operator_memory)
    }

    /// Returns the session as functions see it while a statement runs that sees this catalog.
    pub(super) fn statement_environment<'s>(
        &'s self,
        catalog: &'s Arc<Catalog>,
    ) -> StatementEnvironment<'s> {
        StatementEnvironment {
            session: &self.environment,
            catalog,
            helpers: StatementHelpers::new(self, catalog),
            names: self.names(catalog),
            lookup: Lookup {
                catalog,
                search_path: self.settings.search_path(),
                database: &self.database.name,
            },
            asked: self.asked(catalog),
        }
    }
}

impl Execution {
    /// Returns the memory that the statement holds.
    pub(super) fn memory(&self) -> Rc<Memory> {
        self.shared.budget.memory().clone()
    }

    /// Returns whether all rows were handed over. A statement that has handed over as many as were
    /// wanted may not know yet that there are no more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the columns of the statement's rows.
    pub(super) fn fields(&self) -> &[Field] {
        &self.cached_plan.fields
    }

    /// Returns the tag with which the statement ends.
    pub(super) fn tag(&self, rows: u64) -> CommandTag {
        self.cached_plan.tag(rows)
    }
}

fn ended() -> SqlError {
    let message = "the transaction of this portal has ended";
    SqlError::new(SqlState::INVALID_CURSOR_NAME, message)
}
