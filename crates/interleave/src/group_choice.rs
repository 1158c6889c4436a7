//! Choice whether groups of bodies are interleaved, measured while they run.
//!
//! The number of tasks that a worker keeps in flight says nothing about the pieces of one task: a lone statement may
//! look up a hundred thousand keys, all of which miss. Code that runs many groups of like bodies keeps a
//! [`GroupChoice`]: a sample runs some groups one way and some the other, and the way whose fastest group was faster is
//! taken until the next sample. The fastest group counts because interruptions of a thread make groups slower and none
//! faster.

use std::time::Duration;

/// Groups of each way in a sample.
const SAMPLE: u32 = 3;
/// Groups from the beginning of one sample to the next: a sample costs some percent at most.
const EVERY: u32 = 256;

/// Costs of groups, interleaved and not.
#[derive(Clone, Debug, Default)]
pub struct GroupChoice {
    groups: u32,
    /// Nanoseconds of a body in the fastest group of the last sample.
    interleaved: f64,
    sequential: f64,
}

impl GroupChoice {
    /// Returns whether the next group is to be interleaved.
    pub fn interleaves(&self) -> bool {
        match self.groups % EVERY {
            at if at < 2 * SAMPLE => at.is_multiple_of(2),
            _ => self.interleaved <= self.sequential,
        }
    }

    /// Notes that the group asked for last took `took` for `bodies` bodies.
    pub fn note(&mut self, took: Duration, bodies: usize) {
        let at = self.groups % EVERY;
        if at < 2 * SAMPLE {
            let cost = took.as_nanos() as f64 / bodies.max(1) as f64;
            let known = match at.is_multiple_of(2) {
                true => &mut self.interleaved,
                false => &mut self.sequential,
            };
            *known = if at < 2 { cost } else { known.min(cost) };
        }
        self.groups = self.groups.wrapping_add(1);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Returns how many of `groups` groups were interleaved, where a body takes `cost` nanoseconds (interleaved,
    /// sequential).
    fn interleaved(choice: &mut GroupChoice, groups: u32, cost: (u64, u64)) -> u32 {
        let mut count = 0;
        for group in 0..groups {
            let (is_interleaved, bodies) = (choice.interleaves(), 64);
            count += u32::from(is_interleaved);
            let cost = if is_interleaved { cost.0 } else { cost.1 };
            // An interruption now and then.
            let interrupted = u64::from(group.is_multiple_of(3)) * 1_000_000;
            choice.note(
                Duration::from_nanos(cost * bodies + interrupted),
                bodies as usize,
            );
        }
        count
    }

    #[test]
    fn the_faster_way_is_taken_but_for_samples() {
        let mut choice = GroupChoice::default();
        assert_eq!(interleaved(&mut choice, EVERY, (100, 300)), EVERY - SAMPLE);
        assert_eq!(interleaved(&mut choice, EVERY, (90, 60)), SAMPLE);
        assert_eq!(interleaved(&mut choice, EVERY, (60, 90)), EVERY - SAMPLE);
    }
}
