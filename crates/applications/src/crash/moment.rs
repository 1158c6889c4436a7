//! When a child is killed.

use std::time::Duration;

use bench::distribution::{Rng, below};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// So long after it began to open the database.
    Opening(Duration),
    /// So long after its clients began.
    Working(Duration),
    /// At so many acknowledgements.
    Done(u64),
    /// So long after it began its n-th checkpoint.
    Checkpoint(u32, Duration),
    /// At the end of its n-th checkpoint.
    Checkpointed(u32),
}

impl Moment {
    /// One at which clients run.
    pub(super) fn at_work(rng: &mut Rng) -> Self {
        match below(rng, 10) {
            0..4 => Self::Working(Duration::from_micros(below(rng, 300_000))),
            4 => Self::Done(1 + below(rng, 2_000)),
            5..9 => {
                let number = below(rng, 4) as u32;
                Self::Checkpoint(number, Duration::from_micros(below(rng, 10_000)))
            }
            _ => Self::Checkpointed(below(rng, 4) as u32),
        }
    }

    /// One before, if the child takes as long as another `took`.
    pub(super) fn opening(rng: &mut Rng, took: Duration) -> Self {
        let micros = below(rng, took.as_micros() as u64 + 1);
        Self::Opening(Duration::from_micros(micros))
    }
}
