//! Rows that a client sends while its statement runs (COPY): the statement runs once over each
//! batch of them.

use std::{
    cell::{Cell, RefCell},
    mem,
};

use super::{ExecutionContext, Operator, Step};
use batch::Rows;

/// The batch that is to be read next, and the outcome of the one before.
#[derive(Default)]
pub struct CopySource {
    rows: RefCell<Rows>,
    failed: Cell<Option<usize>>,
}

impl CopySource {
    /// Hands over a batch, and leaves an empty one for the next rows.
    pub fn hand_over(&self, batch: &mut Rows) {
        let width = batch.width();
        mem::swap(batch, &mut self.rows.borrow_mut());
        match batch.width() == width {
            true => batch.clear(),
            false => *batch = Rows::new(width),
        }
    }

    /// Returns the row of the batch that could not be put in.
    pub fn failed(&self) -> Option<usize> {
        self.failed.get()
    }

    /// Notes that a statement failed over a row of its batch, counted from 0.
    pub(super) fn note_failed(&self, row: usize) {
        self.failed.set(Some(row));
    }
}

/// The operator that returns each batch once.
pub(super) struct CopySourceOperator;

impl Operator for CopySourceOperator {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        mem::swap(out, &mut context.shared.copy_source.rows.borrow_mut());
        Box::pin(std::future::ready(Ok(!out.is_empty())))
    }

    fn rewind(&mut self) {}
}
