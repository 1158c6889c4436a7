//! Names for wrong answers: the anomaly, and the transaction whose value was
//! seen.

use engine::Direction;

use super::{Violation, shown, versions::View};
use crate::history::{Action, Key, Outcome, Record, Value};

/// Returns the violation that `action` shows in a transaction that should have
/// seen `view`.
pub(super) fn explain(
    view: &View<'_>,
    records: &[Record],
    record: &Record,
    action: &Action,
) -> Violation {
    match action {
        Action::Get { key, found } => wrong_value(view, records, record, key, found.as_ref()),
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
            let different = (0..expected.len().max(found.len())).find(|&at| {
                expected.get(at).copied() != found.get(at).map(|(key, value)| (key, value))
            });
            let at = different.unwrap_or(0);
            let (expected, seen) = (expected.get(at), found.get(at));
            let in_order = |a: &Key, b: &Key| (a < b) == (*direction == Direction::Forward);
            match (expected, seen) {
                (Some((key, _)), Some((seen, value))) if *key == seen => {
                    wrong_value(view, records, record, key, Some(value))
                }
                (Some((key, _)), Some((seen, value))) if in_order(seen, key) => {
                    phantom(view, records, record, seen, value)
                }
                (None, Some((seen, value))) => phantom(view, records, record, seen, value),
                (Some((key, _)), _) => Violation::new(
                    "scan misses a record",
                    record,
                    format!("key {} is not where it belongs", shown(key)),
                ),
                (None, None) => Violation::new("scan differs", record, "from every state"),
            }
        }
        Action::Insert { key, .. }
        | Action::Update { key, .. }
        | Action::Upsert { key, .. }
        | Action::Delete { key, .. }
        | Action::Abandoned { key, .. } => {
            let there = match view.get(key) {
                Some(value) => format!("the record is there with {}", shown(value)),
                None => "the record is not there".to_owned(),
            };
            let story = format!("{action:?}, but {there}");
            Violation::new("write of a wrong state", record, story)
        }
        Action::Failed { error, .. } => Violation::new("unexpected error", record, error),
    }
}

fn phantom(
    view: &View<'_>,
    records: &[Record],
    record: &Record,
    key: &Key,
    value: &Value,
) -> Violation {
    let mut violation = wrong_value(view, records, record, key, Some(value));
    violation.rule = "phantom in a scan";
    violation
}

fn wrong_value(
    view: &View<'_>,
    records: &[Record],
    record: &Record,
    key: &Key,
    found: Option<&Value>,
) -> Violation {
    let expected = match view.get(key) {
        Some(value) => format!("{} of {}", shown(value), origin(records, key, value)),
        None => "nothing".to_owned(),
    };
    let seen = match found {
        Some(value) => format!("{} of {}", shown(value), origin(records, key, value)),
        None => "nothing".to_owned(),
    };
    let story = format!(
        "read {seen} under key {}, expected {expected}, at {}",
        shown(key),
        view.at
    );
    Violation::new(anomaly(view, records, key, found), record, story)
}

/// Returns the transaction that wrote `value`, and whether another of its
/// values followed.
fn writer<'r>(records: &'r [Record], key: &Key, value: &Value) -> Option<(&'r Record, bool)> {
    records.iter().find_map(|record| {
        let mut writes = record.effects().filter(|(written, _)| *written == key);
        writes.find(|(_, written)| *written == Some(value))?;
        Some((record, writes.next().is_some()))
    })
}

fn origin(records: &[Record], key: &Key, value: &Value) -> String {
    match writer(records, key, value) {
        Some((record, _)) => format!("transaction {} ({:?})", record.number, record.outcome),
        None => "nobody".to_owned(),
    }
}

fn anomaly(view: &View<'_>, records: &[Record], key: &Key, found: Option<&Value>) -> &'static str {
    if view.own.contains_key(key) {
        return "a transaction reads its own writes";
    }
    let Some(value) = found else {
        return "read misses a record";
    };
    match writer(records, key, value) {
        None => "read of a value that nobody wrote",
        Some((writer, overwritten)) => match writer.outcome {
            Outcome::Committed(_) if overwritten => "intermediate read (G1b)",
            Outcome::Committed(at) if at > view.at => "read of a later commit",
            Outcome::Committed(_) => "read of an outdated value",
            _ => "aborted read (G1a)",
        },
    }
}
