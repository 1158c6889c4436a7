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

    /// A number below `bound`, 0 if `bound` is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True `per_mille` times in a thousand. Consumes nothing if that is never.
    pub(crate) fn chance(&mut self, per_mille: u32) -> bool {
        per_mille > 0 && self.below(1000) < u64::from(per_mille)
    }

    /// Some order of `items`.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// How much of something unsynced outlives a crash.
    pub(crate) fn survival(&mut self) -> Survival {
        match self.below(3) {
            0 => Survival::None,
            1 => Survival::All,
            _ => Survival::Some,
        }
    }

    /// Whether one part of it does.
    pub(crate) fn survives(&mut self, survival: Survival) -> bool {
        match survival {
            Survival::None => false,
            Survival::All => true,
            Survival::Some => self.chance(500),
        }
    }
}

/// How many parts of a whole survive. Wholes that survive or are lost entirely are
/// made likely, since with many parts, each by itself, they would never be seen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Survival {
    None,
    All,
    Some,
}
