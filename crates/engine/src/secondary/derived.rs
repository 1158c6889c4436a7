//! The entry tables of a database, by number.
//!
//! Undo, garbage and RIDs in stock name tables by number. Entry tables take their numbers from a
//! range of their own, which no log and no manifest ever has.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, RwLock,
        atomic::{AtomicU32, Ordering},
    },
};

use memory::{Exhausted, Local};

use crate::{catalog::Stage, table::Table, ttl::Ttl};

/// Smallest number of an entry table.
const FIRST: u32 = 1 << 31;

/// Whether `number` is that of an entry table, whose records are not logged.
#[inline(always)]
pub(crate) fn is_derived(number: u32) -> bool {
    number >= FIRST
}

/// Entry tables of a database. Those of dropped indexes stay until transactions that still maintain
/// them have ended: `catalog/graveyard.rs`.
pub(crate) struct DerivedTables {
    /// Next number, counted downward; a number is never used again.
    next: AtomicU32,
    tables: RwLock<BTreeMap<u32, Arc<Table>>>,
}

impl Default for DerivedTables {
    fn default() -> DerivedTables {
        DerivedTables {
            next: AtomicU32::new(u32::MAX),
            tables: RwLock::default(),
        }
    }
}

impl DerivedTables {
    /// Makes the entry table of an index; `ttl` is its base table's.
    pub(crate) fn create(
        &self,
        local: &Local,
        name: &str,
        ttl: Option<Ttl>,
    ) -> Result<Arc<Table>, Exhausted> {
        let number = self.next.fetch_sub(1, Ordering::Relaxed);
        if !is_derived(number) {
            return Err(Exhausted);
        }
        let table = Arc::new(Table::new(local, number)?);
        table.set_name(name);
        table.set_ttl(ttl);
        table.life.set(Stage::Live);
        let mut tables = self.tables.write().unwrap_or_else(|e| e.into_inner());
        tables.insert(number, table.clone());
        Ok(table)
    }

    pub(crate) fn remove(&self, number: u32) {
        let mut tables = self.tables.write().unwrap_or_else(|e| e.into_inner());
        tables.remove(&number);
    }

    pub(crate) fn numbers(&self) -> Vec<u32> {
        let tables = self.tables.read().unwrap_or_else(|e| e.into_inner());
        tables.keys().copied().collect()
    }

    pub(crate) fn get(&self, number: u32) -> Option<Arc<Table>> {
        let tables = self.tables.read().unwrap_or_else(|e| e.into_inner());
        tables.get(&number).cloned()
    }
}
