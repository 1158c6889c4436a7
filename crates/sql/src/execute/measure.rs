//! What the operators of an execution have done, for EXPLAIN ANALYZE: rows and repetitions.
//!
//! Not here: where their time went. Nobody above a leaf sees it resumed, so a clock around an
//! operator would take its computing for waiting.
//!
//! Other executions pay nothing: their plans have no [`Plan::Measured`](crate::plan::Plan).

use std::cell::RefCell;

use super::{Operator, Run, Step};
use crate::rows::Rows;

/// What an operator has done.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Measurement {
    /// How often it was begun.
    pub(crate) loops: u64,
    /// Rows that it gave, in all of them.
    pub(crate) rows: u64,
}

/// The measurements of an execution, by the operators' numbers.
#[derive(Default)]
pub(super) struct Measurements(RefCell<Vec<Measurement>>);

impl Measurements {
    /// For so many operators.
    pub(super) fn new(operators: usize) -> Self {
        Self(RefCell::new(vec![Measurement::default(); operators]))
    }

    pub(super) fn into_operators(self) -> Vec<Measurement> {
        self.0.into_inner()
    }

    fn note(&self, number: usize, loops: u64, rows: usize) {
        if let Some(measured) = self.0.borrow_mut().get_mut(number) {
            measured.loops += loops;
            measured.rows += rows as u64;
        }
    }
}

/// An operator that is measured.
pub(super) struct Measured<'p> {
    number: usize,
    operator: Box<dyn Operator + 'p>,
    is_begun: bool,
}

impl<'p> Measured<'p> {
    pub(super) fn new(number: usize, operator: Box<dyn Operator + 'p>) -> Self {
        Self {
            number,
            operator,
            is_begun: false,
        }
    }
}

impl Operator for Measured<'_> {
    fn next<'f>(&'f mut self, run: &'f Run<'_>, out: &'f mut Rows) -> Step<'f> {
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        Box::pin(async move {
            let more = self.operator.next(run, out).await?;
            let measurements = &run.shared.measurements;
            measurements.note(self.number, u64::from(is_first), out.len());
            Ok(more)
        })
    }

    fn rewind(&mut self) {
        self.is_begun = false;
        self.operator.rewind();
    }
}
