//! What became of the tables since the oldest position of a change stream.
//!
//! The log tells who follows it from its beginning on. A stream that begins later, or goes
//! on after the database was opened again, has to know what the tables were named at
//! its position: that is what they are named now, and going back from there
//! (`changes/tables.rs`). So the events are kept that are newer than the log's `oldest`
//! (`log/segments/kept.rs`):
//! - those of this process, from their commit on, in commit order,
//! - those in the log that recovery reads, which is newer than its checkpoint,
//! - older ones in the manifest (`manifest/history.rs`).
//!
//! *No event is missing* that is newer than `oldest`: here they go after `oldest` has
//! risen. So whoever first goes back to a position, and then finds that it is not older
//! than `oldest`, met all of them.

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

/// See the module text.
#[derive(Debug, Default)]
pub(crate) struct EventHistory(Mutex<Events>);

impl EventHistory {
    fn events(&self) -> MutexGuard<'_, Events> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// All events of a commit, in their order.
    pub(crate) fn note(&self, timestamp: Timestamp, events: Vec<TableEvent>) {
        if !events.is_empty() {
            self.events().insert(timestamp, events);
        }
    }

    /// What recovery has found in the manifest, besides what it noted of the log. What is
    /// not newer than `oldest` is not there.
    pub(crate) fn restore(
        &self,
        events: impl IntoIterator<Item = (Timestamp, Vec<TableEvent>)>,
        oldest: Timestamp,
    ) {
        self.events().extend(events);
        self.begin_at(oldest);
    }

    /// Those newer than the first and not newer than the second, for the manifest.
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

    /// Those that are not newer go: the log has them no more.
    pub(crate) fn begin_at(&self, oldest: Timestamp) {
        self.events().retain(|&at, _| at > oldest);
    }
}

impl Catalog {
    /// The tables as of a position that is not newer than the clock.
    pub(crate) fn tables_at(&self, position: Timestamp) -> Tables {
        // Nobody is in the middle of a commit meanwhile: what the clock has counted has
        // taken place.
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
    /// As who follows the change stream knows it; nothing, of a table of the catalog.
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
