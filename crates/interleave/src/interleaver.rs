//! Sequential or interleaved, and how many in flight: chosen while running.
//!
//! An [`Interleaver`] looks up batches of keys in one structure ([`Lookup`]). It finds out the faster way by *samples*:
//! pieces of the batches themselves, looked up one way and the other, alternately. The median of each way counts, so
//! that interruptions of the thread do not decide.
//!
//! # Number in flight
//! Paper 003 section 3: stalls are hidden when as many lookups are in flight as
//! `G >= T_stall / (T_compute + T_switch) + 1`. All three are measured ([`Costs`]), on the pieces that are looked up
//! sequentially:
//! - sequentially: `T_compute + T_stall`;
//! - sequentially again, with the pieces' memory in the cache: `T_compute`;
//! - interleaved, still in the cache: `T_compute + T_switch`.
//!
//! The second and third lookups are extra work. The formula gives the least number at which nothing stalls if every
//! wait takes equally long; waits differ, and a miss of the translation buffer delays the misses behind it, so twice as
//! many are in flight (measured: `weft-bench join --experiment group-sizes`).
//!
//! # Choice of the way
//! The other pieces are looked up interleaved, with that number in flight: the way that is faster by these pieces
//! serves all keys until the next sample. Samples become rarer while they agree, and a sample is due at once where
//! batches take much longer than the sample said.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use crate::lookup::{Execution, Lookup, look_up_all};

/// Measured costs of a lookup, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Sequential, memory as it was: `T_compute + T_stall`.
    pub sequential: f64,
    /// Sequential, in the cache: `T_compute`.
    pub cached: f64,
    /// Interleaved, in the cache: `T_compute + T_switch`.
    pub switched: f64,
    /// Interleaved, memory as it was: the stalls that are left, and switches.
    pub interleaved: f64,
}

impl Costs {
    /// Returns the faster execution.
    pub fn execution(&self) -> Execution {
        match self.interleaved * PAYS < self.sequential {
            true => Execution::in_flight(self.in_flight()),
            false => Execution::Sequential,
        }
    }

    /// Returns the number in flight that hides the stalls that can be hidden.
    fn in_flight(&self) -> usize {
        let stall = (self.sequential - self.cached).max(0.0);
        let least = stall / self.switched.max(1.0) + 1.0;
        ((least * SLACK).ceil() as usize).clamp(IN_FLIGHT_MIN, Execution::IN_FLIGHT_MAX)
    }
}

/// Keys of a piece of a sample.
const PIECE: usize = 128;
/// Fewer keys make no piece: lookups begin and end together, and do not overlap as those of a longer list do.
const PIECE_MIN: usize = 32;
/// Pieces of each way in a sample.
const PAIRS: usize = 4;
/// Lookups between two samples at first, and where they agree.
const SAMPLE_EVERY: (u64, u64) = (1 << 16, 1 << 20);
/// Factor by which interleaving must be faster to be chosen.
const PAYS: f64 = 1.05;
/// Number in flight, as a multiple of the formula's result.
const SLACK: f64 = 2.0;
/// Minimum in flight where lookups are interleaved: sequential lookups overlap somewhat out of order, which makes
/// stalls look shorter than they are (measured: hash probes gain up to 32).
const IN_FLIGHT_MIN: usize = 16;
/// Minimum lookups of a batch whose time is compared with the sample.
const BATCH_MEASURED: usize = 256;
/// Multiple of the sample's cost above which a sequential lookup counts as too slow.
const STRAYED: f64 = 2.0;
/// Batches in a row that took too long before a new sample is due: a single batch may have been interrupted.
const STRAYS: u32 = 2;

/// Runs lookups in one structure the faster way. Keep an interleaver for its structure: it remembers its measurements.
#[derive(Clone, Debug)]
pub struct Interleaver {
    execution: Option<Execution>,
    is_fixed: bool,
    costs: Option<Costs>,
    sample: Sample,
    /// Lookups until the next sample.
    due: u64,
    /// Lookups from that sample to the next, if the two agree.
    interval: u64,
    /// Batches in a row that took too long.
    strays: u32,
}

