//! Ordered scans.
//!
//! A scan goes border node by border node. The records of a node are fetched together: first all
//! their slots are prefetched, then all the versions, so that a node of fifteen records costs two
//! waits, not thirty.

use std::ops::{Bound, ControlFlow};

use index::{Batch, Direction};
use interleave::{Point, Policy, leaf, together, turn_is_over, yield_now};

use super::{Statement, Transaction, visibility::Look};
use crate::{
    cold::{ColdAddress, Fetched},
    error::Error,
    indirection::{Head, Rid},
    table::Table,
    version::Version,
};

/// Number of border nodes visited under one pin.
const NODES_PER_PIN: usize = 64;

impl Transaction {
    /// Visits the records whose keys lie in `range` in order, the transaction's own writes
    /// included, until `visit` breaks. Returns the number of records visited.
    ///
    /// # Errors
    /// [`Error::KeyTooLong`]; [`Error::Abort`] and [`Error::Ended`] if the
    /// transaction is over.
    ///
    /// # Suspension
    /// Memory waits. Dropping the future is harmless.
    pub async fn scan<P: Policy>(
        &self,
        table: &Table,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64, Error> {
        let visit = |key: &[u8], _: Rid, value: &[u8]| visit(key, value);
        self.scan_records::<P>(table, range, direction, visit).await
    }

    /// Visits records as [`Transaction::scan`] does, with cold ones that were read before.
    ///
    /// # Errors
    /// As those of [`Transaction::scan`].
    pub async fn scan_thawed<P: Policy>(
        &self,
        table: &Table,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        thawed: &Thawed,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64, Error> {
        let visit = |key: &[u8], _: Rid, value: &[u8]| visit(key, value);
        self.scan_records_with::<P>(table, range, direction, &thawed.records, visit)
            .await
    }

    /// Reads cold records of some ranges together, for a caller that scans these ranges one after the other: their
    /// reads overlap. Records behind the first `VISITED_MAX`, or more than `THAWED_MAX` cold ones, are left to the
    /// scans, and so are those of a transaction whose reads are certified, and of ranges with a damaged record.
    ///
    /// # Errors
    /// As those of [`Transaction::scan`], but for [`Error::ColdRecord`].
    ///
    /// # Suspension
    /// Memory and device waits. Dropping the future is harmless.
    pub async fn thaw_ranges<'r, P: Policy>(
        &self,
        table: &Table,
        ranges: impl Iterator<Item = (Bound<&'r [u8]>, Bound<&'r [u8]>)>,
    ) -> Result<Thawed, Error> {
        // The files of cold records stay as long as the snapshot by which they were found.
        let _snapshot = self.statement_snapshot()?;
        let (mut cold, mut thawed) = (Cold::default(), Thawed::default());
        let is_certified = self.context.dependencies.is_for_certification();
        for range in ranges {
            thawed.ranges += 1;
            if !is_certified {
                self.scan_records::<P>(table, range, Direction::Forward, &mut cold)
                    .await?;
            }
            if cold.is_full() {
                break;
            }
        }
        if !cold.addresses.is_empty() {
            let records = self.session.fetch_all(&cold.addresses, self.priority());
            thawed.records = match records.await {
                // A scan that comes to the record fails.
                Err(Error::ColdRecord { .. }) => Vec::new(),
                records => self.fetched(records)?,
            };
            self.check_open()?;
        }
        Ok(thawed)
    }

    /// Returns how often scans of the transaction have stopped to wait for cold records.
    pub fn cold_stops(&self) -> u64 {
        self.context.cold_stops.get()
    }

    /// Visits records with their RIDs, as [`Transaction::scan`] visits them without.
    pub(crate) async fn scan_records<P: Policy>(
        &self,
        table: &Table,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        visit: impl Visit,
    ) -> Result<u64, Error> {
        self.scan_records_with::<P>(table, range, direction, &[], visit)
            .await
    }

    /// Visits records as [`Transaction::scan_records`] does; `before` has cold ones that were read before.
    async fn scan_records_with<P: Policy>(
        &self,
        table: &Table,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        before: &[Fetched],
        mut visit: impl Visit,
    ) -> Result<u64, Error> {
        check_range(range)?;
        let statement = self.statement(table)?;
        let mut rest = Rest::new(range, direction);
        loop {
            let thawed = match rest.thawed() {
                [] => before,
                thawed => thawed,
            };
            let (range, visit) = (rest.range(), &mut visit);
            let part = leaf!(
                P,
                statement.scan_body(table, range, direction, thawed, visit)
            );
            if !rest.goes_on(self, part).await? {
                return Ok(rest.scanned());
            }
        }
    }

    /// Visits records like [`Transaction::scan_records`], for a caller that runs alone: waits for
    /// memory within one turn, and for the device as other scans do.
    pub(crate) async fn scan_records_apart<P: Policy>(
        &self,
        table: &Table,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        mut visit: impl FnMut(&[u8], Rid, &[u8]) -> ControlFlow<()>,
    ) -> Result<u64, Error> {
        let statement = self.statement(table)?;
        let direction = Direction::Forward;
        let mut rest = Rest::new(range, direction);
        loop {
            let (range, thawed, visit) = (rest.range(), rest.thawed(), &mut visit);
            let body = statement.scan_body::<P>(table, range, direction, thawed, visit);
            let mut part = None;
            together::<P, _>([body], |scanned| part = Some(scanned)).await;
            let part = part.expect("`together` ends when all have ended");
            if !rest.goes_on(self, part).await? {
                return Ok(rest.scanned());
            }
        }
    }
}

/// Visitor of records.
pub(crate) trait Visit {
    /// Visits a record, as it is stored or without its expiry.
    fn visit(&mut self, key: &[u8], rid: Rid, value: &[u8]) -> ControlFlow<()>;

