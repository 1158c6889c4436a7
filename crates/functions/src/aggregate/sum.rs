//! Sums of `numeric`, exact.
//!
//! While it fits, the sum is an integer of 128 bits with a scale, to which numbers are added without
//! memory. When it outgrows that, it is added to a number of any size.

use std::cmp::Ordering;

use types::{Numeric, Result, Scratch};

#[derive(Debug, Default)]
pub(super) struct NumericSum {
    /// The recent part, in units of 10 to the power of minus the scale.
    recent: i128,
    /// The greatest scale so far, which is that of the result.
    scale: u16,
    /// Stored form of the sum that has outgrown the recent part.
    rest: Option<Vec<u8>>,
    pub(super) count: i64,
    /// Counts of numbers: those with the greatest scale; NaN; the infinities.
    of_scale: i64,
    nan: i64,
    positive: i64,
    negative: i64,
}

impl NumericSum {
    pub(super) fn add(&mut self, number: Numeric<'_>, scratch: &Scratch) -> Result<()> {
        self.count += 1;
        if let Some(special) = self.special(number) {
            *special += 1;
            return Ok(());
        }
        let scale = number.scale().unwrap_or(0);
        match scale.cmp(&self.scale) {
            Ordering::Less => {}
            Ordering::Equal => self.of_scale += 1,
            Ordering::Greater => self.of_scale = 1,
        }
        if let Some((mantissa, scale)) = number.as_small()
            && let Some((sum, scale)) = self.sum(mantissa.into(), scale)
        {
            (self.recent, self.scale) = (sum, scale);
            return Ok(());
        }
        self.spill(number, scratch)
    }

    /// Adds `mantissa` divided by 10 to the power of `scale`.
    ///
    /// # Errors
    /// `22003` if `numeric` has no such sum.
    #[inline]
    pub(super) fn add_small(&mut self, mantissa: i64, scale: u16) -> Result<()> {
        if scale == self.scale
            && let Some(sum) = self.recent.checked_add(mantissa.into())
        {
            self.recent = sum;
            self.count += 1;
            self.of_scale += 1;
            return Ok(());
        }
        self.add(Numeric::small(mantissa, scale), &Scratch::new())
    }

    /// Takes a number that was added out of the sum. Returns false if that cannot be done, because
    /// the scale of the others is not known.
    ///
    /// # Errors
    /// 53200 if the statement may not hold a sum that has outgrown the recent part.
    pub(super) fn remove(&mut self, number: Numeric<'_>, scratch: &Scratch) -> Result<bool> {
        self.count -= 1;
        if let Some(special) = self.special(number) {
            *special -= 1;
            return Ok(true);
        }
        let small = number.as_small();
        let taken = small.and_then(|(mantissa, scale)| self.sum(-i128::from(mantissa), scale));
        match taken {
            Some((sum, _)) => self.recent = sum,
            None => self.spill(number.negate(scratch), scratch)?,
        }
        if number.scale().unwrap_or(0) == self.scale {
            self.of_scale -= 1;
        }
        // The others have smaller, unknown scales; 0 is the smallest.
        Ok(self.of_scale > 0 || self.scale == 0 || self.is_without_numbers())
    }

    fn is_without_numbers(&mut self) -> bool {
        if self.count > self.nan + self.positive + self.negative {
            return false;
        }
        (self.recent, self.scale, self.rest) = (0, 0, None);
        true
    }

    /// Returns the counter of a number that is not finite.
    fn special(&mut self, number: Numeric<'_>) -> Option<&mut i64> {
        if number.is_nan() {
            return Some(&mut self.nan);
        }
        number.is_infinite().then_some(match number.signum() > 0 {
            true => &mut self.positive,
            false => &mut self.negative,
        })
    }

    fn sum(&self, mantissa: i128, scale: u16) -> Option<(i128, u16)> {
        let common = self.scale.max(scale);
        let raised = |number: i128, from: u16| {
            number.checked_mul(10i128.checked_pow((common - from).into())?)
        };
        let sum = raised(self.recent, self.scale)?.checked_add(raised(mantissa, scale)?)?;
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

    /// Returns the sum, with the greatest scale of all.
    pub(super) fn total<'a>(&self, scratch: &'a Scratch) -> Result<Numeric<'a>> {
        if self.nan > 0 || (self.positive > 0 && self.negative > 0) {
            return Ok(Numeric::NAN);
        }
        if self.positive > 0 {
            return Ok(Numeric::INFINITY);
        }
        if self.negative > 0 {
            return Ok(Numeric::NEGATIVE_INFINITY);
        }
        let recent = Numeric::from_i128(self.recent, self.scale, scratch)?;
        match &self.rest {
            Some(rest) => recent.add(Numeric::from_stored(rest)?, scratch),
            None => Ok(recent),
        }
    }

    pub(super) fn is_finite(&self) -> bool {
        self.nan == 0 && self.positive == 0 && self.negative == 0
    }
}
