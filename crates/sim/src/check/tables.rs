//! Rules about tables that come and go (`workload/tables.rs`): when a table may be used, and
//! the end of its records.

use std::collections::{BTreeMap, BTreeSet};

use engine::{Error, Isolation};

use super::{Versions, Violation};
use crate::{
    history::{Action, Event, Key, Record, Value},
    workload::{
        expiring,
        tables::{CATALOG, INDEXES, indexed, named, storage_of},
    },
};

/// The commits between which a storage belongs to a table: from, and before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Life {
    made: u64,
    dropped: Option<u64>,
}

impl Life {
    fn covers(self, at: u64) -> bool {
        self.made <= at && self.dropped.is_none_or(|dropped| at < dropped)
    }
}

/// Returns the storages that the names in a state lead to.
fn live_storages<'s>(state: impl Iterator<Item = (&'s Key, &'s Value)>) -> BTreeSet<u32> {
    let names = state.filter(|(key, _)| is_table_name(key));
    names.filter_map(|(_, value)| number(value)).collect()
}

/// The tables that the names in a state lead to.
pub(crate) struct LiveTables {
    storages: BTreeSet<u32>,
    tags: BTreeSet<[u8; 8]>,
}

impl LiveTables {
    pub(crate) fn of<'s>(state: impl Iterator<Item = (&'s Key, &'s Value)>) -> LiveTables {
        let names = state.filter(|(key, _)| is_table_name(key));
        let (storages, mut tags): (_, BTreeSet<_>) =
            names.filter_map(|(_, value)| named(value)).unzip();
        tags.insert(expiring::TAG.to_be_bytes());
        LiveTables { storages, tags }
    }

    /// Returns whether a record, or an index, belongs to one of these tables, or to no table
    /// that comes and goes. Nothing is left of tables that were dropped or truncated.
    pub(crate) fn have(&self, key: &[u8], value: &[u8]) -> bool {
        match key.first() {
            Some(&INDEXES) => indexed(value).is_some_and(|(tag, _)| self.tags.contains(&tag)),
            _ => storage_of(key).is_none_or(|storage| self.storages.contains(&storage)),
        }
    }
}

/// Returns whether the key belongs to a name in the catalog.
pub(crate) fn is_name(key: &[u8]) -> bool {
    is_table_name(key) || key.first() == Some(&INDEXES)
}

fn is_table_name(key: &[u8]) -> bool {
    key.first() == Some(&CATALOG)
}

fn number(value: &[u8]) -> Option<u32> {
    named(value).map(|(storage, _)| storage)
}

fn lives(versions: &Versions) -> BTreeMap<u32, Life> {
    // For each commit, the storages that have a name afterwards.
    let names = versions.iter().filter(|(key, _)| is_table_name(key));
    let commits: BTreeSet<u64> = names
        .flat_map(|(_, versions)| versions.iter().map(|version| version.at))
        .collect();
    let mut lives: BTreeMap<u32, Life> = BTreeMap::new();
    for made in commits {
        let named = live_storages(versions.state(made));
        for (storage, life) in &mut lives {
            if life.dropped.is_none() && !named.contains(storage) {
                life.dropped = Some(made);
            }
        }
        for storage in named {
            let dropped = None;
            lives.entry(storage).or_insert(Life { made, dropped });
        }
    }
    lives
}

/// Names that a transaction has changed itself.
type OwnNames = BTreeMap<Key, Option<Value>>;

/// Returns whether a storage belongs to a table for a transaction that sees the commits up
/// to `at`, and has changed the names `own` itself.
fn is_there(
    versions: &Versions,
    own: &OwnNames,
    storage: u32,
    life: Option<Life>,
    at: u64,
) -> bool {
    let is_named = |value: &Value| number(value) == Some(storage);
    if own.values().flatten().any(is_named) {
        return true;
    }
    let lost = own.keys().any(|name| {
        let mut committed = versions.all(name).iter().rev();
        let seen = committed.find(|version| version.at <= at);
        seen.is_some_and(|version| version.value.as_ref().is_some_and(is_named))
    });
    !lost && life.is_some_and(|life| life.covers(at))
}

/// Checks that a table is used if it is there for the transaction, and refused if it is not;
/// and that no transaction commits a write to a table that was dropped before the commit.
pub(super) fn check(versions: &Versions, records: &[Record]) -> Result<(), Violation> {
    let lives = lives(versions);
    for record in records {
        let mut own = OwnNames::new();
        for event in &record.events {
            if let Some((key, value)) = event.action.effect()
                && is_table_name(key)
            {
                own.insert(key.clone(), value.cloned());
            }
            let Some((storage, refused)) = used(event) else {
                continue;
            };
            let life = lives.get(&storage).copied();
            // Other transactions may commit while an operation determines the present.
            let (first, last) = match record.isolation {
                Isolation::ReadCommitted => event.clock,
                _ => (record.snapshot, record.snapshot),
            };
            let is_there = |at| is_there(versions, &own, storage, life, at);
            let (may_be_used, may_be_refused) = match first == last {
                true => (is_there(first), !is_there(first)),
                false => (
                    is_there(first) || is_there(last) || life.is_some_and(|l| l.made > first),
                    !is_there(first) || !is_there(last),
                ),
            };
            if !refused && !may_be_used {
                let story = format!("used storage {storage}: {life:?}");
                return Err(Violation::new("use of a table not there", record, story));
            }
            if refused && !may_be_refused {
                let story = format!("was refused storage {storage}: {life:?}");
                return Err(Violation::new("refusal of a live table", record, story));
            }
            let written = record
                .written_at()
                .filter(|_| event.action.effect().is_some());
            let dropped = life.and_then(|life| life.dropped);
            if let Some((written, dropped)) = written.zip(dropped)
                && dropped < written
            {
                let story = format!("wrote to storage {storage}, dropped at {dropped}");
                return Err(Violation::new("write to a dropped table", record, story));
            }
        }
    }
    Ok(())
}

/// Returns the storage of the table that an operation used, and whether it was refused.
fn used(event: &Event) -> Option<(u32, bool)> {
    let (key, refused) = match &event.action {
        Action::Failed {
            key: Some(key),
            error: Error::TableDropped,
        } => (key, true),
        Action::Get { key, .. } | Action::Upsert { key, .. } | Action::Delete { key, .. } => {
            (key, false)
        }
        _ => return None,
    };
    Some((storage_of(key)?, refused))
}
