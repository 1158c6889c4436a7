//! Text of numbers: all digits, never an exponent.

use std::fmt;

use num_bigint::BigUint;

use super::{Numeric, Repr, SCALE_MASK, header};
use crate::Sink;

impl Numeric<'_> {
    /// Appends the text.
    pub fn write_text(self, out: &mut impl Sink) {
        match self.0 {
            Repr::Small { mantissa, scale } => {
                if mantissa < 0 {
                    out.put_byte(b'-');
                }
                let mut buffer = itoa::Buffer::new();
                write_digits(buffer.format(mantissa.unsigned_abs()), scale.into(), out);
            }
            Repr::Large(bytes) => {
                if self.signum() < 0 {
                    out.put_byte(b'-');
                }
                let magnitude = BigUint::from_bytes_le(bytes.get(2..).unwrap_or_default());
                write_digits(
                    &magnitude.to_string(),
                    usize::from(header(bytes) & SCALE_MASK),
                    out,
                );
            }
            Repr::NaN => out.put(b"NaN"),
            Repr::Infinity => out.put(b"Infinity"),
            Repr::NegativeInfinity => out.put(b"-Infinity"),
        }
    }
}

/// Writes digits with a point before the last `scale` of them.
fn write_digits(digits: &str, scale: usize, out: &mut impl Sink) {
    let digits = digits.as_bytes();
    match digits.len().checked_sub(scale) {
        Some(whole) if whole > 0 => {
            out.put(&digits[..whole]);
            if scale > 0 {
                out.put_byte(b'.');
                out.put(&digits[whole..]);
            }
        }
        _ => {
            out.put(b"0.");
            for _ in digits.len()..scale {
                out.put_byte(b'0');
            }
            out.put(digits);
        }
    }
}

impl fmt::Display for Numeric<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        self.write_text(&mut text);
        formatter.write_str(&String::from_utf8_lossy(&text))
    }
}
