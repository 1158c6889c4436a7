//! Whether groups of bodies had better be interleaved: found out while they come.
//!
//! The number of tasks that a worker keeps in flight says nothing about the pieces of one task: a
//! lone statement may look up a hundred thousand keys, all of which miss. Who runs many groups of like
//! bodies keeps a [`GroupChoice`]: some groups are run one way and some the other, and the way whose
//! fastest group was faster is taken until the next sample. The fastest, because whatever
//! interrupts a thread makes groups slower and none faster.

use std::time::Duration;

/// Groups of each way in a sample.
const SAMPLE: u32 = 3;
/// Groups from the beginning of one sample to the next: a sample costs some percent at most.
const EVERY: u32 = 256;

/// What groups have cost, interleaved and not.
#[derive(Clone, Debug, Default)]
pub struct GroupChoice {
    groups: u32,
    /// Nanoseconds of a body in the fastest group of the last sample.
    interleaved: f64,
    sequential: f64,
}

impl GroupChoice {
    /// Whether the next group is to be interleaved.
    pub fn interleaves(&self) -> bool {
        match self.groups % EVERY {
            at if at < 2 * SAMPLE => at.is_multiple_of(2),
            _ => self.interleaved <= self.sequential,
        }
    }

    /// The group that was asked for took so long for so many bodies.
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

    /// How many of so many groups were interleaved, where a body takes so long.
    fn interleaved(choice: &mut GroupChoice, groups: u32, cost: (u64, u64)) -> u32 {
        let mut count = 0;
        for group in 0..groups {
            let (is_interleaved, bodies) = (choice.interleaves(), 64);
            count += u32::from(is_interleaved);
            let cost = if is_interleaved { cost.0 } else { cost.1 };
            // Something interrupts now and then.
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
