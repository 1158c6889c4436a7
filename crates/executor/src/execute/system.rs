//! Relations of the system's, whose rows are made when they are asked for.

use types::{Result, Scratch};

use super::{BATCH_ROWS, ExecutionContext, Operator, Step};
use batch::Rows;
use catalog::ObjectId;
use system_catalog::Source;

/// The operator that makes all rows of a system relation at once and hands them on in batches.
pub(super) struct SystemScanOperator<'p> {
    relation: ObjectId,
    columns: &'p [usize],
    /// Rows of the relation, kept when the scan begins again: they depend on no row around it.
    rows: Option<Rows>,
    next: usize,
}

impl<'p> SystemScanOperator<'p> {
    pub(super) fn new(relation: ObjectId, columns: &'p [usize]) -> Self {
        Self {
            relation,
            columns,
            rows: None,
            next: 0,
        }
    }

    fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        let rows = match &mut self.rows {
            Some(rows) => rows,
            none => {
                let scratch = Scratch::new();
                let source = Source {
                    catalog: context.catalog,
                    environment: context.environment,
                    scratch: &scratch,
                };
                none.insert(system_catalog::rows(self.relation, self.columns, &source)?)
            }
        };
        let until = rows.len().min(self.next + BATCH_ROWS);
        for at in self.next..until {
            out.push(rows.row(at).iter().copied());
        }
        self.next = until;
        Ok(!out.is_empty())
    }
}

impl Operator for SystemScanOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(std::future::ready(self.advance(context, out)))
    }

    fn rewind(&mut self) {
        self.next = 0;
    }
}
