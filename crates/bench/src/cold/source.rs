//! Sources of transactions: two closed ones, which do not wait for each other.
//!
//! The *hot* source has a transaction whenever the worker wants one. The *cold* source is a number
//! of clients with one storage-bound transaction each. Whenever the worker wants a transaction, the
//! offered share decides which source is asked; if all clients of the cold source have theirs under
//! way (waiting for the device, or to be admitted to it), the hot source gives one instead.
//!
//! Hot records are drawn uniformly. Cold ones come in the order of their numbers, whose hashes are
//! their keys and hence their places in the cold files. The places are uniform too, but no record
//! comes again before all others have, because a record that was read is in memory then.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::Rng as _;

use super::{Settings, Variation};
use crate::distribution::{Rng, below, rng};
use crate::keys::mix;

/// Resolution of shares, in parts of a percent.
const PARTS: f64 = 10_000.0;
const PARTS_MAX: u64 = 1_000_000;

/// Kinds of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Accesses records in memory only.
    Hot,
    /// Accesses some records on the device.
    Cold,
}

/// A request for one transaction. It names the same records if the transaction is run again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) kind: Kind,
    /// Whether the transaction changes the records that it reads.
    pub(super) writes: bool,
    hot_records: u64,
    cold_records: u64,
    hot_draw: u64,
    cold_first: u64,
    hot_accesses: u32,
    cold_accesses: u32,
}

impl Request {
    /// Returns the hot records, in order.
    pub(super) fn hot(self) -> impl Iterator<Item = u64> {
        let all = u128::from(self.hot_records);
        let drawn = (0..self.hot_accesses).map(move |at| mix(self.hot_draw ^ u64::from(at)));
        drawn.map(move |drawn| ((u128::from(drawn) * all) >> 64) as u64)
    }

    /// Returns the cold records, in order.
    pub(super) fn cold(self) -> impl Iterator<Item = u64> {
        let accesses = u64::from(self.cold_accesses);
        (0..accesses).map(move |at| (self.cold_first + at) % self.cold_records)
    }

    pub(super) fn accesses(self) -> u64 {
        u64::from(self.hot_accesses) + u64::from(self.cold_accesses)
    }

    pub(super) fn cold_accesses(self) -> u64 {
        self.cold_accesses.into()
    }
}

/// Both sources of one worker.
#[derive(Debug)]
pub(super) struct Sources {
    settings: Arc<Settings>,
    rng: Rng,
    /// Share of storage-bound transactions, in parts of [`PARTS_MAX`].
    cold_share: u64,
    writing_share: u64,
    cold_clients: u64,
    cold_under_way: u64,
    /// Number of cold records that were accessed, by all workers.
    cold_asked: Arc<AtomicU64>,
}

impl Sources {
    pub(super) fn new(
        settings: &Arc<Settings>,
        variation: Variation,
        cold_asked: &Arc<AtomicU64>,
        seed: u64,
        worker: usize,
    ) -> Self {
        let share = |percent: f64| (percent * PARTS) as u64;
        Self {
            rng: rng(seed, worker as u64),
            cold_share: share(variation.storage_bound_percent),
            writing_share: share(100.0 - settings.read_only_percent),
            cold_clients: variation.cold_clients.into(),
            cold_under_way: 0,
            cold_asked: Arc::clone(cold_asked),
            settings: Arc::clone(settings),
        }
    }

