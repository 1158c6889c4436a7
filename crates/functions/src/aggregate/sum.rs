//! Sums of `numeric`, exact.
//!
//! While it fits, the sum is an integer of 128 bits with a scale, to which numbers are added without
//! memory. When it outgrows that, it is added to a number of any size. What few sums need lies apart, so that the state
//! of a group is one line of a cache.

use std::cmp::Ordering;

use types::{Numeric, Result, Scratch};

#[derive(Debug, Default)]
pub(super) struct NumericSum {
    /// The recent part, in units of 10 to the power of minus the scale.
    recent: i128,
    /// The greatest scale so far, which is that of the result.
    scale: u16,
    pub(super) count: i64,
    /// Number of numbers with the greatest scale.
    of_scale: i64,
    rare: Option<Box<Rare>>,
}

/// Parts of a sum that are rarely needed.
#[derive(Debug, Default)]
struct Rare {
    /// Stored form of the sum that has outgrown the recent part.
    rest: Option<Vec<u8>>,
    /// Counts of numbers that are not finite: NaN; the infinities.
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

    /// Makes the sum of `count` numbers of one scale, whose mantissas have the sum `mantissas`.
    pub(super) fn of(mantissas: i128, scale: u16, count: i64) -> Self {
        Self {
            recent: mantissas,
            scale,
            count,
            of_scale: count,
            rare: None,
        }
    }

    /// Adds all numbers that were added to `other`.
    ///
    /// # Errors
    /// `22003` if `numeric` has no such sum; 53200 if the statement may not hold a sum that has outgrown the recent
    /// part.
    pub(super) fn combine(&mut self, other: &NumericSum, scratch: &Scratch) -> Result<()> {
        self.count += other.count;
        match other.scale.cmp(&self.scale) {
            Ordering::Less => {}
            Ordering::Equal => self.of_scale += other.of_scale,
            Ordering::Greater => self.of_scale = other.of_scale,
        }
        match self.sum(other.recent, other.scale) {
            Some((recent, scale)) => (self.recent, self.scale) = (recent, scale),
            None => self.spill(
                Numeric::from_i128(other.recent, other.scale, scratch)?,
                scratch,
            )?,
        }
        let Some(other) = &other.rare else {
            return Ok(());
        };
        let rare = self.rare.get_or_insert_default();
        rare.nan += other.nan;
        rare.positive += other.positive;
        rare.negative += other.negative;
        match &other.rest {
            Some(rest) => self.spill(Numeric::from_stored(rest)?, scratch),
            None => Ok(()),
        }
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
        let rare = self.rare.as_deref_mut();
        let special = rare
            .as_ref()
            .map_or(0, |rare| rare.nan + rare.positive + rare.negative);
        if self.count > special {
            return false;
        }
        (self.recent, self.scale) = (0, 0);
        if let Some(rare) = rare {
            rare.rest = None;
        }
        true
    }

    /// Returns the counter of a number that is not finite.
    fn special(&mut self, number: Numeric<'_>) -> Option<&mut i64> {
        if !number.is_nan() && !number.is_infinite() {
            return None;
        }
        let rare = self.rare.get_or_insert_default();
        Some(match (number.is_nan(), number.signum() > 0) {
            (true, _) => &mut rare.nan,
            (false, true) => &mut rare.positive,
            (false, false) => &mut rare.negative,
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
        let rare = self.rare.get_or_insert_default();
        if let Some(rest) = &rare.rest {
            sum = sum.add(Numeric::from_stored(rest)?, scratch)?;
        }
        self.scale = self.scale.max(number.scale().unwrap_or(0));
        self.recent = 0;
        let mut stored = Vec::new();
        sum.write_stored(&mut stored);
        rare.rest = Some(stored);
        Ok(())
    }

    /// Returns the sum, with the greatest scale of all.
    pub(super) fn total<'a>(&self, scratch: &'a Scratch) -> Result<Numeric<'a>> {
        let recent = Numeric::from_i128(self.recent, self.scale, scratch)?;
        let Some(rare) = &self.rare else {
            return Ok(recent);
        };
        if rare.nan > 0 || (rare.positive > 0 && rare.negative > 0) {
            return Ok(Numeric::NAN);
        }
        if rare.positive > 0 {
            return Ok(Numeric::INFINITY);
        }
        if rare.negative > 0 {
            return Ok(Numeric::NEGATIVE_INFINITY);
        }
        match &rare.rest {
            Some(rest) => recent.add(Numeric::from_stored(rest)?, scratch),
            None => Ok(recent),
        }
    }

    pub(super) fn is_finite(&self) -> bool {
        let is_finite = |rare: &Rare| rare.nan == 0 && rare.positive == 0 && rare.negative == 0;
        self.rare.as_deref().is_none_or(is_finite)
    }

    /// Returns the approximate bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        let rest = |rare: &Rare| rare.rest.as_ref().map_or(0, Vec::capacity);
        self.rare
            .as_deref()
            .map_or(0, |rare| size_of::<Rare>() + rest(rare))
    }
}
