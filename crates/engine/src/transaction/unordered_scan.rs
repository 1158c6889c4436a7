//! Scans of whole tables in no order: along the indirection array, past the index.
//!
//! Neighbours in the array were mostly inserted one after the other, so that slots, and often
//! versions, come in the order of memory. For each [`CHUNK`] of slots all versions are prefetched,
//! and waited for once.
//!
//! # Why each visible record is met exactly once
//! A record has one slot for as long as any transaction can see it, and each slot is looked at
//! once. A record that is visible at the snapshot was committed before it, hence has a slot below
//! the bound that is read after it. A slot that is freed and used again during the scan had, and
//! gets, no record that the snapshot sees: the slot is freed when all snapshots see the deletion,
//! and the record inserted then is newer. A record that an inserter has put into a slot and takes
//! back, because another inserter was faster, is uncommitted while it is there. All this holds
//! across the pieces of a scan as long as the snapshot stays the same
//! ([`Transaction::statement_snapshot`]).
//!
//! The transaction's own insertions are met if they come before the scan gets to their slots.
//!
//! # What is not noted
//! The scan does not note nodes of the index, by which a serializable transaction hears of new
//! records where it has looked. Serializable transactions that may write therefore scan in order.

use std::ops::ControlFlow;

use interleave::{Point, Policy, leaf, turn_is_over, yield_now};

use super::{Isolation, Statement, Transaction, visibility::Look};
use crate::{
    cold::{ColdAddress, Fetched},
    error::Error,
    indirection::{Head, Rid},
    table::Table,
    version::Version,
};

/// Number of slots that are looked at together. Divides the size of each segment of the array.
const CHUNK: u64 = 64;

/// Number of chunks visited under one pin.
const CHUNKS_PER_PIN: usize = 16;

/// Position of a scan without order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanPosition(u64);

/// Transaction that may scan in no order.
#[derive(Clone, Copy, Debug)]
pub struct Unordered<'t>(&'t Transaction);

impl Transaction {
    /// Returns the transaction's way to scan in no order; `None` for a serializable transaction
    /// that may write.
    #[inline]
    pub fn unordered(&self) -> Option<Unordered<'_>> {
        let notes_nodes = self.isolation() == Isolation::Serializable && !self.is_read_only();
        (!notes_nodes).then_some(Unordered(self))
    }
}

impl Unordered<'_> {
    /// Visits the records of `table` in no order, from the position `from` on (the default is the
    /// beginning), until `visit`, which is given their values, breaks. Returns the position at
    /// which the scan resumes, `None` if there are no more records. To meet each record once, the
    /// pieces of a scan are made at one snapshot ([`Transaction::statement_snapshot`]), and the
    /// transaction inserts nothing in between.
    ///
    /// # Errors
    /// Fails as [`Transaction::scan`] does.
    ///
    /// # Suspension
    /// Memory waits. Dropping the future is harmless.
    pub async fn scan<P: Policy>(
        self,
        table: &Table,
        from: ScanPosition,
        mut visit: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Option<ScanPosition>, Error> {
        let transaction = self.0;
        let statement = transaction.statement(table)?;
        let end = table.records.taken();
        let (mut from, mut thawed) = (from.0, Vec::new());
        loop {
            let (thawed_now, visit) = (&thawed[..], &mut visit);
            let part = leaf!(
                P,
                statement.unordered_body(table, from..end, thawed_now, visit)
            );
            let total = &transaction.context.scanned;
            total.set(total.get() + part.scanned);
            // A sibling under the same `join` may have aborted the transaction.
            transaction.check_open()?;
            from = match part.stop {
                Stop::End => return Ok(None),
                Stop::Told(next) => return Ok(Some(ScanPosition(next))),
                Stop::Cold { at, wanted } => {
                    let session = &transaction.session;
                    let fetched = session.fetch_all(&wanted, transaction.priority()).await;
                    thawed = transaction.fetched(fetched)?;
                    at
                }
                Stop::Cut(at) => {
                    yield_now().await;
                    at
                }
            };
        }
    }
}