impl Interleaver {
    /// Returns an interleaver that finds out the faster way.
    pub fn auto() -> Interleaver {
        Interleaver {
            execution: None,
            is_fixed: false,
            costs: None,
            sample: Sample::default(),
            due: 0,
            interval: SAMPLE_EVERY.0,
            strays: 0,
        }
    }

    /// Returns an interleaver that always runs lookups as `execution` says.
    pub fn fixed(execution: Execution) -> Interleaver {
        Interleaver {
            execution: Some(execution),
            is_fixed: true,
            ..Interleaver::auto()
        }
    }

    /// Returns how lookups run at present; `None` if nothing is known yet.
    pub fn execution(&self) -> Option<Execution> {
        self.execution
    }

    /// Returns the costs measured last; `None` if there are none yet.
    pub fn costs(&self) -> Option<Costs> {
        self.costs
    }

    /// Looks all `keys` up; `found` is given the place of each key in `keys` and what was found, in any order.
    pub fn look_up_all<K: Copy, S: Lookup<K>>(
        &mut self,
        structure: &S,
        keys: &[K],
        mut found: impl FnMut(usize, S::Found),
    ) {
        let from = self.sample(structure, keys, &mut found);
        let rest = &keys[from..];
        let is_measured = !self.is_fixed && rest.len() >= BATCH_MEASURED;
        let start = is_measured.then(Instant::now);
        look_up_all(structure, rest, self.present(), |at, one| {
            found(from + at, one);
        });
        if let Some(start) = start {
            self.watch(per_lookup(start.elapsed(), rest.len()));
        }
    }

    /// Returns how the caller had better look up `keys` itself: for bodies that must not run twice, such as those that
    /// hand out what they find as they go. If a sample is due, its keys are looked up here, and their results are
    /// dropped.
    pub fn choose<K: Copy, S: Lookup<K>>(&mut self, structure: &S, keys: &[K]) -> Execution {
        self.sample(structure, keys, &mut |_, one| drop(one));
        self.present()
    }

    fn present(&self) -> Execution {
        let start = Execution::in_flight(IN_FLIGHT_MIN);
        self.execution.unwrap_or(start)
    }

    /// Goes on with the sample, if one is due, as far as `keys` reach. Returns how many keys have been looked up.
    fn sample<K: Copy, S: Lookup<K>>(
        &mut self,
        structure: &S,
        keys: &[K],
        found: &mut impl FnMut(usize, S::Found),
    ) -> usize {
        let mut from = 0;
        while !self.is_fixed && self.due == 0 && keys.len() - from >= PIECE_MIN {
            let piece = &keys[from..][..PIECE.min(keys.len() - from)];
            self.sample
                .look_up(structure, piece, |at, one| found(from + at, one));
            from += piece.len();
            if let Some(costs) = self.sample.take_costs() {
                self.learn(costs);
            }
        }
        self.due = self.due.saturating_sub((keys.len() - from) as u64);
        from
    }

    /// Takes in the `costs` of a finished sample.
    fn learn(&mut self, costs: Costs) {
        let execution = costs.execution();
        let is_interleaved = |one| matches!(one, Execution::Interleaved(_));
        let agrees = self.execution.map(is_interleaved) == Some(is_interleaved(execution));
        self.interval = match agrees {
            true => (2 * self.interval).min(SAMPLE_EVERY.1),
            false => SAMPLE_EVERY.0,
        };
        self.due = self.interval;
        self.costs = Some(costs);
        self.execution = Some(execution);
        self.strays = 0;
    }

    /// Takes in that lookups of a batch took `nanoseconds` each.
    fn watch(&mut self, nanoseconds: f64) {
        let (Some(costs), Some(execution)) = (self.costs, self.execution) else {
            return;
        };
        let bound = match execution {
            Execution::Sequential => costs.sequential * STRAYED,
            Execution::Interleaved(_) => costs.sequential,
        };
        self.strays = match nanoseconds > bound {
            true => self.strays + 1,
            false => 0,
        };
        if self.strays == STRAYS {
            // Conditions have changed: either way may be faster now.
            self.due = 0;
            self.interval = SAMPLE_EVERY.0;
        }
    }
}

