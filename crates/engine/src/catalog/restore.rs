//! The catalog after recovery.
//!
//! Recovery meets numbers of storages before it knows the catalog, and makes the storages as they
//! come. When all records are there, the catalog says what the storages are; the rest was dropped,
//! or never came to be, and goes to the graveyard. Indexes are missing until they are attached
//! (`secondary/list.rs`).

use std::sync::Arc;

use index::{Batch, Direction};
use interleave::{Sequential, run_inline};
use memory::Local;

use crate::{
    catalog::{Catalog, FIRST_NUMBER, NAMES, OBJECTS, Stage, definition::Kind, view::CatalogView},
    indirection::{Head, Rid},
    recovery::OpenError,
    secondary::list::Missing,
    table::Table,
    timestamp::Timestamp,
};

impl Catalog {
    /// Gives the recovered storages their names, and buries those without. Numbers below
    /// `next_number` are taken. To be called before the database is used.
    ///
    /// # Errors
    /// [`OpenError::Catalog`] if the catalog is inconsistent and its readable part is not to be
    /// `salvage`d; [`OpenError::MemoryExhausted`].
    pub(crate) fn restore(
        &self,
        local: &Local,
        next_number: u32,
        salvage: bool,
    ) -> Result<(), OpenError> {
        let mut view = CatalogView::default();
        for (number, table) in [(OBJECTS, &self.objects), (NAMES, &self.names)] {
            each_record(table, local, |key, value| {
                view.note(number, key, Some(value), Timestamp(0));
            });
        }
        if let Some(complaint) = view.complaints().into_iter().next()
            && !salvage
        {
            return Err(OpenError::Catalog(complaint));
        }
        self.skip_numbers(next_number);
        let mut known = Vec::new();
        let mut last: Option<(u32, Arc<Table>)> = None;
        for (key, definition) in view.objects() {
            self.skip_numbers(key.table.max(key.index) + 1);
            let (storage, ttl) = match definition.kind {
                Kind::Table { storage, ttl } => (storage, ttl),
                Kind::Index { unique } => {
                    // Indexes follow their table.
                    if let Some((number, table)) = &last
                        && *number == key.table
                    {
                        table.indexes.miss(Missing {
                            number: key.index,
                            name: definition.name.into(),
                            unique,
                            description: definition.description.into(),
                        });
                    }
                    continue;
                }
            };
            let table = self.storage_of(storage, local);
            let table = table.map_err(|_| OpenError::MemoryExhausted)?;
            table.describe(key, definition.description);
            table.set_name(&definition.name);
            table.set_ttl(ttl);
            self.count_expiring(&table, true);
            let mut registry = self.registry_mut();
            registry.by_name.insert(definition.name, table.clone());
            last = Some((key.table, table));
            known.push(storage);
        }
        let strays: Vec<_> = {
            let registry = self.registry();
            let others = registry.by_number.range(FIRST_NUMBER..);
            let others = others.filter(|(number, _)| !known.contains(number));
            others.map(|(_, table)| table.clone()).collect()
        };
        for table in strays {
            table.life.set(Stage::Never);
            self.add_grave(table);
        }
        Ok(())
    }
}

/// Calls `visit` for each record, as it is now. No transaction changes the table meanwhile.
pub(super) fn each_record(table: &Table, local: &Local, mut visit: impl FnMut(&[u8], &[u8])) {
    use std::ops::Bound::Unbounded;
    let pin = local.pin();
    let mut scan = table.index.scan((Unbounded, Unbounded), Direction::Forward);
    let mut batch = Batch::default();
    while run_inline(scan.next::<Sequential>(&pin, &mut batch)) {
        for (key, rid) in batch.iter() {
            if let Head::Version(version) = table.records.slot(Rid(rid)).head()
                && let Some(value) = version.payload()
            {
                visit(key, value);
            }
        }
    }
}
