//! Functions by name.

use types::{Numeric, Result, SqlError, SqlState, Value};

use super::operators::{absolute, remainder};
use crate::{
    Context,
    function::{Function, INT4, NUMERIC, entry},
    integer::out_of_range,
};

fn round<'a>(context: &Context<'a>, operand: Numeric<'a>, scale: i32) -> Result<Numeric<'a>> {
    operand.round(scale, context.scratch)
}

fn truncate<'a>(context: &Context<'a>, operand: Numeric<'a>, scale: i32) -> Result<Numeric<'a>> {
    operand.truncate(scale, context.scratch)
}

fn sign(operand: Numeric<'_>) -> Numeric<'static> {
    if operand.is_nan() {
        return Numeric::NAN;
    }
    Numeric::small(operand.signum().into(), 0)
}

fn div<'a>(context: &Context<'a>, left: Numeric<'a>, right: Numeric<'a>) -> Result<Numeric<'a>> {
    left.divide_truncated(right, context.scratch)
}

fn ceil<'a>(context: &Context<'a>, operand: Numeric<'a>) -> Result<Numeric<'a>> {
    operand.ceil(context.scratch)
}

fn floor<'a>(context: &Context<'a>, operand: Numeric<'a>) -> Result<Numeric<'a>> {
    operand.floor(context.scratch)
}

fn square_root<'a>(context: &Context<'a>, operand: Numeric<'a>) -> Result<Numeric<'a>> {
    operand.sqrt(context.scratch)
}

fn exponential<'a>(context: &Context<'a>, operand: Numeric<'a>) -> Result<Numeric<'a>> {
    operand.exp(context.scratch)
}

fn natural_logarithm<'a>(context: &Context<'a>, operand: Numeric<'a>) -> Result<Numeric<'a>> {
    operand.ln(context.scratch)
}

fn decimal_logarithm<'a>(context: &Context<'a>, operand: Numeric<'a>) -> Result<Numeric<'a>> {
    operand.log10(context.scratch)
}

fn logarithm<'a>(
    context: &Context<'a>,
    base: Numeric<'a>,
    operand: Numeric<'a>,
) -> Result<Numeric<'a>> {
    operand.log(base, context.scratch)
}

pub(super) fn power<'a>(
    context: &Context<'a>,
    base: Numeric<'a>,
    exponent: Numeric<'a>,
) -> Result<Numeric<'a>> {
    base.power(exponent, context.scratch)
}

fn trim_scale<'a>(context: &Context<'a>, operand: Numeric<'a>) -> Result<Numeric<'a>> {
    operand.trim_scale(context.scratch)
}

fn scale(operand: Numeric<'_>) -> Option<i32> {
    operand.scale().map(i32::from)
}

fn least_scale<'a>(context: &Context<'a>, operand: Numeric<'a>) -> Result<Option<i32>> {
    Ok(scale(operand.trim_scale(context.scratch)?))
}

fn common_divisor<'a>(
    context: &Context<'a>,
    left: Numeric<'a>,
    right: Numeric<'a>,
) -> Result<Numeric<'a>> {
    if left.is_nan() || right.is_nan() || left.is_infinite() || right.is_infinite() {
        return Ok(Numeric::NAN);
    }
    let scale = left.scale().max(right.scale()).unwrap_or(0);
    let (mut greater, mut less) = (left, right);
    while less.signum() != 0 {
        (greater, less) = (less, greater.remainder(less, context.scratch)?);
    }
    greater
        .absolute(context.scratch)
        .round(scale.into(), context.scratch)
}

fn common_multiple<'a>(
    context: &Context<'a>,
    left: Numeric<'a>,
    right: Numeric<'a>,
) -> Result<Numeric<'a>> {
    let scratch = context.scratch;
    let divisor = common_divisor(context, left, right)?;
    if divisor.is_nan() {
        return Ok(divisor);
    }
    let scale = left.scale().max(right.scale()).unwrap_or(0);
    if left.signum() == 0 || right.signum() == 0 {
        return Numeric::small(0, 0).round(scale.into(), scratch);
    }
    let part = left.divide_truncated(divisor, scratch)?;
    part.multiply(right, scratch)?
        .absolute(scratch)
        .round(scale.into(), scratch)
}

