//! `=`, `<>`, `<`, `<=`, `>`, `>=` of all types.
//!
//! Each entry names its comparison, so that a compiler of plans can do `int4 = int4` without a
//! call. Orders are those of PostgreSQL's default b-tree operator classes; text is ordered by
//! its bytes (`C`).

mod mixed;

use std::cmp::Ordering;

use types::{Names, Numeric, Record, Result, SqlError, SqlState, Value};

use crate::{
    Context, ScalarFunction,
    argument::{Char, Date, Oid, Time, Timestamp, TimestampTz},
    float::Double,
    function::{
        BOOL, BPCHAR, BYTEA, CHAR, Comparison, DATE, FLOAT4, FLOAT8, Function, INT2, INT4, INT8,
        INTERVAL, JSONB, NAME, NUMERIC, OID, Parameter, RECORD, TEXT, TIME, TIMESTAMP, TIMESTAMPTZ,
        TIMETZ, UUID, entry,
    },
    integer::Wide,
};

/// Defines the six operators over a pair of types, from a function that orders.
macro_rules! six {
    ($left:expr, $right:expr, $order:expr) => {
        [
            entry!("="($left, $right) -> BOOL, in context |context, left, right| {
                decide(($order)(context, left, right), Ordering::is_eq)
            })
            .comparison(Comparison::Equal),
            entry!("<>"($left, $right) -> BOOL, in context |context, left, right| {
                decide(($order)(context, left, right), Ordering::is_ne)
            })
            .comparison(Comparison::NotEqual),
            entry!("<"($left, $right) -> BOOL, in context |context, left, right| {
                decide(($order)(context, left, right), Ordering::is_lt)
            })
            .comparison(Comparison::Less),
            entry!("<="($left, $right) -> BOOL, in context |context, left, right| {
                decide(($order)(context, left, right), Ordering::is_le)
            })
            .comparison(Comparison::LessOrEqual),
            entry!(">"($left, $right) -> BOOL, in context |context, left, right| {
                decide(($order)(context, left, right), Ordering::is_gt)
            })
            .comparison(Comparison::Greater),
            entry!(">="($left, $right) -> BOOL, in context |context, left, right| {
                decide(($order)(context, left, right), Ordering::is_ge)
            })
            .comparison(Comparison::GreaterOrEqual),
        ]
    };
}
use six;

#[inline]
fn decide(order: Result<Ordering>, test: impl Fn(Ordering) -> bool) -> Result<bool> {
    order.map(test)
}

type Compared = Result<Ordering>;

#[inline]
fn integers(_: &Context<'_>, left: Wide, right: Wide) -> Compared {
    Ok(left.cmp(&right))
}

#[inline]
fn floats(_: &Context<'_>, left: Double, right: Double) -> Compared {
    Ok(order_floats(left.0, right.0))
}

/// Orders floats. NaN is equal to itself and greater than all else; the zeros are equal.
#[inline]
pub(crate) fn order_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right)
        .unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

#[inline]
fn texts(_: &Context<'_>, left: &str, right: &str) -> Compared {
    Ok(left.cmp(right))
}

#[inline]
fn padded(_: &Context<'_>, left: &str, right: &str) -> Compared {
    Ok(left.trim_end_matches(' ').cmp(right.trim_end_matches(' ')))
}

fn numerics(_: &Context<'_>, left: Numeric<'_>, right: Numeric<'_>) -> Compared {
    Ok(left.compare(right))
}

/// Orders values of types without a form of their own here.
fn values(_: &Context<'_>, left: Value<'_>, right: Value<'_>) -> Compared {
    Ok(types::compare::compare(left, right))
}

/// Orders rows, whose fields must be alike in number and type.
fn records(context: &Context<'_>, left: Value<'_>, right: Value<'_>) -> Compared {
    if let (Value::Record(left), Value::Record(right)) = (left, right) {
        alike(left, right, context.environment.names())?;
    }
    Ok(types::compare::compare(left, right))
}

