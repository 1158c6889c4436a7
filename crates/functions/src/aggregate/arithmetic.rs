//! `count`, `sum`, `avg`.

use types::{Interval, Numeric, Result, Value};

use super::{Aggregate, Inner, State, columnar, mismatch, sum::NumericSum};
use crate::{
    Context,
    argument::take,
    datetime,
    float::{Double, overflow},
    function::{Body, FLOAT4, FLOAT8, Function, INT2, INT4, INT8, INTERVAL, NUMERIC, Parameter},
    integer::{Wide, out_of_range},
};

fn count(_: &Context<'_>, state: &mut State, _: &[Value<'_>]) -> Result<()> {
    let Inner::Count(count) = &mut state.0 else {
        return Err(mismatch());
    };
    *count += 1;
    Ok(())
}

fn counted<'a>(_: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    match state.0 {
        Inner::Count(count) => Ok(Value::Int8(count)),
        _ => Err(mismatch()),
    }
}

fn uncount(_: &Context<'_>, state: &mut State, _: &[Value<'_>]) -> Result<bool> {
    let Inner::Count(count) = &mut state.0 else {
        return Err(mismatch());
    };
    *count -= 1;
    Ok(true)
}

fn combine_counts(_: &Context<'_>, state: &mut State, other: &State) -> Result<()> {
    let (Inner::Count(count), Inner::Count(more)) = (&mut state.0, &other.0) else {
        return Err(mismatch());
    };
    *count += more;
    Ok(())
}

static COUNT: Aggregate = Aggregate::new(|| State(Inner::Count(0)), count, counted)
    .removing(uncount)
    .combining(combine_counts)
    .over_columns(columnar::count);

fn start_integers() -> State {
    State(Inner::Integers { sum: 0, count: 0 })
}

fn add_integer(_: &Context<'_>, state: &mut State, arguments: &[Value<'_>]) -> Result<()> {
    let Inner::Integers { sum, count } = &mut state.0 else {
        return Err(mismatch());
    };
    // 2^64 rows of the greatest number fit.
    *sum += i128::from(take::<Wide>(arguments, 0)?.0);
    *count += 1;
    Ok(())
}

fn remove_integer(_: &Context<'_>, state: &mut State, arguments: &[Value<'_>]) -> Result<bool> {
    let Inner::Integers { sum, count } = &mut state.0 else {
        return Err(mismatch());
    };
    *sum -= i128::from(take::<Wide>(arguments, 0)?.0);
    *count -= 1;
    Ok(true)
}

fn combine_integers(_: &Context<'_>, state: &mut State, other: &State) -> Result<()> {
    let Inner::Integers { sum, count } = &mut state.0 else {
        return Err(mismatch());
    };
    if let Some((more, rows)) = integers(other)? {
        *sum += more;
        *count += rows;
    }
    Ok(())
}

fn integers(state: &State) -> Result<Option<(i128, i64)>> {
    match state.0 {
        Inner::Integers { count: 0, .. } => Ok(None),
        Inner::Integers { sum, count } => Ok(Some((sum, count))),
        _ => Err(mismatch()),
    }
}

fn integer_sum<'a>(_: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    let Some((sum, _)) = integers(state)? else {
        return Ok(Value::Null);
    };
    i64::try_from(sum)
        .map(Value::Int8)
        .map_err(|_| out_of_range("bigint"))
}

fn wide_sum<'a>(context: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    let Some((sum, _)) = integers(state)? else {
        return Ok(Value::Null);
    };
    Numeric::from_i128(sum, 0, context.scratch).map(Value::Numeric)
}

fn integer_average<'a>(context: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    let Some((sum, count)) = integers(state)? else {
        return Ok(Value::Null);
    };
    let sum = Numeric::from_i128(sum, 0, context.scratch)?;
    sum.divide(Numeric::small(count, 0), context.scratch)
        .map(Value::Numeric)
}

static INTEGER_SUM: Aggregate = Aggregate::new(start_integers, add_integer, integer_sum)
    .removing(remove_integer)
    .combining(combine_integers)
    .over_columns(columnar::add_integers);
static WIDE_SUM: Aggregate = Aggregate::new(start_integers, add_integer, wide_sum)
    .removing(remove_integer)
    .combining(combine_integers)
    .over_columns(columnar::add_integers);
static INTEGER_AVERAGE: Aggregate = Aggregate::new(start_integers, add_integer, integer_average)
    .removing(remove_integer)
    .combining(combine_integers)
    .over_columns(columnar::add_integers);

fn start_floats() -> State {
    State(Inner::Floats {
        count: 0.0,
        sum: 0.0,
        squares: 0.0,
    })
}

fn add_single(_: &Context<'_>, state: &mut State, arguments: &[Value<'_>]) -> Result<()> {
    add_to_single(state, take(arguments, 0)?)
}

