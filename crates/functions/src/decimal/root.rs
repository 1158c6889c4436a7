//! Square roots, exact to the last digit.

use num_bigint::BigInt;
use types::{Numeric, Result, Scratch};

use crate::float::invalid_power;

/// The digits before the result's scale that a root has at least, as PostgreSQL has it.
const SIGNIFICANT_DIGITS: i32 = 16;

/// The mantissa and the scale of a finite number.
pub(super) fn parts(number: Numeric<'_>) -> (BigInt, u32) {
    if let Some((mantissa, scale)) = number.as_small() {
        return (mantissa.into(), scale.into());
    }
    let mut text = Vec::new();
    number.write_text(&mut text);
    text.retain(|byte| *byte != b'.');
    let mantissa = BigInt::parse_bytes(&text, 10).unwrap_or_default();
    (mantissa, number.scale().unwrap_or(0).into())
}

/// The number with these digits, of which the last `scale` are behind the point.
pub(super) fn number<'a>(
    mantissa: &BigInt,
    scale: u32,
    scratch: &'a Scratch,
) -> Result<Numeric<'a>> {
    Numeric::parse(&format!("{mantissa}e-{scale}"), scratch)?.round(scale as i32, scratch)
}

/// PostgreSQL's weight of a number: how many groups of four digits are before the point, less
/// one.
pub(super) fn weight(mantissa: &BigInt, scale: u32) -> i32 {
    let digits = mantissa.magnitude().to_string().len() as i32 - scale as i32;
    (digits - 1).div_euclid(4)
}

/// The root of a number that is not negative, rounded to a scale.
pub(crate) fn square_root_of_scale<'a>(
    operand: Numeric<'a>,
    result_scale: i32,
    scratch: &'a Scratch,
) -> Result<Numeric<'a>> {
    let (mantissa, scale) = parts(operand);
    // One digit more than wanted, then rounding; a root is never just between two digits.
    let wanted = result_scale.max(0) as u32 + 1;
    let shifted = if 2 * wanted >= scale {
        mantissa * BigInt::from(10).pow(2 * wanted - scale)
    } else {
        mantissa / BigInt::from(10).pow(scale - 2 * wanted)
    };
    number(&shifted.sqrt(), wanted, scratch)?.round(result_scale, scratch)
}

/// `sqrt`
pub(super) fn square_root<'a>(operand: Numeric<'a>, scratch: &'a Scratch) -> Result<Numeric<'a>> {
    if operand.is_nan() {
        return Ok(operand);
    }
    if operand.signum() < 0 {
        return Err(invalid_power(
            "cannot take square root of a negative number",
        ));
    }
    if operand.is_infinite() {
        return Ok(operand);
    }
    let (mantissa, scale) = parts(operand);
    let weight = weight(&mantissa, scale);
    let digits = (weight + 1) * 4 / 2 - 1;
    let result_scale = (SIGNIFICANT_DIGITS - digits)
        .max(scale as i32)
        .clamp(0, 1000);
    square_root_of_scale(operand, result_scale, scratch)
}
