//! The names of WITH clauses that are known at the place that is being bound, the innermost last.
//!
//! Names are found by hash: a statement may have 100,000 of them, and look each of them up.

use std::{
    collections::HashMap,
    ops::{Index, IndexMut},
};

use super::common_table::CommonTable;

/// The known names: see the module text.
#[derive(Debug, Default)]
pub(super) struct CommonTables {
    tables: Vec<CommonTable>,
    /// Positions of the tables of each name: a later one hides those before it.
    places: HashMap<String, Vec<usize>>,
}

impl CommonTables {
    pub(super) fn len(&self) -> usize {
        self.tables.len()
    }

    /// Makes a name known, which hides others that are the same.
    pub(super) fn push(&mut self, table: CommonTable) {
        let at = self.tables.len();
        match self.places.get_mut(&table.name) {
            Some(places) => places.push(at),
            None => {
                self.places.insert(table.name.clone(), vec![at]);
            }
        }
        self.tables.push(table);
    }

    /// Forgets the last table, and returns it.
    pub(super) fn pop(&mut self) -> Option<CommonTable> {
        let table = self.tables.pop()?;
        if let Some(places) = self.places.get_mut(&table.name) {
            places.pop();
            if places.is_empty() {
                self.places.remove(&table.name);
            }
        }
        Some(table)
    }

    /// Forgets all but the first `tables` tables.
    pub(super) fn truncate(&mut self, tables: usize) {
        while self.tables.len() > tables {
            self.pop();
        }
    }

    /// Returns the position of the table with a name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.places.get(name)?.last().copied()
    }
}

impl Index<usize> for CommonTables {
    type Output = CommonTable;

    fn index(&self, at: usize) -> &CommonTable {
        &self.tables[at]
    }
}

impl IndexMut<usize> for CommonTables {
    fn index_mut(&mut self, at: usize) -> &mut CommonTable {
        &mut self.tables[at]
    }
}
