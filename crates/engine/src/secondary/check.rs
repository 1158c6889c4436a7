//! Comparing an index with its table, at one snapshot.

use std::{
    ops::{Bound, ControlFlow},
    rc::Rc,
};

use index::Direction;
use interleave::Policy;

use crate::{
    error::Error,
    indirection::Rid,
    secondary::{
        Index, IndexState,
        entry::{self, Entry, IndexKeys},
    },
    session::Session,
    table::Table,
    transaction::{Isolation, Transaction},
};

/// Number of records or entries read at a time.
const CHUNK: usize = 256;
/// Maximum flaws described; all are counted.
const FLAWS_MAX: usize = 100;

/// Inconsistency of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexFlaw {
    /// A record's entry is missing, another's, or out of date.
    Entry {
        /// Index key.
        key: Box<[u8]>,
        /// Primary key of the record.
        primary_key: Box<[u8]>,
    },
    /// An entry belongs to no record.
    Stray {
        /// Index key.
        key: Box<[u8]>,
        /// Primary key of the record that the entry names.
        primary_key: Box<[u8]>,
    },
}

/// Result of a comparison of an index with its table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexReport {
    /// Number of records of the table.
    pub records: u64,
    /// Number of entries of the index.
    pub entries: u64,
    /// Number of flaws.
    pub flaw_count: u64,
    /// First hundred of the flaws.
    pub flaws: Vec<IndexFlaw>,
}

impl IndexReport {
    fn note(&mut self, flaw: IndexFlaw) {
        self.flaw_count += 1;
        if self.flaws.len() < FLAWS_MAX {
            self.flaws.push(flaw);
        }
    }
}

/// A few records of a table: key, RID, value.
type Chunk = Vec<(Vec<u8>, Rid, Vec<u8>)>;

impl Session {
    /// Compares `index` with its table: every record must have exactly the entries that its key and
    /// value give, and every entry its record. Writers go on meanwhile; the snapshot is held
    /// throughout.
    ///
    /// # Errors
    /// [`Error::IndexNotReady`]; any error of [`Transaction::scan`].
    ///
    /// # Suspension
    /// Memory waits.
    pub async fn check_index<P: Policy>(
        self: &Rc<Self>,
        index: &Index,
    ) -> Result<IndexReport, Error> {
        if index.state() != IndexState::Ready {
            return Err(Error::IndexNotReady);
        }
        let transaction = self.begin(Isolation::Snapshot)?;
        // Expired records must agree too: a transaction with an earlier present would see them.
        transaction.read_stored();
        let mut report = IndexReport::default();
        let core = &*index.core;
        let mut keys = IndexKeys::default();
        let (mut entry_key, mut payload) = (Vec::new(), Vec::new());
        let mut after = None;
        while let Some(chunk) = next_chunk::<P>(&transaction, &index.base, &mut after).await? {
            for (primary_key, rid, stored) in chunk {
                report.records += 1;
                let (expiry, value) = index.base.split(&stored);
                keys.clear();
                (core.extract)(&primary_key, value, &mut keys);
                for (key, covered) in keys.iter() {
                    entry::encode_key(core.options, key, rid, &mut entry_key);
                    let entry = Entry {
                        rid,
                        primary_key: &primary_key,
                        covered,
                    };
                    entry.encode(expiry, &mut payload);
                    let found = transaction
                        .get::<P, _>(&core.entries, &entry_key, |found| found == payload);
                    if found.await? != Some(true) {
                        report.note(IndexFlaw::Entry {
                            key: key.into(),
                            primary_key: primary_key.as_slice().into(),
                        });
                    }
                }
            }
        }
        let mut undelimited = Vec::new();
        let mut after = None;
        while let Some(chunk) = next_chunk::<P>(&transaction, &core.entries, &mut after).await? {
            for (entry_key, _, stored) in chunk {
                report.entries += 1;
                let entry = Entry::decode(core.entries.split(&stored).1);
                let key = entry::decode_key(core.options, &entry_key, &mut undelimited);
                keys.clear();
                let extract = |stored: &[u8]| {
                    let value = index.base.split(stored).1;
                    (core.extract)(entry.primary_key, value, &mut keys);
                };
                transaction
                    .get::<P, _>(&index.base, entry.primary_key, extract)
                    .await?;
                if keys.find(key).is_none() {
                    report.note(IndexFlaw::Stray {
                        key: key.into(),
                        primary_key: entry.primary_key.into(),
                    });
                }
            }
        }
        transaction.release();
        Ok(report)
    }
}

/// Returns the next records of a table after the key `after`, which is moved on; `None` at the end.
async fn next_chunk<P: Policy>(
    transaction: &Transaction,
    table: &Table,
    after: &mut Option<Vec<u8>>,
) -> Result<Option<Chunk>, Error> {
    let mut chunk = Chunk::new();
    let from = after.as_deref();
    let from = from.map_or(Bound::Unbounded, Bound::Excluded);
    transaction
        .scan_records::<P>(
            table,
            (from, Bound::Unbounded),
            Direction::Forward,
            |key: &[u8], rid, value: &[u8]| {
                chunk.push((key.to_vec(), rid, value.to_vec()));
                match chunk.len() < CHUNK {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            },
        )
        .await?;
    let Some((last, ..)) = chunk.last() else {
        return Ok(None);
    };
    *after = Some(last.clone());
    Ok(Some(chunk))
}
