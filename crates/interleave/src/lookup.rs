//! Many lookups in one structure: sequential or interleaved, whichever is faster, chosen
//! while running.
//!
//! A structure implements [`Lookup`] with one body. An [`Interleaver`] runs it for a slice of keys on the
//! calling thread: one after the other, or some beside each other, polled in turn. No
//! worker is involved, and nothing is allocated per lookup.
//!
//! # How it is chosen
//! Paper 003 section 3: stalls are hidden when as many lookups are in flight as
//! `G >= T_stall / (T_compute + T_switch) + 1`. All three are measured, on the first keys of a
//! batch and again after many more ([`Costs`]):
//! - the keys are looked up sequentially: `T_compute + T_stall`;
//! - and again, now that what they touch is in the cache: `T_compute`;
//! - and interleaved, still in the cache: `T_compute + T_switch`.
//!
//! Only the second and third time are extra work, on keys whose memory is cached. Interleaving
//! pays where the first is more than the third; how much of the stall it hides is up to the number
//! in flight. The formula gives the least number at which nothing stalls if every wait takes
//! equally long; waits differ, and a miss of the translation buffer delays the misses behind it, so
//! twice as many are in flight (measured: `weft bench join --experiment group-sizes`).
//! Every batch that was interleaved is then compared with what a lookup took sequentially: a wrong
//! choice is taken back.

use std::{
    future::Future,
    mem,
    num::NonZeroUsize,
    pin::Pin,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use crate::{
    group::Grouped,
    policy::{Policy, Sequential, run_inline},
};

/// A structure in which keys are looked up.
///
/// The body is an `async fn` that awaits [`Policy::touch`] before it reads memory that
/// is probably not in the cache, and nothing else. It is run sequentially and interleaved.
///
/// ```
/// use interleave::{Interleaver, Lookup, Point, Policy};
///
/// /// Squares, for numbers in a large sorted array.
/// struct Sorted(Vec<u64>);
///
/// impl Lookup<u64> for Sorted {
///     type Found = bool;
///
///     async fn look_up<P: Policy>(&self, key: u64) -> bool {
///         let (mut low, mut size) = (0, self.0.len());
///         while size > 1 {
///             let half = size / 2;
///             P::touch(Point::new("probe"), &self.0[low + half], 8).await;
///             if self.0[low + half] <= key {
///                 low += half;
///             }
///             size -= half;
///         }
///         self.0.get(low) == Some(&key)
///     }
/// }
///
/// let squares = Sorted((0..1000).map(|n| n * n).collect());
/// let mut found = [false; 3];
/// Interleaver::auto().look_up_all(&squares, &[16, 17, 998001], |at, is_there| found[at] = is_there);
/// assert_eq!(found, [true, false, true]);
/// ```
pub trait Lookup<K: Copy> {
    /// What a lookup finds.
    type Found;

    /// Looks one key up.
    ///
    /// # Suspension
    /// Memory waits only: what waits for anything else would never be woken.
    fn look_up<P: Policy>(&self, key: K) -> impl Future<Output = Self::Found>;
}

/// How lookups run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// One after the other, without prefetches or suspensions.
    Sequential,
    /// So many beside each other.
    Interleaved(NonZeroUsize),
}

impl Execution {
    /// So many in flight, at most [`Execution::IN_FLIGHT_MAX`]; none: sequential.
    pub fn in_flight(lookups: usize) -> Execution {
        match NonZeroUsize::new(lookups.min(Execution::IN_FLIGHT_MAX)) {
            Some(lookups) => Execution::Interleaved(lookups),
            None => Execution::Sequential,
        }
    }

    /// More in flight than any core has misses under way.
    pub const IN_FLIGHT_MAX: usize = 64;
}

/// What a lookup was measured to cost, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Sequentially, memory as it was: `T_compute + T_stall`.
    pub sequential: f64,
    /// Sequentially, in the cache: `T_compute`.
    pub cached: f64,
    /// Interleaved, in the cache: `T_compute + T_switch`.
    pub switched: f64,
}

