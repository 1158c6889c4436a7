//! Functions over windows for the rows of one partition, all of which are in memory.

use std::ops::Range;

use functions::{Body, WindowFunction};
use interleave::{Gradual, released};
use types::{Charge, Result, Scratch, SqlError, SqlState, Value};

use super::{
    Sorted,
    frames::{Distances, Frames},
    running::Running,
};
use crate::execute::{BATCH_ROWS, ExecutionContext};
use batch::{InOrder, Rows};
use planner::plan::{SortKey, Window, WindowOrder, compare_keys};

/// Bytes that are needed for each row while values are computed, beside rows and values: the beginning of its group.
const ROW_BYTES: usize = size_of::<u32>();

/// Partitions that are in memory, one after the other.
pub(super) struct Partitions<'p> {
    calls: Vec<&'p Window>,
    /// Number of the partition's rows.
    rows: usize,
    /// The rows, each followed by its keys, if they come from the device: others are the next ones in order.
    copies: Rows,
    /// Values of each call for these rows.
    values: Vec<Rows>,
    /// Number of the rows that were given.
    given: usize,
}

impl<'p> Partitions<'p> {
    pub(super) fn new(calls: Vec<&'p Window>) -> Self {
        Self {
            values: calls.iter().map(|_| Rows::new(1)).collect(),
            calls,
            rows: 0,
            copies: Rows::default(),
            given: 0,
        }
    }

    /// Adds the next rows with the values of the calls to `out`; returns false if there are none.
    ///
    /// # Errors
    /// Errors of the functions and of the device; 53200 if the statement may not hold a partition.
    pub(super) async fn give(
        &mut self,
        sorted: &mut Sorted<'_>,
        context: &ExecutionContext<'_>,
        out: &mut Rows,
    ) -> Result<bool> {
        while !out.is_full() {
            if self.given == self.rows && !self.read(sorted, context).await? {
                break;
            }
            let row = &rows_of(sorted, &self.copies).row(self.given)[..sorted.width];
            let values = self.values.iter().map(|values| values.row(self.given)[0]);
            out.push(row.iter().copied().chain(values));
            self.given += 1;
        }
        Ok(!out.is_empty())
    }

    /// Reads the next partition, and computes the values for its rows; returns false if there is none.
    async fn read(
        &mut self,
        sorted: &mut Sorted<'_>,
        context: &ExecutionContext<'_>,
    ) -> Result<bool> {
        self.values.iter_mut().for_each(Rows::clear);
        self.given = 0;
        self.rows = match sorted.sorter.in_memory() {
            Some(_) => {
                sorted.sorter.skip(self.rows);
                count(sorted, context).await
            }
            None => self.copy(sorted, context).await?,
        };
        if self.rows == 0 {
            return Ok(false);
        }
        let mut charge = Charge::default();
        charge.set(context.memory(), self.rows * ROW_BYTES)?;
        let partition = Partition {
            order: sorted.order,
            in_order: rows_of(sorted, &self.copies),
            rows: self.rows,
            first_key: sorted.width,
        };
        for (call, values) in self.calls.iter().zip(&mut self.values) {
            compute(call, &partition, context, values).await?;
        }
        Ok(true)
    }

    /// Copies the rows of the next partition; returns how many there are.
    async fn copy(
        &mut self,
        sorted: &mut Sorted<'_>,
        context: &ExecutionContext<'_>,
    ) -> Result<usize> {
        let (order, width, memory) = (sorted.order, sorted.width, context.memory());
        let of_partition = &order.keys[..order.partition];
        // Memory of a large partition is not that of the next.
        let was_large = self.copies.len() > BATCH_ROWS;
        self.copies = Rows::new(width + order.keys.len());
        if was_large {
            released().await;
        }
        while let Some((row, keys)) = sorted.row() {
            if !self.copies.is_empty()
                && compare_keys(of_partition, &self.copies.row(0)[width..], keys).is_ne()
            {
                break;
            }
            self.copies.push(row.iter().chain(keys).copied());
            self.copies.settle(memory)?;
            sorted.advance(context).await?;
        }
        Ok(self.copies.len())
    }
}

/// Returns the number of rows of the next partition, which are in memory.
async fn count(sorted: &Sorted<'_>, context: &ExecutionContext<'_>) -> usize {
    let Some(rows) = sorted.sorter.in_memory() else {
        return 0;
    };
    let of_partition = &sorted.order.keys[..sorted.order.partition];
    let keys = |at| &rows.row(at)[sorted.width..];
    let mut count = rows.len().min(1);
    while count < rows.len() && compare_keys(of_partition, keys(0), keys(count)).is_eq() {
        context.pause(1).await;
        count += 1;
    }
    count
}

