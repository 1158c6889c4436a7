//! The committed states of a database, rebuilt from a history.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::{Bound, RangeBounds},
};

use super::Violation;
use crate::history::{Key, Outcome, Record, Value};

/// One committed version of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its commit timestamp.
    pub at: u64,
    /// Its value, `None` for a deletion.
    pub value: Option<Value>,
}

/// All committed versions of all records, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Versions(BTreeMap<Key, Vec<Version>>);

/// Writes of the transaction itself.
pub(super) type Own = BTreeMap<Key, Option<Value>>;

impl Versions {
    /// Collects the versions that a history has committed.
    ///
    /// # Errors
    /// Fails if two writers have one commit timestamp, or if a writer's
    /// timestamp is not after its snapshot.
    pub fn of(records: &[Record]) -> Result<Versions, Violation> {
        let mut commits = BTreeMap::new();
        for record in records {
            if let (Outcome::Committed(at), None) = (record.outcome, record.written_at())
                && at < record.snapshot
            {
                let story = format!("it committed at {at}, before its snapshot");
                return Err(Violation::new("commit order", record, story));
            }
            let Some(at) = record.written_at() else {
                continue;
            };
            if at <= record.snapshot {
                let story = format!("it wrote and committed at {at}, not after its snapshot");
                return Err(Violation::new("commit order", record, story));
            }
            if commits.insert(at, record).is_some() {
                let story = format!("another transaction committed at {at} too");
                return Err(Violation::new("commit order", record, story));
            }
        }
        let mut versions = Versions::default();
        for (at, record) in commits {
            let last: BTreeMap<_, _> = record.effects().collect();
            for (key, value) in last {
                let version = Version {
                    at,
                    value: value.cloned(),
                };
                versions.0.entry(key.clone()).or_default().push(version);
            }
        }
        Ok(versions)
    }

    /// Returns all versions of a record, oldest first.
    pub fn all(&self, key: &Key) -> &[Version] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    /// Returns all keys that were ever committed, with their versions.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &[Version])> {
        self.0
            .iter()
            .map(|(key, versions)| (key, versions.as_slice()))
    }

    /// Returns all records of the state named `at`, in key order.
    pub fn state(&self, at: u64) -> impl Iterator<Item = (&Key, &Value)> {
        self.0
            .keys()
            .filter_map(move |key| Some((key, self.at(key, at)?)))
    }

    /// Returns a record's value in the state named `at`.
    pub fn at(&self, key: &Key, at: u64) -> Option<&Value> {
        let versions = self.all(key);
        let after = versions.partition_point(|version| version.at <= at);
        versions[..after].last()?.value.as_ref()
    }
}

/// The state that a transaction should see: a committed state, and its own
/// writes.
pub(super) struct View<'v> {
    pub(super) versions: &'v Versions,
    pub(super) at: u64,
    pub(super) own: &'v Own,
}

impl<'v> View<'v> {
    pub(super) fn get(&self, key: &Key) -> Option<&'v Value> {
        match self.own.get(key) {
            Some(own) => own.as_ref(),
            None => self.versions.at(key, self.at),
        }
    }

    /// Returns the records in a range, in key order.
    pub(super) fn scan(&self, range: &(Bound<Key>, Bound<Key>)) -> Vec<(&'v Key, &'v Value)> {
        let committed = self.versions.0.keys();
        let keys: BTreeSet<&'v Key> = committed
            .chain(self.own.keys())
            .filter(|key| range.contains(*key))
            .collect();
        keys.into_iter()
            .filter_map(|key| Some((key, self.get(key)?)))
            .collect()
    }
}
