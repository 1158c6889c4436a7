//! `min` and `max`.

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

fn keep(
    context: &Context<'_>,
    state: &mut State,
    arguments: &[Value<'_>],
    ty: Type,
    better: Ordering,
) -> Result<()> {
    let Inner::One(kept) = &mut state.0 else {
        return Err(mismatch());
    };
    let next: Value<'_> = take(arguments, 0)?;
    let replaces =
        matches!(kept, Kept::Null) || compare_as(ty, next, kept.get(context.scratch)?) == better;
    if replaces {
        kept.set(next);
    }
    Ok(())
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

const PLAIN: Type = Type::Scalar(Scalar::Text);
const PADDED: Type = Type::Scalar(Scalar::Bpchar);

static MIN: Aggregate = Aggregate::new(
    start_one,
    |context, state, arguments| keep(context, state, arguments, PLAIN, Ordering::Less),
    one,
)
.giving(Ordering::Less);
static MAX: Aggregate = Aggregate::new(
    start_one,
    |context, state, arguments| keep(context, state, arguments, PLAIN, Ordering::Greater),
    one,
)
.giving(Ordering::Greater);
static MIN_PADDED: Aggregate = Aggregate::new(
    start_one,
    |context, state, arguments| keep(context, state, arguments, PADDED, Ordering::Less),
    one,
)
.giving(Ordering::Less);
static MAX_PADDED: Aggregate = Aggregate::new(
    start_one,
    |context, state, arguments| keep(context, state, arguments, PADDED, Ordering::Greater),
    one,
)
.giving(Ordering::Greater);

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
