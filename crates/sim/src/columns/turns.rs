//! Threads of which one runs at a time, and dice that choose the one.
//!
//! A simulated column is used by real threads, for its operations cannot be suspended. Each thread has a
//! number and calls [`Turns::pass`] between operations; within them, the column calls it at each latch
//! (`column/sync.rs`). At these points the turn may go to another thread. Nothing else is shared between
//! latches, so every interleaving of the operations is equivalent to one of turns, and one seed always gives
//! the same.
//!
//! # Waiting
//! A thread that finds a latch held by another hands the turn on, and tries again when its turn comes back.
//! If all remaining threads do so again and again, they wait for each other: a deadlock.
//!
//! # Ending
//! When one thread fails, the others unwind from where they are. While they do, no thread has turns: latches
//! are released in any order.

use std::{
    panic::resume_unwind,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use crate::dice::Dice;

/// Consecutive vain attempts at latches, per thread, that count as a deadlock. The holder of a latch gets
/// its turn between two of them with a chance of at least one in the number of threads.
const VAIN_ATTEMPTS: u64 = 1000;

/// Payload with which a thread unwinds when another has failed.
pub(super) struct Stopped;

/// The turns of the threads of a run.
pub(super) struct Turns {
    state: Mutex<State>,
    /// Signals for each thread that its turn has come.
    comes: Vec<Condvar>,
}

struct State {
    dice: Dice,
    current: usize,
    /// Threads that have not ended.
    live: Vec<usize>,
    /// Chance that a thread goes on, per mille.
    stays: u32,
    is_over: bool,
    is_deadlock: bool,
    /// Vain attempts at latches since some thread made progress.
    vain: u64,
    counts: Counts,
}

/// Numbers of points and turns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Points.
    pub(super) passed: u64,
    /// Points at latches that another thread held.
    pub(super) refused: u64,
    /// Turns given to another thread.
    pub(super) switches: u64,
}

impl Turns {
    /// Returns turns for `threads` threads.
    pub(super) fn new(threads: usize, mut dice: Dice) -> Turns {
        Turns {
            state: Mutex::new(State {
                current: dice.below(threads),
                live: (0..threads).collect(),
                stays: [0, 500, 900, 970][dice.below(4)],
                dice,
                is_over: false,
                is_deadlock: false,
                vain: 0,
                counts: Counts::default(),
            }),
            comes: (0..threads).map(|_| Condvar::new()).collect(),
        }
    }

    /// Waits for the first turn.
    pub(super) fn begin(&self, me: usize) {
        drop(self.wait(self.state(), me));
    }

    /// Lets another thread go on. `is_refused`: this thread cannot proceed.
    ///
    /// # Panics
    /// Unwinds with [`Stopped`] if another thread has failed, or all wait for each other.
    pub(super) fn pass(&self, me: usize, is_refused: bool) {
        let mut state = self.state();
        if thread::panicking() {
            // The thread may want a latch, for a merge that it drops: all latches are released now.
            self.stop_all(&mut state);
            drop(state);
            thread::yield_now();
            return;
        }
        state.counts.passed += 1;
        state.counts.refused += u64::from(is_refused);
        state.vain = if is_refused { state.vain + 1 } else { 0 };
        if state.vain > VAIN_ATTEMPTS * state.live.len() as u64 {
            state.is_deadlock = true;
            self.stop_all(&mut state);
        }
        let stays = state.stays;
        if is_refused || !state.dice.chance(stays) {
            self.choose(&mut state);
        }
        drop(self.wait(state, me));
    }

    /// Notes that the thread has ended.
    pub(super) fn end(&self, me: usize) {
        let mut state = self.state();
        state.live.retain(|&one| one != me);
        if !state.live.is_empty() {
            self.choose(&mut state);
        }
    }

    /// Notes that a thread has failed.
    pub(super) fn stop(&self) {
        self.stop_all(&mut self.state());
    }

    /// Returns whether all threads waited for each other.
    pub(super) fn is_deadlock(&self) -> bool {
        self.state().is_deadlock
    }

    /// Returns the counts so far.
    pub(super) fn counts(&self) -> Counts {
        self.state().counts
    }

    fn choose(&self, state: &mut State) {
        let next = state.live[state.dice.below(state.live.len())];
        state.counts.switches += u64::from(next != state.current);
        state.current = next;
        self.comes[next].notify_one();
    }

    fn wait<'s>(&'s self, mut state: MutexGuard<'s, State>, me: usize) -> MutexGuard<'s, State> {
        while state.current != me && !state.is_over {
            state = self.comes[me]
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_over {
            drop(state);
            resume_unwind(Box::new(Stopped));
        }
        state
    }

    fn stop_all(&self, state: &mut State) {
        state.is_over = true;
        for one in &self.comes {
            one.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs threads that count up to `goal` together, each in its turn; returns the order of their turns.
    fn counted(seed: u64, threads: usize, goal: usize) -> Vec<usize> {
        let turns = Turns::new(threads, Dice::new(seed));
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for me in 0..threads {
                let (turns, order) = (&turns, &order);
                scope.spawn(move || {
                    turns.begin(me);
                    for _ in 0..goal {
                        order.lock().unwrap().push(me);
                        turns.pass(me, false);
                    }
                    turns.end(me);
                });
            }
        });
        order.into_inner().unwrap()
    }

    #[test]
    fn a_seed_decides_which_thread_runs() {
        let one = counted(5, 3, 50);
        assert_eq!(one.len(), 150);
        assert_eq!(one, counted(5, 3, 50));
        assert!((0..9).any(|seed| counted(seed, 3, 50) != one));
    }

    #[test]
    fn threads_that_wait_for_each_other_are_noticed() {
        let turns = Turns::new(2, Dice::new(1));
        thread::scope(|scope| {
            for me in 0..2 {
                let turns = &turns;
                scope.spawn(move || {
                    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        turns.begin(me);
                        loop {
                            turns.pass(me, true);
                        }
                    }));
                    let payload = ended.expect_err("it goes on for ever");
                    assert!(payload.is::<Stopped>());
                });
            }
        });
        assert!(turns.is_deadlock());
    }
}
