//! Rules about tables that come and go (`workload/tables.rs`): who may use one, and what
//! becomes of its records.

use std::collections::{BTreeMap, BTreeSet};

use engine::{Error, Isolation};

use super::{Versions, Violation};
use crate::{
    history::{Action, Event, Key, Record, Value},
    workload::tables::{CATALOG, storage_of},
};

/// From which commit to before which one a storage is that of a table.
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

/// The storages that the names in a state lead to.
pub(crate) fn live_storages<'s>(
    state: impl Iterator<Item = (&'s Key, &'s Value)>,
) -> BTreeSet<u32> {
    let names = state.filter(|(key, _)| is_name(key));
    names.filter_map(|(_, value)| number(value)).collect()
}

/// Whether the key is that of a name in the catalog.
pub(crate) fn is_name(key: &[u8]) -> bool {
    key.first() == Some(&CATALOG)
}

fn number(value: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(value.try_into().ok()?))
}

fn lives(versions: &Versions) -> BTreeMap<u32, Life> {
    // By commit: which storages are named afterwards.
    let names = versions.iter().filter(|(key, _)| is_name(key));
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

/// Nobody uses a table that was dropped before his snapshot, or commits a write to one
/// that was dropped before the commit; and who is refused one has none.
pub(super) fn check(versions: &Versions, records: &[Record]) -> Result<(), Violation> {
    let lives = lives(versions);
    for record in records {
        let mut own = BTreeMap::new();
        for event in &record.events {
            if let Some((key, value)) = event.action.effect()
                && is_name(key)
            {
                own.insert(key.clone(), value.cloned());
            }
            let Some((storage, refused)) = used(event) else {
                continue;
            };
            let life = lives.get(&storage).copied();
            let seen_at = match record.isolation {
                Isolation::ReadCommitted => event.clock.0,
                _ => record.snapshot,
            };
            let was_gone = life
                .and_then(|life| life.dropped)
                .is_some_and(|d| d <= seen_at);
            let has_own = own
                .values()
                .flatten()
                .any(|value| number(value) == Some(storage));
            // It may have dropped it itself.
            let may_be_refused = !own.is_empty() || !life.is_some_and(|l| l.covers(seen_at));
            let stays = record.isolation != Isolation::ReadCommitted;
            if !refused && was_gone && !has_own {
                let story = format!("used storage {storage}, dropped: {life:?}");
                return Err(Violation::new("use of a dropped table", record, story));
            }
            if refused && stays && !may_be_refused {
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

/// The storage of a table that an operation was about, and whether it was refused.
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
