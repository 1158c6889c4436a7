//! Square roots of a scale that is given, for standard deviations.

use num_bigint::BigInt;
use types::{Numeric, Result, Scratch};

/// The mantissa and the scale of a finite number.
fn parts(number: Numeric<'_>) -> (BigInt, u32) {
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
fn number<'a>(mantissa: &BigInt, scale: u32, scratch: &'a Scratch) -> Result<Numeric<'a>> {
    Numeric::parse(&format!("{mantissa}e-{scale}"), scratch)?.round(scale as i32, scratch)
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
