//! WITH: relations that are asked once and read in several places, and those that read themselves.
//!
//! A definition computes its rows when they are read, and no more of them than are read; it keeps them for later
//! readers, on the device if memory has no room for them ([`KeptRows`]). A definition that a single place reads, once,
//! hands its rows on and keeps nothing; a recursion then has no more than two steps' rows at a time. A definition that
//! writes is run to its end when the query is over, however much was read of it (PostgreSQL does the same).

use std::{
    cell::{Cell, RefCell},
    future::Future,
    rc::Rc,
};

use types::Result;

use super::{
    Budget, ExecutionContext, Input, Operator, Spilled, Step, copy_source::CopySource,
    distinct::Seen, join_filters::JoinFilters, measure::Measurements, node::OperatorNode,
};
use batch::Rows;
use planner::program::Lists;
use spill::{KeptReader, KeptRows, give};

/// The rows of an execution that belong to no single operator, and the execution's budget.
pub struct SharedRows {
    /// Budget, which outlives everything that is charged to it.
    pub budget: Budget,
    /// Rows that the client sends, for COPY.
    pub copy_source: CopySource,
    /// Lists that programs search by hash.
    pub(super) lists: Lists,
    /// Filters of joins, for scans below them.
    pub(super) join_filters: JoinFilters,
    /// Measurements of operators that are measured.
    pub(super) measurements: Measurements,
}

impl SharedRows {
    /// Makes the state of an execution with a budget.
    pub fn new(budget: Budget) -> Self {
        Self {
            lists: Lists::new(budget.memory()),
            budget,
            copy_source: CopySource::default(),
            join_filters: JoinFilters::default(),
            measurements: Measurements::default(),
        }
    }

    /// Makes the state of an execution whose operators are measured with a clock.
    pub fn timed(budget: Budget) -> Self {
        Self {
            measurements: Measurements::timed(),
            ..Self::new(budget)
        }
    }

    /// Runs the execution.
    ///
    /// # Errors
    /// Errors of the execution.
    pub async fn measure<T>(&self, execution: impl Future<Output = Result<T>>) -> Result<T> {
        self.measurements.measure(execution).await
    }

    /// Returns the measurements of the operators, and the most memory that they have held.
    pub fn into_measurements(self) -> Measurements {
        let mut measurements = self.measurements;
        measurements.peak_bytes = self.budget.memory().peak();
        measurements
    }
}

/// The source of a WITH clause's name while a plan is opened.
#[derive(Clone)]
pub(super) enum Source<'p> {
    Definition(Rc<Definition<'p>>),
    /// Rows that the step before has added, within the step of a recursion.
    WorkTable(Rc<WorkTable>),
}

/// The rows that a step of a recursion reads.
#[derive(Default)]
pub(super) struct WorkTable(RefCell<Option<Rc<Rows>>>);

/// A running definition: see the module text.
pub(super) struct Definition<'p> {
    /// Producer of the rows, taken out while it computes.
    producer: RefCell<Option<Producer<'p>>>,
    /// Rows that were computed, if they are kept.
    rows: RefCell<KeptRows>,
    width: usize,
    keeps: Cell<bool>,
    is_over: Cell<bool>,
    writes: bool,
    /// Number of places that read the definition.
    readers: Cell<usize>,
}

/// The source of a definition's rows.
pub(super) enum Producer<'p> {
    Query(Box<Input<'p>>),
    Recursive(Box<Recursion<'p>>),
}

impl Producer<'_> {
    /// Adds the producer's next rows to `out`; returns false at the end.
    async fn next(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        match self {
            Producer::Query(input) => {
                if !input.more(context).await? {
                    return Ok(false);
                }
                input.hand_on(input.taken..input.batch.len(), out);
                Ok(true)
            }
            Producer::Recursive(recursion) => recursion.next(context, out).await,
        }
    }

    fn rewind(&mut self) {
        match self {
            Producer::Query(input) => input.rewind(),
            Producer::Recursive(recursion) => recursion.rewind(),
        }
    }
}

/// A recursion: `initial`, then `step` over the rows that the step before has added, until it adds
/// none.
pub(super) struct Recursion<'p> {
    initial: Input<'p>,
    step: Input<'p>,
    work_table: Rc<WorkTable>,
    /// Rows that were met before, for UNION: a row among them does not count again.
    distinct: Option<(&'p [types::Type], Seen)>,
    /// Rows that this step adds.
    added: Rows,
    steps: bool,
}

impl<'p> Recursion<'p> {
    pub(super) fn new(
        initial: Input<'p>,
        step: Input<'p>,
        work_table: Rc<WorkTable>,
        distinct: Option<&'p [types::Type]>,
    ) -> Self {
        let added = Rows::new(initial.batch.width());
        Self {
            initial,
            step,
            work_table,
            distinct: distinct.map(|types| (types, Seen::new(types))),
            added,
            steps: false,
        }
    }

    async fn next(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        while out.is_empty() {
            let input = match self.steps {
                true => &mut self.step,
                false => &mut self.initial,
            };
            if !input.more(context).await? {
                if self.added.is_empty() {
                    return Ok(false);
                }
                let width = self.added.width();
                let added = std::mem::replace(&mut self.added, Rows::new(width));
                self.work_table.0.replace(Some(Rc::new(added)));
                self.step.rewind();
                self.steps = true;
                continue;
            }
            if let Some((_, seen)) = &mut self.distinct {
                seen.make_room(input.batch.len(), context).await?;
            }
            for at in input.taken..input.batch.len() {
                let row = input.batch.row(at);
                if let Some((_, seen)) = &mut self.distinct
                    && !seen.is_new(row)?
                {
                    continue;
                }
                self.added.push(row.iter().copied());
                out.push(row.iter().copied());
            }
            input.taken = input.batch.len();
            self.added.settle(context.memory())?;
            if let Some((_, seen)) = &mut self.distinct {
                seen.charge(context.memory())?;
            }
        }
        Ok(true)
    }

