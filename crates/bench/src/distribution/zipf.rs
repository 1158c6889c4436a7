//! A Zipf sampler that fits the cache and the measured loop.
//!
//! Rejection samplers are exact but raise floating-point powers for each draw,
//! tens of nanoseconds; a table of drawn samples is fast but repeats, so a
//! large table's tail would become cache-resident on the second walk. Here
//! ranks are grouped: the first [`HEAD`] each alone, those after in groups
//! whose ends differ by less than 1/[`STEP`]. An alias table picks the group
//! by its exact mass, the rank within a group is uniform. Hot ranks thus have
//! their exact probability, and a rank of the tail is off by at most
//! `theta / (2 * STEP)`, below 0.4 %.

use std::sync::Arc;

use rand::distr::Distribution as _;
use rand_distr::weighted::WeightedAliasIndex;

use super::{Rng, below};

/// Ranks that have a group of their own.
const HEAD: u64 = 2048;
/// A group starting at rank `k` spans `k / STEP` ranks.
const STEP: u64 = 256;

/// Draws ranks from `0..records`; rank `k` has a probability proportional to
/// `(k + 1)^-theta`. Clones share the table (some 200 KiB).
#[derive(Clone, Debug)]
pub struct Zipf {
    groups: Arc<Groups>,
}

#[derive(Debug)]
struct Groups {
    choice: WeightedAliasIndex<f64>,
    /// First rank and number of ranks of each group.
    ranks: Vec<(u64, u64)>,
}

impl Zipf {
    /// Returns a sampler over `records` ranks.
    ///
    /// # Panics
    /// Panics when `records` is 0, or `theta` is negative or not a number.
    pub fn new(records: u64, theta: f64) -> Self {
        assert!(records > 0 && theta >= 0.0);
        let mut weights: Vec<f64> = (1..=records.min(HEAD))
            .map(|rank| (rank as f64).powf(-theta))
            .collect();
        let mut ranks: Vec<_> = (0..records.min(HEAD)).map(|rank| (rank, 1)).collect();
        let mut start = HEAD;
        while start < records {
            let width = (start / STEP).min(records - start);
            // Ranks from 1, so this group is start+1 ..= start+width; the
            // midpoint rule is off by theta * (theta + 1) / (24 * start^2).
            weights.push(integral(
                start as f64 + 0.5,
                (start + width) as f64 + 0.5,
                theta,
            ));
            ranks.push((start, width));
            start += width;
        }
        let choice = WeightedAliasIndex::new(weights)
            .expect("weights are positive, finite and fewer than 2^32");
        Self {
            groups: Arc::new(Groups { choice, ranks }),
        }
    }

    /// Draws the next rank, from 0.
    #[inline]
    pub fn rank(&self, rng: &mut Rng) -> u64 {
        let group = self.groups.choice.sample(rng);
        let (start, width) = self.groups.ranks[group];
        // The rank is drawn for groups of one rank too: about half of the draws are from such
        // groups, so a branch would be mispredicted all the time and cost more.
        start + below(rng, width)
    }
}

/// Returns the integral of `x^-theta` from `from` to `to`.
fn integral(from: f64, to: f64, theta: f64) -> f64 {
    let exponent = 1.0 - theta;
    if exponent.abs() < 1e-9 {
        (to / from).ln()
    } else {
        // Through exp_m1, because the difference of two nearby powers would
        // lose its digits when theta is close to 1.
        from.powf(exponent) * (exponent * (to / from).ln()).exp_m1() / exponent
    }
}