    /// Visits a cold record by its address. `None`: the record has to be fetched.
    fn visit_cold(&mut self, _key: &[u8], _address: ColdAddress) -> Option<ControlFlow<()>> {
        None
    }
}

impl<F: FnMut(&[u8], Rid, &[u8]) -> ControlFlow<()>> Visit for F {
    #[inline(always)]
    fn visit(&mut self, key: &[u8], rid: Rid, value: &[u8]) -> ControlFlow<()> {
        self(key, rid, value)
    }
}

/// Maximum number of cold records that are read together for ranges.
const THAWED_MAX: usize = 1 << 10;

/// Bytes of transfers, without what lies between records, with which no others are read together.
const THAWED_BYTES_MAX: u64 = 4 << 20;

/// Number of records, cold or not, behind which no cold ones are looked for.
const VISITED_MAX: usize = 4 << 10;

/// Cold records of some ranges ([`Transaction::thaw_ranges`]).
#[derive(Default)]
pub struct Thawed {
    records: Vec<Fetched>,
    ranges: usize,
}

impl Thawed {
    /// Returns the number of ranges whose cold records were looked for; those of the last one may not be complete.
    pub fn ranges(&self) -> usize {
        self.ranges
    }

    /// Returns whether there were no cold records.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

impl std::fmt::Debug for Thawed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Thawed")
            .field("records", &self.records.len())
            .field("ranges", &self.ranges)
            .finish()
    }
}

/// Visitor that takes the addresses of cold records.
#[derive(Default)]
struct Cold {
    addresses: Vec<ColdAddress>,
    bytes: u64,
    visited: usize,
}

impl Cold {
    fn is_full(&self) -> bool {
        self.addresses.len() >= THAWED_MAX
            || self.bytes >= THAWED_BYTES_MAX
            || self.visited >= VISITED_MAX
    }

    fn flow(&self) -> ControlFlow<()> {
        match self.is_full() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

impl Visit for &mut Cold {
    fn visit(&mut self, _: &[u8], _: Rid, _: &[u8]) -> ControlFlow<()> {
        self.visited += 1;
        self.flow()
    }

    fn visit_cold(&mut self, _: &[u8], address: ColdAddress) -> Option<ControlFlow<()>> {
        self.addresses.push(address);
        self.bytes += address.extent().bytes as u64;
        self.visited += 1;
        Some(self.flow())
    }
}

/// Remainder of a range that is scanned.
pub(super) struct Rest<'r> {
    range: (Bound<&'r [u8]>, Bound<&'r [u8]>),
    direction: Direction,
    scanned: u64,
    /// Bound at which the scan resumes after a stop; `thawed` is what was fetched there.
    next: Option<Bound<Vec<u8>>>,
    thawed: Vec<Fetched>,
}

impl<'r> Rest<'r> {
    pub(super) fn new(range: (Bound<&'r [u8]>, Bound<&'r [u8]>), direction: Direction) -> Rest<'r> {
        Rest {
            range,
            direction,
            scanned: 0,
            next: None,
            thawed: Vec::new(),
        }
    }

