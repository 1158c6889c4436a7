//! Functions over windows.
//!
//! Rows go through stages, one for each order. A stage sorts them, on the device if need be, and puts the values of its
//! functions behind them. Functions that look no farther than at a row's peers need no partition (`groups.rs`). Other
//! functions have a partition in memory, which ends the statement with 53200 if it is too large. Rows are given in the
//! order of the last stage.
//!
//! | part | file |
//! | --- | --- |
//! | partitions in memory, and values for their rows | `partition.rs` |
//! | functions that need no partition | `groups.rs` |
//! | bounds of frames | `frames.rs` |
//! | aggregates over one frame after the other | `running.rs` |
//!
//! # Bounds
//! Two stages are at work at once: rows that one gives are sorted for the next. The sort of a stage with partitions
//! takes a part of the operator's memory ([`BESIDE_PART`]). A partition's rows are copied if they come from the device.

mod frames;
mod groups;
mod partition;
mod running;

use interleave::released;
use types::{Result, Value};

use self::{groups::Groups, partition::Partitions};
use super::{ExecutionContext, Input, Operator, Spilled, Step, sort::Sorter};
use batch::Rows;
use planner::plan::{Window, WindowOrder};

/// Divisor of the operator's memory for rows that are copied into partitions.
const BESIDE_PART: usize = 2;

pub(super) struct WindowOperator<'p> {
    input: Input<'p>,
    orders: &'p [WindowOrder],
    windows: &'p [Window],
    /// Present stage, once the input was read.
    stage: Option<Stage<'p>>,
    /// Number of values in a row of the input.
    width: usize,
    /// Calls whose values are behind those of the input in the stage's rows, in the order of these values.
    calls: Vec<usize>,
    /// Rows of the last stage, if their values are in another order than the calls.
    rows: Rows,
    /// Most bytes on the device in earlier stages, or before the operator began again.
    bytes: u64,
}

/// The rows of an order, and the computation of their values.
struct Stage<'p> {
    number: usize,
    sorted: Sorted<'p>,
    computing: Computing<'p>,
}

enum Computing<'p> {
    Partitions(Partitions<'p>),
    Groups(Box<Groups<'p>>),
}

impl<'p> WindowOperator<'p> {
    pub(super) fn new(input: Input<'p>, orders: &'p [WindowOrder], windows: &'p [Window]) -> Self {
        let width = input.batch.width();
        Self {
            input,
            orders,
            windows,
            stage: None,
            width,
            calls: Vec::with_capacity(windows.len()),
            rows: Rows::new(width + windows.len()),
            bytes: 0,
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        if self.stage.is_none() {
            let mut first = self.begin(0);
            let sorter = &mut first.sorted.sorter;
            while self.input.more(context).await? {
                let taken = self.input.taken;
                sorter.take(&mut self.input.batch, taken, context).await?;
                self.input.taken = 0;
            }
            sorter.end(context).await?;
            self.stage = Some(first);
        }
        while let Some(stage) = &mut self.stage {
            if stage.number + 1 == self.orders.len() {
                break;
            }
            self.next_stage(context).await?;
        }
        let Some(stage) = &mut self.stage else {
            return Ok(false);
        };
        if self.calls.is_sorted() {
            return stage.give(context, out).await;
        }
        self.rows.clear();
        stage.give(context, &mut self.rows).await?;
        self.rows.settle(context.memory())?;
        for row in self.rows.iter() {
            let (row, values) = row.split_at(self.width);
            let calls = 0..values.len();
            let places = calls.map(|call| self.calls.iter().position(|own| *own == call));
            let values = places.map(|at| at.map_or(Value::Null, |at| values[at]));
            out.push(row.iter().copied().chain(values));
        }
        Ok(!out.is_empty())
    }

    /// Returns the most bytes that were on the device.
    fn bytes(&self) -> u64 {
        let of_stage = self.stage.as_ref().map_or(0, Stage::bytes);
        self.bytes.max(of_stage)
    }

    /// Makes a stage whose rows have the values of the stages before.
    fn begin(&mut self, number: usize) -> Stage<'p> {
        let width = self.width + self.calls.len();
        let own = { self.windows.iter().enumerate() }.filter(|(_, call)| call.order == number);
        let (numbers, calls): (Vec<_>, Vec<_>) = own.unzip();
        self.calls.extend(numbers);
        let (computing, part) = match calls.iter().all(|call| call.looks_at_peers_alone()) {
            true => (Computing::Groups(Box::new(Groups::new(width, &calls))), 1),
            false => (Computing::Partitions(Partitions::new(calls)), BESIDE_PART),
        };
        let order = &self.orders[number];
        Stage {
            number,
            sorted: Sorted {
                sorter: Sorter::one_by_one(width, &order.keys, part),
                order,
                width,
            },
            computing,
        }
    }

    /// Computes all rows of the stage, and begins the next one.
    async fn next_stage(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        let Some(mut stage) = self.stage.take() else {
            return Ok(());
        };
        let mut next = self.begin(stage.number + 1);
        let sorter = &mut next.sorted.sorter;
        let mut rows = Rows::new(next.sorted.width);
        while stage.give(context, &mut rows).await? {
            sorter.take(&mut rows, 0, context).await?;
        }
        // Rows of both are on the device at once.
        self.bytes = self.bytes.max(stage.bytes() + next.bytes());
        drop(stage);
        released().await;
        next.sorted.sorter.end(context).await?;
        self.stage = Some(next);
        Ok(())
    }
}

impl Stage<'_> {
    /// Adds rows with the stage's values to `out`; returns false if there are none.
    async fn give(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        let sorted = &mut self.sorted;
        match &mut self.computing {
            Computing::Partitions(partitions) => partitions.give(sorted, context, out).await,
            Computing::Groups(groups) => groups.give(sorted, context, out).await,
        }
    }

    /// Returns the most bytes that were on the device.
    fn bytes(&self) -> u64 {
        let of_sort = match self.sorted.sorter.spilled() {
            Some(Spilled::Sort { bytes }) => bytes,
            _ => 0,
        };
        match &self.computing {
            Computing::Groups(groups) => of_sort + groups.bytes(),
            Computing::Partitions(_) => of_sort,
        }
    }
}

/// Rows in the order of a stage, each followed by its keys.
pub(super) struct Sorted<'p> {
    pub(super) sorter: Sorter<'p>,
    pub(super) order: &'p WindowOrder,
    /// Number of values before the keys.
    pub(super) width: usize,
}

impl Sorted<'_> {
    /// Returns the values and the keys of the next row; `None` if there are no more.
    pub(super) fn row(&self) -> Option<(&[Value<'_>], &[Value<'_>])> {
        Some(self.sorter.first()?.split_at(self.width))
    }

    /// Leaves the row behind.
    ///
    /// # Errors
    /// Errors of the device, and 53200, if rows were put by.
    pub(super) async fn advance(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        self.sorter.advance(context).await
    }
}

impl Operator for WindowOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn spilled(&self) -> Option<Spilled> {
        let bytes = self.bytes();
        (bytes > 0).then_some(Spilled::Rows { bytes })
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.bytes = self.bytes();
        self.stage = None;
        self.calls.clear();
        self.rows.clear();
    }
}
