//! RIDs in stock: runs taken from tables, and RIDs of removed records that wait out their grace
//! period.

use std::{collections::BTreeMap, ops::Range};

use memory::{Exhausted, Local, Parts, PartsQueue, Stamp};

use crate::{indirection::Rid, table::Table};

/// Stock of RIDs of a session.
#[derive(Default)]
pub(crate) struct RidStock {
    tables: BTreeMap<u32, Stock>,
    waiting: PartsQueue<(Stamp, u32, Rid)>,
}

#[derive(Default)]
struct Stock {
    run: Range<u64>,
    free: Parts<Rid>,
}

impl RidStock {
    /// Takes a RID whose slot is unused.
    pub(crate) fn take(&mut self, table: &Table, local: &Local) -> Result<Rid, Exhausted> {
        let stock = self.tables.entry(table.number()).or_default();
        if let Some(rid) = stock.free.pop() {
            return Ok(rid);
        }
        if stock.run.is_empty() {
            stock.run = table.records.take_run(local)?;
        }
        stock.run.next().map(Rid).ok_or(Exhausted)
    }

    /// Takes back a RID that was never published.
    pub(crate) fn put_back(&mut self, table: u32, rid: Rid) {
        self.tables.entry(table).or_default().free.push(rid);
    }

    /// Takes back a RID whose record is dead and whose index entry is gone; readers that are pinned
    /// now may still meet it.
    pub(crate) fn retire(&mut self, table: u32, rid: Rid, stamp: Stamp) {
        self.waiting.push_back((stamp, table, rid));
    }

    /// Takes out the next RID whose grace period is over.
    pub(crate) fn next_reusable(&mut self, local: &Local) -> Option<(u32, Rid)> {
        let &(stamp, table, rid) = self.waiting.front()?;
        if !local.is_past(stamp) {
            return None;
        }
        self.waiting.pop_front();
        Some((table, rid))
    }

    /// Returns the bytes of the queue of RIDs that wait.
    pub(super) fn list_bytes(&self) -> usize {
        self.waiting.capacity_bytes()
    }

    /// Forgets the stock of tables that are gone.
    pub(crate) fn forget(&mut self, is_gone: impl Fn(u32) -> bool) {
        self.tables.retain(|&table, _| !is_gone(table));
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Moves everything to `heir`.
    pub(crate) fn bequeath(&mut self, heir: &mut RidStock) {
        for (table, mut stock) in std::mem::take(&mut self.tables) {
            let free = &mut heir.tables.entry(table).or_default().free;
            free.extend(stock.run.map(Rid));
            free.extend(std::iter::from_fn(|| stock.free.pop()));
        }
        heir.waiting.append(std::mem::take(&mut self.waiting));
    }
}
