//! Rules about writers of one record.

use std::collections::BTreeMap;

use engine::{Abort, Error, Isolation};

use super::{Rules, Versions, Violation, shown};
use crate::{
    history::{Action, Event, Key, Record},
    workload::tables::storage_of,
};

/// Checks, for writers on snapshots, that no commit lies between a writer's snapshot
/// and its write, nor between its snapshot and its commit. (So no update is lost.)
pub(super) fn first_updater_wins(versions: &Versions, records: &[Record]) -> Result<(), Violation> {
    let on_snapshots = records
        .iter()
        .filter(|record| record.isolation != Isolation::ReadCommitted);
    for record in on_snapshots {
        for event in &record.events {
            let Some((key, _)) = event.action.effect() else {
                continue;
            };
            let until = record.written_at().map_or(event.clock.0, |at| at - 1);
            let other = versions
                .all(key)
                .iter()
                .find(|version| version.at > record.snapshot && version.at <= until);
            if let Some(other) = other {
                let story = format!(
                    "wrote key {}, committed at {} by another",
                    shown(key),
                    other.at
                );
                return Err(Violation::new("lost update", record, story));
            }
        }
    }
    Ok(())
}

/// A write, and the time for which it was uncommitted.
struct Write<'r> {
    record: &'r Record,
    event: &'r Event,
    /// Earliest and latest time at which its transaction began to end: its own end, or
    /// the operation that reported an abort, which takes all its writes back.
    released: (u64, u64),
}

fn released(record: &Record) -> (u64, u64) {
    let aborted = record.events.iter().find_map(|event| {
        let aborts = matches!(
            event.action,
            Action::Failed {
                error: Error::Abort(_),
                ..
            }
        );
        aborts.then_some(event.order)
    });
    aborted.unwrap_or((record.ended, record.ended))
}

/// Returns all writes of each record.
fn writes_by_key(records: &[Record]) -> BTreeMap<&Key, Vec<Write<'_>>> {
    let mut writes: BTreeMap<&Key, Vec<_>> = BTreeMap::new();
    for record in records {
        let released = released(record);
        for event in &record.events {
            if let Some((key, _)) = event.action.effect() {
                writes.entry(key).or_default().push(Write {
                    record,
                    event,
                    released,
                });
            }
        }
    }
    writes
}

/// Checks that no transaction writes a record that another open transaction has written
/// (G0).
pub(super) fn no_dirty_write(records: &[Record]) -> Result<(), Violation> {
    for (key, writes) in writes_by_key(records) {
        for first in &writes {
            let dirty = writes.iter().find(|second| {
                second.record.number != first.record.number
                    && first.event.order.1 < second.event.order.0
                    && second.event.order.1 < first.released.0
            });
            if let Some(second) = dirty {
                let story = format!(
                    "wrote key {}, which open transaction {} had written",
                    shown(key),
                    first.record.number
                );
                return Err(Violation::new("dirty write (G0)", second.record, story));
            }
        }
    }
    Ok(())
}

/// Checks, on one thread, that each transaction that is told of a conflict has one. If
/// transactions may lock records, or wait, a conflict with an open transaction need not
/// be about a write.
pub(super) fn aborts_have_a_cause(
    versions: &Versions,
    records: &[Record],
    rules: &Rules,
) -> Result<(), Violation> {
    let writes = writes_by_key(records);
    for record in records {
        let mut aborts = record
            .events
            .iter()
            .filter_map(|event| match &event.action {
                Action::Failed {
                    key: Some(key),
                    error: Error::Abort(abort),
                } => Some((event, key, *abort)),
                _ => None,
            });
        let Some(first) = aborts.next() else { continue };
        // One operation may have ended both of two that ran at once.
        let partner = aborts.next().filter(|(event, ..)| event.joined);
        let has_cause = |&(event, key, abort): &(&Event, &Key, Abort)| {
            let committed = versions
                .all(key)
                .iter()
                .any(|version| version.at > record.snapshot && version.at <= event.clock.1);
            let writes = writes.get(key).map_or(&[][..], Vec::as_slice);
            let open = writes.iter().any(|write| {
                write.record.number != record.number
                    && write.event.order.1 < event.order.1
                    && event.order.0 < write.released.1
            });
            match abort {
                // Entries of indexes are in no history.
                Abort::SnapshotTooOld | Abort::WriteConflict if storage_of(key).is_some() => true,
                Abort::SnapshotTooOld => committed,
                Abort::WriteConflict => open || rules.waits,
                Abort::Deadlock => rules.waits,
                _ => true,
            }
        };
        let (_, key, abort) = first;
        let has_cause = has_cause(&first) || partner.as_ref().is_some_and(has_cause);
        if !has_cause {
            let story = format!("told {abort:?} for key {}", shown(key));
            return Err(Violation::new("abort without a cause", record, story));
        }
    }
    Ok(())
}
