//! Every answer agrees with the state that the transaction should see: its snapshot
//! (or, under read committed, a state during the operation) and its own writes.
//!
//! On one thread a read under read committed must agree with the state in which the
//! operation began. A write may be decided later, so any state up to its end is
//! acceptable.
//!
//! If two operations run at once, the one that ends second may have looked before or
//! after the first took effect. The order of their effects is that of their ends. A
//! read that ends first may have seen the write that it runs beside: the write of a
//! record that has indexes does not end when the record is written.

use engine::{Direction, Error, Isolation};

use super::{
    Rules, Violation,
    explain::explain,
    versions::{Own, Versions, View},
};
use crate::history::{Action, Record};

/// Checks one transaction.
pub(super) fn check(
    versions: &Versions,
    records: &[Record],
    record: &Record,
    rules: &Rules,
) -> Result<(), Violation> {
    let mut own = Own::new();
    let mut own_before = Own::new();
    for (index, event) in record.events.iter().enumerate() {
        if let Action::Failed { error, .. } = &event.action {
            let expected = match error {
                Error::Abort(_) => true,
                Error::MemoryExhausted => rules.memory_is_scarce,
                Error::ColdRecord { is_damaged, .. } => rules.power_fails && !is_damaged,
                Error::Locked | Error::LockTimeout => rules.waits,
                // Examined in `tables.rs`.
                Error::TableDropped => true,
                // Only tables that have indexes; examined after crashes.
                Error::DuplicateIndexKey { .. } | Error::IndexNotAttached { .. } => true,
                _ => false,
            };
            if !expected {
                let story = format!("an operation failed: {error}");
                return Err(Violation::new("unexpected error", record, story));
            }
        }
        let (first, last) = states(record, index, rules);
        let fits = |own: &Own| {
            (first..=last).any(|at| answers(&View { versions, at, own }, &event.action))
        };
        let beside = record.events.get(index + 1).filter(|next| next.joined);
        let beside = beside.and_then(|next| next.action.effect());
        let fits_beside = || {
            beside.is_some_and(|(key, value)| {
                let mut own = own.clone();
                own.insert(key.clone(), value.cloned());
                is_read(&event.action) && fits(&own)
            })
        };
        if !(fits(&own) || event.joined && fits(&own_before) || fits_beside()) {
            let view = View {
                versions,
                at: first,
                own: &own,
            };
            return Err(explain(&view, records, record, &event.action));
        }
        if record.events.get(index + 1).is_some_and(|next| next.joined) {
            own_before = own.clone();
        }
        if let Some((key, value)) = event.action.effect() {
            own.insert(key.clone(), value.cloned());
        }
    }
    Ok(())
}

/// Returns the first and the last state that an operation may have seen.
fn states(record: &Record, index: usize, rules: &Rules) -> (u64, u64) {
    let event = &record.events[index];
    let reads = is_read(&event.action);
    // Two operations at once have one snapshot, taken when the first of them began.
    let partner = match record.events.get(index + 1) {
        _ if event.joined => &record.events[index - 1],
        Some(next) if next.joined => next,
        _ => event,
    };
    let began = event.clock.0.min(partner.clock.0);
    match record.isolation {
        Isolation::Snapshot | Isolation::Serializable => (record.snapshot, record.snapshot),
        Isolation::ReadCommitted if reads && rules.one_thread => (began, began),
        Isolation::ReadCommitted => (began, event.clock.1),
    }
}

fn is_read(action: &Action) -> bool {
    matches!(action, Action::Get { .. } | Action::Scan { .. })
}

/// Returns whether an operation would have had this result in that state.
fn answers(view: &View<'_>, action: &Action) -> bool {
    match action {
        Action::Get { key, found } => view.get(key) == found.as_ref(),
        Action::Scan {
            range,
            direction,
            limit,
            found,
        } => {
            let mut expected = view.scan(range);
            if *direction == Direction::Backward {
                expected.reverse();
            }
            expected.truncate(*limit);
            found.iter().map(|(key, value)| (key, value)).eq(expected)
        }
        Action::Insert { key, done, .. } => view.get(key).is_none() == *done,
        Action::Update { key, done, .. } | Action::Delete { key, done } => {
            view.get(key).is_some() == *done
        }
        Action::Upsert { .. } | Action::Abandoned { .. } | Action::Failed { .. } => true,
    }
}
