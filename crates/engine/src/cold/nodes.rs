//! Count of the index nodes that name cold records only: the nodes that would leave memory as well,
//! if ranges of keys did (`docs/design/cold-tier.md`, "The index"). The counts are for information;
//! the engine decides nothing by them.

use std::{ops::Bound, rc::Rc};

use index::Direction;
use interleave::{Prefetching, run_inline};

use super::address_in;
use crate::{indirection::Rid, session::Session, table::Table, transaction::Isolation};

/// Nodes that are looked at under one pin.
const NODES_PER_PIN: usize = 64;

/// Border nodes of the primary indexes, which name a few records each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColdNodes {
    /// Nodes that name records.
    pub nodes: u64,
    /// Nodes that name cold records only.
    pub cold_nodes: u64,
    /// Records that all nodes name.
    pub records: u64,
    /// Cold records among them.
    pub cold_records: u64,
    /// Records named by nodes of cold records only.
    pub records_of_cold_nodes: u64,
}

impl Session {
    /// Counts the nodes and records of the primary indexes of all tables.
    ///
    /// # Suspension
    /// Yields to other tasks now and then.
    pub async fn count_cold_nodes(self: &Rc<Self>) -> ColdNodes {
        let mut counts = ColdNodes::default();
        for table in self.database.catalog.live_tables() {
            let mut after = None;
            loop {
                // While the snapshot is open, a table that is found stays.
                let Ok(snapshot) = self.begin(Isolation::Snapshot) else {
                    return counts;
                };
                after = match self.database.table_by_number(table.number()) {
                    Some(table) => run_inline(self.count_some_nodes(&table, after, &mut counts)),
                    None => None,
                };
                snapshot.release();
                interleave::yield_now().await;
                if after.is_none() {
                    break;
                }
            }
        }
        counts
    }

    /// Counts some nodes, and returns the key behind which to go on; `None` at the end.
    async fn count_some_nodes(
        &self,
        table: &Table,
        after: Option<Vec<u8>>,
        counts: &mut ColdNodes,
    ) -> Option<Vec<u8>> {
        let mut batch = self.batches.lend();
        let from = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let all = (from, Bound::Unbounded);
        let mut scan = table.index.scan(all, Direction::Forward);
        let pin = self.memory.pin();
        for _ in 0..NODES_PER_PIN {
            if !scan.next::<Prefetching>(&pin, &mut batch).await {
                return None;
            }
            let slots = batch.iter().map(|(_, rid)| table.records.slot(Rid(rid)));
            let cold = slots.filter(|slot| address_in(slot).is_some()).count() as u64;
            let records = batch.len() as u64;
            if records == 0 {
                continue;
            }
            counts.nodes += 1;
            counts.records += records;
            counts.cold_records += cold;
            if cold == records {
                counts.cold_nodes += 1;
                counts.records_of_cold_nodes += records;
            }
        }
        batch.iter().last().map(|(key, _)| key.to_vec())
    }
}