impl Costs {
    /// The execution that should be fastest.
    pub fn execution(&self) -> Execution {
        let stall = (self.sequential - self.cached).max(0.0);
        // At best, stalls are gone and switches have come.
        if self.switched * PAYS >= self.sequential {
            return Execution::Sequential;
        }
        let least = stall / self.switched.max(1.0) + 1.0;
        Execution::in_flight(((least * SLACK).ceil() as usize).max(IN_FLIGHT_MIN))
    }
}

/// Lookups looked up to find out what they cost. Two of three times in the cache.
const SAMPLE: usize = 64;
/// Of how many pieces the median counts: what interrupts the thread spoils one.
const PIECES: usize = 4;
/// Lookups between two samples.
const SAMPLE_EVERY: u64 = 1 << 16;
/// So much faster must interleaving promise to be.
const PAYS: f64 = 1.15;
/// In flight, against what the formula gives.
const SLACK: f64 = 2.0;
/// Interleaved at all, at least so many: sequential lookups overlap somewhat out of order, which makes stalls
/// look shorter than they are (measured: hash probes gain up to 32).
const IN_FLIGHT_MIN: usize = 16;
/// In flight before anything is known.
const IN_FLIGHT_START: usize = 16;
/// A batch of at least so many lookups says what one took.
const BATCH_MEASURED: usize = 256;

/// Runs lookups in one structure, as is fastest. Keep it for the structure: it remembers what
/// was measured.
#[derive(Clone, Debug)]
pub struct Interleaver {
    execution: Option<Execution>,
    is_fixed: bool,
    costs: Option<Costs>,
    /// Lookups until the next sample.
    due: u64,
}

impl Interleaver {
    /// One that finds out how.
    pub fn auto() -> Interleaver {
        Interleaver {
            execution: None,
            is_fixed: false,
            costs: None,
            due: 0,
        }
    }

    /// One that always does as told.
    pub fn fixed(execution: Execution) -> Interleaver {
        Interleaver {
            execution: Some(execution),
            is_fixed: true,
            ..Interleaver::auto()
        }
    }

    /// How lookups run at present. `None`: nothing is known yet.
    pub fn execution(&self) -> Option<Execution> {
        self.execution
    }

    /// What was measured last. `None`: nothing yet.
    pub fn costs(&self) -> Option<Costs> {
        self.costs
    }

    /// Looks all keys up; `found` is given the place of each key in `keys` and what was found, in
    /// any order.
    pub fn look_up_all<K: Copy, S: Lookup<K>>(
        &mut self,
        structure: &S,
        keys: &[K],
        mut found: impl FnMut(usize, S::Found),
    ) {
        let (from, execution) = self.prepare(structure, keys, &mut found);
        let rest = &keys[from..];
        let is_watched = !self.is_fixed
            && rest.len() >= BATCH_MEASURED
            && matches!(execution, Execution::Interleaved(_));
        let start = is_watched.then(Instant::now);
        look_up_all(structure, rest, execution, |at, one| found(from + at, one));
        if let (Some(start), Some(costs)) = (start, self.costs)
            && per_lookup(start.elapsed(), rest.len()) > costs.sequential
        {
            // It did not come out as it was promised.
            self.execution = Some(Execution::Sequential);
        }
    }

    /// How `keys` had better be looked up by somebody else: for bodies that must not run twice, such as
    /// those that hand out what they find as they go. If it is time for a sample, it is looked
    /// up here, and what is found is dropped.
    pub fn choose<K: Copy, S: Lookup<K>>(&mut self, structure: &S, keys: &[K]) -> Execution {
        let (_, execution) = self.prepare(structure, keys, &mut |_, one| drop(one));
        execution
    }

    /// Looks a sample of the keys up, if it is time for one: how many these are, and how the others
    /// had better be looked up.
    fn prepare<K: Copy, S: Lookup<K>>(
        &mut self,
        structure: &S,
        keys: &[K],
        found: &mut impl FnMut(usize, S::Found),
    ) -> (usize, Execution) {
        let mut sampled = 0;
        if !self.is_fixed {
            if self.due == 0 && keys.len() >= SAMPLE {
                self.sample(structure, &keys[..SAMPLE], found);
                sampled = SAMPLE;
            }
            self.due = self.due.saturating_sub(keys.len() as u64);
        }
        let start = Execution::in_flight(IN_FLIGHT_START);
        (sampled, self.execution.unwrap_or(start))
    }

