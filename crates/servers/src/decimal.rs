//! `numeric` values of a few decimal places, as whole numbers of the last place.
//!
//! Money is `numeric(12, 2)` in TPC-C, and its conditions are checked in cents. The protocol's
//! binary form is a row of digits to the base of 10,000 with the place of the first; all values
//! here have at most one such digit behind the point.

use std::{error::Error, fmt};

use bytes::BytesMut;

use postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

/// A number whose last `SCALE` digits, at most four, stand behind the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal<const SCALE: u32>(
    /// Value, in units of the last digit.
    pub i64,
);

/// Base of the protocol's digits.
const BASE: u64 = 10_000;
const NEGATIVE: u16 = 0x4000;

impl<const SCALE: u32> Decimal<SCALE> {
    /// Units of the last digit in the number one.
    const ONE: u64 = 10_u64.pow(SCALE);
    /// Units of the last digit in one unit of the protocol's digit behind the point.
    const STEP: u64 = BASE / Self::ONE;
}

impl<const SCALE: u32> fmt::Display for Decimal<SCALE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, rest) = (
            self.0.unsigned_abs() / Self::ONE,
            self.0.unsigned_abs() % Self::ONE,
        );
        write!(f, "{sign}{whole}.{rest:0width$}", width = SCALE as usize)
    }
}

impl<const SCALE: u32> ToSql for Decimal<SCALE> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let number = self.0.unsigned_abs();
        let mut whole = number / Self::ONE;
        // Digits, the last first.
        let mut digits = [0_u16; 6];
        digits[0] = (number % Self::ONE * Self::STEP) as u16;
        let mut count = 1;
        while whole > 0 {
            digits[count] = (whole % BASE) as u16;
            whole /= BASE;
            count += 1;
        }
        let sign = if self.0 < 0 { NEGATIVE } else { 0 };
        let head = [
            count as u16,
            (count as u16).wrapping_sub(2),
            sign,
            SCALE as u16,
        ];
        for part in head.iter().chain(digits[..count].iter().rev()) {
            out.extend_from_slice(&part.to_be_bytes());
        }
        Ok(IsNull::No)
    }

    accepts!(NUMERIC);
    to_sql_checked!();
}

impl<'a, const SCALE: u32> FromSql<'a> for Decimal<SCALE> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let mut parts = raw
            .chunks_exact(2)
            .map(|two| u16::from_be_bytes([two[0], two[1]]));
        let mut next = || parts.next().ok_or("a numeric is cut off");
        let (count, weight, sign, _) = (next()?, next()? as i16, next()?, next()?);
        let mut number = 0_i128;
        for place in 0..i32::from(count) {
            let digit = i128::from(next()?);
            match i32::from(weight) - place {
                power @ 0..=4 => {
                    number += digit * i128::from(Self::ONE) * i128::from(BASE).pow(power as u32);
                }
                -1 if digit % i128::from(Self::STEP) == 0 => {
                    number += digit / i128::from(Self::STEP);
                }
                _ if digit == 0 => {}
                _ => return Err("a numeric has more digits than its column".into()),
            }
        }
        let number = if sign == NEGATIVE { -number } else { number };
        match sign {
            0 | NEGATIVE => Ok(Self(i64::try_from(number)?)),
            _ => Err("a numeric is no number".into()),
        }
    }

    accepts!(NUMERIC);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back<const SCALE: u32>(number: i64) -> Vec<u8> {
        let mut out = BytesMut::new();
        Decimal::<SCALE>(number)
            .to_sql(&Type::NUMERIC, &mut out)
            .unwrap();
        let back = Decimal::<SCALE>::from_sql(&Type::NUMERIC, &out).unwrap();
        assert_eq!(back, Decimal(number));
        out.to_vec()
    }

    #[test]
    fn numbers_come_back() {
        for number in [
            0,
            1,
            -1,
            99,
            100,
            1_000_000,
            -123_456_789_012,
            i64::MAX,
            i64::MIN + 1,
        ] {
            there_and_back::<2>(number);
            there_and_back::<4>(number);
            there_and_back::<0>(number);
        }
    }

    #[test]
    fn the_form_is_the_protocol_s() {
        // 12345.67 is 1, 2345 and 6700 to the base of ten thousand, the first in place 1.
        let form = [0, 3, 0, 1, 0, 0, 0, 2, 0, 1, 0x09, 0x29, 0x1a, 0x2c];
        assert_eq!(there_and_back::<2>(1_234_567), form);
    }

    #[test]
    fn what_is_no_such_number_is_refused() {
        let read = |raw: &[u8]| Decimal::<2>::from_sql(&Type::NUMERIC, raw);
        // 0.0001 has too many digits for two.
        assert!(read(&[0, 1, 0xff, 0xff, 0, 0, 0, 4, 0, 1]).is_err());
        // The first is no number, the second is cut off.
        assert!(read(&[0, 0, 0, 0, 0xc0, 0, 0, 0]).is_err());
        assert!(read(&[0, 2, 0, 0, 0, 0, 0, 2, 0, 1]).is_err());
        // A zero is left out at the end: 50000 is the digit 5 in place 1.
        assert_eq!(
            read(&[0, 1, 0, 1, 0, 0, 0, 2, 0, 5]).unwrap(),
            Decimal(5_000_000)
        );
    }

    #[test]
    fn text_has_its_digits() {
        assert_eq!(Decimal::<2>(-5).to_string(), "-0.05");
        assert_eq!(Decimal::<4>(12_345).to_string(), "1.2345");
    }
}