/// Adds to a sum of `real`, which is rounded at each step, as in PostgreSQL.
fn add_to_single(state: &mut State, operand: f32) -> Result<()> {
    let Inner::Floats { count, sum, .. } = &mut state.0 else {
        return Err(mismatch());
    };
    let total = *sum as f32 + operand;
    if total.is_infinite() && sum.is_finite() && operand.is_finite() {
        return Err(overflow());
    }
    (*count, *sum) = (*count + 1.0, total.into());
    Ok(())
}

fn add_float(_: &Context<'_>, state: &mut State, arguments: &[Value<'_>]) -> Result<()> {
    add_to_float(state, take::<Double>(arguments, 0)?.0)
}

/// Adds a number to a sum of floats.
pub(super) fn add_to_float(state: &mut State, operand: f64) -> Result<()> {
    let Inner::Floats { count, sum, .. } = &mut state.0 else {
        return Err(mismatch());
    };
    let total = *sum + operand;
    if total.is_infinite() && sum.is_finite() && operand.is_finite() {
        return Err(overflow());
    }
    (*count, *sum) = (*count + 1.0, total);
    Ok(())
}

/// Adds a sum of floats to another.
fn combine_floats(_: &Context<'_>, state: &mut State, other: &State) -> Result<()> {
    let Some((rows, more)) = floats(other)? else {
        return Ok(());
    };
    add_to_float(state, more)?;
    if let Inner::Floats { count, .. } = &mut state.0 {
        *count += rows - 1.0;
    }
    Ok(())
}

/// Adds a sum of `real` to another: the sum is rounded to one.
fn combine_singles(_: &Context<'_>, state: &mut State, other: &State) -> Result<()> {
    let Some((rows, more)) = floats(other)? else {
        return Ok(());
    };
    add_to_single(state, more as f32)?;
    if let Inner::Floats { count, .. } = &mut state.0 {
        *count += rows - 1.0;
    }
    Ok(())
}

fn floats(state: &State) -> Result<Option<(f64, f64)>> {
    match state.0 {
        Inner::Floats { count: 0.0, .. } => Ok(None),
        Inner::Floats { count, sum, .. } => Ok(Some((count, sum))),
        _ => Err(mismatch()),
    }
}

fn float_sum<'a>(_: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    Ok(floats(state)?.map_or(Value::Null, |(_, sum)| Value::Float8(sum)))
}

fn single_sum<'a>(_: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    Ok(floats(state)?.map_or(Value::Null, |(_, sum)| Value::Float4(sum as f32)))
}

fn float_average<'a>(_: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    Ok(floats(state)?.map_or(Value::Null, |(count, sum)| Value::Float8(sum / count)))
}

/// A sum begins with its first number, which may be the negative zero; an average with zero.
fn start_float_sum() -> State {
    State(Inner::Floats {
        count: 0.0,
        sum: -0.0,
        squares: 0.0,
    })
}

static FLOAT_SUM: Aggregate = Aggregate::new(start_float_sum, add_float, float_sum)
    .combining(combine_floats)
    .over_columns(columnar::add_floats);
static SINGLE_SUM: Aggregate =
    Aggregate::new(start_float_sum, add_single, single_sum).combining(combine_singles);
static FLOAT_AVERAGE: Aggregate = Aggregate::new(start_floats, add_float, float_average)
    .combining(combine_floats)
    .over_columns(columnar::add_floats);

fn start_numerics() -> State {
    State(Inner::Numerics(NumericSum::default()))
}

fn add_numeric(context: &Context<'_>, state: &mut State, arguments: &[Value<'_>]) -> Result<()> {
    let Inner::Numerics(sum) = &mut state.0 else {
        return Err(mismatch());
    };
    sum.add(take(arguments, 0)?, context.scratch)
}

fn remove_numeric(
    context: &Context<'_>,
    state: &mut State,
    arguments: &[Value<'_>],
) -> Result<bool> {
    let Inner::Numerics(sum) = &mut state.0 else {
        return Err(mismatch());
    };
    sum.remove(take(arguments, 0)?, context.scratch)
}

fn combine_numerics(context: &Context<'_>, state: &mut State, other: &State) -> Result<()> {
    let (Inner::Numerics(sum), Inner::Numerics(other)) = (&mut state.0, &other.0) else {
        return Err(mismatch());
    };
    sum.combine(other, context.scratch)
}

fn numerics(state: &State) -> Result<Option<&NumericSum>> {
    match &state.0 {
        Inner::Numerics(sum) => Ok((sum.count > 0).then_some(sum)),
        _ => Err(mismatch()),
    }
}

fn numeric_sum<'a>(context: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    match numerics(state)? {
        Some(sum) => sum.total(context.scratch).map(Value::Numeric),
        None => Ok(Value::Null),
    }
}

