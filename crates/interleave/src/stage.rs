//! Stages and cohorts: the slots that go on together.
//!
//! The price of switching between coroutines is less the instructions than the branch predictor.
//! Every resumption ends in jumps to wherever the coroutine left off, and when slots are resumed in
//! turn, each at another place, those jumps are mispredicted; worse, a mispredicted branch on
//! memory that has not arrived yet keeps the processor from running ahead into the next coroutine.
//! The worker therefore resumes *cohorts*: all slots that wait at the same suspension point and
//! depth, one after the other (after Larus and Parkes, "Using Cohort Scheduling to Enhance Server
//! Performance", 2002). Cohorts form by themselves: the largest goes on and takes in the slots that
//! wait where it arrives, so that slots that do the same work soon go in step. A stage that was
//! passed over gains weight until its turn comes, so no slot starves.
//!
//! Each stage has a queue of its own. To go through all slots and skip those of
//! other stages would be a badly predicted branch again.

use crate::policy::Point;

const STAGES: usize = 64;

/// Suspension point of a slot: a small number made of the point's name and depth. Slots of two
/// points that share a number are resumed together, which is harmless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stage(u8);

impl Stage {
    /// Returns the stage of `point`; a constant where the point is constant.
    #[inline(always)]
    pub(crate) fn of(point: Point) -> Stage {
        Stage(point.place)
    }

    #[inline(always)]
    fn index(self) -> usize {
        usize::from(self.0) % STAGES
    }
}

/// Choices after which a single slot outweighs all others together. With less patience the slot
/// would move on before the others come by and take it in; with more it would wait for longer than
/// a few rounds of them.
const PATIENCE: u32 = 32;

/// Name of an object that can be chained: the object has room for the name of the next one.
pub(crate) trait Chained: Copy + PartialEq {
    fn next(self) -> Option<Self>;
    fn set_next(self, next: Self);
}

/// The slots that wait at one stage, chained.
#[derive(Clone, Copy, Debug)]
struct Queue<T> {
    first: Option<T>,
    last: Option<T>,
    len: u32,
    /// Times the stage was passed over while a slot waited there.
    passed_over: u32,
}

/// The slots that wait for memory, by stage, and the cohort that is having its
/// turns. (Chained, because the slots' own lines are at hand; arrays of names
/// would be as many lines more.)
#[derive(Debug)]
pub(crate) struct Cohorts<T> {
    /// Set of occupied stages; bit `i`: a slot waits at stage `i`.
    occupied: u64,
    /// First slot of the cohort that has not had its turn; `cohort_last` is the last.
    cohort: Option<T>,
    cohort_last: Option<T>,
    /// Slot that has its turn or had it last.
    current: Option<T>,
    /// Number of slots that wait, or are in the cohort and have not left.
    len: usize,
    waiting: [Queue<T>; STAGES],
}