/// A sample under way: nanoseconds of a lookup, by the pair of pieces.
#[derive(Clone, Debug, Default)]
struct Sample {
    pieces: usize,
    sequential: [f64; PAIRS],
    cached: [f64; PAIRS],
    switched: [f64; PAIRS],
    interleaved: [f64; PAIRS],
}

impl Sample {
    /// Looks a piece up, and measures.
    fn look_up<K: Copy, S: Lookup<K>>(
        &mut self,
        structure: &S,
        keys: &[K],
        mut found: impl FnMut(usize, S::Found),
    ) {
        let (pair, is_first) = (self.pieces / 2, self.pieces.is_multiple_of(2));
        self.pieces += 1;
        if !is_first {
            let execution = Execution::in_flight(self.costs(pair + 1).in_flight());
            self.interleaved[pair] = timed(structure, keys, execution, &mut found);
            return;
        }
        let again = |execution| timed(structure, keys, execution, |_, one| drop(black_box(one)));
        self.sequential[pair] = timed(structure, keys, Execution::Sequential, &mut found);
        self.cached[pair] = again(Execution::Sequential);
        self.switched[pair] = again(Execution::in_flight(IN_FLIGHT_MIN));
    }

    /// Returns the costs by the first `pairs` pairs; the interleaved cost counts only when all pairs are there.
    fn costs(&self, pairs: usize) -> Costs {
        Costs {
            sequential: median(self.sequential, pairs),
            cached: median(self.cached, pairs),
            switched: median(self.switched, pairs),
            interleaved: median(self.interleaved, pairs),
        }
    }

    /// Returns the costs if the sample is complete; the next sample begins.
    fn take_costs(&mut self) -> Option<Costs> {
        let is_over = self.pieces == 2 * PAIRS;
        is_over.then(|| std::mem::take(self).costs(PAIRS))
    }
}

/// Returns the median of the first `count` values.
fn median(mut all: [f64; PAIRS], count: usize) -> f64 {
    let some = &mut all[..count];
    some.sort_by(f64::total_cmp);
    (some[(count - 1) / 2] + some[count / 2]) / 2.0
}

/// Returns the nanoseconds of a lookup.
fn timed<K: Copy, S: Lookup<K>>(
    structure: &S,
    keys: &[K],
    execution: Execution,
    found: impl FnMut(usize, S::Found),
) -> f64 {
    let start = Instant::now();
    look_up_all(structure, keys, execution, found);
    per_lookup(start.elapsed(), keys.len())
}