/// Returns the rows that begin with those of the partition: `copies`, or the next ones in order.
fn rows_of<'r>(sorted: &'r Sorted<'_>, copies: &'r Rows) -> InOrder<'r> {
    sorted.sorter.in_memory().unwrap_or(InOrder {
        rows: copies,
        order: None,
    })
}

/// The rows of a partition, in its order.
struct Partition<'r> {
    order: &'r WindowOrder,
    /// Rows, of which the first are those of the partition.
    in_order: InOrder<'r>,
    rows: usize,
    /// Position of a row's first key.
    first_key: usize,
}

impl<'r> Partition<'r> {
    fn order_by(&self) -> &'r [SortKey] {
        &self.order.keys[self.order.partition..]
    }

    fn row(&self, at: usize) -> &'r [Value<'r>] {
        self.in_order.row(at)
    }

    fn order_keys(&self, at: usize) -> &'r [Value<'r>] {
        &self.row(at)[self.first_key + self.order.partition..]
    }
}

/// Adds the values of a call for the rows of a partition, in its order, to `values`.
///
/// # Errors
/// Errors of the function, its arguments and its frame; 53200 if the statement may not hold the values.
async fn compute(
    window: &Window,
    partition: &Partition<'_>,
    context: &ExecutionContext<'_>,
    values: &mut Rows,
) -> Result<()> {
    let (rows, order) = (partition.rows, partition.order_by());
    let order_keys = |at: usize| partition.order_keys(at);
    // The first row of each group of equal rows.
    let mut group_starts = Gradual::from(vec![0]);
    for at in 1..rows {
        context.pause(1).await;
        if compare_keys(order, order_keys(at - 1), order_keys(at)).is_ne() {
            group_starts.push(at as u32);
        }
    }
    let fixed = Scratch::new();
    let distances = Distances::of(window, partition.row(0), context, &fixed)?;
    let frames = Frames {
        window,
        order,
        distances: &distances,
        group_starts: &group_starts,
        rows,
        order_keys: &order_keys,
        context,
    };
    let mut running = match window.function.0.body {
        Body::Aggregate(definition) => Some(Running::new(window, definition)),
        _ => None,
    };
    let mut group = 0;
    let mut scratch = Scratch::new();
    for at in 0..rows {
        context.pause(1).await;
        if group_starts
            .get(group + 1)
            .is_some_and(|start| *start as usize <= at)
        {
            group += 1;
        }
        scratch.reset();
        let frame = frames.frame(at, group, &scratch)?;
        let value = match (&mut running, window.function.0.body) {
            (Some(running), _) => {
                let row = |at: usize| partition.row(at);
                running.over(&frame, row, context, &scratch).await?
            }
            (None, Body::Window(function)) => call(
                function,
                &View {
                    window,
                    partition,
                    at,
                    group,
                    group_starts: &group_starts,
                    frame,
                    context,
                    scratch: &scratch,
                },
            )?,
            _ => {
                return Err(SqlError::new(
                    SqlState::INTERNAL_ERROR,
                    "not a window function",
                ));
            }
        };
        values.push([value]);
        values.settle(context.memory())?;
    }
    Ok(())
}

fn call<'a>(function: WindowFunction, view: &View<'a>) -> Result<Value<'a>> {
    function(view)
}

/// The view of its partition that a row's function has.
struct View<'a> {
    window: &'a Window,
    partition: &'a Partition<'a>,
    at: usize,
    group: usize,
    group_starts: &'a [u32],
    frame: Range<usize>,
    context: &'a ExecutionContext<'a>,
    scratch: &'a Scratch,
}

impl<'a> functions::Partition<'a> for View<'a> {
    fn rows(&self) -> usize {
        self.partition.rows
    }

    fn row(&self) -> usize {
        self.at
    }

    fn peers(&self) -> (usize, usize) {
        let end = self
            .group_starts
            .get(self.group + 1)
            .map_or(self.rows(), |start| *start as usize);
        (self.group_starts[self.group] as usize, end)
    }

    fn groups_before(&self) -> usize {
        self.group
    }

    fn framed(&self, number: usize) -> Option<usize> {
        let row = self.frame.start.checked_add(number)?;
        self.frame.contains(&row).then_some(row)
    }

    fn frame_rows(&self) -> usize {
        self.frame.len()
    }

    fn argument(&self, row: usize, position: usize) -> Result<Value<'a>> {
        let mut evaluator = self.context.evaluator(self.scratch);
        self.window.arguments[position].run(&mut evaluator, self.partition.row(row))
    }

    fn arguments(&self) -> usize {
        self.window.arguments.len()
    }
}