impl<T: Chained> Cohorts<T> {
    pub(crate) fn new() -> Cohorts<T> {
        const { assert!(STAGES == u64::BITS as usize) };
        Cohorts {
            occupied: 0,
            cohort: None,
            cohort_last: None,
            current: None,
            len: 0,
            waiting: [Queue {
                first: None,
                last: None,
                len: 0,
                passed_over: 0,
            }; STAGES],
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a slot, which waits at `stage`.
    #[inline]
    pub(crate) fn join(&mut self, slot: T, stage: Stage) {
        self.len += 1;
        self.wait(slot, stage);
    }

    /// Has a slot that has had its turn wait for the next one at `stage`.
    #[inline(always)]
    pub(crate) fn wait(&mut self, slot: T, stage: Stage) {
        let queue = &mut self.waiting[stage.index()];
        self.occupied |= 1 << stage.index();
        queue.len += 1;
        match queue.last {
            None => queue.first = Some(slot),
            Some(last) => last.set_next(slot),
        }
        queue.last = Some(slot);
    }

    /// Counts a slot that has had its turn elsewhere as one of these; it has still to wait.
    pub(crate) fn enter(&mut self) {
        self.len += 1;
    }

    /// Counts out a slot that has had its turn and leaves.
    #[inline]
    pub(crate) fn leave(&mut self) {
        self.len -= 1;
    }

    /// Takes out a slot that waits. Returns whether it waited.
    pub(crate) fn remove(&mut self, slot: T) -> bool {
        let found =
            (0..STAGES).any(|stage| self.take_out(stage, |_, other| other == slot).is_some());
        self.len -= usize::from(found);
        found
    }

    /// Gives a turn to the `choice`-th slot that waits, for simulators.
    pub(crate) fn choose_nth(&mut self, choice: usize) -> T {
        assert!(choice < self.len, "there are {} choices", self.len);
        let (mut stage, mut choice) = (0, choice as u32);
        while choice >= self.waiting[stage].len {
            choice -= self.waiting[stage].len;
            stage += 1;
        }
        self.take_out(stage, |at, _| at == choice)
            .expect("the stage has so many")
    }

    /// Takes the slot that `is_it` selects, by place or itself, out of its stage.
    fn take_out(&mut self, stage: usize, is_it: impl Fn(u32, T) -> bool) -> Option<T> {
        let queue = &mut self.waiting[stage];
        let (mut next, len) = (queue.first.take(), std::mem::take(&mut queue.len));
        queue.last = None;
        self.occupied &= !(1 << stage);
        let mut taken = None;
        for at in 0..len {
            let slot = next.expect("as many are chained");
            next = slot.next();
            if is_it(at, slot) {
                taken = Some(slot);
            } else {
                self.wait(slot, Stage(stage as u8));
            }
        }
        taken
    }

    /// Makes the slots that are to go on next the cohort; returns how many there are. The last
    /// cohort has had its turns.
    #[inline]
    pub(crate) fn choose(&mut self) -> u32 {
        debug_assert!(self.cohort.is_none());
        if self.occupied == 0 {
            return 0;
        }
        let stage = if self.occupied.is_power_of_two() {
            self.occupied.trailing_zeros() as usize
        } else {
            self.heaviest()
        };
        self.occupied &= !(1 << stage);
        let queue = &mut self.waiting[stage];
        queue.passed_over = 0;
        (self.cohort, self.cohort_last) = (queue.first.take(), queue.last.take());
        std::mem::take(&mut queue.len)
    }

    /// Returns the largest stage, waiting time considered.
    fn heaviest(&mut self) -> usize {
        let (mut best, mut weight) = (0, 0);
        let mut stages = self.occupied;
        while stages != 0 {
            let stage = stages.trailing_zeros() as usize;
            stages &= stages - 1;
            let queue = &mut self.waiting[stage];
            let own = queue.len * PATIENCE + queue.passed_over * self.len as u32;
            queue.passed_over += 1;
            if own > weight {
                (best, weight) = (stage, own);
            }
        }
        best
    }

    /// Returns the next slot of the cohort to have its turn.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<T> {
        let slot = self.cohort?;
        // The last slot's link is out of date.
        let is_last = self.cohort_last == Some(slot);
        self.cohort = if is_last { None } else { slot.next() };
        self.current = Some(slot);
        Some(slot)
    }

    /// Ends the cohort's turns early: the slots that have not had theirs wait for the next ones,
    /// before those that came later. Returns how many they are.
    #[cold]
    pub(crate) fn interrupt(&mut self, stage: impl Fn(T) -> Stage) -> u32 {
        let Some(first) = self.cohort.take() else {
            return 0;
        };
        let last = self.cohort_last.expect("a cohort has a last one");
        // The slots waited at one stage, whose number `stage` may have in another form.
        let stage = stage(first).index();
        let mut left = 1;
        let mut at = first;
        while at != last {
            at = at.next().expect("chained up to the last one");
            left += 1;
        }
        let queue = &mut self.waiting[stage];
        match queue.first {
            None => queue.last = Some(last),
            Some(others) => last.set_next(others),
        }
        queue.first = Some(first);
        queue.len += left;
        self.occupied |= 1 << stage;
        left
    }

    /// Returns the slot that had its turn last.
    pub(crate) fn last(&self) -> Option<T> {
        self.current
    }

    /// Returns the slot that is having its turn.
    pub(crate) fn current(&self) -> T {
        self.current.expect("a cohort is having its turns")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::cell::Cell;

    thread_local! {
        static NEXT: [Cell<Option<u8>>; 16] = const { [const { Cell::new(None) }; 16] };
    }

    impl Chained for u8 {
        fn next(self) -> Option<u8> {
            NEXT.with(|next| next[usize::from(self)].get())
        }

        fn set_next(self, next: u8) {
            NEXT.with(|all| all[usize::from(self)].set(Some(next)));
        }
    }

    /// Returns the slots that have a turn next.
    fn chosen(cohorts: &mut Cohorts<u8>) -> Vec<u8> {
        let size = cohorts.choose();
        let turns: Vec<u8> = std::iter::from_fn(|| cohorts.next()).collect();
        assert_eq!(turns.len(), size as usize);
        turns
    }

    #[test]
    fn the_largest_cohort_goes_first_and_nobody_starves() {
        let mut cohorts = Cohorts::new();
        (0..15).for_each(|slot| cohorts.join(slot, Stage(3)));
        cohorts.join(15, Stage(7));
        let mut choices = 0;
        loop {
            let turns = chosen(&mut cohorts);
            choices += 1;
            if turns == [15] {
                break;
            }
            assert_eq!(turns, Vec::from_iter(0..15));
            turns.iter().for_each(|&slot| cohorts.wait(slot, Stage(3)));
        }
        assert!((10..=40).contains(&choices), "{choices}");
    }

    #[test]
    fn two_cohorts_that_never_meet_take_turns() {
        let mut cohorts = Cohorts::new();
        (0..9).for_each(|slot| cohorts.join(slot, Stage(1)));
        (9..16).for_each(|slot| cohorts.join(slot, Stage(2)));
        let mut larger = 0;
        for _ in 0..200 {
            let turns = chosen(&mut cohorts);
            let stage = if turns[0] < 9 { Stage(1) } else { Stage(2) };
            turns.iter().for_each(|&slot| cohorts.wait(slot, stage));
            larger += u32::from(stage == Stage(1));
        }
        // The larger stage has more turns, not all.
        assert!((100..=180).contains(&larger), "{larger}");
    }

    #[test]
    fn slots_that_do_the_same_work_come_to_go_in_step() {
        const STEPS: u8 = 8;
        let mut cohorts = Cohorts::new();
        (0..16).for_each(|slot| cohorts.join(slot, Stage(slot % STEPS)));
        let mut at: Vec<u8> = (0..16).map(|slot| slot % STEPS).collect();
        for _ in 0..100 {
            for slot in chosen(&mut cohorts) {
                let step = &mut at[usize::from(slot)];
                *step = (*step + 1) % STEPS;
                cohorts.wait(slot, Stage(*step));
            }
        }
        assert!(at.iter().all(|&step| step == at[0]), "{at:?}");
    }

    #[test]
    fn a_cohort_that_is_cut_off_goes_on_before_those_who_came_later() {
        let mut cohorts = Cohorts::new();
        (0..6).for_each(|slot| cohorts.join(slot, Stage(3)));
        assert_eq!(cohorts.choose(), 6);
        for slot in 0..2 {
            assert_eq!(cohorts.next(), Some(slot));
            cohorts.wait(slot, Stage(3));
        }
        assert_eq!(cohorts.interrupt(|_| Stage(3)), 4);
        assert_eq!(chosen(&mut cohorts), [2, 3, 4, 5, 0, 1]);
        assert_eq!(cohorts.interrupt(|_| Stage(3)), 0);
        (0..6).for_each(|slot| cohorts.wait(slot, Stage(3)));
        // No slot waits there when the cohort is cut off.
        cohorts.choose();
        cohorts.next();
        cohorts.wait(0, Stage(5));
        assert_eq!(cohorts.interrupt(|_| Stage(3)), 5);
        assert_eq!(chosen(&mut cohorts), [1, 2, 3, 4, 5]);
        assert_eq!(chosen(&mut cohorts), [0]);
    }

    #[test]
    fn slots_are_taken_out_wherever_they_wait() {
        let mut cohorts = Cohorts::new();
        cohorts.join(1, Stage(5));
        cohorts.join(2, Stage(9));
        cohorts.join(3, Stage(9));
        assert_eq!(cohorts.choose_nth(1), 2);
        cohorts.leave();
        assert!(cohorts.remove(1) && !cohorts.remove(1));
        assert_eq!(cohorts.len(), 1);
        assert_eq!(chosen(&mut cohorts), [3]);
        cohorts.leave();
        assert!(cohorts.is_empty() && cohorts.choose() == 0);
    }
}
