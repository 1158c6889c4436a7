//! Functions over windows. Rows are read wholly; for each window they are put in its order, and
//! its functions are computed partition by partition.

use std::{cmp::Ordering, ops::Range};

use functions::{Aggregate as Definition, Body, Partition, State, WindowFunction};
use types::{Interval, Result, Scratch, SqlError, SqlState, Value, compare::compare_as};

use super::{BATCH_ROWS, Input, Operator, Run, Step, merge_sort::sort_by, sort::compare_keys};
use crate::{
    plan::{Bound, Window},
    relation::FrameUnits,
    rows::Rows,
};

pub(super) struct Windowing<'p> {
    input: Input<'p>,
    windows: &'p [Window],
    /// All rows of the input.
    rows: Rows,
    /// Of each row, the windows' values.
    values: Option<Rows>,
    next: usize,
}

impl<'p> Windowing<'p> {
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

    async fn advance(&mut self, run: &Run<'_>, out: &mut Rows) -> Result<bool> {
        if self.values.is_none() {
            while self.input.more(run).await? {
                self.input
                    .batch
                    .iter()
                    .for_each(|row| self.rows.push(row.iter().copied()));
                self.input.taken = self.input.batch.len();
                self.rows.settle(run.memory())?;
            }
            self.values = Some(self.compute(run).await?);
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

    async fn compute(&self, run: &Run<'_>) -> Result<Rows> {
        let mut columns = Vec::with_capacity(self.windows.len());
        for window in self.windows {
            columns.push(column(window, &self.rows, run).await?);
        }
        let mut values = Rows::new(columns.len());
        for at in 0..self.rows.len() {
            run.pause_after(at + 1).await;
            values.push(columns.iter().map(|column| column.row(at)[0]));
        }
        Ok(values)
    }
}

/// The values of one function for all rows, in the order of the rows.
async fn column(window: &Window, rows: &Rows, run: &Run<'_>) -> Result<Rows> {
    let scratch = Scratch::new();
    let keys = keys(window, rows, run, &scratch).await?;
    let partition_keys = window.partition.len();
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let compare = |left: &usize, right: &usize| {
        let (left, right) = (keys.row(*left), keys.row(*right));
        compare_plain(&left[..partition_keys], &right[..partition_keys]).then_with(|| {
            compare_keys(
                &window.order,
                &left[partition_keys..],
                &right[partition_keys..],
            )
        })
    };
    sort_by(&mut order, run, compare).await;
    let mut found: Vec<Option<Rows>> = (0..rows.len()).map(|_| None).collect();
    let mut first = 0;
    while first < order.len() {
        let own = &keys.row(order[first])[..partition_keys];
        let length = order[first..]
            .iter()
            .take_while(|at| compare_plain(&keys.row(**at)[..partition_keys], own).is_eq())
            .count();
        let partition = &order[first..first + length];
        over_partition(window, rows, &keys, partition, run, &mut found).await?;
        run.pause(length).await;
        first += length;
    }
    let mut values = Rows::new(1);
    for value in found {
        values.push([value.as_ref().map_or(Value::Null, |value| value.row(0)[0])]);
    }
    Ok(values)
}

/// What each row is partitioned and ordered by.
async fn keys(window: &Window, rows: &Rows, run: &Run<'_>, scratch: &Scratch) -> Result<Rows> {
    let mut keys = Rows::new(window.partition.len() + window.order.len());
    let mut machine = run.machine(scratch);
    for (at, row) in rows.iter().enumerate() {
        run.pause_after(at + 1).await;
        let programs = window
            .partition
            .iter()
            .chain(window.order.iter().map(|key| &key.value));
        let values = programs.map(|program| program.run(&mut machine, row));
        keys.push(values.collect::<Result<Vec<_>>>()?);
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
    partition: &[usize],
    run: &Run<'_>,
    found: &mut [Option<Rows>],
) -> Result<()> {
    let order_keys = |at: usize| &keys.row(partition[at])[window.partition.len()..];
    // Of each row, the first of those that are equal to it.
    let mut group_starts = vec![0];
    for at in 1..partition.len() {
        run.pause_after(at).await;
        if compare_keys(&window.order, order_keys(at - 1), order_keys(at)).is_ne() {
            group_starts.push(at);
        }
    }
    let frames = Frames {
        window,
        group_starts: &group_starts,
        rows: partition.len(),
        order_keys: &order_keys,
    };
    let mut group = 0;
    let mut running = None;
    for at in 0..partition.len() {
        run.pause_after(at + 1).await;
        if group_starts
            .get(group + 1)
            .is_some_and(|start| *start <= at)
        {
            group += 1;
        }
        let scratch = Scratch::new();
        let row = rows.row(partition[at]);
        let frame = frames.frame(at, group, row, run, &scratch)?;
        let view = View {
            window,
            rows,
            partition,
            at,
            group,
            group_starts: &group_starts,
            frame,
            run,
            scratch: &scratch,
        };
        let value = match window.function.0.body {
            Body::Window(function) => call(function, &view)?,
            Body::Aggregate(definition) => view.aggregate(definition, &mut running).await?,
            _ => {
                return Err(SqlError::new(
                    SqlState::INTERNAL_ERROR,
                    "not a window function",
                ));
            }
        };
        let mut kept = Rows::new(1);
        kept.push([value]);
        found[partition[at]] = Some(kept);
    }
    Ok(())
}

fn call<'a>(function: WindowFunction, view: &View<'a>) -> Result<Value<'a>> {
    function(view)
}

/// Where frames begin and end.
struct Frames<'f, 'k, K: Fn(usize) -> &'k [Value<'k>]> {
    window: &'f Window,
    group_starts: &'f [usize],
    rows: usize,
    order_keys: &'f K,
}

