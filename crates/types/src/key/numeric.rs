//! Keys of `numeric`.
//!
//! A positive number is `0.d₁d₂d₃… × 10^e` with `d₁ > 0`. Its key is `e`, then the digits, two in
//! a byte, plus one, without zeros at the end, then a zero. A negative number has all bytes
//! inverted.
//!
//! ```text
//! 00          -∞                    82..fa      e from -20 to 100
//! 01..7e      negative              fb + 3      e beyond, in three bytes
//! 80          zero                  fe          ∞
//! 81 + 3      e below -20           ff          NaN
//! ```

use crate::{Numeric, Sink, numeric::SCALE_MAX};

const NEGATIVE_INFINITY: u8 = 0x00;
const ZERO: u8 = 0x80;
const EXPONENT_LOW: u8 = 0x81;
const EXPONENT_FIRST: u8 = 0x82;
const EXPONENT_HIGH: u8 = 0xfb;
const INFINITY: u8 = 0xfe;
const NAN: u8 = 0xff;

/// The exponents that are in the first byte.
const SHORT_MIN: i32 = -20;
const SHORT_MAX: i32 = SHORT_MIN + (EXPONENT_HIGH - EXPONENT_FIRST) as i32 - 1;
/// Least exponent.
const EXPONENT_MIN: i32 = -(SCALE_MAX as i32);

pub(super) fn write(number: Numeric<'_>, out: &mut impl Sink) {
    if number.is_nan() {
        return out.put_byte(NAN);
    }
    let sign = number.signum();
    if number.is_infinite() {
        return out.put_byte(if sign < 0 {
            NEGATIVE_INFINITY
        } else {
            INFINITY
        });
    }
    if sign == 0 {
        return out.put_byte(ZERO);
    }
    let start = out.written().len();
    let scale = i32::from(number.scale().unwrap_or(0));
    match number.as_small() {
        Some((mantissa, _)) => {
            let mut buffer = itoa::Buffer::new();
            write_digits(buffer.format(mantissa.unsigned_abs()), scale, out);
        }
        None => write_digits(&number.digits(), scale, out),
    }
    if sign < 0 {
        for byte in &mut out.written()[start..] {
            *byte = !*byte;
        }
    }
}

fn write_digits(digits: &str, scale: i32, out: &mut impl Sink) {
    let exponent = digits.len() as i32 - scale;
    let biased = ((exponent - EXPONENT_MIN) as u32).to_be_bytes();
    if exponent < SHORT_MIN {
        out.put_byte(EXPONENT_LOW);
        out.put(&biased[1..]);
    } else if exponent > SHORT_MAX {
        out.put_byte(EXPONENT_HIGH);
        out.put(&biased[1..]);
    } else {
        out.put_byte(EXPONENT_FIRST + (exponent - SHORT_MIN) as u8);
    }
    for pair in digits.trim_end_matches('0').as_bytes().chunks(2) {
        let (tens, ones) = (pair[0] - b'0', pair.get(1).map_or(0, |ones| ones - b'0'));
        out.put_byte(tens * 10 + ones + 1);
    }
    out.put_byte(0);
}