    /// Draws the next transaction.
    pub(super) fn next(&mut self) -> Request {
        let is_wanted = below(&mut self.rng, PARTS_MAX) < self.cold_share;
        // Without a hot source the worker must not ask for more transactions than the cold one has.
        let has_any = self.cold_under_way < self.cold_clients || self.cold_share == PARTS_MAX;
        let kind = match is_wanted && has_any {
            true => Kind::Cold,
            false => Kind::Hot,
        };
        let settings = &self.settings;
        let (hot_accesses, cold_accesses) = match kind {
            Kind::Hot => (settings.reads_hot + settings.reads_cold, 0),
            Kind::Cold => (settings.reads_hot, settings.reads_cold),
        };
        if kind == Kind::Cold {
            self.cold_under_way += 1;
        }
        Request {
            kind,
            writes: below(&mut self.rng, PARTS_MAX) < self.writing_share,
            hot_records: settings.hot_records,
            cold_records: settings.cold_records,
            hot_draw: self.rng.next_u64(),
            // Relaxed: the counter only gives out numbers, no data is published through it.
            cold_first: match kind {
                Kind::Hot => 0,
                Kind::Cold => {
                    let accesses = cold_accesses.into();
                    self.cold_asked.fetch_add(accesses, Ordering::Relaxed)
                }
            },
            hot_accesses,
            cold_accesses,
        }
    }

    /// Notes that a transaction has ended: its client is free again.
    pub(super) fn ended(&mut self, request: Request) {
        if request.kind == Kind::Cold {
            self.cold_under_way -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cold::tests::settings;

    fn sources(storage_bound_percent: f64, cold_clients: u32) -> Sources {
        let variation = Variation {
            storage_bound_percent,
            cold_clients,
            ..Variation::default()
        };
        Sources::new(&Arc::new(settings()), variation, &Arc::default(), 1, 0)
    }

    fn cold_of(requests: &[Request]) -> usize {
        requests.iter().filter(|one| one.kind == Kind::Cold).count()
    }

    #[test]
    fn both_are_asked_in_the_proportion_offered_while_clients_are_free() {
        for (percent, expected) in [(0.0, 0), (10.0, 2000), (50.0, 10_000), (100.0, 20_000)] {
            let mut sources = sources(percent, 4);
            let requests: Vec<_> = (0..20_000)
                .map(|_| {
                    let request = sources.next();
                    sources.ended(request);
                    request
                })
                .collect();
            let cold = cold_of(&requests);
            assert!(cold.abs_diff(expected) <= 300, "{percent} %: {cold}");
            let writing = requests.iter().filter(|one| one.writes).count();
            assert!(writing.abs_diff(10_000) <= 300, "{writing}");
        }
    }

    #[test]
    fn the_hot_source_goes_on_while_the_cold_one_waits() {
        let mut sources = sources(50.0, 4);
        let requests: Vec<_> = (0..1000).map(|_| sources.next()).collect();
        assert_eq!(cold_of(&requests), 4);
        let waiting = requests.iter().find(|one| one.kind == Kind::Cold).unwrap();
        sources.ended(*waiting);
        let more: Vec<_> = (0..1000).map(|_| sources.next()).collect();
        assert_eq!(cold_of(&more), 1);
    }

    #[test]
    fn cold_records_do_not_come_again_before_all_others_have() {
        let settings = settings();
        let mut sources = sources(100.0, 1);
        let laps = 2 * settings.cold_records / u64::from(settings.reads_cold);
        let asked: Vec<_> = (0..laps).flat_map(|_| sources.next().cold()).collect();
        for lap in asked.chunks(settings.cold_records as usize) {
            let different: BTreeSet<_> = lap.iter().collect();
            assert_eq!(different.len() as u64, settings.cold_records);
        }
    }

    #[test]
    fn accesses_are_as_many_as_asked_for_and_within_the_tables() {
        let settings = settings();
        let mut sources = sources(50.0, 1000);
        for _ in 0..1000 {
            let request = sources.next();
            let cold = match request.kind {
                Kind::Hot => 0,
                Kind::Cold => settings.reads_cold,
            };
            assert_eq!(request.cold().count() as u32, cold);
            let all = settings.reads_hot + settings.reads_cold;
            assert_eq!(request.hot().count() as u32, all - cold);
            assert_eq!(request.accesses(), u64::from(all));
            assert!(request.hot().all(|record| record < settings.hot_records));
            assert!(request.cold().all(|record| record < settings.cold_records));
        }
    }
}
