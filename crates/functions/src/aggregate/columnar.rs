//! Aggregates over columns: the arguments of many rows at once, which go to the states of their groups.
//!
//! A loop does exactly what [`Aggregate::accumulate`](super::Aggregate::accumulate) does for one row after the other,
//! in their order. It looks at the form of the column first, and at the state of a group without a call in between. A
//! column in another form is left to the caller, who goes through its rows.

use batch::{Data, Vector};
use types::{Result, Scratch};

use super::{Inner, State, arithmetic::add_to_float, mismatch, sum::NumericSum};

/// Most groups that are few: the sums of a batch for each of them take half a kilobyte.
const FEW_GROUPS: usize = 16;

/// Rows of a batch, and the groups that they belong to.
#[derive(Debug, Clone, Copy)]
pub struct GroupedRows<'r> {
    /// Positions of the rows in their columns.
    pub positions: &'r [u32],
    /// Number of each row's group, which is that of its state.
    pub groups: &'r [u32],
}

impl GroupedRows<'_> {
    /// Calls `visit` with the position and the group of each row whose argument is not NULL.
    #[inline(always)]
    fn each(
        self,
        argument: &Vector<'_>,
        mut visit: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        let rows = self.positions.iter().zip(self.groups);
        let mut rows = rows.map(|(at, group)| (*at as usize, *group as usize));
        match argument.null_marks() {
            None => rows.try_for_each(|(at, group)| visit(at, group)),
            Some(nulls) => rows
                .filter(|(at, _)| !nulls[*at])
                .try_for_each(|(at, group)| visit(at, group)),
        }
    }
}

/// Accumulates an argument for many rows; returns false, and has done nothing, if the column's form has no loop.
/// Without an argument the rows themselves count.
pub type AccumulateColumn =
    for<'a> fn(&mut [State], Option<&Vector<'a>>, GroupedRows<'_>) -> Result<bool>;

/// Counts rows, or values that are not NULL.
pub(super) fn count(
    states: &mut [State],
    argument: Option<&Vector<'_>>,
    rows: GroupedRows<'_>,
) -> Result<bool> {
    let mut add = |group: usize| match &mut states[group].0 {
        Inner::Count(count) => {
            *count += 1;
            Ok(())
        }
        _ => Err(mismatch()),
    };
    match argument {
        None => rows
            .groups
            .iter()
            .try_for_each(|group| add(*group as usize))?,
        Some(argument) => rows.each(argument, |_, group| add(group))?,
    }
    Ok(true)
}

/// Adds integers to their sums.
pub(super) fn add_integers(
    states: &mut [State],
    argument: Option<&Vector<'_>>,
    rows: GroupedRows<'_>,
) -> Result<bool> {
    let Some((argument, Data::Integers(_, values))) =
        argument.map(|column| (column, column.data()))
    else {
        return Ok(false);
    };
    rows.each(argument, |at, group| match &mut states[group].0 {
        Inner::Integers { sum, count } => {
            *sum += i128::from(values[at]);
            *count += 1;
            Ok(())
        }
        _ => Err(mismatch()),
    })?;
    Ok(true)
}

/// Adds numbers of one scale to their sums.
pub(super) fn add_numerics(
    states: &mut [State],
    argument: Option<&Vector<'_>>,
    rows: GroupedRows<'_>,
) -> Result<bool> {
    let Some((argument, Data::Decimals(scale, values))) =
        argument.map(|column| (column, column.data()))
    else {
        return Ok(false);
    };
    if states.len() <= FEW_GROUPS && rows.groups.len() >= FEW_GROUPS {
        // Each batch has a sum for each group, in an array that a processor keeps at hand: mantissas of 64 bits, of
        // which a batch does not have enough for 128.
        let mut sums = [(0_i128, 0_i64); FEW_GROUPS];
        rows.each(argument, |at, group| {
            sums[group].0 += i128::from(values[at]);
            sums[group].1 += 1;
            Ok(())
        })?;
        for (state, (sum, count)) in states.iter_mut().zip(sums) {
            match &mut state.0 {
                Inner::Numerics(_) if count == 0 => {}
                Inner::Numerics(all) => {
                    all.combine(&NumericSum::of(sum, *scale, count), &Scratch::new())?;
                }
                _ => return Err(mismatch()),
            }
        }
        return Ok(true);
    }
    rows.each(argument, |at, group| match &mut states[group].0 {
        Inner::Numerics(sum) => sum.add_small(values[at], *scale),
        _ => Err(mismatch()),
    })?;
    Ok(true)
}

/// Adds floats to their sums.
pub(super) fn add_floats(
    states: &mut [State],
    argument: Option<&Vector<'_>>,
    rows: GroupedRows<'_>,
) -> Result<bool> {
    let Some((argument, Data::Floats(values))) = argument.map(|column| (column, column.data()))
    else {
        return Ok(false);
    };
    rows.each(argument, |at, group| {
        add_to_float(&mut states[group], values[at])
    })?;
    Ok(true)
}