/// Progress of a piece of a scan, and the reason for its end.
struct Part {
    scanned: u64,
    stop: Stop,
}

enum Stop {
    End,
    Told(u64),
    /// The task's turn is over: even many slots may have no record that is shown.
    Cut(u64),
    /// The record at `at` has to be fetched, and others behind it.
    Cold {
        at: u64,
        wanted: Vec<ColdAddress>,
    },
}

impl Statement<'_> {
    #[inline(always)]
    async fn unordered_body<P: Policy>(
        &self,
        table: &Table,
        rids: std::ops::Range<u64>,
        thawed: &[Fetched],
        visit: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Part {
        let transaction = self.transaction;
        transaction.note_scan();
        let snapshot = transaction.context.snapshot();
        let session = &*transaction.session;
        let bytes = table.prefetch_bytes();
        let (mut next, mut scanned) = (rids.start, 0);
        while next < rids.end {
            // Long scans must not hold reclamation back.
            let _pin = session.memory.pin();
            for _ in 0..CHUNKS_PER_PIN {
                let end = rids.end.min(next / CHUNK * CHUNK + CHUNK);
                if P::MAY_SUSPEND || P::PREFETCHES {
                    fetch_chunk::<P>(table, next..end, bytes).await;
                }
                while next < end {
                    let slot = table.records.slot(Rid(next));
                    let visible = match slot.head() {
                        Head::Version(head) => match transaction.look(slot, head, snapshot) {
                            Look::Over(visible) => Ok(visible),
                            look => transaction.look_further::<P>(slot, look, snapshot).await,
                        },
                        Head::Cold(address) => Err(address),
                        Head::Unused | Head::Dead => {
                            next += 1;
                            continue;
                        }
                    };
                    let stored = match &visible {
                        Ok(visible) => {
                            transaction.note(slot, *visible);
                            visible.as_ref().and_then(Version::payload)
                        }
                        Err(address) => {
                            let Some(thawed) = thawed.iter().find(|one| one.address == *address)
                            else {
                                let wanted = cold_in(table, next..end);
                                let stop = Stop::Cold { at: next, wanted };
                                return Part { scanned, stop };
                            };
                            transaction.note_cold(slot, thawed.begin);
                            Some(thawed.stored())
                        }
                    };
                    next += 1;
                    if let Some(worth) = stored.and_then(|stored| transaction.worth(table, stored))
                    {
                        scanned += 1;
                        if visit(worth.value).is_break() {
                            let stop = Stop::Told(next);
                            return Part { scanned, stop };
                        }
                    }
                }
                if next >= rids.end {
                    break;
                }
            }
            if next < rids.end && (P::MAY_SUSPEND || P::PREFETCHES) && turn_is_over() {
                let stop = Stop::Cut(next);
                return Part { scanned, stop };
            }
        }
        let stop = Stop::End;
        Part { scanned, stop }
    }
}

/// Fetches the newest versions of some neighbours into the cache.
#[inline(always)]
async fn fetch_chunk<P: Policy>(table: &Table, rids: std::ops::Range<u64>, bytes: usize) {
    let mut last: Option<Version> = None;
    for rid in rids {
        if let Some(version) = table.records.slot(Rid(rid)).version() {
            P::prefetch(version.address(), bytes);
            last = Some(version);
        }
    }
    if let Some(version) = last {
        let point = Point::new("engine: versions of a chunk");
        P::touch(point, version.address(), 8).await;
    }
}

#[cold]
fn cold_in(table: &Table, rids: std::ops::Range<u64>) -> Vec<ColdAddress> {
    let heads = rids.map(|rid| table.records.slot(Rid(rid)).head());
    let cold = heads.filter_map(|head| match head {
        Head::Cold(address) => Some(address),
        _ => None,
    });
    cold.collect()
}