    pub(super) fn range(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        let next = self
            .next
            .as_ref()
            .map(|next| next.as_ref().map(Vec::as_slice));
        match (next, self.direction) {
            (None, _) => self.range,
            (Some(next), Direction::Forward) => (next, self.range.1),
            (Some(next), Direction::Backward) => (self.range.0, next),
        }
    }

    pub(super) fn thawed(&self) -> &[Fetched] {
        &self.thawed
    }

    pub(super) fn scanned(&self) -> u64 {
        self.scanned
    }

    /// Notes how far the scan `part` came, and fetches what it stopped at. Returns whether the scan
    /// goes on.
    pub(super) async fn goes_on(
        &mut self,
        transaction: &Transaction,
        part: Scanned,
    ) -> Result<bool, Error> {
        self.scanned += part.scanned;
        let total = &transaction.context.scanned;
        total.set(total.get() + part.scanned);
        // A sibling under the same `join` may have aborted the transaction.
        transaction.check_open()?;
        let Some(stop) = part.stop else {
            return Ok(false);
        };
        self.next = Some(match stop.behind {
            true => Bound::Excluded(stop.key),
            false => Bound::Included(stop.key),
        });
        if stop.wanted.is_empty() {
            self.thawed = Vec::new();
            yield_now().await;
            return Ok(true);
        }
        let stops = &transaction.context.cold_stops;
        stops.set(stops.get() + 1);
        let thawed = transaction
            .session
            .fetch_all(&stop.wanted, transaction.priority());
        self.thawed = transaction.fetched(thawed.await)?;
        Ok(true)
    }
}

/// Progress of a scan.
pub(super) struct Scanned {
    /// Number of records visited.
    pub(super) scanned: u64,
    /// Reason why the scan stopped, unless its visitor or the range ended it.
    pub(super) stop: Option<Stop>,
}

/// Stop of a scan at a cold record, or at the end of the task's turn.
pub(super) struct Stop {
    /// Key at which the scan resumes.
    pub(super) key: Vec<u8>,
    /// Whether the scan resumes behind the key.
    pub(super) behind: bool,
    /// Records to fetch: the one at the key, and later ones. Empty if other tasks are merely to
    /// have a turn.
    pub(super) wanted: Vec<ColdAddress>,
}

/// Early end of a visit to a batch, at a place in the batch.
enum Halt {
    /// The visitor has ended the scan.
    Told(usize),
    /// The next record is cold.
    Cold(usize),
}

pub(super) fn check_range(range: (Bound<&[u8]>, Bound<&[u8]>)) -> Result<(), Error> {
    for bound in [range.0, range.1] {
        if let Bound::Included(key) | Bound::Excluded(key) = bound
            && key.len() > crate::KEY_BYTES_MAX
        {
            return Err(Error::KeyTooLong { bytes: key.len() });
        }
    }
    Ok(())
}

