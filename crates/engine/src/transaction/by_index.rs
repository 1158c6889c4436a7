//! Reads by index: an entry leads to its record by RID, without the table's own index; covering
//! scans read entries alone.
//!
//! Entries and records are read by the bodies that read tables (`read.rs`, `scan.rs`), at one
//! snapshot.

use std::ops::{Bound, ControlFlow};

use index::Direction;
use interleave::{Policy, leaf, turn_is_over};

use super::{
    Statement, Transaction,
    read::Name,
    scan::{Rest, Scanned, Stop, check_range, fetch_records, stop_before},
};
use crate::{
    cold::Fetched,
    error::{Abort, Error},
    indirection::{Head, Rid, Slot},
    secondary::{
        Index, IndexState,
        entry::{self, Entry, Gathered},
    },
    table::Table,
    ttl::Worth,
};

/// Number of entries gathered before their records are fetched, in the first round. Small, because
/// many scans end early.
const FIRST_ROWS: usize = 16;
/// Number of entries gathered in each later round.
const ROWS: usize = 64;

impl Transaction {
    /// Reads the record that has `key` in the unique `index`: `read` is given its primary key and
    /// its value.
    ///
    /// # Errors
    /// [`Error::IndexNotReady`], [`Error::IndexNotUnique`]; [`Abort::SnapshotTooOld`] if the
    /// transaction began before the index was ready; any error of [`Transaction::get`].
    ///
    /// # Suspension
    /// Memory waits. Dropping the future is harmless.
    pub fn get_by<P: Policy, R>(
        &self,
        index: &Index,
        key: &[u8],
        read: impl FnOnce(&[u8], &[u8]) -> R,
    ) -> impl Future<Output = Result<Option<R>, Error>> {
        self.get_by_key::<P, R>(index, key, false, read)
    }

    /// Reads the record that has `key` in the unique `index` and is to be written or locked next
    /// (see [`Transaction::find_row`]): `read` is given its primary key and its value.
    ///
    /// # Errors
    /// Fails as [`Transaction::get_by`] does.
    ///
    /// # Suspension
    /// Memory waits. Dropping the future is harmless.
    pub fn find_row_by<P: Policy, R>(
        &self,
        index: &Index,
        key: &[u8],
        read: impl FnOnce(&[u8], &[u8]) -> R,
    ) -> impl Future<Output = Result<Option<R>, Error>> {
        self.get_by_key::<P, R>(index, key, true, read)
    }

    async fn get_by_key<P: Policy, R>(
        &self,
        index: &Index,
        key: &[u8],
        to_write: bool,
        read: impl FnOnce(&[u8], &[u8]) -> R,
    ) -> Result<Option<R>, Error> {
        if key.len() > crate::KEY_BYTES_MAX {
            return Err(Error::KeyTooLong { bytes: key.len() });
        }
        if !index.core.options.unique {
            return Err(Error::IndexNotUnique);
        }
        let statement = self.statement_by(index)?;
        let reads = &self.context.reads;
        reads.set(reads.get() + 1);
        let (mut read, mut output) = (Some(read), None);
        let mut show = |primary_key: &[u8], value: &[u8]| {
            output = read.take().map(|read| read(primary_key, value));
        };
        let elsewhere = leaf!(P, statement.get_by_body(index, key, to_write, &mut show));
        self.check_open()?;
        if let Some((slot, payload)) = elsewhere {
            let entry = Entry::decode(&payload);
            let mut show = |worth: Worth<'_>| show(entry.primary_key, worth.value);
            let name = Name::Rid(entry.rid);
            let body = statement.get_elsewhere(&index.base, name, slot, &mut show);
            body.await?;
        }
        Ok(output)
    }

