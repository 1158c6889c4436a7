//! Functions over windows. All rows are read; for each window they are put in its order, and its
//! functions are computed partition by partition.
//!
//! | part | file |
//! | --- | --- |
//! | bounds of frames | `frames.rs` |
//! | aggregates over one frame after the other | `running.rs` |

mod frames;
mod running;

use std::{cmp::Ordering, ops::Range};

use functions::{Body, Partition, WindowFunction};
use interleave::Gradual;
use types::{Charge, Result, Scratch, SqlError, SqlState, Value};

use self::{
    frames::{Distances, Frames},
    running::Running,
};
use super::{BATCH_ROWS, ExecutionContext, Input, Operator, Step, sort::compare_keys};
use batch::{Order, Rows, bytes_of};
use planner::plan::Window;

pub(super) struct WindowOperator<'p> {
    input: Input<'p>,
    windows: &'p [Window],
    /// All rows of the input.
    rows: Rows,
    /// Values of the windows' functions for each row.
    values: Option<Rows>,
    next: usize,
}

impl<'p> WindowOperator<'p> {
    pub(super) fn new(input: Input<'p>, windows: &'p [Window]) -> Self {
        let rows = Rows::new(input.batch.width());
        Self {
            input,
            windows,
            rows,
            values: None,
            next: 0,
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        if self.values.is_none() {
            self.rows = self.input.all(context).await?;
            self.values = Some(self.compute(context).await?);
        }
        let Some(values) = &self.values else {
            return Ok(false);
        };
        while self.next < self.rows.len() && !out.is_full() {
            let at = self.next;
            out.push(self.rows.row(at).iter().chain(values.row(at)).copied());
            self.next += 1;
        }
        Ok(!out.is_empty())
    }

    async fn compute(&self, context: &ExecutionContext<'_>) -> Result<Rows> {
        let mut columns = Vec::with_capacity(self.windows.len());
        for window in self.windows {
            columns.push(Column::compute(window, &self.rows, context).await?);
        }
        let mut values = Rows::new(columns.len());
        for at in 0..self.rows.len() {
            context.pause(1).await;
            values.push(columns.iter().map(|column| column.value(at)));
            values.settle(context.memory())?;
        }
        Ok(values)
    }
}

/// Bytes that are needed for each row while a window's function is computed, beside keys, values
/// and order: the beginning of its group, and its place in the order by its number.
const ROW_BYTES: usize = 2 * size_of::<u32>();

/// The values of one function for all rows.
struct Column {
    /// Values in the window's order.
    values: Rows,
    /// Place of each row in that order.
    places: Gradual<Vec<u32>>,
    _charge: Charge,
}

impl Column {
    async fn compute(window: &Window, rows: &Rows, context: &ExecutionContext<'_>) -> Result<Self> {
        let keys = keys(window, rows, context).await?;
        let partition_keys = window.partition.len();
        let mut charge = Charge::default();
        charge.set(context.memory(), rows.len() * ROW_BYTES)?;
        let compare = |left, right| {
            let (left, right) = (keys.row(left), keys.row(right));
            compare_plain(&left[..partition_keys], &right[..partition_keys]).then_with(|| {
                compare_keys(
                    &window.order,
                    &left[partition_keys..],
                    &right[partition_keys..],
                )
            })
        };
        let order = Order::of(
            rows.len(),
            (context.memory(), context.turn()),
            Charge::default(),
            |at| bytes_of(keys.row(at)),
            compare,
        )
        .await?;
        let mut values = Rows::new(1);
        let mut first = 0;
        while first < order.len() {
            let own = &keys.row(order[first] as usize)[..partition_keys];
            let mut length = 1;
            for at in &order[first + 1..] {
                context.pause(1).await;
                if compare_plain(&keys.row(*at as usize)[..partition_keys], own).is_ne() {
                    break;
                }
                length += 1;
            }
            let partition = &order[first..first + length];
            over_partition(window, rows, &keys, partition, context, &mut values).await?;
            context.pause(length).await;
            first += length;
        }
        let mut places = Gradual::from(vec![0; order.len()]);
        for (place, at) in (0..).zip(order.iter()) {
            context.pause(1).await;
            places[*at as usize] = place;
        }
        charge.lower(places.capacity() * size_of::<u32>());
        Ok(Self {
            values,
            places,
            _charge: charge,
        })
    }

