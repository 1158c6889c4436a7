//! A statement that runs: its operators, and how far its rows were handed over.
//!
//! It stays open between the calls of a client that takes its rows bit by bit, and computes no
//! more than it is asked for. All that it reads is of one moment, also under read committed
//! (`engine/transaction/statement_snapshot.rs`).

use std::{rc::Rc, sync::Arc};

use engine::{Seeing, Transaction};
use interleave::released;
use types::{Charge, Memory, Result, SqlError, SqlState, Value};

use super::{Field, ResultRow, Session, Sink, Tag, environment::During, query::Planned};
use batch::Rows;
use catalog::{Catalog, from_engine};
use executor::{
    execute::{BATCH_ROWS, Budget, Counters, KeyChanges, Opened, Run, SharedRows},
    system::Lookup,
};

/// How far a statement is to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// To its end.
    All,
    /// Until so many rows are handed over.
    Rows(usize),
    /// Until nothing that is written from now on can be in its rows: to its end, or not at all if
    /// its operators can keep what they read ([`Operator::settle`](executor::execute::Operator)).
    Settled,
}

/// A statement under way.
pub(super) struct Execution {
    planned: Arc<Planned>,
    opened: Opened,
    batch: Rows,
    /// Rows of the batch that were handed over.
    taken: usize,
    shared: SharedRows,
    /// What it saw, once it has been left open.
    seeing: Option<Seeing>,
    is_over: bool,
}

impl Execution {
    /// # Errors
    /// XX000 for a plan that no operator can run.
    pub(super) fn new(planned: &Arc<Planned>, budget: Budget) -> Result<Self> {
        let opened = Opened::new(planned.plan.plan.clone())?;
        Ok(Self {
            batch: Rows::new(opened.width()),
            planned: planned.clone(),
            opened,
            taken: 0,
            shared: SharedRows::new(budget),
            seeing: None,
            is_over: false,
        })
    }
}

impl Session {
    /// Runs a statement on, in the session's transaction; how many rows were handed over, or were
    /// written.
    ///
    /// # Errors
    /// Those of the statement, and of `sink`. 34000 if its transaction has ended.
    pub(super) async fn run_on(
        &self,
        execution: &mut Execution,
        parameters: &Rows,
        wanted: Wanted,
        sink: &mut impl Sink,
    ) -> Result<u64> {
        let Some(transaction) = &self.transaction else {
            return Err(ended());
        };
        let snapshot = match execution.seeing {
            None => {
                self.surrounding.begin_statement();
                transaction.statement_snapshot().map_err(from_engine)?
            }
            Some(seeing) => transaction
                .statement_snapshot_at(seeing)
                .map_err(|_| ended())?,
        };
        let planned = &*execution.planned;
        let command = match planned.plan.is_command {
            true => Some(transaction.command().map_err(from_engine)?),
            false => None,
        };
        let environment = self.during(&planned.catalog);
        let key_changes = KeyChanges::new(&planned.catalog, &execution.shared.budget);
        let shared = &execution.shared;
        let run = self.run_within(transaction, &environment, parameters, shared, &key_changes);
        let outputs = &planned.plan.outputs;
        let mut values: Vec<Value<'_>> = Vec::with_capacity(outputs.len());
        let mut count = 0_u64;
        let most = match wanted {
            Wanted::All => u64::MAX,
            Wanted::Rows(most) => most as u64,
            Wanted::Settled if execution.opened.settle(&run).await? => 0,
            Wanted::Settled => u64::MAX,
        };
        let batch = &mut execution.batch;
        while count < most {
            if execution.taken == batch.len() {
                // Its values are of the batch that goes.
                values = Vec::with_capacity(outputs.len());
                batch.clear();
                execution.taken = 0;
                if execution.is_over || !execution.opened.next(&run, batch).await? {
                    execution.is_over = true;
                    break;
                }
                batch.settle(run.memory())?;
            }
            // Until the client has taken large values they are also in what is sent to it.
            let mut sent = Charge::default();
            if batch.is_large() {
                sent.set(run.memory(), batch.bytes())?;
            }
            let rows = (batch.len() - execution.taken).min((most - count) as usize);
            if planned.shows_rows() {
                for at in execution.taken..execution.taken + rows {
                    run.pause(1).await;
                    let row = batch.row(at);
                    values.clear();
                    values.extend(outputs.iter().map(|output| row[*output]));
                    sink.row(&ResultRow {
                        fields: &planned.fields,
                        values: &values,
                        context: self.context(&self.names(&planned.catalog)),
                    })?;
                }
            }
            count += rows as u64;
            execution.taken += rows;
            sink.drain().await?;
            run.pause(BATCH_ROWS).await;
        }
        if !execution.is_over && execution.seeing.is_none() {
            execution.seeing = Some(snapshot.keep());
        }
        // Foreign keys look at what it has written.
        drop(command);
        drop(snapshot);
        self.keep_references(&key_changes).await?;
        Ok(count)
    }

    /// Runs a statement to its end; how many rows it handed over, or wrote. What it held is given back
    /// by then: the client's next one may need as much.
    ///
    /// # Errors
    /// Those of [`Session::run_on`].
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

    /// What operators have besides themselves.
    pub(super) fn run_within<'r>(
        &'r self,
        transaction: &'r Transaction,
        environment: &'r During<'r>,
        parameters: &'r Rows,
        shared: &'r SharedRows,
        key_changes: &'r KeyChanges<'r>,
    ) -> Run<'r> {
        Run {
            transaction,
            reads: transaction,
            settings: &self.inputs.settings,
            environment,
            catalog: environment.catalog,
            patterns: &self.patterns,
            parameters,
            shared,
            row_numbers: &self.database.row_numbers,
            counters: Counters {
                catalogs: &self.database.catalogs,
                catalog: environment.catalog,
                session: &self.surrounding.sequences,
                is_read_only: self.characteristics().read_only,
            },
            advisory: &self.advisory,
            budget: &shared.budget,
            key_changes,
            is_sequential: self.effects.is_sequential,
        }
    }

    /// The budget of an execution that is about to begin.
    pub(super) fn budget(&self) -> Budget {
        let share = self.effects.statement_memory;
        Budget::new(
            &self.memory,
            share.unwrap_or(self.database.memory.share_bytes()),
        )
    }

    /// What functions may ask while a statement runs that sees this catalog.
    pub(super) fn during<'s>(&'s self, catalog: &'s Catalog) -> During<'s> {
        During {
            surrounding: &self.surrounding,
            catalog,
            names: self.names(catalog),
            lookup: Lookup {
                catalog,
                search_path: &self.inputs.search_path,
                database: &self.database.name,
            },
            asked: self.asked(catalog),
        }
    }
}

impl Execution {
    /// What it holds.
    pub(super) fn memory(&self) -> Rc<Memory> {
        self.shared.budget.memory().clone()
    }

    /// Whether all rows were handed over. One that has handed over as many as were wanted may not
    /// know yet that there are no more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The columns of its rows.
    pub(super) fn fields(&self) -> &[Field] {
        &self.planned.fields
    }

    /// How a statement is told to have ended.
    pub(super) fn tag(&self, rows: u64) -> Tag {
        self.planned.tag(rows)
    }
}

fn ended() -> SqlError {
    let message = "the transaction of this portal has ended";
    SqlError::new(SqlState::INVALID_CURSOR_NAME, message)
}