impl Statement<'_> {
    /// Visits records in order, up to a cold one that is not among `thawed`, or until the task's
    /// turn is over: even many nodes may have no record that is shown.
    #[inline(always)]
    pub(super) async fn scan_body<P: Policy>(
        &self,
        table: &Table,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        thawed: &[Fetched],
        visit: &mut impl Visit,
    ) -> Scanned {
        let transaction = self.transaction;
        transaction.note_scan();
        let session = &*transaction.session;
        let mut batch = session.batches.lend();
        let mut scan = table.index.scan(range, direction);
        let (mut scanned, mut has_visited) = (0, false);
        loop {
            let pin = session.memory.pin();
            for node in 0..NODES_PER_PIN {
                let tracker = transaction.tracker(table);
                if !scan.next_observed::<P, _>(&pin, &mut batch, tracker).await {
                    transaction.note_scanned(table, range, direction, None);
                    let stop = None;
                    return Scanned { scanned, stop };
                }
                if node == 0
                    && std::mem::replace(&mut has_visited, true)
                    && (P::MAY_SUSPEND || P::PREFETCHES)
                    && turn_is_over()
                    && !batch.is_empty()
                {
                    let (first, _) = batch.get(0);
                    transaction.note_scanned(table, range, direction, Some(first));
                    let (key, wanted) = (first.to_vec(), Vec::new());
                    let behind = false;
                    let stop = Some(Stop {
                        key,
                        behind,
                        wanted,
                    });
                    return Scanned { scanned, stop };
                }
                let flow = self
                    .visit_batch::<P>(table, &batch, thawed, visit, &mut scanned)
                    .await;
                if let ControlFlow::Break(halt) = flow {
                    let (Halt::Told(at) | Halt::Cold(at)) = halt;
                    let (last, _) = batch.get(at);
                    transaction.note_scanned(table, range, direction, Some(last));
                    let stop = match halt {
                        Halt::Told(_) => None,
                        Halt::Cold(at) => {
                            let rids = batch.iter().skip(at).map(|(_, rid)| Rid(rid));
                            Some(stop_before(table, rids, last))
                        }
                    };
                    return Scanned { scanned, stop };
                }
            }
            // Long scans must not hold reclamation back: the pin is dropped, and the scan finds its
            // way again if the epoch has moved on.
        }
    }

    /// Visits the records of a batch, until `visit` breaks or a record is cold. Breaks with the
    /// place.
    #[inline(always)]
    async fn visit_batch<P: Policy>(
        &self,
        table: &Table,
        batch: &Batch,
        thawed: &[Fetched],
        visit: &mut impl Visit,
        scanned: &mut u64,
    ) -> ControlFlow<Halt> {
        if P::MAY_SUSPEND || P::PREFETCHES {
            let rids = batch.iter().map(|(_, rid)| Rid(rid));
            fetch_records::<P>(table, rids).await;
        }
        let transaction = self.transaction;
        let snapshot = transaction.context.snapshot();
        for (at, (key, rid)) in batch.iter().enumerate() {
            let rid = Rid(rid);
            let slot = table.records.slot(rid);
            let visible = match slot.head() {
                Head::Version(head) => match transaction.look(slot, head, snapshot) {
                    Look::Over(visible) => Ok(visible),
                    look => transaction.look_further::<P>(slot, look, snapshot).await,
                },
                Head::Cold(address) => Err(address),
                Head::Unused | Head::Dead => continue,
            };
            let stored = match &visible {
                Ok(visible) => {
                    transaction.note(slot, *visible);
                    visible.as_ref().and_then(Version::payload)
                }
                Err(address) => {
                    match visit.visit_cold(key, *address) {
                        Some(ControlFlow::Break(())) => {
                            return ControlFlow::Break(Halt::Told(at));
                        }
                        Some(ControlFlow::Continue(())) => continue,
                        None => {}
                    }
                    let Some(thawed) = Fetched::find(thawed, *address) else {
                        return ControlFlow::Break(Halt::Cold(at));
                    };
                    transaction.note_cold(slot, thawed.begin);
                    Some(thawed.stored())
                }
            };
            if let Some(worth) = stored.and_then(|stored| transaction.worth(table, stored)) {
                *scanned += 1;
                if visit.visit(key, rid, worth.value).is_break() {
                    return ControlFlow::Break(Halt::Told(at));
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns the stop of a scan before `key`, whose record is cold. The stop names this record and
/// the cold ones after it, to be fetched with one wait for all.
#[cold]
pub(super) fn stop_before(table: &Table, rids: impl Iterator<Item = Rid>, key: &[u8]) -> Stop {
    let heads = rids.map(|rid| table.records.slot(rid).head());
    let wanted = heads.filter_map(|head| match head {
        Head::Cold(address) => Some(address),
        _ => None,
    });
    Stop {
        key: key.to_vec(),
        behind: false,
        wanted: wanted.collect(),
    }
}

/// Fetches the slots and newest versions of some records into the cache.
#[inline(always)]
pub(crate) async fn fetch_records<P: Policy>(
    table: &Table,
    rids: impl Iterator<Item = Rid> + Clone,
) {
    let mut last: *const u8 = std::ptr::null();
    for rid in rids.clone() {
        last = std::ptr::from_ref(table.records.slot(rid)).cast();
        P::prefetch(last, 8);
    }
    P::touch(Point::new("engine: slots of a batch"), last, 8).await;
    let mut newest: Option<Version> = None;
    let bytes = table.prefetch_bytes();
    for rid in rids {
        if let Head::Version(version) = table.records.slot(rid).head() {
            P::prefetch(version.address(), bytes);
            newest = Some(version);
        }
    }
    if let Some(version) = newest {
        P::touch(
            Point::new("engine: versions of a batch"),
            version.address(),
            8,
        )
        .await;
    }
}
