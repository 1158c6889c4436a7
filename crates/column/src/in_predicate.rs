//! The rows whose value is in a list (paper 003 section 2.2).
//!
//! The list is *encoded* against the dictionary of each part: an index join, whose lookups are interleaved. Values that
//! a dictionary does not have are dropped, and so are duplicates; the remaining codes form a
//! [`CodeSet`](crate::CodeSet), for which the part's code vector is scanned.
//!
//! # Choice whether the list is sorted first
//! Lookups of neighbours go the same way for long, so that the memory they touch is cached (paper 003 section 5.3); and
//! the codes of a Main come out in order, and need no sorting themselves. On the other hand sorting takes time, for
//! strings more. Lists of some length are therefore encoded both ways at first, and then the way that was faster per
//! value; the slower way is tried again now and then.

use std::time::{Duration, Instant};

use interleave::{Execution, Interleaver};

use crate::{
    error::ColumnError,
    snapshot::Snapshot,
    value::{Element, Key, Value},
};

/// Finds the rows of lists, the faster way. Keep a predicate for its column: it remembers its measurements.
#[derive(Clone, Debug)]
pub struct InPredicate {
    main: Interleaver,
    delta: Interleaver,
    order: Order,
    codes: Vec<u32>,
    encoding: Duration,
}

/// Values located in a Delta at a time: writers wait meanwhile, a millisecond perhaps. The number is large enough for
/// interruptions of a thread not to spoil the measurement of lookups.
const LOCATE: usize = 4096;
/// Code that no value has, in any part.
const ABSENT: u32 = u32::MAX;

impl InPredicate {
    /// Returns a predicate that finds out how to look up, and whether to sort.
    pub fn auto() -> Self {
        Self::new(Interleaver::auto(), Order::auto())
    }

    /// Returns a predicate that always looks up as `execution` says, and sorts its lists if `sorts` is set.
    pub fn fixed(execution: Execution, sorts: bool) -> Self {
        Self::new(Interleaver::fixed(execution), Order::fixed(sorts))
    }

    fn new(interleaver: Interleaver, order: Order) -> Self {
        Self {
            main: interleaver.clone(),
            delta: interleaver,
            order,
            codes: Vec::new(),
            encoding: Duration::ZERO,
        }
    }

    /// Returns how lookups in the Main run at present; `None` if nothing is known yet.
    pub fn main_execution(&self) -> Option<Execution> {
        self.main.execution()
    }

    /// Returns how lookups in the Delta run at present; `None` if nothing is known yet.
    pub fn delta_execution(&self) -> Option<Execution> {
        self.delta.execution()
    }

    /// Returns whether lists of some length are sorted; `None` if nothing is known yet.
    pub fn sorts(&self) -> Option<bool> {
        self.order.better()
    }

    /// Returns the time that encoding the last list took, sorting included. The rest of the time of
    /// [`InPredicate::rows_in`] goes to the scan.
    pub fn encoding(&self) -> Duration {
        self.encoding
    }

