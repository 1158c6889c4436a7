//! Queries that stay open between statements: those of cursors, and of the protocol's portals whose
//! rows are taken bit by bit.
//!
//! A suspended query sees the rows that existed when it was opened. Commits of other transactions
//! are hidden from it by its snapshot (`execution.rs`); writes of its own transaction are not,
//! since they are in no snapshot. Before a statement writes, the remaining rows of all suspended
//! queries are therefore computed and kept ([`Session::settle`]), charged to each query's own
//! budget.
//!
//! A query that locks rows must not lock those that the client has not asked for yet. Its rows are
//! read and kept, and each is locked when it is handed over, in its state at that time
//! ([`Operator::settle`](executor::execute::Operator::settle)).
//!
//! If a value of a row that is computed early raises an error, the query fails with it when it
//! comes to that row; the statement that writes goes on. Other errors are the writing statement's.
//!
//! A query that has failed, or was given up, cannot be run on. Neither can a query that was opened
//! after a savepoint to which its transaction has returned. The same holds for rows of a statement
//! that has run to its end, as of INSERT .. RETURNING, which a client has not taken yet: they would be
//! rows that are not there.

use std::{
    cell::{Cell, RefCell},
    rc::{Rc, Weak},
    sync::Arc,
};

use types::{Memory, Result, SqlError, SqlState};

use super::{
    CommandTag, Field, ResultRow, Session, Sink,
    execution::{Execution, Wanted},
    query::CachedPlan,
};
use batch::Rows;

/// Rows that were computed before they were asked for.
#[derive(Default)]
pub(super) struct Rest {
    pub(super) rows: Rows,
    /// Number of rows that were handed over.
    next: usize,
    /// Error that the query fails with after these rows.
    failure: Option<SqlError>,
}

/// A query that is suspended.
struct Query {
    execution: Execution,
    parameters: Rc<Rows>,
    /// Remaining rows, once they were computed.
    rest: Option<Rest>,
}

/// The place of a suspended query.
pub(super) struct Suspended {
    /// Name of the cursor; empty for a portal.
    name: Box<str>,
    /// The query; `None` while it runs, after it has failed or was given up, and in place of rows that are kept.
    query: RefCell<Option<Box<Query>>>,
    /// Rows in place of a query, of a statement that has run to its end.
    rest: RefCell<Option<Rest>>,
    /// Memory that its execution, and rows that were computed early, are charged to.
    memory: Rc<Memory>,
    /// Number of savepoints that were open when the query was opened.
    depth: Cell<usize>,
}

impl Rest {
    pub(super) fn new(rows: Rows) -> Self {
        Self {
            rows,
            ..Self::default()
        }
    }
}

impl Suspended {
    pub(super) fn depth(&self) -> usize {
        self.depth.get()
    }

    /// Returns the memory that rows which are computed early are charged to.
    pub(super) fn memory(&self) -> &Rc<Memory> {
        &self.memory
    }

    /// Gives the query up: it cannot be run on.
    pub(super) fn give_up(&self) {
        self.query.take();
        self.rest.take();
    }
}

