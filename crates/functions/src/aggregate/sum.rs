//! Sums of `numeric`, exact.
//!
//! As long as it has room, the sum is an integer of 128 bits with a scale, to which numbers are
//! added without memory. What outgrows that is added to a number of any size.

use types::{Numeric, Result, Scratch};

#[derive(Debug, Default)]
pub(super) struct NumericSum {
    /// The recent part, in units of 10 to the power of minus the scale.
    recent: i128,
    /// The greatest scale so far, which is that of the result.
    scale: u16,
    /// The stored form of what had no room.
    rest: Option<Vec<u8>>,
    pub(super) count: i64,
    nan: bool,
    positive: bool,
    negative: bool,
}

impl NumericSum {
    pub(super) fn add(&mut self, number: Numeric<'_>, scratch: &Scratch) -> Result<()> {
        self.count += 1;
        if number.is_nan() {
            self.nan = true;
            return Ok(());
        }
        if number.is_infinite() {
            if number.signum() > 0 {
                self.positive = true;
            } else {
                self.negative = true;
            }
            return Ok(());
        }
        if let Some((mantissa, scale)) = number.as_small()
            && let Some((sum, scale)) = self.sum(mantissa, scale)
        {
            (self.recent, self.scale) = (sum, scale);
            return Ok(());
        }
        self.spill(number, scratch)
    }

    fn sum(&self, mantissa: i64, scale: u16) -> Option<(i128, u16)> {
        let common = self.scale.max(scale);
        let raised = |number: i128, from: u16| {
            number.checked_mul(10i128.checked_pow((common - from).into())?)
        };
        let sum = raised(self.recent, self.scale)?.checked_add(raised(mantissa.into(), scale)?)?;
        Some((sum, common))
    }

    fn spill(&mut self, number: Numeric<'_>, scratch: &Scratch) -> Result<()> {
        let recent = Numeric::from_i128(self.recent, self.scale, scratch)?;
        let mut sum = recent.add(number, scratch)?;
        if let Some(rest) = &self.rest {
            sum = sum.add(Numeric::from_stored(rest)?, scratch)?;
        }
        self.scale = self.scale.max(number.scale().unwrap_or(0));
        self.recent = 0;
        let mut stored = Vec::new();
        sum.write_stored(&mut stored);
        self.rest = Some(stored);
        Ok(())
    }

    /// The sum, with the greatest scale of all.
    pub(super) fn total<'a>(&self, scratch: &'a Scratch) -> Result<Numeric<'a>> {
        if self.nan || (self.positive && self.negative) {
            return Ok(Numeric::NAN);
        }
        if self.positive {
            return Ok(Numeric::INFINITY);
        }
        if self.negative {
            return Ok(Numeric::NEGATIVE_INFINITY);
        }
        let recent = Numeric::from_i128(self.recent, self.scale, scratch)?;
        match &self.rest {
            Some(rest) => recent.add(Numeric::from_stored(rest)?, scratch),
            None => Ok(recent),
        }
    }

    pub(super) fn is_finite(&self) -> bool {
        !self.nan && !self.positive && !self.negative
    }
}
