//! Building an index within a transaction that has locked the table: `catalog/create_index.rs`.

use interleave::{Grouped, Policy, turn_is_over, yield_now};

use super::{
    BuildError, Extractor, Index, IndexCore, IndexOptions,
    build::{Batch, claim_all},
    reach::Extent,
};
use crate::{database::Database, error::Error, table::Table, transaction::Transaction};
use memory::Local;
use std::{ops::Bound, sync::Arc};

/// Number of records whose entries are claimed at a time.
const BATCH_RECORDS: usize = 64;

impl Index {
    /// Makes an index that is all within its builder's reach: a writer that finds it in a list
    /// maintains it.
    pub(crate) fn begin(
        database: &Database,
        local: &Local,
        base: &Arc<Table>,
        name: &str,
        number: u32,
        options: IndexOptions,
        extract: Extractor,
    ) -> Result<Index, Error> {
        let entries = database.derived.create(local, name, base.time_to_live())?;
        let core = IndexCore::new(Arc::from(name), number, options, extract, entries);
        core.reach.extend(Extent::All);
        let (base, core) = (base.clone(), Arc::new(core));
        Ok(Index { base, core })
    }
}

impl Transaction {
    /// Claims the entries of all records, as part of this transaction.
    ///
    /// # Errors
    /// [`BuildError::Duplicate`]; [`BuildError::Engine`]. Entries that were claimed stay.
    ///
    /// # Suspension
    /// Memory waits; other tasks have their turn between two batches, once this task's turn is
    /// over.
    pub(crate) async fn fill_index<P: Policy>(&self, index: &Index) -> Result<(), BuildError> {
        let mut batch = Batch::default();
        loop {
            let after = (batch.last_key.clone(), batch.records > 0);
            batch.clear();
            let from = match &after {
                (last, true) => Bound::Excluded(&last[..]),
                _ => Bound::Unbounded,
            };
            let visit = |key: &[u8], rid, stored: &[u8]| batch.add(index, key, rid, stored);
            let records = self.newest_in::<P>(&index.base, from, BATCH_RECORDS, visit);
            let is_all = records.await?;
            claim_all::<Grouped>(self, index, &batch.entries).await?;
            if is_all {
                return Ok(());
            }
            if turn_is_over() {
                yield_now().await;
            }
        }
    }
}