impl<'k, K: Fn(usize) -> &'k [Value<'k>]> Frames<'_, 'k, K> {
    /// The rows of the frame of a row of a group.
    fn frame(
        &self,
        at: usize,
        group: usize,
        row: &[Value<'_>],
        run: &Run<'_>,
        scratch: &Scratch,
    ) -> Result<Range<usize>> {
        let start = distance(&self.window.start, row, run, scratch)?;
        let end = distance(&self.window.end, row, run, scratch)?;
        let start = self.bound(&self.window.start, start, at, group, true)?;
        let end = self.bound(&self.window.end, end, at, group, false)?;
        Ok(start..end.max(start))
    }

    fn group_start(&self, group: usize) -> usize {
        self.group_starts.get(group).copied().unwrap_or(self.rows)
    }

    /// The first row of the frame, or the first behind it.
    fn bound(
        &self,
        bound: &Bound,
        distance: Value<'_>,
        at: usize,
        group: usize,
        is_start: bool,
    ) -> Result<usize> {
        let forward = match bound {
            Bound::UnboundedPreceding => return Ok(0),
            Bound::UnboundedFollowing => return Ok(self.rows),
            Bound::CurrentRow => {
                return Ok(match (self.window.units, is_start) {
                    (FrameUnits::Rows, true) => at,
                    (FrameUnits::Rows, false) => at + 1,
                    (_, true) => self.group_start(group),
                    (_, false) => self.group_start(group + 1),
                });
            }
            Bound::Preceding(_) => false,
            Bound::Following(_) => true,
        };
        if self.window.units == FrameUnits::Range {
            return self.ranged(distance, forward, at, group, is_start);
        }
        let Value::Int8(distance) = distance else {
            return Err(null_offset(is_start));
        };
        let Ok(distance) = usize::try_from(distance) else {
            return Err(negative_offset(is_start));
        };
        let (own, until) = match self.window.units {
            FrameUnits::Rows => (at, self.rows),
            _ => (group, self.group_starts.len()),
        };
        let past = usize::from(!is_start);
        let position = if forward {
            own.saturating_add(distance).saturating_add(past).min(until)
        } else {
            // The frame may end before the first row.
            (own + past).saturating_sub(distance)
        };
        Ok(match self.window.units {
            FrameUnits::Rows => position,
            _ => self.group_start(position),
        })
    }

    /// A bound by the distance of values.
    fn ranged(
        &self,
        distance: Value<'_>,
        forward: bool,
        at: usize,
        group: usize,
        is_start: bool,
    ) -> Result<usize> {
        let [key] = self.window.order.as_slice() else {
            return Err(SqlError::new(
                SqlState::INTERNAL_ERROR,
                "a range without its order",
            ));
        };
        if distance.is_null() {
            return Err(null_offset(is_start));
        }
        let own = (self.order_keys)(at)[0];
        // NULLs are their own peers.
        if own.is_null() {
            return Ok(if is_start {
                self.group_start(group)
            } else {
                self.group_start(group + 1)
            });
        }
        // Later rows have smaller values where the order is descending.
        let adds = forward != key.descending;
        let limit = moved(own, distance, adds)?;
        let is_before = |row: usize| {
            let value = (self.order_keys)(row)[0];
            if value.is_null() {
                return key.nulls_first;
            }
            let order = compare_as(key.ty, value, limit);
            let order = if key.descending {
                order.reverse()
            } else {
                order
            };
            if is_start {
                order.is_lt()
            } else {
                order.is_le()
            }
        };
        let (mut low, mut high) = (0, self.rows);
        while low < high {
            let middle = (low + high) / 2;
            if is_before(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}

fn null_offset(is_start: bool) -> SqlError {
    let message = match is_start {
        true => "frame starting offset must not be null",
        false => "frame ending offset must not be null",
    };
    SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message)
}

fn negative_offset(is_start: bool) -> SqlError {
    let message = match is_start {
        true => "frame starting offset must not be negative",
        false => "frame ending offset must not be negative",
    };
    SqlError::new(SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE, message)
}

/// How far a bound is, if it is not where it is anyway: the same for all rows.
fn distance<'v>(
    bound: &'v Bound,
    row: &[Value<'v>],
    run: &'v Run<'_>,
    scratch: &'v Scratch,
) -> Result<Value<'v>> {
    match bound {
        Bound::Preceding(program) | Bound::Following(program) => {
            program.run(&mut run.machine(scratch), row)
        }
        Bound::UnboundedPreceding | Bound::CurrentRow | Bound::UnboundedFollowing => {
            Ok(Value::Null)
        }
    }
}

/// A value so far up or down.
fn moved<'v>(value: Value<'v>, distance: Value<'v>, adds: bool) -> Result<Value<'v>> {
    let negative = || {
        let message = "invalid preceding or following size in window function";
        SqlError::new(SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE, message)
    };
    let integer = |value: Value<'_>| match value {
        Value::Int2(value) => Some(i64::from(value)),
        Value::Int4(value) => Some(i64::from(value)),
        Value::Int8(value) => Some(value),
        _ => None,
    };
    if let (Some(value), Some(distance)) = (integer(value), integer(distance)) {
        if distance < 0 {
            return Err(negative());
        }
        let limit = if adds {
            value.saturating_add(distance)
        } else {
            value.saturating_sub(distance)
        };
        return Ok(Value::Int8(limit));
    }
    match (value, distance) {
        (Value::Float8(value), Value::Float8(distance)) if distance >= 0.0 => {
            Ok(Value::Float8(if adds {
                value + distance
            } else {
                value - distance
            }))
        }
        (Value::Timestamp(value), Value::Interval(distance)) => {
            Ok(Value::Timestamp(shifted(value, distance, adds)?))
        }
        (Value::TimestampTz(value), Value::Interval(distance)) => {
            Ok(Value::TimestampTz(shifted(value, distance, adds)?))
        }
        (Value::Float8(_), _) => Err(negative()),
        _ => Err(SqlError::unsupported(
            "RANGE with a distance over this type",
        )),
    }
}

/// A moment so many microseconds and days away.
fn shifted(moment: i64, distance: Interval, adds: bool) -> Result<i64> {
    if distance.months != 0 {
        return Err(SqlError::unsupported("RANGE with a distance in months"));
    }
    let days = i64::from(distance.days).saturating_mul(86_400_000_000);
    let length = days.saturating_add(distance.microseconds);
    Ok(if adds {
        moment.saturating_add(length)
    } else {
        moment.saturating_sub(length)
    })
}

/// A row's view of its partition.
struct View<'a> {
    window: &'a Window,
    rows: &'a Rows,
    partition: &'a [usize],
    at: usize,
    group: usize,
    group_starts: &'a [usize],
    frame: Range<usize>,
    run: &'a Run<'a>,
    scratch: &'a Scratch,
}