    /// Appends the numbers of the rows whose value is one of `values`, in ascending order. A NULL row never matches:
    /// not even a list that has NULL.
    ///
    /// # Errors
    /// [`ColumnError`](crate::ColumnError) if memory is lacking; some rows may have been appended.
    pub fn rows_in<V: Value>(
        &mut self,
        snapshot: &Snapshot<V>,
        values: &[Option<V::Ref<'_>>],
        rows: &mut Vec<u64>,
    ) -> Result<(), ColumnError> {
        let start = Instant::now();
        let mut keys: Vec<Key<'_, V>> = Vec::new();
        keys.try_reserve_exact(values.len())?;
        keys.extend(values.iter().flatten().map(|value| value.key()));
        let sorts = self.order.sorts(keys.len());
        if sorts == Some(true) {
            keys.sort_unstable();
            keys.dedup();
        }
        let main = snapshot.main();
        self.locate(
            keys.len(),
            |codes, predicate| {
                let found = |at: usize, place: Result<usize, usize>| {
                    codes[at] = place.map_or(ABSENT, |place| place as u32);
                };
                if main.rows() > 0 {
                    predicate.look_up_all(main.dictionary(), &keys, found);
                }
            },
            Part::Main,
        )?;
        let main_set = main.set_of(&mut self.codes)?;
        let mut delta_sets = [None, None];
        for (part, set) in snapshot.deltas().zip(&mut delta_sets) {
            self.locate(
                keys.len(),
                |codes, predicate| {
                    for (batch, codes) in keys.chunks(LOCATE).zip(codes.chunks_mut(LOCATE)) {
                        part.with(|delta| {
                            delta.locate_all(batch, predicate, |at, code| {
                                codes[at] = code.unwrap_or(ABSENT);
                            });
                        });
                    }
                },
                Part::Delta,
            )?;
            *set = Some(part.with(|delta| delta.set_of(&mut self.codes))?);
        }
        self.encoding = start.elapsed();
        if let Some(sorts) = sorts {
            self.order.learn(sorts, self.encoding, values.len());
        }
        snapshot.scan_main(&main_set, rows)?;
        for (part, set) in snapshot.deltas().zip(&delta_sets) {
            if let Some(set) = set {
                snapshot.scan_delta(part, set, rows)?;
            }
        }
        Ok(())
    }

    /// Locates codes by `look_up`: those found are left in `codes`.
    fn locate(
        &mut self,
        keys: usize,
        look_up: impl FnOnce(&mut [u32], &mut Interleaver),
        part: Part,
    ) -> Result<(), ColumnError> {
        self.codes.clear();
        self.codes.try_reserve(keys)?;
        self.codes.resize(keys, ABSENT);
        let interleaver = match part {
            Part::Main => &mut self.main,
            Part::Delta => &mut self.delta,
        };
        look_up(&mut self.codes, interleaver);
        self.codes.retain(|&code| code != ABSENT);
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Part {
    Main,
    Delta,
}

/// Choice whether lists are sorted: time of each way, in nanoseconds a value.
#[derive(Clone, Debug)]
struct Order {
    unsorted: Option<f64>,
    sorted: Option<f64>,
    lists: u32,
    fixed: Option<bool>,
}

/// Minimum length of a list that is sorted, or measured.
const LONG: usize = 256;
/// Lists by which both ways are measured at first.
const LISTS_FIRST: u32 = 8;
/// Lists until the slower way is tried again.
const TRY_EVERY: u32 = 32;
/// Weight of the last measurement.
const WEIGHT: f64 = 0.25;

impl Order {
    fn auto() -> Self {
        Self {
            unsorted: None,
            sorted: None,
            lists: 0,
            fixed: None,
        }
    }

    fn fixed(sorts: bool) -> Self {
        Self {
            fixed: Some(sorts),
            ..Self::auto()
        }
    }

    fn better(&self) -> Option<bool> {
        let measured = self.sorted.zip(self.unsorted);
        self.fixed
            .or(measured.map(|(sorted, unsorted)| sorted < unsorted))
    }

    /// Returns whether the next list is sorted. `None`: it is not sorted, and not measured.
    fn sorts(&mut self, values: usize) -> Option<bool> {
        if self.fixed.is_some() || values < LONG {
            return self.fixed;
        }
        self.lists += 1;
        match self.better() {
            Some(better) if self.lists > LISTS_FIRST => {
                Some(better != self.lists.is_multiple_of(TRY_EVERY))
            }
            _ => Some(self.lists.is_multiple_of(2)),
        }
    }

    fn learn(&mut self, sorted: bool, time: Duration, values: usize) {
        if self.lists == 1 {
            // The first list warmed caches up, and lookups were measured: the comparison would not be fair.
            return;
        }
        let cost = time.as_nanos() as f64 / values.max(1) as f64;
        let known = match sorted {
            true => &mut self.sorted,
            false => &mut self.unsorted,
        };
        *known = Some(known.map_or(cost, |known| known + (cost - known) * WEIGHT));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_if_that_was_faster() {
        for is_sorting_better in [true, false] {
            let mut order = Order::auto();
            assert_eq!(order.better(), None);
            assert_eq!(order.sorts(LONG - 1), None, "too short");
            let mut tried = [0; 2];
            for _ in 0..1000 {
                let sorts = order.sorts(1000).unwrap();
                tried[usize::from(sorts)] += 1;
                let nanoseconds = if sorts == is_sorting_better { 10 } else { 20 };
                order.learn(sorts, Duration::from_nanos(nanoseconds * 1000), 1000);
            }
            assert_eq!(order.better(), Some(is_sorting_better));
            let worse = tried[usize::from(!is_sorting_better)];
            assert!((20..50).contains(&worse), "{tried:?}");
        }
        let mut fixed = Order::fixed(true);
        assert_eq!((fixed.sorts(1), fixed.better()), (Some(true), Some(true)));
    }

    #[test]
    fn what_has_become_faster_is_found() {
        let mut order = Order::auto();
        for _ in 0..10 {
            let sorts = order.sorts(1000).unwrap();
            order.learn(
                sorts,
                Duration::from_nanos(if sorts { 20 } else { 10 }),
                1000,
            );
        }
        assert_eq!(order.better(), Some(false));
        for _ in 0..1000 {
            let sorts = order.sorts(1000).unwrap();
            order.learn(
                sorts,
                Duration::from_nanos(if sorts { 5 } else { 10 }),
                1000,
            );
        }
        assert_eq!(order.better(), Some(true));
    }
}
