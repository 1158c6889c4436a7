//! `bool_and`, `bool_or`, `bit_and`, `bit_or`, `bit_xor`.

use types::{Result, Value};

use super::{Aggregate, Inner, State, mismatch};
use crate::{
    Context,
    argument::take,
    function::{BOOL, Body, Function, INT2, INT4, INT8},
    integer::{Integer, Wide},
};

fn fold_boolean(
    state: &mut State,
    arguments: &[Value<'_>],
    fold: impl Fn(bool, bool) -> bool,
) -> Result<()> {
    let Inner::Boolean(so_far) = &mut state.0 else {
        return Err(mismatch());
    };
    let next = take(arguments, 0)?;
    *so_far = Some(so_far.map_or(next, |so_far| fold(so_far, next)));
    Ok(())
}

fn boolean<'a>(_: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    match state.0 {
        Inner::Boolean(result) => Ok(result.map_or(Value::Null, Value::Bool)),
        _ => Err(mismatch()),
    }
}

fn start_boolean() -> State {
    State(Inner::Boolean(None))
}

static AND: Aggregate = Aggregate::new(
    start_boolean,
    |_, state, arguments| fold_boolean(state, arguments, |left, right| left && right),
    boolean,
);
static OR: Aggregate = Aggregate::new(
    start_boolean,
    |_, state, arguments| fold_boolean(state, arguments, |left, right| left || right),
    boolean,
);

fn fold_bits(
    state: &mut State,
    arguments: &[Value<'_>],
    fold: impl Fn(i64, i64) -> i64,
) -> Result<()> {
    let Inner::Bits(so_far) = &mut state.0 else {
        return Err(mismatch());
    };
    let next = take::<Wide>(arguments, 0)?.0;
    *so_far = Some(so_far.map_or(next, |so_far| fold(so_far, next)));
    Ok(())
}

fn bits<'a, R: Integer>(state: &State, value: fn(R) -> Value<'a>) -> Result<Value<'a>> {
    match state.0 {
        Inner::Bits(Some(bits)) => R::narrow(bits).map(value),
        Inner::Bits(None) => Ok(Value::Null),
        _ => Err(mismatch()),
    }
}

/// The aggregate of one of the folds, for each width.
macro_rules! over_widths {
    ($name:literal, $fold:expr) => {
        [
            Function::new(
                $name,
                &[INT2],
                INT2,
                Body::Aggregate(
                    &const {
                        Aggregate::new(
                            || State(Inner::Bits(None)),
                            |_, state, arguments| fold_bits(state, arguments, $fold),
                            |_, state, _| bits(state, Value::Int2),
                        )
                    },
                ),
            ),
            Function::new(
                $name,
                &[INT4],
                INT4,
                Body::Aggregate(
                    &const {
                        Aggregate::new(
                            || State(Inner::Bits(None)),
                            |_, state, arguments| fold_bits(state, arguments, $fold),
                            |_, state, _| bits(state, Value::Int4),
                        )
                    },
                ),
            ),
            Function::new(
                $name,
                &[INT8],
                INT8,
                Body::Aggregate(
                    &const {
                        Aggregate::new(
                            || State(Inner::Bits(None)),
                            |_, state, arguments| fold_bits(state, arguments, $fold),
                            |_, state, _| bits(state, Value::Int8),
                        )
                    },
                ),
            ),
        ]
    };
}

static BITS: [[Function; 3]; 3] = [
    over_widths!("bit_and", |left, right| left & right),
    over_widths!("bit_or", |left, right| left | right),
    over_widths!("bit_xor", |left, right| left ^ right),
];

static BOOLEANS: [Function; 3] = [
    Function::new("bool_and", &[BOOL], BOOL, Body::Aggregate(&AND)),
    Function::new("every", &[BOOL], BOOL, Body::Aggregate(&AND)),
    Function::new("bool_or", &[BOOL], BOOL, Body::Aggregate(&OR)),
];

pub(super) static FUNCTIONS: &[Function] = &BOOLEANS;
pub(super) static INTEGERS: &[Function] = BITS.as_flattened();
