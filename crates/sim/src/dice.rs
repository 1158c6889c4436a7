//! Random choices from a seed. Equal seeds give equal choices on every machine.

use isolation::generate::Choices;
use rand::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

impl Choices for Dice {
    fn below(&mut self, bound: usize) -> usize {
        Dice::below(self, bound)
    }
}

/// A stream of choices.
#[derive(Clone, Debug)]
pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// Returns the stream of `seed`.
    pub fn new(seed: u64) -> Dice {
        Dice(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Draws the seed of another stream.
    pub fn seed(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws a number below `bound`, 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.0.next_u64()) * bound as u128) >> 64) as usize
    }

    /// Draws a number from `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// Returns true `per_mille` times in a thousand.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1000) < per_mille as usize
    }

    /// Draws an index into `weights`, each as likely as its weight.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let total: u32 = weights.iter().sum();
        let mut ticket = self.below(total as usize) as u32;
        for (index, &weight) in weights.iter().enumerate() {
            if ticket < weight {
                return index;
            }
            ticket -= weight;
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_choices_within_bounds() {
        let (mut a, mut b) = (Dice::new(7), Dice::new(7));
        let mut seen = [false; 5];
        for _ in 0..200 {
            let choice = a.below(5);
            assert_eq!(choice, b.below(5));
            seen[choice] = true;
            assert!((3..=4).contains(&a.between(3, 4)));
            assert!((3..=4).contains(&b.between(3, 4)));
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(a.weighted(&[0, 3, 0]), 1);
        assert!(!a.chance(0) && a.chance(1000));
    }
}