/// Returns the error for a query that cannot be run on: of a cursor of this name, or of a portal.
pub(super) fn cannot_be_run(name: &str) -> SqlError {
    let message = format!("portal \"{name}\" cannot be run");
    SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

/// The suspended queries of a session.
#[derive(Default)]
pub(super) struct SuspendedQueries(Vec<Weak<Suspended>>);

impl SuspendedQueries {
    fn each(&self) -> impl Iterator<Item = Rc<Suspended>> {
        self.0.iter().filter_map(Weak::upgrade)
    }

    /// Notes that the savepoints from this one on are released; later queries stay.
    pub(super) fn release(&self, depth: usize) {
        self.each()
            .for_each(|suspended| suspended.depth.set(suspended.depth().min(depth)));
    }

    /// Gives up the queries that were opened under more than `depth` savepoints.
    pub(super) fn return_to(&self, depth: usize) {
        self.each()
            .filter(|suspended| suspended.depth() > depth)
            .for_each(|suspended| suspended.give_up());
    }

    /// Gives all queries up at the end of their transaction.
    pub(super) fn end(&mut self) {
        self.each().for_each(|suspended| suspended.give_up());
        self.0.clear();
    }
}

impl Session {
    /// Opens a query whose tables are locked, for a cursor of this name or a portal.
    ///
    /// # Errors
    /// XX000 for a plan that no operator can run.
    pub(super) fn suspend(
        &mut self,
        name: &str,
        cached_plan: &Arc<CachedPlan>,
        parameters: Rc<Rows>,
    ) -> Result<Rc<Suspended>> {
        let execution = self.execution(cached_plan)?;
        let memory = execution.memory();
        let query = Query {
            execution,
            parameters,
            rest: None,
        };
        Ok(self.note_suspended(Suspended {
            name: name.into(),
            query: RefCell::new(Some(Box::new(query))),
            rest: RefCell::default(),
            memory,
            depth: Cell::new(self.transaction.depth()),
        }))
    }

    /// Keeps the rows of a statement that has run to its end, charged to `memory`, for a portal.
    pub(super) fn suspend_rows(&mut self, rows: Rows, memory: Rc<Memory>) -> Rc<Suspended> {
        self.note_suspended(Suspended {
            name: Box::default(),
            query: RefCell::default(),
            rest: RefCell::new(Some(Rest::new(rows))),
            memory,
            depth: Cell::new(self.transaction.depth()),
        })
    }

    fn note_suspended(&mut self, suspended: Suspended) -> Rc<Suspended> {
        let suspended = Rc::new(suspended);
        let all = &mut self.suspended.0;
        all.retain(|other| other.strong_count() > 0);
        all.push(Rc::downgrade(&suspended));
        suspended
    }

    /// Runs a query on: all rows that are left, or a limited number. Returns its tag if there were
    /// fewer.
    ///
    /// # Errors
    /// Errors of the query, which cannot be run on afterwards; 55000 if it cannot be run on.
    pub(super) async fn resume(
        &mut self,
        suspended: &Suspended,
        rows_max: Option<usize>,
        sink: &mut impl Sink,
    ) -> Result<Option<CommandTag>> {
        let Some(mut query) = suspended.query.take() else {
            return Err(cannot_be_run(&suspended.name));
        };
        let end = self.advance(&mut query, rows_max, sink).await?;
        suspended.query.replace(Some(query));
        self.set_pending(sink).await?;
        Ok(end)
    }

    /// Hands over rows of [`Session::suspend_rows`]; returns as [`Session::hand_over`] does.
    ///
    /// # Errors
    /// Those of `sink`; 55000 if the transaction has ended, has returned to a savepoint before, or if a hand-over has
    /// failed.
    pub(super) async fn resume_rows(
        &self,
        suspended: &Suspended,
        fields: &[Field],
        rows_max: Option<usize>,
        sink: &mut impl Sink,
    ) -> Result<(u64, bool)> {
        let Some(mut rest) = suspended.rest.take() else {
            return Err(cannot_be_run(&suspended.name));
        };
        let outcome = self.hand_over(&mut rest, fields, rows_max, sink).await?;
        suspended.rest.replace(Some(rest));
        Ok(outcome)
    }

    async fn advance(
        &self,
        query: &mut Query,
        rows_max: Option<usize>,
        sink: &mut impl Sink,
    ) -> Result<Option<CommandTag>> {
        let execution = &mut query.execution;
        let (rows, is_over) = match &mut query.rest {
            Some(rest) => {
                let fields = execution.fields();
                self.hand_over(rest, fields, rows_max, sink).await?
            }
            None => {
                let wanted = rows_max.map_or(Wanted::All, Wanted::Rows);
                let running = self.run_on(execution, &query.parameters, wanted, sink);
                (running.await?, execution.is_over())
            }
        };
        Ok(is_over.then(|| execution.tag(rows)))
    }

    /// Hands over rows that were computed before; returns how many, and whether there were fewer
    /// than wanted.
    ///
    /// # Errors
    /// Errors of `sink`, and the error of computing the rows.
    async fn hand_over(
        &self,
        rest: &mut Rest,
        fields: &[Field],
        rows_max: Option<usize>,
        sink: &mut impl Sink,
    ) -> Result<(u64, bool)> {
        let left = rest.rows.len() - rest.next;
        let most = rows_max.unwrap_or(usize::MAX);
        let until = rest.next + left.min(most);
        self.send_kept(&rest.rows, rest.next..until, fields, sink)
            .await?;
        rest.next = until;
        match rest.failure.take() {
            Some(failure) if left < most => Err(failure),
            failure => {
                rest.failure = failure;
                Ok((left.min(most) as u64, left < most))
            }
        }
    }

    /// Hands over rows that are kept, by their numbers. Each may be large: the client is waited for, and others have
    /// their turn, after any of them.
    ///
    /// # Errors
    /// Errors of `sink`.
    pub(super) async fn send_kept(
        &self,
        rows: &Rows,
        numbers: impl Iterator<Item = usize>,
        fields: &[Field],
        sink: &mut impl Sink,
    ) -> Result<()> {
        let catalog = self.transaction.catalog();
        for number in numbers {
            sink.row(&ResultRow {
                fields,
                values: rows.row(number),
                context: self.context(&self.names(&catalog)),
            })?;
            sink.drain().await?;
            if interleave::turn_is_over() {
                interleave::yield_now().await;
            }
        }
        Ok(())
    }

    /// Computes the remaining rows of suspended queries before the transaction writes, so that they
    /// do not see the writes.
    ///
    /// # Errors
    /// Errors of the queries, except for errors of their values, which the queries keep for
    /// themselves.
    pub(super) async fn settle(&self) -> Result<()> {
        for suspended in self.suspended.each() {
            let Some(mut query) = suspended.query.take() else {
                continue;
            };
            if query.rest.is_none() && !query.execution.is_over() {
                // Statements that check foreign keys are run, and lock tables, as well.
                Box::pin(self.settle_query(&mut query)).await?;
            }
            suspended.query.replace(Some(query));
        }
        Ok(())
    }

    async fn settle_query(&self, query: &mut Query) -> Result<()> {
        let execution = &mut query.execution;
        let mut rest = Rest::new(Rows::new(execution.fields().len()));
        let mut kept = Kept(&mut rest.rows, execution.memory());
        let running = self.run_on(execution, &query.parameters, Wanted::Settled, &mut kept);
        match running.await {
            // The query has settled by itself.
            Ok(_) if !execution.is_over() => return Ok(()),
            Ok(_) => {}
            Err(error) if is_of_values(&error) => rest.failure = Some(error),
            Err(error) => return Err(error),
        }
        query.rest = Some(rest);
        Ok(())
    }
}

/// Returns whether an error is about the values of rows: nothing else has happened.
fn is_of_values(error: &SqlError) -> bool {
    let state = error.state();
    ["21", "22"]
        .iter()
        .any(|class| state.code().starts_with(class))
}

/// A sink that keeps rows, charged to a statement.
pub(super) struct Kept<'r>(pub(super) &'r mut Rows, pub(super) Rc<Memory>);

impl Sink for Kept<'_> {
    fn row(&mut self, row: &ResultRow<'_>) -> Result<()> {
        self.0.push(row.values.iter().copied());
        self.0.settle(&self.1)
    }
}