fn alike(left: &Record<'_>, right: &Record<'_>, names: &dyn Names) -> Result<()> {
    for (position, (one, two)) in left.fields.iter().zip(right.fields).enumerate() {
        if one.ty != two.ty {
            let message = format!(
                "cannot compare dissimilar column types {} and {} at record column {}",
                one.ty.name(names),
                two.ty.name(names),
                position + 1
            );
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
        }
    }
    if left.values.len() != right.values.len() {
        let message = "cannot compare record types with different numbers of columns";
        return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
    }
    Ok(())
}

static SAME: &[[Function; 6]] = &[
    six!(INT4, INT4, integers),
    six!(INT8, INT8, integers),
    six!(INT2, INT2, integers),
    six!(INT2, INT4, integers),
    six!(INT4, INT2, integers),
    six!(INT2, INT8, integers),
    six!(INT8, INT2, integers),
    six!(INT4, INT8, integers),
    six!(INT8, INT4, integers),
    six!(FLOAT8, FLOAT8, floats),
    six!(FLOAT4, FLOAT4, floats),
    six!(FLOAT4, FLOAT8, floats),
    six!(FLOAT8, FLOAT4, floats),
    six!(NUMERIC, NUMERIC, numerics),
    six!(TEXT, TEXT, texts),
    six!(NAME, NAME, texts),
    six!(NAME, TEXT, texts),
    six!(TEXT, NAME, texts),
    six!(BPCHAR, BPCHAR, padded),
    six!(BOOL, BOOL, |_, left: bool, right: bool| Compared::Ok(
        left.cmp(&right)
    )),
    six!(CHAR, CHAR, |_, left: Char, right: Char| Compared::Ok(
        left.cmp(&right)
    )),
    six!(OID, OID, |_, left: Oid, right: Oid| Compared::Ok(
        left.cmp(&right)
    )),
    six!(BYTEA, BYTEA, |_, left: &[u8], right: &[u8]| Compared::Ok(
        left.cmp(right)
    )),
    six!(UUID, UUID, |_, left: &[u8; 16], right: &[u8; 16]| {
        Compared::Ok(left.cmp(right))
    }),
    six!(DATE, DATE, |_, left: Date, right: Date| Compared::Ok(
        left.cmp(&right)
    )),
    six!(TIME, TIME, |_, left: Time, right: Time| Compared::Ok(
        left.cmp(&right)
    )),
    six!(
        TIMESTAMP,
        TIMESTAMP,
        |_, left: Timestamp, right: Timestamp| { Compared::Ok(left.cmp(&right)) }
    ),
    six!(
        TIMESTAMPTZ,
        TIMESTAMPTZ,
        |_, left: TimestampTz, right: TimestampTz| { Compared::Ok(left.cmp(&right)) }
    ),
    six!(TIMETZ, TIMETZ, values),
    six!(INTERVAL, INTERVAL, values),
    six!(JSONB, JSONB, values),
    six!(Parameter::AnyArray, Parameter::AnyArray, values),
    six!(Parameter::AnyEnum, Parameter::AnyEnum, values),
    six!(RECORD, RECORD, records),
];

pub(crate) static OPERATORS: &[Function] = SAME.as_flattened();
pub(crate) static MIXED: &[Function] = mixed::OPERATORS.as_flattened();

/// Computes `IS DISTINCT FROM`: like `<>`, but NULL is a value like others. `equal` is the body
/// of the `=` between the types.
///
/// # Errors
///
/// Returns the error of the comparison.
pub fn is_distinct<'a>(
    context: &Context<'a>,
    equal: ScalarFunction,
    left: Value<'a>,
    right: Value<'a>,
) -> Result<bool> {
    match (left.is_null(), right.is_null()) {
        (true, true) => Ok(false),
        (false, false) => Ok(!matches!(
            equal(context, &[left, right])?,
            Value::Bool(true)
        )),
        _ => Ok(true),
    }
}
