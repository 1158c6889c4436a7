//! WITH: relations that are asked once and read in several places, and those that read themselves.

use std::{cell::RefCell, future::Future, rc::Rc};

use types::Result;

use super::{
    BATCH_ROWS, Budget, Input, Operator, Run, Step, distinct::Seen, measure::Measurements,
    received::Received,
};
use crate::{plan::SharedBody, rows::Rows};

/// The rows of an execution that are not an operator's own, and what all of it may take.
pub(crate) struct SharedRows {
    /// Outlives what is charged to it.
    pub(crate) budget: Budget,
    /// Of the shared relations, by number.
    relations: RefCell<Vec<Option<Rc<Rows>>>>,
    /// Of the client, for COPY.
    pub(crate) received: Received,
    /// Where operators that are measured note what they cost.
    pub(super) measurements: Measurements,
}

impl SharedRows {
    /// For an execution with a budget.
    pub(crate) fn new(budget: Budget) -> Self {
        Self {
            budget,
            relations: RefCell::default(),
            received: Received::default(),
            measurements: Measurements::default(),
        }
    }

    /// For one whose operators are measured with a clock.
    pub(crate) fn timed(budget: Budget) -> Self {
        Self {
            measurements: Measurements::timed(),
            ..Self::new(budget)
        }
    }

    /// Runs the execution.
    ///
    /// # Errors
    /// Its own.
    pub(crate) async fn measure<T>(&self, execution: impl Future<Output = Result<T>>) -> Result<T> {
        self.measurements.measure(execution).await
    }

    /// What its operators have done.
    pub(crate) fn into_measurements(self) -> Measurements {
        self.measurements
    }

    fn put(&self, number: usize, rows: Option<Rc<Rows>>) {
        let mut all = self.relations.borrow_mut();
        if all.len() <= number {
            all.resize(number + 1, None);
        }
        all[number] = rows;
    }

    fn get(&self, number: usize) -> Option<Rc<Rows>> {
        self.relations.borrow().get(number).cloned().flatten()
    }
}

/// A definition that runs.
pub(super) enum Body<'p> {
    Query(Input<'p>),
    Recursive {
        initial: Input<'p>,
        step: Input<'p>,
        distinct: Option<&'p [types::Type]>,
    },
}

/// A query with definitions.
pub(super) struct With<'p> {
    definitions: Vec<(usize, usize, Body<'p>)>,
    body: Box<dyn Operator + 'p>,
    is_ready: bool,
}

impl<'p> With<'p> {
    /// Number, width and body of each definition.
    pub(super) fn new(
        definitions: Vec<(usize, usize, Body<'p>)>,
        body: Box<dyn Operator + 'p>,
    ) -> Self {
        Self {
            definitions,
            body,
            is_ready: false,
        }
    }

    async fn advance(&mut self, run: &Run<'_>, out: &mut Rows) -> Result<bool> {
        if !self.is_ready {
            for (number, width, body) in &mut self.definitions {
                let rows = match body {
                    Body::Query(input) => input.all(run).await?,
                    Body::Recursive {
                        initial,
                        step,
                        distinct,
                    } => recursive(*number, *width, initial, step, *distinct, run).await?,
                };
                run.shared.put(*number, Some(Rc::new(rows)));
            }
            self.is_ready = true;
        }
        self.body.next(run, out).await
    }
}

/// `initial`, then `step` over what the step before has added, until it adds nothing.
async fn recursive(
    number: usize,
    width: usize,
    initial: &mut Input<'_>,
    step: &mut Input<'_>,
    distinct: Option<&[types::Type]>,
    run: &Run<'_>,
) -> Result<Rows> {
    let mut result = Rows::new(width);
    let mut seen = distinct.map(Seen::new);
    let mut added = initial.all(run).await?;
    loop {
        if let Some(seen) = &mut seen {
            let mut fresh = Rows::new(width);
            for (at, row) in added.iter().enumerate() {
                run.pause_after(at + 1).await;
                if seen.is_new(row)? {
                    fresh.push(row.iter().copied());
                }
                if (at + 1).is_multiple_of(BATCH_ROWS) || at + 1 == added.len() {
                    fresh.settle(run.memory())?;
                    seen.charge(run.memory())?;
                }
            }
            added = fresh;
        }
        if added.is_empty() {
            return Ok(result);
        }
        for (at, row) in added.iter().enumerate() {
            run.pause_after(at + 1).await;
            result.push(row.iter().copied());
        }
        result.settle(run.memory())?;
        run.shared.put(number, Some(Rc::new(added)));
        step.rewind();
        added = step.all(run).await?;
    }
}

impl Operator for With<'_> {
    fn next<'f>(&'f mut self, run: &'f Run<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(run, out))
    }

    fn rewind(&mut self) {
        for (_, _, body) in &mut self.definitions {
            match body {
                Body::Query(input) => input.rewind(),
                Body::Recursive { initial, step, .. } => {
                    initial.rewind();
                    step.rewind();
                }
            }
        }
        self.body.rewind();
        self.is_ready = false;
    }
}

/// Reads the rows of a shared relation.
pub(super) struct Reading<'p> {
    number: usize,
    columns: &'p [usize],
    rows: Option<Rc<Rows>>,
    next: usize,
}

impl<'p> Reading<'p> {
    pub(super) fn new(number: usize, columns: &'p [usize]) -> Self {
        Self {
            number,
            columns,
            rows: None,
            next: 0,
        }
    }

    fn advance(&mut self, run: &Run<'_>, out: &mut Rows) -> Result<bool> {
        let (number, columns) = (self.number, self.columns);
        let missing = || {
            types::SqlError::new(
                types::SqlState::INTERNAL_ERROR,
                "a WITH query was not asked",
            )
        };
        if self.rows.is_none() {
            self.rows = Some(run.shared.get(number).ok_or_else(missing)?);
        }
        if let Some(rows) = &self.rows {
            while self.next < rows.len() && !out.is_full() {
                let row = rows.row(self.next);
                out.push(columns.iter().map(|column| row[*column]));
                self.next += 1;
            }
        }
        Ok(!out.is_empty())
    }
}

impl Operator for Reading<'_> {
    fn next<'f>(&'f mut self, run: &'f Run<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(std::future::ready(self.advance(run, out)))
    }

    fn rewind(&mut self) {
        self.rows = None;
        self.next = 0;
    }
}

/// What a plan says of a definition, and its running inputs.
pub(super) fn body<'p>(
    plan: &'p SharedBody,
    mut open: impl FnMut(&'p crate::plan::Plan) -> Input<'p>,
) -> Body<'p> {
    match plan {
        SharedBody::Query(query) => Body::Query(open(query)),
        SharedBody::Recursive {
            initial,
            step,
            distinct,
        } => Body::Recursive {
            initial: open(initial),
            step: open(step),
            distinct: distinct.as_deref(),
        },
    }
}
