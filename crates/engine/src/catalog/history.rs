//! The history of the tables since the oldest position of a change stream.
//!
//! The log tells a follower its history from its beginning on. A stream that begins later, or goes
//! on after the database was opened again, has to know the names of the tables at its position:
//! these are the present names, with later events reverted (`changes/tables.rs`). Therefore the
//! events are kept that are newer than the log's `oldest` (`log/segments/kept.rs`):
//! - those of this process, from their commit on, in commit order,
//! - those in the log that recovery reads, which is newer than its checkpoint,
//! - older ones in the manifest (`manifest/history.rs`).
//!
//! *No event is missing* that is newer than `oldest`: events go from here only after `oldest` has
//! risen. A follower that first goes back to a position, and then finds that the position is not
//! older than `oldest`, has therefore met all events.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
};

use super::{
    Catalog,
    event::{ChangedTable, TableEvent},
};
use crate::{changes::Tables, table::Table, timestamp::Timestamp};

/// Events by their commits.
type Events = BTreeMap<Timestamp, Vec<TableEvent>>;

/// Events that are kept: see the module text.
#[derive(Debug, Default)]
pub(crate) struct EventHistory(Mutex<Events>);

impl EventHistory {
    fn events(&self) -> MutexGuard<'_, Events> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds all events of a commit, in their order.
    pub(crate) fn note(&self, timestamp: Timestamp, events: Vec<TableEvent>) {
        if !events.is_empty() {
            self.events().insert(timestamp, events);
        }
    }

    /// Adds the events that recovery has found in the manifest to those it noted of the log, and
    /// forgets those that are not newer than `oldest`.
    pub(crate) fn restore(
        &self,
        events: impl IntoIterator<Item = (Timestamp, Vec<TableEvent>)>,
        oldest: Timestamp,
    ) {
        self.events().extend(events);
        self.begin_at(oldest);
    }

    /// Returns the events newer than `newer_than` and not newer than `up_to`, for the manifest.
    pub(crate) fn between(
        &self,
        newer_than: Timestamp,
        up_to: Timestamp,
    ) -> Vec<(Timestamp, Vec<TableEvent>)> {
        let events = self.events();
        let newer = events.iter().skip_while(|&(&at, _)| at <= newer_than);
        let newer = newer.take_while(|&(&at, _)| at <= up_to);
        newer.map(|(&at, events)| (at, events.clone())).collect()
    }

    /// Forgets the events that are not newer than `oldest`: the log has them no more.
    pub(crate) fn begin_at(&self, oldest: Timestamp) {
        self.events().retain(|&at, _| at > oldest);
    }
}

impl Catalog {
    /// Returns the tables as of a `position` that is not newer than the clock.
    pub(crate) fn tables_at(&self, position: Timestamp) -> Tables {
        // No transaction is in the middle of a commit meanwhile: all commits that the clock has
        // counted have taken place.
        let _commits = self.lock_commits();
        let mut tables = Tables::default();
        for (name, table) in &self.registry().by_name {
            if let Some(described) = table.as_changed(name) {
                tables.insert(Arc::new(described));
            }
        }
        let events = self.events.events();
        let newer = events.iter().rev().take_while(|&(&at, _)| at > position);
        for event in newer.flat_map(|(_, events)| events.iter().rev()) {
            tables.revert(event);
        }
        tables
    }
}

impl Table {
    /// Returns the table as a follower of the change stream knows it; `None` for a table of the
    /// catalog.
    pub(crate) fn as_changed(&self, name: &str) -> Option<ChangedTable> {
        Some(ChangedTable {
            number: self.object()?.table,
            storage: self.number(),
            name: Arc::from(name),
            description: Arc::from(self.description()),
            ttl: self.time_to_live(),
        })
    }
}