    /// Visits the records of `index` whose index keys lie in `range`, in the order of their index
    /// keys, the transaction's own writes included, until `visit` breaks: `visit` is given index
    /// key, primary key and value. Returns the number of records visited. Records with equal index
    /// keys come in a fixed but unspecified order.
    ///
    /// # Errors
    /// [`Error::IndexNotReady`]; [`Abort::SnapshotTooOld`] if the transaction began before the
    /// index was ready; any error of [`Transaction::scan`].
    ///
    /// # Suspension
    /// Memory waits. Dropping the future is harmless.
    pub async fn scan_by<P: Policy>(
        &self,
        index: &Index,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        mut visit: impl FnMut(&[u8], &[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64, Error> {
        let visit = |_: IndexPosition<'_>, key: &[u8], primary: &[u8], value: &[u8]| {
            visit(key, primary, value)
        };
        self.scan_by_from::<P>(index, range, direction, None, visit)
            .await
    }

    /// Visits records like [`Transaction::scan_by`], beginning behind `after`, a position of an
    /// earlier scan of the same range in the same direction. `visit` is also given the position of
    /// each record, so that a scan can stop and resume anywhere, even among records with equal
    /// index keys.
    ///
    /// # Errors
    /// Fails as [`Transaction::scan_by`] does.
    ///
    /// # Suspension
    /// Memory waits. Dropping the future is harmless.
    pub async fn scan_by_from<P: Policy>(
        &self,
        index: &Index,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        after: Option<IndexPosition<'_>>,
        mut visit: impl FnMut(IndexPosition<'_>, &[u8], &[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64, Error> {
        check_range(range)?;
        let statement = self.statement_by(index)?;
        let (lower, upper) = entry::encode_range(index.core.options, range);
        let mut range = (
            lower.as_ref().map(Vec::as_slice),
            upper.as_ref().map(Vec::as_slice),
        );
        if let Some(IndexPosition(entry)) = after {
            match direction {
                Direction::Forward => range.0 = Bound::Excluded(entry),
                Direction::Backward => range.1 = Bound::Excluded(entry),
            }
        }
        let mut rest = Rest::new(range, direction);
        loop {
            let (range, thawed, visit) = (rest.range(), rest.thawed(), &mut visit);
            let part = leaf!(
                P,
                statement.scan_by_body(index, range, direction, thawed, visit)
            );
            if !rest.goes_on(self, part).await? {
                return Ok(rest.scanned());
            }
        }
    }

    /// Visits the entries of `index` in `range` without touching the table, until `visit` breaks:
    /// `visit` is given index key, primary key and the bytes that the index covers. Returns the
    /// number of entries visited.
    ///
    /// # Errors
    /// Fails as [`Transaction::scan_by`] does.
    ///
    /// # Suspension
    /// Memory waits. Dropping the future is harmless.
    pub async fn scan_covered<P: Policy>(
        &self,
        index: &Index,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        mut visit: impl FnMut(&[u8], &[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64, Error> {
        check_range(range)?;
        let statement = self.statement_by(index)?;
        let options = index.core.options;
        let (lower, upper) = entry::encode_range(options, range);
        let range = (
            lower.as_ref().map(Vec::as_slice),
            upper.as_ref().map(Vec::as_slice),
        );
        let mut undelimited = Vec::new();
        let mut visit = |entry_key: &[u8], _: Rid, payload: &[u8]| {
            let key = entry::decode_key(options, entry_key, &mut undelimited);
            let entry = Entry::decode(payload);
            visit(key, entry.primary_key, entry.covered)
        };
        let entries = &*index.core.entries;
        let mut rest = Rest::new(range, direction);
        loop {
            let (range, thawed, visit) = (rest.range(), rest.thawed(), &mut visit);
            let part = leaf!(
                P,
                statement.scan_body(entries, range, direction, thawed, visit)
            );
            // Entries do not become cold: the scan has stopped because its turn was over.
            if !rest.goes_on(self, part).await? {
                return Ok(rest.scanned());
            }
        }
    }

    /// Returns the index that takes the place of `index` if its table was truncated: the index of
    /// the same name.
    ///
    /// # Errors
    /// [`Error::TableDropped`]; [`Error::IndexNotReady`] if the table has no such index.
    pub fn current_index(&self, index: &Index) -> Result<Index, Error> {
        let base = self.current(&index.base)?;
        index.of(&base).ok_or(Error::IndexNotReady)
    }

    /// Opens an operation that reads by `index`.
    fn statement_by(&self, index: &Index) -> Result<Statement<'_>, Error> {
        let statement = self.statement(&index.base)?;
        if index.state() == IndexState::Building && self.reads_own_index(&index.core) {
            return Ok(statement);
        }
        if index.state() != IndexState::Ready {
            return Err(Error::IndexNotReady);
        }
        if !index.core.is_complete_for(self.context.snapshot()) {
            return Err(self.doom(Abort::SnapshotTooOld));
        }
        Ok(statement)
    }
}

impl Statement<'_> {
    /// Reads by `key`. Returns the slot and the entry's payload if the record is not in memory.
    async fn get_by_body<'t, P: Policy>(
        &self,
        index: &'t Index,
        key: &[u8],
        to_write: bool,
        read: impl FnOnce(&[u8], &[u8]),
    ) -> Option<(&'t Slot, Box<[u8]>)> {
        let mut scratch = self.transaction.session.scratch.lend();
        let payload = &mut scratch.payload;
        payload.clear();
        // Copied: a sibling under a `join` may rewrite an entry of its own.
        let mut is_found = false;
        let copy = |entry: Worth<'_>| {
            is_found = true;
            payload.extend_from_slice(entry.value);
        };
        // Entries do not become cold.
        self.get_body::<P>(&index.core.entries, Name::Key(key), copy)
            .await;
        if !is_found {
            return None;
        }
        let entry = Entry::decode(payload);
        let read = |worth: Worth<'_>| read(entry.primary_key, worth.value);
        let name = match to_write {
            true => Name::RidToWrite(entry.rid, entry.primary_key),
            false => Name::Rid(entry.rid),
        };
        let body = self.get_body::<P>(&index.base, name, read);
        let slot = body.await?;
        Some((slot, payload.as_slice().into()))
    }

    /// Scans the entries in `range`, a range of entry keys. A scan gathers some entries; their
    /// records are fetched together; the next scan begins after the last entry.
    async fn scan_by_body<P: Policy>(
        &self,
        index: &Index,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        thawed: &[Fetched],
        mut visit: impl FnMut(IndexPosition<'_>, &[u8], &[u8], &[u8]) -> ControlFlow<()>,
    ) -> Scanned {
        let (base, core) = (&*index.base, &*index.core);
        let (mut lower, mut upper) = (range.0.map(<[u8]>::to_vec), range.1.map(<[u8]>::to_vec));
        let mut rows = Gathered::default();
        let mut undelimited = Vec::new();
        let (mut visited, mut rows_max) = (0, FIRST_ROWS);
        loop {
            rows.clear();
            let bounds = (
                lower.as_ref().map(Vec::as_slice),
                upper.as_ref().map(Vec::as_slice),
            );
            let mut gather = |entry_key: &[u8], _: Rid, payload: &[u8]| {
                rows.push(Entry::rid(payload), entry_key, payload);
                match rows.len() < rows_max {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            };
            let entries = &core.entries;
            let gathered = self
                .scan_body::<P>(entries, bounds, direction, &[], &mut gather)
                .await;
            if P::MAY_SUSPEND || P::PREFETCHES {
                fetch_records::<P>(base, rows.rids()).await;
            }
            for (at, (_, entry_key, payload)) in rows.iter().enumerate() {
                let entry = Entry::decode(payload);
                let key = entry::decode_key(core.options, entry_key, &mut undelimited);
                let mut flow = ControlFlow::Continue(());
                let read = |worth: Worth<'_>| {
                    visited += 1;
                    let position = IndexPosition(entry_key);
                    flow = visit(position, key, entry.primary_key, worth.value);
                };
                let stop = match thawed_of(base, entry.rid, thawed) {
                    Some((slot, one)) => {
                        let is_shown = self.show_fetched(base, slot, one, read);
                        (!is_shown).then_some(())
                    }
                    None => {
                        let name = Name::Fetched(entry.rid);
                        self.get_body::<P>(base, name, read).await.map(drop)
                    }
                };
                let stop = stop.map(|()| stop_before(base, rows.rids().skip(at), entry_key));
                if stop.is_some() || flow.is_break() {
                    let scanned = visited;
                    return Scanned { scanned, stop };
                }
            }
            // The range has ended, or the task's turn was over while entries were gathered.
            if rows.len() < rows_max {
                let (scanned, stop) = (visited, gathered.stop);
                return Scanned { scanned, stop };
            }
            rows_max = ROWS;
            let last = rows.iter().last().expect("rows were gathered").1.to_vec();
            if (P::MAY_SUSPEND || P::PREFETCHES) && turn_is_over() {
                let stop = Some(Stop {
                    key: last,
                    behind: true,
                    wanted: Vec::new(),
                });
                let scanned = visited;
                return Scanned { scanned, stop };
            }
            match direction {
                Direction::Forward => lower = Bound::Excluded(last),
                Direction::Backward => upper = Bound::Excluded(last),
            }
        }
    }
}

/// Position of a scan by an index ([`Transaction::scan_by_from`]), which can be kept as bytes. The
/// bytes are valid only for the same index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexPosition<'e>(&'e [u8]);

impl<'e> IndexPosition<'e> {
    /// Returns the position with these `bytes` ([`IndexPosition::bytes`]).
    pub fn new(bytes: &'e [u8]) -> IndexPosition<'e> {
        IndexPosition(bytes)
    }

    /// Returns the position as bytes.
    pub fn bytes(self) -> &'e [u8] {
        self.0
    }
}

/// Returns the slot of record `rid` and what was fetched of it, if the record is still there.
fn thawed_of<'f>(
    table: &'f Table,
    rid: Rid,
    thawed: &'f [Fetched],
) -> Option<(&'f Slot, &'f Fetched)> {
    if thawed.is_empty() {
        return None;
    }
    let slot = table.records.slot(rid);
    let Head::Cold(address) = slot.head() else {
        return None;
    };
    let thawed = Fetched::find(thawed, address)?;
    Some((slot, thawed))
}
