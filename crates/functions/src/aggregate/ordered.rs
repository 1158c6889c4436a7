//! Ordered-set aggregates: `percentile_cont`, `percentile_disc`, `mode`.
//!
//! The executor sorts; this module receives the sorted values.

use types::{Array, Interval, Result, Scalar, SqlError, SqlState, Value, compare::compare};

use super::{Aggregate, Inner, State, kept::Kept, mismatch};
use crate::{
    Context,
    argument::take,
    datetime,
    function::{Body, FLOAT8, FLOAT8S, Function, INTERVAL, INTERVALS, Parameter},
};

pub(super) fn keep_all(_: &Context<'_>, state: &mut State, arguments: &[Value<'_>]) -> Result<()> {
    state.keep(take(arguments, 0)?)
}

fn values(state: &State) -> Result<&[Kept]> {
    match &state.0 {
        Inner::Many(many) => Ok(&many.values),
        _ => Err(mismatch()),
    }
}

fn check(fraction: f64) -> Result<f64> {
    if (0.0..=1.0).contains(&fraction) {
        return Ok(fraction);
    }
    Err(SqlError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("percentile value {fraction} is not between 0 and 1"),
    ))
}

/// Returns the first value up to which there is at least this fraction of all
/// values.
fn discrete<'a>(context: &Context<'a>, values: &[Kept], fraction: f64) -> Result<Value<'a>> {
    let position = (check(fraction)? * values.len() as f64).ceil() as usize;
    match values.get(position.max(1) - 1) {
        Some(value) => value.copied(context.scratch),
        None => Ok(Value::Null),
    }
}

/// Interpolates between the two values that are nearest to the fraction.
fn continuous<'a>(context: &Context<'a>, values: &[Kept], fraction: f64) -> Result<Value<'a>> {
    let fraction = check(fraction)?;
    let Some(last) = values.len().checked_sub(1) else {
        return Ok(Value::Null);
    };
    let place = fraction * last as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    let low = values[below].copied(context.scratch)?;
    if below == above {
        return Ok(low);
    }
    let high = values[above].copied(context.scratch)?;
    let part = place - place.floor();
    match (low, high) {
        (Value::Float8(low), Value::Float8(high)) => Ok(Value::Float8(low + part * (high - low))),
        (Value::Interval(low), Value::Interval(high)) => {
            between(low, high, part).map(Value::Interval)
        }
        _ => Err(mismatch()),
    }
}

fn between(low: Interval, high: Interval, part: f64) -> Result<Interval> {
    let difference = datetime::add_intervals(high, datetime::negated(low)?)?;
    let scaled = datetime::scale(difference, |piece| piece * part)?;
    datetime::add_intervals(scaled, low)
}

type OfFraction = for<'a> fn(&Context<'a>, &[Kept], f64) -> Result<Value<'a>>;

fn single<'a>(
    context: &Context<'a>,
    state: &State,
    direct: &[Value<'a>],
    of: OfFraction,
) -> Result<Value<'a>> {
    match take::<Option<f64>>(direct, 0)? {
        Some(fraction) => of(context, values(state)?, fraction),
        None => Ok(Value::Null),
    }
}

fn several<'a>(
    context: &Context<'a>,
    state: &State,
    direct: &[Value<'a>],
    of: OfFraction,
    element: Option<Scalar>,
) -> Result<Value<'a>> {
    let Some(fractions) = take::<Option<Array<'a>>>(direct, 0)? else {
        return Ok(Value::Null);
    };
    let values = values(state)?;
    // NULLs are not kept, so the first value gives the type.
    let (Some(element), false) = (
        element.or_else(|| context.argument_type(1).scalar()),
        values.is_empty(),
    ) else {
        return Ok(Value::Null);
    };
    let mut results = bumpalo::collections::Vec::new_in(context.scratch);
    for fraction in fractions.iter() {
        results.push(match fraction? {
            Value::Float8(fraction) => of(context, values, fraction)?,
            _ => Value::Null,
        });
    }
    let mut dimensions = bumpalo::collections::Vec::new_in(context.scratch);
    dimensions.extend(fractions.dimensions());
    Array::build(element, &dimensions, &results, context.scratch).map(Value::Array)
}

/// Returns the most frequent value, the first of several.
fn mode<'a>(context: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    let mut best: Option<(usize, &Kept)> = None;
    let mut run: Option<(usize, &Kept)> = None;
    for value in values(state)? {
        let (length, first) = match run {
            Some((length, first))
                if compare(first.get(context.scratch)?, value.get(context.scratch)?).is_eq() =>
            {
                (length + 1, first)
            }
            _ => (1, value),
        };
        run = Some((length, first));
        if best.is_none_or(|(most, _)| length > most) {
            best = Some((length, first));
        }
    }
    match best {
        Some((_, value)) => value.copied(context.scratch),
        None => Ok(Value::Null),
    }
}

static MODE: Aggregate = Aggregate::new(State::many, keep_all, mode).ordered(0);
static DISCRETE: Aggregate = Aggregate::new(State::many, keep_all, |context, state, direct| {
    single(context, state, direct, discrete)
})
.ordered(1);
static DISCRETE_MANY: Aggregate =
    Aggregate::new(State::many, keep_all, |context, state, direct| {
        several(context, state, direct, discrete, None)
    })
    .ordered(1);
static CONTINUOUS: Aggregate = Aggregate::new(State::many, keep_all, |context, state, direct| {
    single(context, state, direct, continuous)
})
.ordered(1);
static CONTINUOUS_FLOATS: Aggregate =
    Aggregate::new(State::many, keep_all, |context, state, direct| {
        several(context, state, direct, continuous, Some(Scalar::Float8))
    })
    .ordered(1);
static CONTINUOUS_INTERVALS: Aggregate =
    Aggregate::new(State::many, keep_all, |context, state, direct| {
        several(context, state, direct, continuous, Some(Scalar::Interval))
    })
    .ordered(1);

const ELEMENT: Parameter = Parameter::AnyElement;

const fn ordered(
    name: &'static str,
    parameters: &'static [Parameter],
    result: Parameter,
    aggregate: &'static Aggregate,
) -> Function {
    Function::new(name, parameters, result, Body::Aggregate(aggregate)).typed()
}

pub(super) static FUNCTIONS: &[Function] = &[
    ordered("mode", &[ELEMENT], ELEMENT, &MODE),
    ordered("percentile_disc", &[FLOAT8, ELEMENT], ELEMENT, &DISCRETE),
    ordered(
        "percentile_disc",
        &[FLOAT8S, ELEMENT],
        Parameter::AnyArray,
        &DISCRETE_MANY,
    ),
    ordered("percentile_cont", &[FLOAT8, FLOAT8], FLOAT8, &CONTINUOUS),
    ordered(
        "percentile_cont",
        &[FLOAT8, INTERVAL],
        INTERVAL,
        &CONTINUOUS,
    ),
    ordered(
        "percentile_cont",
        &[FLOAT8S, FLOAT8],
        FLOAT8S,
        &CONTINUOUS_FLOATS,
    ),
    ordered(
        "percentile_cont",
        &[FLOAT8S, INTERVAL],
        INTERVALS,
        &CONTINUOUS_INTERVALS,
    ),
];
