//! Tables at some position of a change stream, by their storages.
//!
//! A change stream stands at a position and goes on by the events that it meets
//! ([`Tables::apply`]). To find the tables at its beginning, it goes back from the current ones, by
//! the events since ([`Tables::revert`]).

use std::{collections::BTreeMap, sync::Arc};

use crate::catalog::event::{ChangedTable, TableEvent, TableEventKind};

/// Tables by their storages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tables(BTreeMap<u32, Arc<ChangedTable>>);

impl Tables {
    pub(crate) fn of_storage(&self, storage: u32) -> Option<&Arc<ChangedTable>> {
        self.0.get(&storage)
    }

    pub(crate) fn insert(&mut self, table: Arc<ChangedTable>) {
        self.0.insert(table.storage, table);
    }

    /// Changes the tables to those after an event.
    pub(crate) fn apply(&mut self, event: &TableEvent) {
        if let Some(ended) = event.ends() {
            self.0.remove(&ended);
        }
        if !matches!(event.kind, TableEventKind::Dropped) {
            self.insert(event.table.clone());
        }
    }

    /// Changes the tables from those after an event to those before it.
    pub(crate) fn revert(&mut self, event: &TableEvent) {
        let after = &event.table;
        match &event.kind {
            TableEventKind::Created => drop(self.0.remove(&after.storage)),
            TableEventKind::Dropped => self.insert(after.clone()),
            TableEventKind::Truncated { storage } => {
                self.0.remove(&after.storage);
                self.insert(Arc::new(ChangedTable {
                    storage: *storage,
                    ..ChangedTable::clone(after)
                }));
            }
            TableEventKind::Renamed { from } => self.insert(Arc::new(ChangedTable {
                name: from.clone(),
                ..ChangedTable::clone(after)
            })),
        }
    }
}

impl TableEvent {
    /// Returns the storage that has no records any more after the event.
    pub(super) fn ends(&self) -> Option<u32> {
        match self.kind {
            TableEventKind::Dropped => Some(self.table.storage),
            TableEventKind::Truncated { storage } => Some(storage),
            TableEventKind::Created | TableEventKind::Renamed { .. } => None,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn table(number: u32, storage: u32, name: &str) -> Arc<ChangedTable> {
        Arc::new(ChangedTable {
            number,
            storage,
            name: name.into(),
            description: Arc::from([]),
            ttl: None,
        })
    }

    #[test]
    fn going_back_over_events_finds_what_there_was() {
        let event = |table: &Arc<ChangedTable>, kind| TableEvent {
            table: table.clone(),
            kind,
        };
        let from = |from: &str| TableEventKind::Renamed { from: from.into() };
        let dropped = TableEventKind::Dropped;
        let events = [
            event(&table(3, 3, "a"), TableEventKind::Created),
            event(&table(4, 4, "b"), TableEventKind::Created),
            event(&table(3, 5, "a"), TableEventKind::Truncated { storage: 3 }),
            event(&table(3, 5, "c"), from("a")),
            event(&table(4, 4, "a"), from("b")),
            event(&table(4, 6, "a"), TableEventKind::Truncated { storage: 4 }),
            event(&table(4, 6, "a"), dropped.clone()),
            event(&table(7, 7, "a"), TableEventKind::Created),
            event(&table(3, 5, "c"), dropped),
        ];
        let mut tables = Tables::default();
        let mut before = Vec::new();
        for event in &events {
            before.push(tables.clone());
            tables.apply(event);
        }
        let names = |tables: &Tables| {
            tables
                .0
                .values()
                .map(|t| t.name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&before[6]), ["c".into(), "a".into()]);
        assert_eq!(names(&tables), ["a".into()]);
        assert_eq!(tables.of_storage(7), Some(&table(7, 7, "a")));
        for (event, before) in events.iter().zip(before).rev() {
            tables.revert(event);
            assert_eq!(tables, before, "before {event}");
        }
    }
}