    fn value(&self, row: usize) -> Value<'_> {
        self.values.row(self.places[row] as usize)[0]
    }
}

/// Returns the partition and order keys of each row.
async fn keys(window: &Window, rows: &Rows, context: &ExecutionContext<'_>) -> Result<Rows> {
    let mut keys = Rows::new(window.partition.len() + window.order.len());
    let mut scratch = Scratch::new();
    let mut at = 0;
    while at < rows.len() {
        scratch.reset();
        let mut evaluator = context.evaluator(&scratch);
        let end = (at + BATCH_ROWS).min(rows.len());
        for row in (at..end).map(|at| rows.row(at)) {
            context.pause(1).await;
            let order = window.order.iter().map(|key| &key.value);
            let programs = window.partition.iter().chain(order);
            keys.try_push(programs.map(|program| program.run(&mut evaluator, row)))?;
            keys.settle(context.memory())?;
        }
        at = end;
    }
    Ok(keys)
}

fn compare_plain(left: &[Value<'_>], right: &[Value<'_>]) -> Ordering {
    types::compare::compare_rows(left, right)
}

async fn over_partition(
    window: &Window,
    rows: &Rows,
    keys: &Rows,
    partition: &[u32],
    context: &ExecutionContext<'_>,
    values: &mut Rows,
) -> Result<()> {
    let order_keys = |at: usize| &keys.row(partition[at] as usize)[window.partition.len()..];
    // The first row of each group of equal rows.
    let mut group_starts = Gradual::from(vec![0]);
    for at in 1..partition.len() {
        context.pause(1).await;
        if compare_keys(&window.order, order_keys(at - 1), order_keys(at)).is_ne() {
            group_starts.push(at as u32);
        }
    }
    let fixed = Scratch::new();
    let distances = Distances::of(window, rows.row(partition[0] as usize), context, &fixed)?;
    let frames = Frames {
        window,
        distances: &distances,
        group_starts: &group_starts,
        rows: partition.len(),
        order_keys: &order_keys,
        context,
    };
    let mut running = match window.function.0.body {
        Body::Aggregate(definition) => Some(Running::new(window, definition)),
        _ => None,
    };
    let mut group = 0;
    let mut scratch = Scratch::new();
    for at in 0..partition.len() {
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
                let row = |at: usize| rows.row(partition[at] as usize);
                running.over(&frame, row, context, &scratch).await?
            }
            (None, Body::Window(function)) => call(
                function,
                &View {
                    window,
                    rows,
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
    rows: &'a Rows,
    partition: &'a [u32],
    at: usize,
    group: usize,
    group_starts: &'a [u32],
    frame: Range<usize>,
    context: &'a ExecutionContext<'a>,
    scratch: &'a Scratch,
}

impl<'a> View<'a> {
    fn values_at(&self, row: usize) -> &'a [Value<'a>] {
        self.rows.row(self.partition[row] as usize)
    }
}

impl<'a> Partition<'a> for View<'a> {
    fn rows(&self) -> usize {
        self.partition.len()
    }

    fn row(&self) -> usize {
        self.at
    }

    fn peers(&self) -> (usize, usize) {
        let end = self
            .group_starts
            .get(self.group + 1)
            .map_or(self.partition.len(), |start| *start as usize);
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
        self.window.arguments[position].run(&mut evaluator, self.values_at(row))
    }

    fn arguments(&self) -> usize {
        self.window.arguments.len()
    }
}

impl Operator for WindowOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.rows.clear();
        self.values = None;
        self.next = 0;
    }
}