fn per_lookup(time: Duration, lookups: usize) -> f64 {
    time.as_nanos() as f64 / lookups.max(1) as f64
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Point, Policy};
    use std::cell::Cell;

    /// A structure that doubles numbers, and counts its lookups.
    #[derive(Default)]
    struct Doubles {
        begun: Cell<usize>,
    }

    impl Lookup<usize> for Doubles {
        type Found = usize;

        async fn look_up<P: Policy>(&self, key: usize) -> usize {
            self.begun.set(self.begun.get() + 1);
            for _ in 0..key % 5 {
                P::touch(Point::new("test"), &raw const *self, 8).await;
            }
            2 * key
        }
    }

    /// Returns how many lookups there were beyond one for each key.
    fn extra(interleaver: &mut Interleaver, keys: &[usize]) -> usize {
        let doubles = Doubles::default();
        let mut answers = vec![None; keys.len()];
        interleaver.look_up_all(&doubles, keys, |at, one| {
            assert_eq!(answers[at].replace(one), None, "found twice");
        });
        assert!(
            answers
                .iter()
                .zip(keys)
                .all(|(one, key)| *one == Some(2 * key))
        );
        doubles.begun.get() - keys.len()
    }

    /// Lookups of a whole sample beyond one for each key.
    const EXTRA: usize = 2 * PAIRS * PIECE;

    #[test]
    fn each_key_is_answered_once_however_long_the_lists_are() {
        let many = if cfg!(miri) { 1000 } else { 10_000 };
        for keys in [0, 1, PIECE_MIN - 1, PIECE_MIN, PIECE + 1, 1000, many] {
            let keys: Vec<usize> = (0..keys).map(|n| n * 7 % 31).collect();
            let mut auto = Interleaver::auto();
            for _ in 0..20 {
                extra(&mut auto, &keys);
            }
            assert_eq!(auto.costs().is_some(), keys.len() >= PIECE_MIN);
            let mut fixed = Interleaver::fixed(Execution::in_flight(3));
            assert_eq!(extra(&mut fixed, &keys), 0);
            assert_eq!(fixed.execution(), Some(Execution::in_flight(3)));
        }
    }

    #[test]
    fn a_sample_of_short_lists_goes_on_in_the_next() {
        let keys: Vec<usize> = (0..PIECE).collect();
        let mut auto = Interleaver::auto();
        for piece in 0..2 * PAIRS {
            assert_eq!(auto.costs(), None);
            let expected = if piece % 2 == 0 { 2 * PIECE } else { 0 };
            assert_eq!(extra(&mut auto, &keys), expected);
        }
        assert!(auto.costs().is_some());
        assert_eq!(extra(&mut auto, &keys), 0);
    }

    fn costs(sequential: f64, interleaved: f64) -> Costs {
        Costs {
            sequential,
            cached: 100.0,
            switched: 140.0,
            interleaved,
        }
    }

    #[test]
    fn samples_that_agree_become_rarer() {
        let mut auto = Interleaver::auto();
        let mut learn = |costs| {
            auto.learn(costs);
            auto.due
        };
        let (least, most) = SAMPLE_EVERY;
        assert_eq!(learn(costs(100.0, 140.0)), least);
        assert_eq!(learn(costs(110.0, 140.0)), 2 * least);
        for _ in 0..10 {
            learn(costs(100.0, 150.0));
        }
        assert_eq!(learn(costs(100.0, 140.0)), most);
        assert_eq!(learn(costs(800.0, 200.0)), least);
    }

    #[test]
    fn the_next_sample_is_taken_after_so_many_lookups() {
        let keys: Vec<usize> = (0..SAMPLE_EVERY.0 as usize).collect();
        let mut auto = Interleaver::auto();
        auto.learn(costs(100.0, 140.0));
        assert_eq!([extra(&mut auto, &keys), auto.due as usize], [0, 0]);
        assert_eq!(extra(&mut auto, &keys), EXTRA);
    }

    #[test]
    fn what_is_faster_is_done() {
        assert_eq!(costs(100.0, 140.0).execution(), Execution::Sequential);
        assert_eq!(costs(100.0, 99.0).execution(), Execution::Sequential);
        // 1 + 700 / 140 = 6, and slack: 12, and at least 16.
        assert_eq!(costs(800.0, 200.0).execution(), Execution::in_flight(16));
        // 1 + 1400 / 140 = 11, and slack: 22.
        assert_eq!(costs(1500.0, 200.0).execution(), Execution::in_flight(22));
        assert_eq!(costs(9e9, 200.0).execution(), Execution::in_flight(64));
    }

    #[test]
    fn one_piece_that_was_interrupted_does_not_decide() {
        assert_eq!(median([5.0, 9e9, 6.0, 7.0], PAIRS), 6.5);
        assert_eq!(median([5.0, 0.0, 0.0, 0.0], 1), 5.0);
        assert_eq!(median([5.0, 9.0, 6.0, 0.0], 3), 6.0);
    }

    /// Deltas of dictionaries were looked up sequentially for long, three times as slowly, after one
    /// batch had been interrupted.
    #[test]
    fn nor_does_one_batch() {
        let mut auto = Interleaver::auto();
        auto.learn(costs(800.0, 200.0));
        for _ in 0..100 {
            auto.watch(9000.0);
            auto.watch(200.0);
        }
        assert!(auto.due > 0);
        auto.watch(900.0);
        auto.watch(900.0);
        assert_eq!(auto.due, 0, "two in a row are looked into");
        assert_eq!(auto.execution(), Some(Execution::in_flight(16)));
    }

    #[test]
    fn a_structure_that_has_grown_is_looked_into() {
        let mut auto = Interleaver::auto();
        auto.learn(costs(100.0, 140.0));
        for _ in 0..100 {
            auto.watch(150.0);
        }
        assert!(auto.due > 0);
        auto.watch(210.0);
        auto.watch(210.0);
        assert_eq!(auto.due, 0);
    }
}
