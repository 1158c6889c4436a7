//! Functions by name, trigonometry excepted.

use types::{Result, SqlError, SqlState};

use super::{not_overflowed, overflow, underflow};
use crate::{
    Context,
    function::{FLOAT4, FLOAT8, Function, INT4, VOID, entry},
};

pub(super) fn square_root(operand: f64) -> Result<f64> {
    if operand < 0.0 {
        return Err(invalid_power(
            "cannot take square root of a negative number",
        ));
    }
    Ok(operand.sqrt())
}

#[cold]
pub(crate) fn invalid_power(message: &'static str) -> SqlError {
    SqlError::new(SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION, message)
}

#[cold]
pub(crate) fn invalid_logarithm(message: &'static str) -> SqlError {
    SqlError::new(SqlState::INVALID_ARGUMENT_FOR_LOGARITHM, message)
}

/// Returns `base` to the power of `exponent`, with the infinities and zeros of POSIX.
pub(super) fn power(base: f64, exponent: f64) -> Result<f64> {
    if base == 0.0 && exponent < 0.0 {
        return Err(invalid_power(
            "zero raised to a negative power is undefined",
        ));
    }
    if base < 0.0 && !exponent.is_nan() && exponent.floor() != exponent {
        return Err(invalid_power(
            "a negative number raised to a non-integer power yields a complex result",
        ));
    }
    let result = base.powf(exponent);
    if base.is_finite() && exponent.is_finite() {
        if result.is_infinite() {
            return Err(overflow());
        }
        if result == 0.0 && base != 0.0 {
            return Err(underflow());
        }
    }
    Ok(result)
}

fn exponential(operand: f64) -> Result<f64> {
    let result = not_overflowed(operand.exp(), &[operand])?;
    if result == 0.0 && operand.is_finite() {
        return Err(underflow());
    }
    Ok(result)
}

fn check_logarithm(operand: f64) -> Result<()> {
    if operand == 0.0 {
        return Err(invalid_logarithm("cannot take logarithm of zero"));
    }
    if operand < 0.0 {
        return Err(invalid_logarithm(
            "cannot take logarithm of a negative number",
        ));
    }
    Ok(())
}

fn natural_logarithm(operand: f64) -> Result<f64> {
    check_logarithm(operand)?;
    Ok(operand.ln())
}

fn decimal_logarithm(operand: f64) -> Result<f64> {
    check_logarithm(operand)?;
    Ok(operand.log10())
}

fn sign(operand: f64) -> f64 {
    if operand > 0.0 {
        1.0
    } else if operand < 0.0 {
        -1.0
    } else {
        0.0
    }
}

fn random(context: &Context<'_>) -> f64 {
    // The 53 bits that a float between 0 and 1 has.
    (context.environment.random() >> 11) as f64 / (1u64 << 53) as f64
}

fn seed<'a>(context: &Context<'a>, seed: f64) -> Result<types::Value<'a>> {
    if !(-1.0..=1.0).contains(&seed) {
        return Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("setseed parameter {seed} is out of allowed range [-1,1]"),
        ));
    }
    context.environment.seed(seed);
    Ok(types::Value::Null)
}

/// Returns the number of the bucket with the operand, of `count` buckets of equal width
/// between `low` and `high`.
fn width_bucket(operand: f64, low: f64, high: f64, count: i32) -> Result<i32> {
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
    if low == high {
        return Err(invalid("lower bound cannot equal upper bound"));
    }
    let (below, above) = if low < high {
        (operand < low, operand >= high)
    } else {
        (operand > low, operand <= high)
    };
    if below {
        return Ok(0);
    }
    if above {
        return count
            .checked_add(1)
            .ok_or_else(|| crate::integer::out_of_range("integer"));
    }
    // Halved, so that the difference of finite numbers is finite.
    let (within, width) = (operand / 2.0 - low / 2.0, high / 2.0 - low / 2.0);
    let bucket = (f64::from(count) * (within / width)).floor() as i32;
    Ok(bucket.min(count - 1) + 1)
}

pub(crate) static FUNCTIONS: &[Function] = &[
    entry!("abs"(FLOAT8) -> FLOAT8, f64::abs),
    entry!("abs"(FLOAT4) -> FLOAT4, f32::abs),
    entry!("ceil"(FLOAT8) -> FLOAT8, f64::ceil),
    entry!("ceiling"(FLOAT8) -> FLOAT8, f64::ceil),
    entry!("floor"(FLOAT8) -> FLOAT8, f64::floor),
    entry!("round"(FLOAT8) -> FLOAT8, f64::round_ties_even),
    entry!("trunc"(FLOAT8) -> FLOAT8, f64::trunc),
    entry!("sign"(FLOAT8) -> FLOAT8, sign),
    entry!("sqrt"(FLOAT8) -> FLOAT8, square_root),
    entry!("cbrt"(FLOAT8) -> FLOAT8, f64::cbrt),
    entry!("power"(FLOAT8, FLOAT8) -> FLOAT8, power),
    entry!("pow"(FLOAT8, FLOAT8) -> FLOAT8, power),
    entry!("exp"(FLOAT8) -> FLOAT8, exponential),
    entry!("ln"(FLOAT8) -> FLOAT8, natural_logarithm),
    entry!("log"(FLOAT8) -> FLOAT8, decimal_logarithm),
    entry!("log10"(FLOAT8) -> FLOAT8, decimal_logarithm),
    entry!("pi"() -> FLOAT8, || std::f64::consts::PI),
    entry!("random"() -> FLOAT8, in context random).volatile(),
    entry!("setseed"(FLOAT8) -> VOID, in context seed).volatile(),
    entry!("width_bucket"(FLOAT8, FLOAT8, FLOAT8, INT4) -> INT4, width_bucket),
];
