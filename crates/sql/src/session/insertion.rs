//! An INSERT whose rows come from outside of its plan: those of a client (COPY), or of a query (CREATE TABLE AS).

use std::rc::Rc;

use types::Result;

use super::{ResultRow, Sink, query::CachedPlan};
use batch::{Rows, SpareRows};
use executor::execute::{ExecutionContext, Opened};

/// An INSERT under way. As a sink it takes the rows of a query, and puts them in between the query's batches.
pub(super) struct Insertion<'l, 'r> {
    /// Rows to be put in next.
    pub(super) batch: Rows,
    opened: Opened,
    context: &'l ExecutionContext<'r>,
    /// Rows that the INSERT gives; they are dropped.
    out: Rows,
    count: u64,
}

impl<'l, 'r> Insertion<'l, 'r> {
    /// Opens the plan of an INSERT that is handed rows of so many columns.
    ///
    /// # Errors
    /// XX000 for a plan that no operator can run.
    pub(super) fn new(
        cached_plan: &CachedPlan,
        columns: usize,
        spare_rows: &Rc<SpareRows>,
        context: &'l ExecutionContext<'r>,
    ) -> Result<Self> {
        let opened = Opened::new(cached_plan.statement.plan.clone(), spare_rows)?;
        Ok(Self {
            batch: Rows::new(columns),
            out: Rows::new(opened.width()),
            opened,
            context,
            count: 0,
        })
    }

    /// Returns the context that the INSERT is carried out in.
    pub(super) fn context(&self) -> &'l ExecutionContext<'r> {
        self.context
    }

    /// Returns how many rows were put in.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Puts the rows of the batch in, which is empty afterwards.
    ///
    /// # Errors
    /// Errors of the rows; 53200 if there is no memory for the batch.
    pub(super) async fn put(&mut self) -> Result<()> {
        self.batch.settle(self.context.memory())?;
        self.count += self.batch.len() as u64;
        self.context.shared.copy_source.hand_over(&mut self.batch);
        self.opened.rewind();
        loop {
            self.out.clear();
            match self.opened.next(self.context, &mut self.out).await? {
                true => self.out.settle(self.context.memory())?,
                false => return Ok(()),
            }
        }
    }
}

impl Sink for Insertion<'_, '_> {
    fn row(&mut self, row: &ResultRow<'_>) -> Result<()> {
        self.batch.push(row.values.iter().copied());
        Ok(())
    }

    async fn drain(&mut self) -> Result<()> {
        self.put().await
    }
}