fn numeric_average<'a>(context: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    match numerics(state)? {
        Some(sum) => sum
            .total(context.scratch)?
            .divide(Numeric::small(sum.count, 0), context.scratch)
            .map(Value::Numeric),
        None => Ok(Value::Null),
    }
}

static NUMERIC_SUM: Aggregate = Aggregate::new(start_numerics, add_numeric, numeric_sum)
    .removing(remove_numeric)
    .combining(combine_numerics)
    .over_columns(columnar::add_numerics);
static NUMERIC_AVERAGE: Aggregate = Aggregate::new(start_numerics, add_numeric, numeric_average)
    .removing(remove_numeric)
    .combining(combine_numerics)
    .over_columns(columnar::add_numerics);

fn start_intervals() -> State {
    State(Inner::Intervals {
        sum: Interval {
            microseconds: 0,
            days: 0,
            months: 0,
        },
        count: 0,
    })
}

fn add_interval(_: &Context<'_>, state: &mut State, arguments: &[Value<'_>]) -> Result<()> {
    let Inner::Intervals { sum, count } = &mut state.0 else {
        return Err(mismatch());
    };
    *sum = datetime::add_intervals(*sum, take(arguments, 0)?)?;
    *count += 1;
    Ok(())
}

fn remove_interval(_: &Context<'_>, state: &mut State, arguments: &[Value<'_>]) -> Result<bool> {
    let Inner::Intervals { sum, count } = &mut state.0 else {
        return Err(mismatch());
    };
    let Ok(rest) = datetime::subtract_intervals(*sum, take(arguments, 0)?) else {
        return Ok(false);
    };
    *sum = rest;
    *count -= 1;
    Ok(true)
}

fn combine_intervals(_: &Context<'_>, state: &mut State, other: &State) -> Result<()> {
    let (
        Inner::Intervals { sum, count },
        Inner::Intervals {
            sum: more,
            count: rows,
        },
    ) = (&mut state.0, &other.0)
    else {
        return Err(mismatch());
    };
    *sum = datetime::add_intervals(*sum, *more)?;
    *count += rows;
    Ok(())
}

fn interval_sum<'a>(_: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    match state.0 {
        Inner::Intervals { count: 0, .. } => Ok(Value::Null),
        Inner::Intervals { sum, .. } => Ok(Value::Interval(sum)),
        _ => Err(mismatch()),
    }
}

fn interval_average<'a>(_: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    match state.0 {
        Inner::Intervals { count: 0, .. } => Ok(Value::Null),
        Inner::Intervals { sum, count } => {
            datetime::scale(sum, |part| part / count as f64).map(Value::Interval)
        }
        _ => Err(mismatch()),
    }
}

static INTERVAL_SUM: Aggregate = Aggregate::new(start_intervals, add_interval, interval_sum)
    .removing(remove_interval)
    .combining(combine_intervals);
static INTERVAL_AVERAGE: Aggregate =
    Aggregate::new(start_intervals, add_interval, interval_average)
        .removing(remove_interval)
        .combining(combine_intervals);

const fn aggregate(
    name: &'static str,
    parameters: &'static [Parameter],
    result: Parameter,
    aggregate: &'static Aggregate,
) -> Function {
    Function::new(name, parameters, result, Body::Aggregate(aggregate))
}

pub(super) static FUNCTIONS: &[Function] = &[
    aggregate("count", &[], INT8, &COUNT),
    aggregate("count", &[Parameter::Any], INT8, &COUNT),
    aggregate("sum", &[INT4], INT8, &INTEGER_SUM),
    aggregate("sum", &[INT2], INT8, &INTEGER_SUM),
    aggregate("sum", &[INT8], NUMERIC, &WIDE_SUM),
    aggregate("sum", &[FLOAT8], FLOAT8, &FLOAT_SUM),
    aggregate("sum", &[FLOAT4], FLOAT4, &SINGLE_SUM),
    aggregate("sum", &[NUMERIC], NUMERIC, &NUMERIC_SUM),
    aggregate("sum", &[INTERVAL], INTERVAL, &INTERVAL_SUM),
    aggregate("avg", &[INT4], NUMERIC, &INTEGER_AVERAGE),
    aggregate("avg", &[INT2], NUMERIC, &INTEGER_AVERAGE),
    aggregate("avg", &[INT8], NUMERIC, &INTEGER_AVERAGE),
    aggregate("avg", &[FLOAT8], FLOAT8, &FLOAT_AVERAGE),
    aggregate("avg", &[FLOAT4], FLOAT8, &FLOAT_AVERAGE),
    aggregate("avg", &[NUMERIC], NUMERIC, &NUMERIC_AVERAGE),
    aggregate("avg", &[INTERVAL], INTERVAL, &INTERVAL_AVERAGE),
];
