//! Median and range of repeated numbers.

use serde::Serialize;

/// Median and range of some numbers. On a machine shared with strangers the median is the number to
/// compare and the range is the number to believe.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Median; of an even count, the mean of the middle two.
    pub median: f64,
    /// Least number.
    pub min: f64,
    /// Greatest number.
    pub max: f64,
}

impl Spread {
    /// Returns the spread of `samples`, in any order.
    ///
    /// # Panics
    /// Panics when there are no samples.
    pub fn of(samples: &[f64]) -> Self {
        assert!(!samples.is_empty(), "a spread needs at least one number");
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Self {
            median: low.midpoint(high),
            min: sorted[0],
            max: sorted[sorted.len() - 1],
        }
    }

    /// Returns the spread in another unit, `many` of which make one of its own.
    pub(crate) fn scaled(&self, many: f64) -> Self {
        Self {
            median: self.median * many,
            min: self.min * many,
            max: self.max * many,
        }
    }

    /// Returns half the range as a share of the median.
    pub fn relative(&self) -> f64 {
        (self.max - self.min) / 2.0 / self.median
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_even_and_single_counts_have_their_middle() {
        assert_eq!(
            Spread::of(&[3.0, 1.0, 2.0]),
            Spread {
                median: 2.0,
                min: 1.0,
                max: 3.0
            }
        );
        assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 3.0]).median, 2.5);
        assert_eq!(
            Spread::of(&[7.0]),
            Spread {
                median: 7.0,
                min: 7.0,
                max: 7.0
            }
        );
        assert_eq!(Spread::of(&[90.0, 100.0, 110.0]).relative(), 0.1);
    }
}
