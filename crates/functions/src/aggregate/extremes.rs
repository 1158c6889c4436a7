//! `min` and `max`.
//!
//! Equal values may print differently: `1.0` and `1.00`, `1 day` and `24:00:00`, zeros of both signs.
//! The aggregates keep the later one, as PostgreSQL's `numeric_larger` and similar functions do, but
//! the first of padded strings (`bpchar_larger`).

use std::cmp::Ordering;

use types::{Result, Scalar, Type, Value, compare::compare_as};

use super::{Aggregate, Inner, State, kept::Kept, mismatch};
use crate::{
    Context,
    argument::take,
    function::{
        BPCHAR, Body, DATE, FLOAT4, FLOAT8, Function, INT2, INT4, INT8, INTERVAL, NUMERIC, OID,
        Parameter, TEXT, TIME, TIMESTAMP, TIMESTAMPTZ, TIMETZ,
    },
};

/// Rule for the value that is kept.
#[derive(Debug, Clone, Copy)]
pub struct Extreme {
    ty: Type,
    /// Order of a value relative to one that it replaces.
    better: Ordering,
}

impl Extreme {
    const LEAST: Extreme = Extreme::new(Scalar::Text, Ordering::Less);
    const GREATEST: Extreme = Extreme::new(Scalar::Text, Ordering::Greater);
    const LEAST_PADDED: Extreme = Extreme::new(Scalar::Bpchar, Ordering::Less);
    const GREATEST_PADDED: Extreme = Extreme::new(Scalar::Bpchar, Ordering::Greater);

    /// Returns a rule. `ty` matters if values of one form compare differently: strings with padding
    /// and without.
    const fn new(ty: Scalar, better: Ordering) -> Self {
        Self {
            ty: Type::Scalar(ty),
            better,
        }
    }

    /// Returns whether the greatest value is kept, and not the least.
    #[must_use]
    pub fn is_greatest(self) -> bool {
        self.better.is_gt()
    }

    /// Returns whether a later value of a type replaces the kept one.
    #[must_use]
    pub fn replaces(self, ty: Type, later: Value<'_>, kept: Value<'_>) -> bool {
        match compare_as(ty, later, kept) {
            // Equal strings are the same, unless blanks at their end do not count.
            Ordering::Equal => !matches!(later, Value::Text(_)),
            order => order == self.better,
        }
    }

    fn keep(self, context: &Context<'_>, state: &mut State, arguments: &[Value<'_>]) -> Result<()> {
        let Inner::One(kept) = &mut state.0 else {
            return Err(mismatch());
        };
        let next: Value<'_> = take(arguments, 0)?;
        if matches!(kept, Kept::Null) || self.replaces(self.ty, next, kept.get(context.scratch)?) {
            kept.set(next);
        }
        Ok(())
    }

    fn combine(self, context: &Context<'_>, state: &mut State, other: &State) -> Result<()> {
        match &other.0 {
            Inner::One(Kept::Null) => Ok(()),
            Inner::One(kept) => self.keep(context, state, &[kept.copied(context.scratch)?]),
            _ => Err(mismatch()),
        }
    }
}

pub(super) fn one<'a>(context: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    match &state.0 {
        Inner::One(kept) => kept.copied(context.scratch),
        _ => Err(mismatch()),
    }
}

pub(super) fn start_one() -> State {
    State(Inner::One(Kept::Null))
}

static MIN: Aggregate = Aggregate::new(
    start_one,
    |context, state, arguments| Extreme::LEAST.keep(context, state, arguments),
    one,
)
.combining(|context, state, other| Extreme::LEAST.combine(context, state, other))
.giving(Extreme::LEAST);
static MAX: Aggregate = Aggregate::new(
    start_one,
    |context, state, arguments| Extreme::GREATEST.keep(context, state, arguments),
    one,
)
.combining(|context, state, other| Extreme::GREATEST.combine(context, state, other))
.giving(Extreme::GREATEST);
static MIN_PADDED: Aggregate = Aggregate::new(
    start_one,
    |context, state, arguments| Extreme::LEAST_PADDED.keep(context, state, arguments),
    one,
)
.combining(|context, state, other| Extreme::LEAST_PADDED.combine(context, state, other))
.giving(Extreme::LEAST_PADDED);
static MAX_PADDED: Aggregate = Aggregate::new(
    start_one,
    |context, state, arguments| Extreme::GREATEST_PADDED.keep(context, state, arguments),
    one,
)
.combining(|context, state, other| Extreme::GREATEST_PADDED.combine(context, state, other))
.giving(Extreme::GREATEST_PADDED);

macro_rules! both {
    ($($ty:expr),*) => {
        &[
            $(
                Function::new("min", &[$ty], $ty, Body::Aggregate(&MIN)),
                Function::new("max", &[$ty], $ty, Body::Aggregate(&MAX)),
            )*
            Function::new("min", &[BPCHAR], BPCHAR, Body::Aggregate(&MIN_PADDED)),
            Function::new("max", &[BPCHAR], BPCHAR, Body::Aggregate(&MAX_PADDED)),
        ]
    };
}

pub(super) static FUNCTIONS: &[Function] = both!(
    INT4,
    INT8,
    INT2,
    FLOAT8,
    FLOAT4,
    NUMERIC,
    TEXT,
    DATE,
    TIME,
    TIMETZ,
    TIMESTAMP,
    TIMESTAMPTZ,
    INTERVAL,
    OID,
    Parameter::AnyEnum,
    Parameter::AnyArray
);
