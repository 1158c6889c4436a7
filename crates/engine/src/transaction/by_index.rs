//! Reads by index: an entry leads to its record by RID, without the table's own
//! index; covering scans read entries alone.
//!
//! Entries and records are read by the bodies that read tables (`read.rs`,
//! `scan.rs`), at one snapshot.

use std::ops::{Bound, ControlFlow};

use index::Direction;
use interleave::{Policy, leaf};

use super::{Statement, Transaction, read::Name, scan::check_range};
use crate::{
    error::{Abort, Error},
    indirection::Rid,
    secondary::{
        Index, IndexState,
        entry::{self, Entry, Gathered},
    },
    ttl::Worth,
};

/// Entries gathered before their records are fetched: first, and later. The first
/// are few, because many scans end early.
const FIRST_ROWS: usize = 16;
const ROWS: usize = 64;

impl Transaction {
    /// Reads the record that has `key` in a unique index: `read` is given its primary
    /// key and its value.
    ///
    /// # Errors
    /// [`Error::IndexNotReady`], [`Error::IndexNotUnique`];
    /// [`Abort::SnapshotTooOld`] if the transaction began before the index was ready;
    /// as for [`Transaction::get`].
    ///
    /// # Suspension
    /// Memory waits. Dropping the future is harmless.
    pub async fn get_by<P: Policy, R>(
        &self,
        index: &Index,
        key: &[u8],
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
        let mut output = None;
        let read = |primary_key: &[u8], value: &[u8]| output = Some(read(primary_key, value));
        leaf!(P, statement.get_by_body(index, key, read));
        self.check_open()?;
        Ok(output)
    }

    /// Visits the records whose index keys lie between two keys, in the order of
    /// their index keys, the transaction's own writes included, until `visit` breaks:
    /// it is given index key, primary key and value. Returns the number visited.
    /// Records with the same index key come in an order of their own.
    ///
    /// # Errors
    /// [`Error::IndexNotReady`]; [`Abort::SnapshotTooOld`] if the transaction began
    /// before the index was ready; as for [`Transaction::scan`].
    ///
    /// # Suspension
    /// Memory waits. Dropping the future is harmless.
    pub async fn scan_by<P: Policy>(
        &self,
        index: &Index,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        visit: impl FnMut(&[u8], &[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64, Error> {
        check_range(range)?;
        let statement = self.statement_by(index)?;
        let visited = leaf!(P, statement.scan_by_body(index, range, direction, visit));
        let total = &self.context.scanned;
        total.set(total.get() + visited);
        self.check_open()?;
        Ok(visited)
    }

    /// As [`Transaction::scan_by`], without touching the table: `visit` is given index
    /// key, primary key and the bytes that the index covers.
    ///
    /// # Errors
    /// As for [`Transaction::scan_by`].
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
        let visit = |entry_key: &[u8], _: Rid, payload: &[u8]| {
            let key = entry::decode_key(options, entry_key, &mut undelimited);
            let entry = Entry::decode(payload);
            visit(key, entry.primary_key, entry.covered)
        };
        let entries = &*index.core.entries;
        let visited = leaf!(P, statement.scan_body(entries, range, direction, visit));
        let total = &self.context.scanned;
        total.set(total.get() + visited);
        self.check_open()?;
        Ok(visited)
    }

    /// What the transaction finds in place of an index whose table it cannot use any more:
    /// the one of the same name, after the table was truncated.
    ///
    /// # Errors
    /// [`Error::TableDropped`]; [`Error::IndexNotReady`] if the table has none.
    pub fn current_index(&self, index: &Index) -> Result<Index, Error> {
        let base = self.current(&index.base)?;
        index.of(&base).ok_or(Error::IndexNotReady)
    }

    /// Opens an operation that reads by `index`.
    fn statement_by(&self, index: &Index) -> Result<Statement<'_>, Error> {
        let statement = self.statement(&index.base)?;
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
    async fn get_by_body<P: Policy>(
        &self,
        index: &Index,
        key: &[u8],
        read: impl FnOnce(&[u8], &[u8]),
    ) {
        let mut scratch = self.transaction.session.scratch.lend();
        let payload = &mut scratch.payload;
        payload.clear();
        // Copied: a sibling under a `join` may rewrite an entry of its own.
        let copy = |entry: Worth<'_>| payload.extend_from_slice(entry.value);
        let found = self
            .get_body::<P>(&index.core.entries, Name::Key(key), copy)
            .await;
        if found.is_some() {
            let entry = Entry::decode(payload);
            let read = |worth: Worth<'_>| read(entry.primary_key, worth.value);
            self.get_body::<P>(&index.base, Name::Rid(entry.rid), read)
                .await;
        }
    }

    /// Entries are gathered by a scan that ends after some of them; then their
    /// records are fetched together; the next scan begins after the last.
    async fn scan_by_body<P: Policy>(
        &self,
        index: &Index,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        mut visit: impl FnMut(&[u8], &[u8], &[u8]) -> ControlFlow<()>,
    ) -> u64 {
        let (base, core) = (&*index.base, &*index.core);
        let (mut lower, mut upper) = entry::encode_range(core.options, range);
        let mut rows = Gathered::default();
        let mut undelimited = Vec::new();
        let (mut visited, mut rows_max) = (0, FIRST_ROWS);
        loop {
            rows.clear();
            let bounds = (
                lower.as_ref().map(Vec::as_slice),
                upper.as_ref().map(Vec::as_slice),
            );
            let gather = |entry_key: &[u8], _: Rid, payload: &[u8]| {
                rows.push(Entry::rid(payload), entry_key, payload);
                match rows.len() < rows_max {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            };
            self.scan_body::<P>(&core.entries, bounds, direction, gather)
                .await;
            if P::MAY_SUSPEND || P::PREFETCHES {
                self.fetch_records::<P>(base, rows.rids()).await;
            }
            for (_, entry_key, payload) in rows.iter() {
                let entry = Entry::decode(payload);
                let key = entry::decode_key(core.options, entry_key, &mut undelimited);
                let mut flow = ControlFlow::Continue(());
                let read = |worth: Worth<'_>| {
                    visited += 1;
                    flow = visit(key, entry.primary_key, worth.value);
                };
                self.get_body::<P>(base, Name::Fetched(entry.rid), read)
                    .await;
                if flow.is_break() {
                    return visited;
                }
            }
            if rows.len() < rows_max {
                return visited;
            }
            rows_max = ROWS;
            let last = rows.iter().last().expect("rows were gathered").1.to_vec();
            match direction {
                Direction::Forward => lower = Bound::Excluded(last),
                Direction::Backward => upper = Bound::Excluded(last),
            }
        }
    }
}
