//! Stages: which code a suspended slot goes on with.
//!
//! The price of switching between coroutines is less the instructions than the
//! branch predictor: every resumption ends in indirect jumps to wherever the
//! coroutine left off, and when slots are resumed in turn, each at another place,
//! those jumps are mispredicted. So the worker resumes *cohorts*: all slots that
//! wait at the same suspension point, one after the other (after Larus and
//! Parkes, "Using Cohort Scheduling to Enhance Server Performance", 2002). Cohorts
//! form by themselves: the largest goes on and takes in whoever waits where it
//! arrives. A stage that was passed over gains weight until its turn comes, so
//! nobody starves.
//!
//! A stage is a small number derived from the point's name. Two points that share
//! one are resumed together, which is harmless.

use crate::policy::Point;

const STAGES: usize = 16;

/// Where a slot waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stage(u8);

impl Stage {
    /// Constant after linking: names are static and keep their addresses.
    #[inline(always)]
    pub(crate) fn of(point: Point) -> Stage {
        Stage((point.0.as_ptr().addr() >> 3) as u8 % STAGES as u8)
    }
}

/// Chooses which stage goes on next.
#[derive(Debug, Default)]
pub(crate) struct Cohorts {
    /// Times each stage was passed over while somebody waited there.
    passed_over: [u16; STAGES],
}

impl Cohorts {
    /// The stage to resume, given where each slot waits (at least one).
    pub(crate) fn choose(&mut self, waiting: impl ExactSizeIterator<Item = Stage>) -> Stage {
        // Within some eight choices even a single slot outweighs all others. Less
        // patience would move it on before the others come by and take it in.
        let impatience = (waiting.len() / 8).max(1) as u32;
        let mut counts = [0_u32; STAGES];
        for stage in waiting {
            counts[usize::from(stage.0) % STAGES] += 1;
        }
        let (mut best, mut weight) = (0, 0);
        for (stage, &count) in counts.iter().enumerate() {
            if count > 0 {
                let age = &mut self.passed_over[stage];
                let own = count + u32::from(*age) * impatience;
                *age = age.saturating_add(1);
                if own > weight {
                    (best, weight) = (stage, own);
                }
            }
        }
        self.passed_over[best] = 0;
        Stage(best as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_cohort_goes_first_and_nobody_starves() {
        let mut cohorts = Cohorts::default();
        let mut waits: Vec<Stage> = vec![Stage(3); 15];
        waits.push(Stage(7));
        assert_eq!(cohorts.choose(waits.iter().copied()), Stage(3));
        let turns = (1..).find(|_| cohorts.choose(waits.iter().copied()) == Stage(7));
        assert!(turns.unwrap() <= 10, "{turns:?}");
    }

    #[test]
    fn two_cohorts_that_never_meet_take_turns() {
        let mut cohorts = Cohorts::default();
        let waits: Vec<Stage> = (0..16).map(|i| Stage(if i < 9 { 1 } else { 2 })).collect();
        let chosen: Vec<Stage> = (0..100)
            .map(|_| cohorts.choose(waits.iter().copied()))
            .collect();
        let first = chosen.iter().filter(|&&stage| stage == Stage(1)).count();
        // The larger one has more turns, not all.
        assert!((50..=70).contains(&first), "{first}");
    }
}
