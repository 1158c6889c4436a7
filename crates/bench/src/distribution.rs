//! Distributions of operations over records.
//!
//! The choosers run inside the measured loop, for every operation, so each
//! costs a few nanoseconds and none touches memory that grows with the table
//! (a sampler that missed the cache would be measured as part of the engine).
//! Main type: [`Chooser`], cheap to clone, one clone per worker.
//!
//! Terms follow YCSB (Cooper et al., SoCC 2010, section 4): `theta` is the
//! exponent of the Zipf law, the record of rank `k` (from 1) has probability
//! proportional to `k^-theta`.

use std::hash::Hasher;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::{Rng as _, SeedableRng};

use commands::{Error, Result};

mod zipf;

pub use zipf::Zipf;

/// The generator behind every choice: small state, about a nanosecond per draw. Not for secrets.
pub type Rng = rand_xoshiro::Xoshiro256PlusPlus;

/// Returns the generator of one worker. Equal arguments give equal streams; different workers or
/// runs of one seed give unrelated ones.
pub fn rng(seed: u64, stream: u64) -> Rng {
    Rng::seed_from_u64(crate::keys::mix(seed) ^ crate::keys::mix(!stream))
}

/// Draws a number below `bound` (0 when `bound` is 0), uniform but for a bias of `bound / 2^64`.
#[inline]
pub fn below(rng: &mut Rng, bound: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// Number of records: those loaded, and those added since.
///
/// The count is shared by all workers of a run. Record numbers are dense: loading makes
/// `0..loaded`, inserts claim the numbers from there on. A claimed record may not be visible yet
/// (its transaction still runs or gave up), so a reader that does not find a record at or beyond
/// `loaded` has seen nothing wrong.
#[derive(Debug)]
pub struct Records {
    loaded: u64,
    next: AtomicU64,
}

impl Records {
    /// Returns the count for a table of `loaded` records.
    pub fn new(loaded: u64) -> Self {
        Self {
            loaded,
            next: AtomicU64::new(loaded),
        }
    }

    /// Returns the number of loaded records; all of them are always there.
    pub fn loaded(&self) -> u64 {
        self.loaded
    }

    /// Returns one past the newest record number claimed.
    #[inline]
    pub fn end(&self) -> u64 {
        // Relaxed: the counter only gives out numbers, no data is published through it.
        self.next.load(Ordering::Relaxed)
    }

    /// Claims the number of a record to insert.
    #[inline]
    pub fn claim(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Forgets all claims; the caller has removed the records.
    pub fn reset(&self) {
        self.next.store(self.loaded, Ordering::Relaxed);
    }
}

/// A distribution over records.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// Every record is equally likely.
    Uniform,
    /// The record of number `r` has rank `r + 1`: the hot records are
    /// neighbours in load order.
    Zipfian {
        /// Exponent.
        theta: f64,
    },
    /// Ranks spread over all records by a hash, which YCSB files call `zipfian`. Collisions make
    /// some records carry several ranks and others none, as in YCSB.
    Scrambled {
        /// Exponent.
        theta: f64,
    },
    /// The newest record has rank 1, the one before it rank 2, and so on.
    Latest {
        /// Exponent.
        theta: f64,
    },
}

impl Distribution {
    /// The exponent when none is given, YCSB's.
    pub const THETA_DEFAULT: f64 = 0.99;
    /// Exponents from 0 (uniform) to below this.
    pub const THETA_BOUND: f64 = 2.0;
    /// Every name that [`named`](Self::named) knows.
    pub const NAMES: [&str; 4] = ["uniform", "zipfian", "scrambled", "latest"];

    /// Returns the distribution called `name` with exponent `theta` (ignored by `uniform`).
    ///
    /// # Errors
    /// [`Error::Input`] for a name not in [`NAMES`](Self::NAMES) or a `theta`
    /// outside `0..2`.
    pub fn named(name: &str, theta: f64) -> Result<Self> {
        if !(0.0..Self::THETA_BOUND).contains(&theta) {
            return Err(Error::input(format!(
                "theta {theta} is out of range; give a number from 0 (uniform) to below {}",
                Self::THETA_BOUND
            )));
        }
        match name {
            "uniform" => Ok(Self::Uniform),
            "zipfian" => Ok(Self::Zipfian { theta }),
            "scrambled" => Ok(Self::Scrambled { theta }),
            "latest" => Ok(Self::Latest { theta }),
            _ => Err(Error::input(format!(
                "`{name}` is not a distribution; choose from {}",
                Self::NAMES.join(", ")
            ))),
        }
    }

    /// Returns the name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Zipfian { .. } => "zipfian",
            Self::Scrambled { .. } => "scrambled",
            Self::Latest { .. } => "latest",
        }
    }

    /// Returns the exponent, where the distribution has one.
    pub fn theta(self) -> Option<f64> {
        match self {
            Self::Uniform => None,
            Self::Zipfian { theta } | Self::Scrambled { theta } | Self::Latest { theta } => {
                Some(theta)
            }
        }
    }

    /// Builds the chooser for a table loaded with `records` records. Ranks
    /// stay within the loaded number when the table grows.
    ///
    /// # Errors
    /// [`Error::Input`] when `records` is 0.
    pub fn chooser(self, records: u64) -> Result<Chooser> {
        if records == 0 {
            return Err(Error::input(
                "there are no records to choose from; give at least 1",
            ));
        }
        let law = match self {
            Self::Uniform => Law::Uniform,
            Self::Zipfian { theta } => Law::Zipfian(Zipf::new(records, theta)),
            Self::Scrambled { theta } => Law::Scrambled(Zipf::new(records, theta)),
            Self::Latest { theta } => Law::Latest(Zipf::new(records, theta)),
        };
        Ok(Chooser { law })
    }
}

/// Chooses record numbers by a [`Distribution`].
#[derive(Clone, Debug)]
pub struct Chooser {
    law: Law,
}

#[derive(Clone, Debug)]
enum Law {
    Uniform,
    Zipfian(Zipf),
    Scrambled(Zipf),
    Latest(Zipf),
}

impl Chooser {
    /// Returns the number of the next record to access. It is below `records.loaded()`, except for
    /// `latest`, which goes up to `records.end()`.
    #[inline]
    pub fn choose(&self, rng: &mut Rng, records: &Records) -> u64 {
        self.place(self.draw(rng, records), records)
    }

    /// Draws the part of a choice that does not depend on records added meanwhile: many can be
    /// drawn at once, and their multiplications overlap.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng, records: &Records) -> u64 {
        match &self.law {
            Law::Uniform => below(rng, records.loaded()),
            Law::Zipfian(zipf) | Law::Latest(zipf) => zipf.rank(rng),
            Law::Scrambled(zipf) => scramble(zipf.rank(rng)) % records.loaded(),
        }
    }

    /// Returns the record that was drawn, given the records that exist now.
    #[inline]
    pub(crate) fn place(&self, drawn: u64, records: &Records) -> u64 {
        match &self.law {
            // Ranks stay below the loaded number, which `end` never undercuts.
            Law::Latest(_) => records.end() - 1 - drawn,
            _ => drawn,
        }
    }
}

/// Returns FNV-1a of the rank's bytes, as YCSB scrambles.
#[inline]
fn scramble(rank: u64) -> u64 {
    let mut hasher = fnv::FnvHasher::default();
    hasher.write(&rank.to_le_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests;