    /// Looks a sample up, and measures.
    fn sample<K: Copy, S: Lookup<K>>(
        &mut self,
        structure: &S,
        keys: &[K],
        found: &mut impl FnMut(usize, S::Found),
    ) {
        let mut pieces = [[0.0; PIECES]; 3];
        let piece = keys.len() / PIECES;
        let runs = [
            Execution::Sequential,
            Execution::Sequential,
            Execution::in_flight(piece),
        ];
        for (number, keys) in keys.chunks_exact(piece).enumerate() {
            for (time, (&execution, pieces)) in runs.iter().zip(&mut pieces).enumerate() {
                let start = Instant::now();
                look_up_all(structure, keys, execution, |at, one| match time {
                    0 => found(number * piece + at, one),
                    _ => drop(std::hint::black_box(one)),
                });
                pieces[number] = per_lookup(start.elapsed(), keys.len());
            }
        }
        let [sequential, cached, switched] = pieces.map(|mut pieces| {
            pieces.sort_by(f64::total_cmp);
            (pieces[PIECES / 2 - 1] + pieces[PIECES / 2]) / 2.0
        });
        let costs = Costs {
            sequential,
            cached,
            switched,
        };
        self.costs = Some(costs);
        self.execution = Some(costs.execution());
        self.due = SAMPLE_EVERY;
    }
}

/// Looks all keys up as told; `found` is given the place of each key in `keys` and what was
/// found. In the order of the keys if sequential, else in any.
pub fn look_up_all<K: Copy, S: Lookup<K>>(
    structure: &S,
    keys: &[K],
    execution: Execution,
    mut found: impl FnMut(usize, S::Found),
) {
    let Execution::Interleaved(in_flight) = execution else {
        for (at, &key) in keys.iter().enumerate() {
            found(at, run_inline(structure.look_up::<Sequential>(key)));
        }
        return;
    };
    let mut keys = keys.iter().copied().enumerate();
    let begin = |(at, key)| (at, structure.look_up::<Grouped>(key));
    // Who has ended stays in its place until another takes it: no flag is looked at but the number.
    let mut ring: Vec<_> = keys.by_ref().take(in_flight.get()).map(begin).collect();
    let mut context = Context::from_waker(Waker::noop());
    let mut live = ring.len();
    while live > 0 {
        for (at, body) in &mut ring {
            while *at != ENDED {
                // SAFETY: nothing moves the elements of the vector until they are dropped in place.
                let mut body = unsafe { Pin::new_unchecked(&mut *body) };
                let Poll::Ready(one) = body.as_mut().poll(&mut context) else {
                    break;
                };
                let ended = match keys.next().map(begin) {
                    Some((next, other)) => {
                        body.set(other);
                        mem::replace(at, next)
                    }
                    None => {
                        live -= 1;
                        mem::replace(at, ENDED)
                    }
                };
                found(ended, one);
            }
        }
    }
}

/// Marks a place of the ring whose lookup has ended, and no other is left. No place of a key: slices
/// of keys that have a size are shorter, and those of others are not that long.
const ENDED: usize = usize::MAX;

