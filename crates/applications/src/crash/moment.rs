//! Moments at which a child is killed.

use std::time::Duration;

use bench::distribution::{Rng, below};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// This long after the child began to open the database.
    Opening(Duration),
    /// This long after the child's clients began.
    Working(Duration),
    /// At this number of acknowledgements.
    Done(u64),
    /// This long after the child began its n-th checkpoint.
    Checkpoint(u32, Duration),
    /// At the end of the child's n-th checkpoint.
    Checkpointed(u32),
}

impl Moment {
    /// Draws a moment at which clients run.
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

    /// Draws a moment before clients run, if opening takes the child as long as `took`.
    pub(super) fn opening(rng: &mut Rng, took: Duration) -> Self {
        let micros = below(rng, took.as_micros() as u64 + 1);
        Self::Opening(Duration::from_micros(micros))
    }
}
