//! The bounds of the frames of a partition's rows.

use std::ops::Range;

use functions::is_in_range;
use types::{Result, Scratch, SqlError, SqlState, Value};

use super::ExecutionContext;
use logical::relation::FrameUnits;
use planner::plan::{Bound, SortKey, Window};

/// The distances of a window's bounds, which are the same for all its rows; NULL where a bound has
/// none.
pub(super) struct Distances<'v> {
    start: Value<'v>,
    end: Value<'v>,
}

impl<'v> Distances<'v> {
    /// Computes the distances for any row of the window.
    ///
    /// # Errors
    /// 22004 for a NULL and 22013 for a negative distance, as in PostgreSQL; the start is checked
    /// before the end.
    pub(super) fn of(
        window: &'v Window,
        row: &[Value<'v>],
        context: &'v ExecutionContext<'_>,
        scratch: &'v Scratch,
    ) -> Result<Self> {
        let distance = |bound: &'v Bound, name: &str| {
            let (Bound::Preceding(program) | Bound::Following(program)) = bound else {
                return Ok(Value::Null);
            };
            let distance = program.run(&mut context.evaluator(scratch), row)?;
            let refused = |state, what: &str| {
                let message = format!("frame {name} offset must not be {what}");
                Err(SqlError::new(state, message))
            };
            match (window.units, distance) {
                (_, Value::Null) => refused(SqlState::NULL_VALUE_NOT_ALLOWED, "null"),
                (FrameUnits::Rows | FrameUnits::Groups, Value::Int8(..0)) => {
                    refused(SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE, "negative")
                }
                _ => Ok(distance),
            }
        };
        Ok(Self {
            start: distance(&window.start, "starting")?,
            end: distance(&window.end, "ending")?,
        })
    }
}

/// The order of a partition's rows, and the window's bounds.
pub(super) struct Frames<'f, 'k, K: Fn(usize) -> &'k [Value<'k>]> {
    pub(super) window: &'f Window,
    /// `ORDER BY` of the window.
    pub(super) order: &'f [SortKey],
    pub(super) distances: &'f Distances<'k>,
    /// First row of each group of rows that are equal by ORDER BY.
    pub(super) group_starts: &'f [u32],
    pub(super) rows: usize,
    pub(super) order_keys: &'f K,
    pub(super) context: &'k ExecutionContext<'k>,
}

impl<'k, K: Fn(usize) -> &'k [Value<'k>]> Frames<'_, 'k, K> {
    /// Returns the rows of the frame of row `at`, which is of `group`. Values that are computed for
    /// it are in `scratch`.
    pub(super) fn frame(&self, at: usize, group: usize, scratch: &Scratch) -> Result<Range<usize>> {
        let (window, distances) = (self.window, self.distances);
        let start = self.bound(&window.start, distances.start, at, group, true, scratch)?;
        let end = self.bound(&window.end, distances.end, at, group, false, scratch)?;
        Ok(start..end.max(start))
    }

    fn group_start(&self, group: usize) -> usize {
        let start = self.group_starts.get(group);
        start.map_or(self.rows, |start| *start as usize)
    }

    /// Returns the first row of the frame, or the first behind it.
    fn bound(
        &self,
        bound: &Bound,
        distance: Value<'k>,
        at: usize,
        group: usize,
        is_start: bool,
        scratch: &Scratch,
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
        let (own, until) = match self.window.units {
            FrameUnits::Range => {
                return self.ranged(distance, forward, at, group, is_start, scratch);
            }
            FrameUnits::Rows => (at, self.rows),
            FrameUnits::Groups => (group, self.group_starts.len()),
        };
        let distance = match distance {
            Value::Int8(distance) => usize::try_from(distance).unwrap_or(usize::MAX),
            _ => 0,
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

    /// Returns a bound by the distance of values.
    fn ranged(
        &self,
        distance: Value<'k>,
        forward: bool,
        at: usize,
        group: usize,
        is_start: bool,
        scratch: &Scratch,
    ) -> Result<usize> {
        let [key] = self.order else {
            return Err(SqlError::new(
                SqlState::INTERNAL_ERROR,
                "a range without its order",
            ));
        };
        let own = (self.order_keys)(at)[0];
        // NULLs are their own peers.
        if own.is_null() {
            return Ok(if is_start {
                self.group_start(group)
            } else {
                self.group_start(group + 1)
            });
        }
        let (mut low, mut high) = (0, self.rows);
        while low < high {
            let middle = (low + high) / 2;
            let value = (self.order_keys)(middle)[0];
            let is_before = match value.is_null() {
                true => key.nulls_first,
                false => {
                    self.is_before(key, (value, own), distance, (forward, is_start), scratch)?
                }
            };
            if is_before {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Returns whether a row lies before the frame of another, or before its end.
    fn is_before(
        &self,
        key: &SortKey,
        (value, own): (Value<'k>, Value<'k>),
        distance: Value<'k>,
        (forward, is_start): (bool, bool),
        scratch: &Scratch,
    ) -> Result<bool> {
        // Later rows have smaller values where the order is descending.
        let subtracts = forward == key.descending;
        let below = is_start == key.descending;
        let function_context = self.context.function_context(scratch);
        let within = is_in_range(&function_context, value, own, distance, subtracts, below)?;
        Ok(within != is_start)
    }
}
