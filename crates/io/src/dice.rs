//! Random choices from a seed. Equal seeds give equal choices on every machine.

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng as _, SeedableRng as _},
};

#[derive(Clone, Debug)]
pub(crate) struct Dice(Xoshiro256PlusPlus);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns a number below `bound`; 0 if `bound` is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// Returns true `per_mille` times in a thousand. Consumes no randomness if `per_mille` is 0.
    pub(crate) fn chance(&mut self, per_mille: u32) -> bool {
        per_mille > 0 && self.below(1000) < u64::from(per_mille)
    }

    /// Puts `items` in a random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// Returns how much of unsynced data outlives a crash.
    pub(crate) fn survival(&mut self) -> Survival {
        match self.below(3) {
            0 => Survival::None,
            1 => Survival::All,
            _ => Survival::Some,
        }
    }

    /// Returns whether one part of the data does.
    pub(crate) fn survives(&mut self, survival: Survival) -> bool {
        match survival {
            Survival::None => false,
            Survival::All => true,
            Survival::Some => self.chance(500),
        }
    }
}

/// Share of parts of a whole that survive. Wholes that survive or are lost entirely are made
/// likely, since with many parts, each by itself, they would never be seen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Survival {
    None,
    All,
    Some,
}