    fn rewind(&mut self) {
        self.initial.rewind();
        self.step.rewind();
        self.added.clear();
        self.steps = false;
        self.work_table.0.replace(None);
        if let Some((types, seen)) = &mut self.distinct {
            *seen = Seen::new(types);
        }
    }
}

impl<'p> Definition<'p> {
    pub(super) fn new(producer: Producer<'p>, width: usize, writes: bool) -> Self {
        Self {
            producer: RefCell::new(Some(producer)),
            rows: RefCell::new(KeptRows::new(width)),
            width,
            keeps: Cell::new(false),
            is_over: Cell::new(false),
            writes,
            readers: Cell::new(0),
        }
    }

    /// Counts a place that reads the definition, perhaps more than once.
    pub(super) fn add_reader(&self, repeats: bool) {
        self.readers.set(self.readers.get() + 1);
        if repeats || self.readers.get() > 1 {
            self.keeps.set(true);
        }
    }

    /// Adds the definition's next rows to `out`; returns false at the end.
    async fn compute(&self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        if self.is_over.get() {
            return Ok(false);
        }
        let taken = self.producer.borrow_mut().take();
        let Some(mut producer) = taken else {
            let message = "a WITH query reads itself";
            return Err(types::SqlError::new(
                types::SqlState::INTERNAL_ERROR,
                message,
            ));
        };
        let more = producer.next(context, out).await;
        self.producer.replace(Some(producer));
        self.is_over.set(matches!(more, Ok(false)));
        more
    }

    /// Computes rows until there are some from `from` on; returns false if there are none.
    async fn reach(&self, from: usize, context: &ExecutionContext<'_>) -> Result<bool> {
        while self.rows.borrow().len() <= from {
            let mut fresh = Rows::new(self.width);
            if !self.compute(context, &mut fresh).await? {
                self.rows.borrow_mut().end();
                return Ok(false);
            }
            // The rows are taken out: they may wait for the device, during which nothing else reads them.
            let mut rows = self.rows.take();
            let added = rows.add(fresh, context.budget, context.session()).await;
            self.rows.replace(rows);
            added?;
        }
        Ok(true)
    }

    /// Runs the definition to its end.
    async fn finish(&self, context: &ExecutionContext<'_>) -> Result<()> {
        let mut rows = Rows::new(self.width);
        while self.compute(context, &mut rows).await? {
            rows.clear();
        }
        Ok(())
    }

    fn rewind(&self) {
        self.rows.borrow_mut().clear();
        self.is_over.set(false);
        if let Some(producer) = &mut *self.producer.borrow_mut() {
            producer.rewind();
        }
    }
}

/// A query with definitions.
pub(super) struct With<'p> {
    definitions: Vec<Rc<Definition<'p>>>,
    body: OperatorNode<'p>,
}

impl<'p> With<'p> {
    pub(super) fn new(definitions: Vec<Rc<Definition<'p>>>, body: OperatorNode<'p>) -> Self {
        Self { definitions, body }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        if self.body.next(context, out).await? {
            return Ok(true);
        }
        for definition in &self.definitions {
            if definition.writes {
                definition.finish(context).await?;
            }
        }
        Ok(false)
    }
}

impl Operator for With<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn rewind(&mut self) {
        self.definitions
            .iter()
            .for_each(|definition| definition.rewind());
        self.body.rewind();
    }
}

/// The operator that reads the rows of a shared relation.
pub(super) struct CteScanOperator<'p> {
    source: Source<'p>,
    columns: &'p [usize],
    /// Rows of a definition that keeps none, as they were computed.
    passed: Rows,
    /// Number of the next one of these, or of the work table.
    next: usize,
    /// Place among the rows that a definition keeps.
    reader: KeptReader,
}

impl<'p> CteScanOperator<'p> {
    pub(super) fn new(source: Source<'p>, columns: &'p [usize]) -> Self {
        let width = match &source {
            Source::Definition(definition) => definition.width,
            Source::WorkTable(_) => 0,
        };
        Self {
            source,
            columns,
            passed: Rows::new(width),
            next: 0,
            reader: KeptReader::default(),
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        match &self.source {
            Source::WorkTable(work_table) => {
                if let Some(rows) = &*work_table.0.borrow() {
                    self.next = give(rows, self.next, self.columns, out);
                }
            }
            Source::Definition(definition) if definition.keeps.get() => {
                if definition.reach(self.reader.next(), context).await? {
                    let (rows, budget) = (&definition.rows, context.budget);
                    self.reader.give(rows, self.columns, budget, out).await?;
                } else {
                    self.reader.release();
                }
            }
            Source::Definition(definition) => {
                if self.next == self.passed.len() {
                    self.passed.clear();
                    self.next = 0;
                    definition.compute(context, &mut self.passed).await?;
                    self.passed.settle(context.memory())?;
                }
                self.next = give(&self.passed, self.next, self.columns, out);
            }
        }
        Ok(!out.is_empty())
    }
}

impl Operator for CteScanOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn spilled(&self) -> Option<Spilled> {
        match &self.source {
            Source::Definition(definition) => definition.rows.borrow().spilled(),
            Source::WorkTable(_) => None,
        }
    }

    fn rewind(&mut self) {
        self.next = 0;
        self.passed.clear();
        self.reader = KeptReader::default();
    }
}