impl<'a> View<'a> {
    fn values_at(&self, row: usize) -> &'a [Value<'a>] {
        self.rows.row(self.partition[row])
    }

    /// An aggregate over the frame. Where frames only grow, as they mostly do, it goes on from what
    /// it had `running` for the row before.
    async fn aggregate(
        &self,
        definition: &'static Definition,
        running: &mut Option<(Range<usize>, State)>,
    ) -> Result<Value<'a>> {
        let mut context = self.run.context(self.scratch);
        context.argument_types = &self.window.argument_types;
        let mut machine = self.run.machine(self.scratch);
        let (mut done, mut state) = match running.take() {
            Some((done, state)) if done.start == self.frame.start && done.end <= self.frame.end => {
                (done, state)
            }
            _ => (self.frame.start..self.frame.start, (definition.start)()),
        };
        while done.end < self.frame.end {
            let row = done.end;
            done.end += 1;
            if row.is_multiple_of(BATCH_ROWS) {
                self.run.pause(BATCH_ROWS).await;
            }
            let values = self.values_at(row);
            if let Some(filter) = &self.window.filter
                && !filter.holds(&mut machine, values)?
            {
                continue;
            }
            let arguments = self
                .window
                .arguments
                .iter()
                .map(|argument| argument.run(&mut machine, values));
            let arguments = arguments.collect::<Result<Vec<_>>>()?;
            if self.window.function.0.strict && arguments.iter().any(Value::is_null) {
                continue;
            }
            (definition.accumulate)(&context, &mut state, &arguments)?;
        }
        // The state does not last as long; what it gives has to be in the arena.
        let value = (definition.finish)(&context, &state, &[]);
        let value = value.map(|value| value.copied(self.scratch));
        *running = Some((done, state));
        value
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
            .copied()
            .unwrap_or(self.partition.len());
        (self.group_starts[self.group], end)
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
        let mut machine = self.run.machine(self.scratch);
        self.window.arguments[position].run(&mut machine, self.values_at(row))
    }

    fn arguments(&self) -> usize {
        self.window.arguments.len()
    }
}

impl Operator for Windowing<'_> {
    fn next<'f>(&'f mut self, run: &'f Run<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(run, out))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.rows.clear();
        self.values = None;
        self.next = 0;
    }
}
