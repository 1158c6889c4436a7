//! Claims of workloads: totals, and lists that only grow. They follow from the
//! other rules, but are checked in another way.

use std::collections::BTreeSet;

use engine::Isolation;

use super::{Versions, Violation, shown};
use crate::{
    history::{Key, Record},
    workload::append::{self, elements},
};

/// Checks that all claims of a transaction hold.
pub(super) fn check(record: &Record) -> Result<(), Violation> {
    match record
        .claims
        .iter()
        .find(|claim| claim.expected != claim.found)
    {
        None => Ok(()),
        Some(claim) => {
            let story = format!(
                "{} must be {}, is {}",
                claim.what, claim.expected, claim.found
            );
            Err(Violation::new("claim of a workload", record, story))
        }
    }
}

/// Checks that each version of a list begins with the version before it, and
/// that no element is in it twice. Only for lists all of whose writers are on
/// snapshots.
pub(super) fn lists_only_grow(versions: &Versions, records: &[Record]) -> Result<(), Violation> {
    let writes = |record: &Record, list: &Key| record.effects().any(|(key, _)| key == list);
    for (key, all) in versions.iter() {
        if key.first() != Some(&append::PREFIX) {
            continue;
        }
        let mut writers = records.iter().filter(|record| writes(record, key));
        if writers.any(|record| record.isolation == Isolation::ReadCommitted) {
            continue;
        }
        let mut before: &[u8] = &[];
        for version in all {
            let list = version.value.as_deref().unwrap_or(&[]);
            let mut seen = BTreeSet::new();
            if !list.starts_with(before) || !elements(list).all(|element| seen.insert(element)) {
                let writer = records
                    .iter()
                    .find(|record| record.written_at() == Some(version.at))
                    .expect("a version has a writer");
                let story = format!("list {} does not continue the one before", shown(key));
                return Err(Violation::new("lost append", writer, story));
            }
            before = list;
        }
    }
    Ok(())
}
