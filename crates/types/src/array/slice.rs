//! Parts of arrays.

use bumpalo::collections::Vec as ArenaVec;

use super::{Array, Dimension};
use crate::{Result, Scratch};

impl<'a> Array<'a> {
    /// Returns the elements within bounds, for each dimension from the first: a bound that is
    /// `None` is the array's own. The part's lower bounds are 1. Returns an empty array if
    /// nothing is within.
    ///
    /// # Errors
    /// `XX001` if the array is damaged.
    pub fn slice(
        self,
        bounds: &[(Option<i32>, Option<i32>)],
        scratch: &'a Scratch,
    ) -> Result<Self> {
        let dimensions: Vec<Dimension> = self.dimensions().collect();
        if dimensions.is_empty() || bounds.len() > dimensions.len() {
            return Self::of(self.element(), &[], scratch);
        }
        // For each dimension, the first subscript and the number of subscripts.
        let mut ranges = Vec::with_capacity(dimensions.len());
        for (at, dimension) in dimensions.iter().enumerate() {
            let first = i64::from(dimension.lower);
            let last = first + i64::from(dimension.length) - 1;
            let (lower, upper) = bounds.get(at).copied().unwrap_or((None, None));
            let lower = lower.map_or(first, i64::from).max(first);
            let upper = upper.map_or(last, i64::from).min(last);
            if lower > upper {
                return Self::of(self.element(), &[], scratch);
            }
            ranges.push((lower - first, upper - lower + 1));
        }
        let mut values = ArenaVec::new_in(scratch);
        let mut places = vec![0_i64; ranges.len()];
        loop {
            let index = ranges.iter().zip(&places).zip(&dimensions).fold(
                0_i64,
                |index, ((range, place), dimension)| {
                    index * i64::from(dimension.length) + range.0 + place
                },
            );
            values.push(self.get(usize::try_from(index).unwrap_or(usize::MAX))?);
            // The last subscript is the fastest.
            let Some(at) = (0..places.len())
                .rev()
                .find(|at| places[*at] + 1 < ranges[*at].1)
            else {
                break;
            };
            places[at] += 1;
            places[at + 1..].fill(0);
        }
        let shape: Vec<Dimension> = ranges
            .iter()
            .map(|(_, length)| Dimension {
                length: u32::try_from(*length).unwrap_or(u32::MAX),
                lower: 1,
            })
            .collect();
        Self::build(self.element(), &shape, &values, scratch)
    }
}
