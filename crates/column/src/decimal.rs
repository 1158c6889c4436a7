//! Decimals of a fixed scale.

use std::{error::Error, fmt, str::FromStr};

/// A decimal number with `SCALE` digits behind the point, at most 38: all values of a column have its
/// scale, so they are stored and compared as integers.
///
/// ```
/// use column::Decimal;
///
/// let price: Decimal<2> = "-12.5".parse().unwrap();
/// assert_eq!((price.unscaled(), price.to_string().as_str()), (-1250, "-12.50"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Decimal<const SCALE: u8> {
    unscaled: i128,
}

/// Reason why a text is no decimal of a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecimalError {
    /// The text is not digits with at most one point, after an optional sign.
    NoNumber,
    /// The text has more digits behind the point than the scale.
    TooFine,
    /// The number does not fit into 128 bits.
    TooLarge,
}

impl fmt::Display for DecimalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DecimalError::NoNumber => "a decimal is digits with at most one point",
            DecimalError::TooFine => "there are more digits than the scale; round it first",
            DecimalError::TooLarge => "an unscaled decimal has at most 128 bits",
        })
    }
}

impl Error for DecimalError {}

impl<const SCALE: u8> Decimal<SCALE> {
    const UNIT: i128 = {
        assert!(SCALE <= 38, "a scale is at most 38");
        10_i128.pow(SCALE as u32)
    };

    /// Returns the decimal of `unscaled` units of the last digit.
    #[inline(always)]
    pub const fn new(unscaled: i128) -> Self {
        Self { unscaled }
    }

    /// Returns the number in units of the last digit.
    #[inline(always)]
    pub const fn unscaled(self) -> i128 {
        self.unscaled
    }
}

impl<const SCALE: u8> fmt::Display for Decimal<SCALE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = Self::UNIT.unsigned_abs();
        let magnitude = self.unscaled.unsigned_abs();
        let mut text = (magnitude / unit).to_string();
        if SCALE > 0 {
            let digits = usize::from(SCALE);
            text.push_str(&format!(".{:0digits$}", magnitude % unit));
        }
        f.pad_integral(self.unscaled >= 0, "", &text)
    }
}

impl<const SCALE: u8> FromStr for Decimal<SCALE> {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Self, DecimalError> {
        let (is_negative, digits) = match text.as_bytes() {
            [b'-', ..] => (true, &text[1..]),
            [b'+', ..] => (false, &text[1..]),
            _ => (false, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = whole.bytes().chain(fraction.bytes());
        if whole.len() + fraction.len() == 0 || !all.clone().all(|byte| byte.is_ascii_digit()) {
            return Err(DecimalError::NoNumber);
        }
        let missing = usize::from(SCALE)
            .checked_sub(fraction.len())
            .ok_or(DecimalError::TooFine)?;
        let mut unscaled = 0_i128;
        for byte in all.chain(std::iter::repeat_n(b'0', missing)) {
            // The sum goes downwards: there is one more negative number than there are positive ones.
            unscaled = unscaled
                .checked_mul(10)
                .and_then(|tens| tens.checked_sub(i128::from(byte - b'0')))
                .ok_or(DecimalError::TooLarge)?;
        }
        match is_negative {
            true => Ok(Self { unscaled }),
            false => {
                let unscaled = unscaled.checked_neg().ok_or(DecimalError::TooLarge)?;
                Ok(Self { unscaled })
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_as_they_are_written() {
        for unscaled in [0, 1, -1, 99, -100, 12345, i128::MAX, i128::MIN] {
            let decimal = Decimal::<2>::new(unscaled);
            assert_eq!(decimal.to_string().parse(), Ok(decimal));
            let decimal = Decimal::<0>::new(unscaled);
            assert_eq!(decimal.to_string(), unscaled.to_string());
            let decimal = Decimal::<38>::new(unscaled);
            assert_eq!(decimal.to_string().parse(), Ok(decimal));
        }
        assert_eq!(Decimal::<2>::new(-5).to_string(), "-0.05");
        assert_eq!("+.5".parse(), Ok(Decimal::<2>::new(50)));
        assert_eq!("7.".parse(), Ok(Decimal::<1>::new(70)));
    }

    #[test]
    fn what_is_no_decimal_is_refused() {
        for text in ["", "-", ".", "1.2.3", "1e5", "--1", " 1", "1,5"] {
            assert_eq!(
                text.parse::<Decimal<2>>(),
                Err(DecimalError::NoNumber),
                "{text}"
            );
        }
        assert_eq!("1.234".parse::<Decimal<2>>(), Err(DecimalError::TooFine));
        let too_large = "170141183460469231731687303715884105728";
        assert_eq!(too_large.parse::<Decimal<0>>(), Err(DecimalError::TooLarge));
        assert_eq!(
            format!("-{too_large}").parse(),
            Ok(Decimal::<0>::new(i128::MIN))
        );
    }
}
