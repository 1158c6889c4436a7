//! Aggregates: one value for many rows.
//!
//! An executor [starts](Aggregate::start) a [`State`] for each group, gives it rows, and asks for
//! the result. The executor handles `DISTINCT`, `FILTER` and `ORDER BY`: every row that is
//! accumulated counts, in the order of arrival. Strict aggregates are not given rows with a NULL.
//!
//! States own their values. Counts, sums and averages of integers and floats, and smallest and
//! greatest values of fixed width need no memory beyond [`State`] itself.

mod arithmetic;
mod bits;
mod collect;
mod columnar;
mod extremes;
mod kept;
mod moments;
mod ordered;
mod pairs;
mod sum;

use types::{Result, Scratch, SqlError, SqlState, Value};

pub use self::{
    columnar::{AccumulateColumn, GroupedRows},
    extremes::Extreme,
};
use crate::{Context, Function};
use kept::Kept;
use sum::NumericSum;

pub(crate) static TABLES: &[&[Function]] = &[
    arithmetic::FUNCTIONS,
    bits::FUNCTIONS,
    bits::INTEGERS,
    collect::FUNCTIONS,
    extremes::FUNCTIONS,
    moments::FUNCTIONS,
    ordered::FUNCTIONS,
    pairs::FUNCTIONS,
];

/// Takes back a row's arguments, which were accumulated before all rows that stay. Returns false,
/// after which the state is of no use, if that cannot be done exactly.
pub type Remove = for<'a> fn(&Context<'a>, &mut State, &[Value<'a>]) -> Result<bool>;

/// Takes into a state the rows that another state of the same aggregate has accumulated, after the state's own.
pub type Combine = fn(&Context<'_>, &mut State, &State) -> Result<()>;

/// The functions that calculate an aggregate.
#[derive(Clone, Copy)]
pub struct Aggregate {
    /// Returns the state before any row.
    pub start: fn() -> State,
    /// Accumulates a row's arguments. For ordered-set aggregates these are the sorted values, one
    /// for each row, in order.
    pub accumulate: for<'a> fn(&Context<'a>, &mut State, &[Value<'a>]) -> Result<()>,
    /// Returns the result so far; more rows may follow. `direct` has the direct arguments of an
    /// ordered-set aggregate, and is empty for others.
    pub finish: for<'a> fn(&Context<'a>, &State, direct: &[Value<'a>]) -> Result<Value<'a>>,
    /// Takes rows back for sliding frames, if the aggregate can.
    pub remove: Option<Remove>,
    /// Accumulates an argument of many rows at once, if the aggregate can: rows with a NULL are left out.
    pub over_columns: Option<AccumulateColumn>,
    /// Brings together states that were accumulated apart, if the order of their rows does not matter: the result is
    /// that of all rows in one state, but for the rounding of floats, and for which of several equal values is given.
    pub combine: Option<Combine>,
    /// The order of an aggregate that returns one of its values: `min` and `max`.
    pub extreme: Option<Extreme>,
    /// Number of the function's parameters that are direct arguments, if it is an ordered-set
    /// aggregate, to be called with `WITHIN GROUP (ORDER BY ...)`.
    pub direct: Option<usize>,
}

impl Aggregate {
    pub(crate) const fn new(
        start: fn() -> State,
        accumulate: for<'a> fn(&Context<'a>, &mut State, &[Value<'a>]) -> Result<()>,
        finish: for<'a> fn(&Context<'a>, &State, &[Value<'a>]) -> Result<Value<'a>>,
    ) -> Self {
        Self {
            start,
            accumulate,
            finish,
            remove: None,
            over_columns: None,
            combine: None,
            extreme: None,
            direct: None,
        }
    }

    /// Returns whether states grow with the rows that they have seen.
    pub fn keeps(&self) -> bool {
        let state = (self.start)();
        matches!(
            state.0,
            Inner::One(_) | Inner::Text(_) | Inner::Bytes(_) | Inner::Many(_)
        )
    }

    const fn removing(mut self, remove: Remove) -> Self {
        self.remove = Some(remove);
        self
    }

    const fn over_columns(mut self, accumulate: AccumulateColumn) -> Self {
        self.over_columns = Some(accumulate);
        self
    }

    const fn combining(mut self, combine: Combine) -> Self {
        self.combine = Some(combine);
        self
    }

    const fn giving(mut self, extreme: Extreme) -> Self {
        self.extreme = Some(extreme);
        self
    }

    const fn ordered(mut self, direct: usize) -> Self {
        self.direct = Some(direct);
        self
    }
}

/// State of an aggregate after some rows of a group. States that are combined may come from other threads.
pub struct State(Inner);

const _: () = {
    const fn goes_to_other_threads<T: Send>() {}
    goes_to_other_threads::<State>();
};

enum Inner {
    Count(i64),
    Integers {
        sum: i128,
        count: i64,
    },
    /// Sum, and sum of the squared differences from the mean.
    Floats {
        count: f64,
        sum: f64,
        squares: f64,
    },
    Pairs(Box<pairs::Sums>),
    Booleans {
        trues: i64,
        falses: i64,
    },
    Bits(Option<i64>),
    Intervals {
        sum: types::Interval,
        count: i64,
    },
    One(Kept),
    Numerics(NumericSum),
    /// Sums of numbers and of their squares.
    Squares(Box<(NumericSum, NumericSum)>),
    Text(Option<String>),
    Bytes(Option<Vec<u8>>),
    Many(Many),
}

/// Kept values, all of them.
#[derive(Default)]
struct Many {
    values: Vec<Kept>,
    /// Bytes of the values' own buffers.
    bytes: usize,
}

/// Returns the error for a state of another aggregate.
#[cold]
fn mismatch() -> SqlError {
    SqlError::new(SqlState::INTERNAL_ERROR, "an aggregate has another's state")
}

impl State {
    /// Returns the state of an aggregate that keeps all values.
    pub(crate) fn many() -> Self {
        Self(Inner::Many(Many::default()))
    }

    /// Keeps a value, if the aggregate keeps all.
    pub(crate) fn keep(&mut self, value: Value<'_>) -> Result<()> {
        let Inner::Many(many) = &mut self.0 else {
            return Err(mismatch());
        };
        let kept = Kept::of(value);
        many.bytes += kept.heap_bytes();
        many.values.push(kept);
        Ok(())
    }

    /// Returns the kept values in the statement's memory.
    pub(crate) fn values<'a>(&self, scratch: &'a Scratch) -> Result<&'a [Value<'a>]> {
        let Inner::Many(Many { values, .. }) = &self.0 else {
            return Err(mismatch());
        };
        let mut copies = bumpalo::collections::Vec::with_capacity_in(values.len(), scratch);
        for value in values {
            copies.push(value.copied(scratch)?);
        }
        Ok(copies.into_bump_slice())
    }

    /// Returns the approximate bytes on the heap, for executors that bound their memory. Takes the
    /// same time for any number of values.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Inner::Text(Some(text)) => text.capacity(),
            Inner::Bytes(Some(bytes)) => bytes.capacity(),
            Inner::Many(many) => many.values.capacity() * size_of::<Kept>() + many.bytes,
            Inner::One(value) => value.heap_bytes(),
            Inner::Numerics(sum) => sum.heap_bytes(),
            Inner::Squares(_) => 2 * size_of::<NumericSum>(),
            Inner::Pairs(_) => size_of::<pairs::Sums>(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests;
