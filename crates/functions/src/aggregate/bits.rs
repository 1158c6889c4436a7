//! `bool_and`, `bool_or`, `bit_and`, `bit_or`, `bit_xor`.

use types::{Result, Value};

use super::{Aggregate, Inner, State, mismatch};
use crate::{
    Context,
    argument::take,
    function::{BOOL, Body, Function, INT2, INT4, INT8},
    integer::{Integer, Wide},
};

fn count_boolean(state: &mut State, arguments: &[Value<'_>], by: i64) -> Result<()> {
    let Inner::Booleans { trues, falses } = &mut state.0 else {
        return Err(mismatch());
    };
    match take(arguments, 0)? {
        true => *trues += by,
        false => *falses += by,
    }
    Ok(())
}

fn boolean<'a>(state: &State, result: impl Fn(i64, i64) -> bool) -> Result<Value<'a>> {
    match state.0 {
        Inner::Booleans {
            trues: 0,
            falses: 0,
        } => Ok(Value::Null),
        Inner::Booleans { trues, falses } => Ok(Value::Bool(result(trues, falses))),
        _ => Err(mismatch()),
    }
}

fn start_booleans() -> State {
    State(Inner::Booleans {
        trues: 0,
        falses: 0,
    })
}

fn combine_booleans(_: &Context<'_>, state: &mut State, other: &State) -> Result<()> {
    let (
        Inner::Booleans { trues, falses },
        Inner::Booleans {
            trues: more_trues,
            falses: more_falses,
        },
    ) = (&mut state.0, &other.0)
    else {
        return Err(mismatch());
    };
    *trues += more_trues;
    *falses += more_falses;
    Ok(())
}

static AND: Aggregate = Aggregate::new(
    start_booleans,
    |_, state, arguments| count_boolean(state, arguments, 1),
    |_, state, _| boolean(state, |_, falses| falses == 0),
)
.combining(combine_booleans)
.removing(|_, state, arguments| count_boolean(state, arguments, -1).map(|()| true));
static OR: Aggregate = Aggregate::new(
    start_booleans,
    |_, state, arguments| count_boolean(state, arguments, 1),
    |_, state, _| boolean(state, |trues, _| trues > 0),
)
.combining(combine_booleans)
.removing(|_, state, arguments| count_boolean(state, arguments, -1).map(|()| true));

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

fn combine_bits(state: &mut State, other: &State, fold: impl Fn(i64, i64) -> i64) -> Result<()> {
    match other.0 {
        Inner::Bits(None) => Ok(()),
        Inner::Bits(Some(bits)) => fold_bits(state, &[Value::Int8(bits)], fold),
        _ => Err(mismatch()),
    }
}

fn bits<'a, R: Integer>(state: &State, value: fn(R) -> Value<'a>) -> Result<Value<'a>> {
    match state.0 {
        Inner::Bits(Some(bits)) => R::narrow(bits).map(value),
        Inner::Bits(None) => Ok(Value::Null),
        _ => Err(mismatch()),
    }
}

/// Defines the aggregate of one of the folds, for each width.
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
                        .combining(|_, state, other| combine_bits(state, other, $fold))
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
                        .combining(|_, state, other| combine_bits(state, other, $fold))
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
                        .combining(|_, state, other| combine_bits(state, other, $fold))
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