fn per_lookup(time: Duration, lookups: usize) -> f64 {
    time.as_nanos() as f64 / lookups.max(1) as f64
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Point;
    use std::cell::Cell;

    const POINT: Point = Point::new("test");

    /// Numbers from which the key is found in so many steps, and how many lookups were begun.
    struct Steps {
        begun: Cell<usize>,
        under_way: Cell<usize>,
        under_way_max: Cell<usize>,
    }

    impl Steps {
        fn new() -> Steps {
            Steps {
                begun: Cell::new(0),
                under_way: Cell::new(0),
                under_way_max: Cell::new(0),
            }
        }
    }

    impl Lookup<usize> for Steps {
        type Found = usize;

        async fn look_up<P: Policy>(&self, key: usize) -> usize {
            self.begun.set(self.begun.get() + 1);
            self.under_way.set(self.under_way.get() + 1);
            self.under_way_max
                .set(self.under_way_max.get().max(self.under_way.get()));
            for _ in 0..key % 5 {
                P::touch(POINT, &raw const *self, 8).await;
            }
            self.under_way.set(self.under_way.get() - 1);
            2 * key
        }
    }

    fn answers(interleaver: &mut Interleaver, keys: &[usize]) -> (Vec<usize>, Steps) {
        let steps = Steps::new();
        let mut answers = vec![None; keys.len()];
        interleaver.look_up_all(&steps, keys, |at, one| {
            assert_eq!(answers[at].replace(one), None, "found twice");
        });
        let answers = answers.into_iter().map(Option::unwrap).collect();
        (answers, steps)
    }

    #[test]
    fn each_key_is_answered_once_however_many_there_are() {
        for keys in [0, 1, 3, 16, SAMPLE - 1, SAMPLE, SAMPLE + 1, 1000] {
            let keys: Vec<usize> = (0..keys).map(|n| n * 7 % 31).collect();
            let expected: Vec<usize> = keys.iter().map(|key| 2 * key).collect();
            for in_flight in [0, 1, 2, 16, 64, 1000] {
                let mut fixed = Interleaver::fixed(Execution::in_flight(in_flight));
                let (found, steps) = answers(&mut fixed, &keys);
                assert_eq!(found, expected);
                assert_eq!(steps.begun.get(), keys.len());
                let most = in_flight.clamp(1, Execution::IN_FLIGHT_MAX);
                assert!(steps.under_way_max.get() <= most);
            }
            let mut auto = Interleaver::auto();
            for _ in 0..3 {
                assert_eq!(answers(&mut auto, &keys).0, expected);
            }
            assert_eq!(auto.costs().is_some(), keys.len() >= SAMPLE);
        }
    }

    #[test]
    fn lookups_are_sampled_again_after_many_more() {
        let keys: Vec<usize> = (0..1 << 15).collect();
        let mut auto = Interleaver::auto();
        let extra: Vec<usize> = (0..4)
            .map(|_| answers(&mut auto, &keys).1.begun.get() - keys.len())
            .collect();
        assert_eq!(extra, [2 * SAMPLE, 0, 2 * SAMPLE, 0]);
    }

    #[test]
    fn as_many_are_in_flight_as_hide_the_stall() {
        let costs = |sequential, cached, switched| Costs {
            sequential,
            cached,
            switched,
        };
        // In the cache: nothing to hide.
        assert_eq!(
            costs(100.0, 100.0, 140.0).execution(),
            Execution::Sequential
        );
        assert_eq!(
            costs(150.0, 100.0, 140.0).execution(),
            Execution::Sequential
        );
        // 1 + 700 / 140 = 6, and slack: 12, and at least 16.
        assert_eq!(
            costs(800.0, 100.0, 140.0).execution(),
            Execution::in_flight(16)
        );
        assert_eq!(costs(9e9, 1.0, 1.0).execution(), Execution::in_flight(64));
        assert_eq!(
            costs(400.0, 390.0, 300.0).execution(),
            Execution::in_flight(16)
        );
    }

    #[test]
    fn a_body_that_panics_takes_the_others_with_it() {
        struct Panics<'t>(&'t Cell<usize>);
        struct Counted<'t>(&'t Cell<usize>);
        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.0.set(self.0.get() - 1);
            }
        }
        impl Lookup<usize> for Panics<'_> {
            type Found = ();
            async fn look_up<P: Policy>(&self, key: usize) {
                self.0.set(self.0.get() + 1);
                let _counted = Counted(self.0);
                P::touch(POINT, &raw const *self, 8).await;
                assert!(key != 20, "the key that panics");
            }
        }
        let under_way = Cell::new(0);
        let keys: Vec<usize> = (0..100).collect();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            look_up_all(
                &Panics(&under_way),
                &keys,
                Execution::in_flight(16),
                |_, ()| {},
            );
        }));
        assert!(panicked.is_err());
        assert_eq!(under_way.get(), 0);
    }
}