/// Returns the number of the bucket with the operand, of `count` buckets of equal width
/// between `low` and `high`.
fn width_bucket<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let operand: Numeric<'a> = crate::argument::take(arguments, 0)?;
    let low: Numeric<'a> = crate::argument::take(arguments, 1)?;
    let high: Numeric<'a> = crate::argument::take(arguments, 2)?;
    let count: i32 = crate::argument::take(arguments, 3)?;
    let invalid =
        |message: &'static str| SqlError::new(SqlState::INVALID_ARGUMENT_FOR_WIDTH_BUCKET, message);
    if count <= 0 {
        return Err(invalid("count must be greater than zero"));
    }
    if operand.is_nan() || low.is_nan() || high.is_nan() {
        return Err(invalid(
            "operand, lower bound, and upper bound cannot be NaN",
        ));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(invalid("lower and upper bounds must be finite"));
    }
    let direction = low.compare(high);
    if direction.is_eq() {
        return Err(invalid("lower bound cannot equal upper bound"));
    }
    if operand.compare(low) == direction {
        return Ok(Value::Int4(0));
    }
    if operand.compare(high) != direction {
        let above = count.checked_add(1);
        return above
            .map(Value::Int4)
            .ok_or_else(|| out_of_range("integer"));
    }
    let scratch = context.scratch;
    let within = operand.subtract(low, scratch)?.absolute(scratch);
    let width = high.subtract(low, scratch)?.absolute(scratch);
    let scaled = within.multiply(Numeric::small(count.into(), 0), scratch)?;
    let bucket = scaled.divide_truncated(width, scratch)?.to_i32()?;
    Ok(Value::Int4(bucket + 1))
}

pub(crate) static FUNCTIONS: &[Function] = &[
    entry!("abs"(NUMERIC) -> NUMERIC, in context absolute),
    entry!("mod"(NUMERIC, NUMERIC) -> NUMERIC, in context remainder),
    entry!("div"(NUMERIC, NUMERIC) -> NUMERIC, in context div),
    entry!("ceil"(NUMERIC) -> NUMERIC, in context ceil),
    entry!("ceiling"(NUMERIC) -> NUMERIC, in context ceil),
    entry!("floor"(NUMERIC) -> NUMERIC, in context floor),
    entry!("round"(NUMERIC, INT4) -> NUMERIC, in context round),
    entry!("round"(NUMERIC) -> NUMERIC, in context |context, operand| round(context, operand, 0)),
    entry!("trunc"(NUMERIC, INT4) -> NUMERIC, in context truncate),
    entry!("trunc"(NUMERIC) -> NUMERIC, in context |context, operand| {
        truncate(context, operand, 0)
    }),
    entry!("sign"(NUMERIC) -> NUMERIC, sign),
    entry!("sqrt"(NUMERIC) -> NUMERIC, in context square_root),
    entry!("exp"(NUMERIC) -> NUMERIC, in context exponential),
    entry!("ln"(NUMERIC) -> NUMERIC, in context natural_logarithm),
    entry!("log"(NUMERIC) -> NUMERIC, in context decimal_logarithm),
    entry!("log10"(NUMERIC) -> NUMERIC, in context decimal_logarithm),
    entry!("log"(NUMERIC, NUMERIC) -> NUMERIC, in context logarithm),
    entry!("power"(NUMERIC, NUMERIC) -> NUMERIC, in context power),
    entry!("pow"(NUMERIC, NUMERIC) -> NUMERIC, in context power),
    entry!("scale"(NUMERIC) -> INT4, scale),
    entry!("min_scale"(NUMERIC) -> INT4, in context least_scale),
    entry!("trim_scale"(NUMERIC) -> NUMERIC, in context trim_scale),
    entry!("gcd"(NUMERIC, NUMERIC) -> NUMERIC, in context common_divisor),
    entry!("lcm"(NUMERIC, NUMERIC) -> NUMERIC, in context common_multiple),
    Function::scalar(
        "width_bucket",
        &[NUMERIC, NUMERIC, NUMERIC, INT4],
        INT4,
        width_bucket,
    ),
];
