//! Aggregates: one value for many rows.
//!
//! An executor [starts](Aggregate::start) a [`State`] for each group, gives it rows, and asks for
//! the result. `DISTINCT`, `FILTER` and `ORDER BY` are its business: what is accumulated is what
//! counts, in the order of arrival. Strict aggregates are not told of rows with a NULL.
//!
//! States own what they keep. Counts, sums and averages of integers and floats, and smallest and
//! greatest values of fixed width need no memory beyond [`State`] itself.

mod arithmetic;
mod bits;
mod collect;
mod extremes;
mod kept;
mod moments;
mod ordered;
mod pairs;
mod sum;

use types::{Result, Scratch, SqlError, SqlState, Value};

pub use self::extremes::Extreme;
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

/// Takes a row's arguments, which were taken into account before all that stay, back; false, and the
/// state is of no use, where that cannot be done exactly.
pub type Remove = for<'a> fn(&Context<'a>, &mut State, &[Value<'a>]) -> Result<bool>;

/// How an aggregate is calculated.
#[derive(Clone, Copy)]
pub struct Aggregate {
    /// The state before any row.
    pub start: fn() -> State,
    /// Takes a row's arguments into account. Of ordered-set aggregates these are the sorted
    /// values, one for each row, in order.
    pub accumulate: for<'a> fn(&Context<'a>, &mut State, &[Value<'a>]) -> Result<()>,
    /// The result so far; more rows may follow. `direct` has the direct arguments of an
    /// ordered-set aggregate, others have none.
    pub finish: for<'a> fn(&Context<'a>, &State, direct: &[Value<'a>]) -> Result<Value<'a>>,
    /// Of aggregates that can take rows back, as frames that slide ask for it.
    pub remove: Option<Remove>,
    /// The aggregate gives one of its values: `min` and `max`.
    pub extreme: Option<Extreme>,
    /// How many of the function's parameters are direct arguments, if it is an ordered-set
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
            extreme: None,
            direct: None,
        }
    }

    /// Whether states grow with the rows that they have seen.
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

    const fn giving(mut self, extreme: Extreme) -> Self {
        self.extreme = Some(extreme);
        self
    }

    const fn ordered(mut self, direct: usize) -> Self {
        self.direct = Some(direct);
        self
    }
}

/// What an aggregate remembers of the rows of a group.
pub struct State(Inner);

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
    Numerics(Box<NumericSum>),
    /// Sums of numbers and of their squares.
    Squares(Box<(NumericSum, NumericSum)>),
    Text(Option<String>),
    Bytes(Option<Vec<u8>>),
    Many(Many),
}

/// Values that are kept, all of them.
#[derive(Default)]
struct Many {
    values: Vec<Kept>,
    /// Bytes of their own buffers.
    bytes: usize,
}

/// A state of another aggregate was given.
#[cold]
fn mismatch() -> SqlError {
    SqlError::new(SqlState::INTERNAL_ERROR, "an aggregate has another's state")
}

impl State {
    /// Of aggregates that keep all values.
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

    /// What was kept, in the statement's memory.
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

    /// Bytes on the heap, about; for executors that bound their memory. Takes the same time however
    /// much there is.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Inner::Text(Some(text)) => text.capacity(),
            Inner::Bytes(Some(bytes)) => bytes.capacity(),
            Inner::Many(many) => many.values.capacity() * size_of::<Kept>() + many.bytes,
            Inner::One(value) => value.heap_bytes(),
            Inner::Numerics(_) => size_of::<NumericSum>(),
            Inner::Squares(_) => 2 * size_of::<NumericSum>(),
            Inner::Pairs(_) => size_of::<pairs::Sums>(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests;
