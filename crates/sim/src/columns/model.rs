//! The expected state of a column, operation by operation.
//!
//! Only one thread runs at a time, and none passes a point between the moment when an operation takes effect,
//! which is before its last latch is released, and its end. A model that is changed at the end of each operation
//! therefore has operations in the order in which the column had them, and predicts exactly. Only a snapshot
//! takes two latches: it lies between the model's state before it and the state after it.

use std::collections::BTreeSet;

use column::{Key, Snapshot, Value};

/// Rows and parts of a column.
pub(super) struct Model<V> {
    pub(super) rows: Vec<Option<V>>,
    /// Numbers of rows at which an append ended.
    ends: BTreeSet<usize>,
    /// Numbers of rows of each Main so far, oldest first.
    mains: Vec<usize>,
    /// Number of rows up to the last of the frozen Delta.
    frozen: Option<usize>,
    is_merging: bool,
}

impl<V: Value> Model<V> {
    /// Returns the model of a column without rows.
    pub(super) fn new() -> Model<V> {
        Model {
            rows: Vec::new(),
            ends: BTreeSet::from([0]),
            mains: vec![0],
            frozen: None,
            is_merging: false,
        }
    }

    /// Appends these values.
    pub(super) fn append(&mut self, values: Vec<Option<V>>) {
        self.rows.extend(values);
        self.ends.insert(self.rows.len());
    }

    /// Checks an attempt to begin a merge, which may have begun or not.
    pub(super) fn begin_merge(&mut self, has_begun: bool) -> Result<(), String> {
        let is_there_anything = self.frozen.is_some() || self.rows.len() > self.main();
        let may_begin = !self.is_merging && is_there_anything;
        if has_begun != may_begin {
            return Err(format!(
                "a merge was begun: {has_begun}, while another was under way: {}, of {} rows with \
                 {} in the Main",
                self.is_merging,
                self.rows.len(),
                self.main()
            ));
        }
        if has_begun {
            self.frozen.get_or_insert(self.rows.len());
            self.is_merging = true;
        }
        Ok(())
    }

    /// Notes that the merge was dropped.
    pub(super) fn abandon_merge(&mut self) {
        self.is_merging = false;
    }

    /// Notes that the merge has swapped the parts.
    pub(super) fn finish_merge(&mut self) {
        self.is_merging = false;
        self.mains.extend(self.frozen.take());
    }

    /// Returns more steps than a merge can take.
    pub(super) fn merge_steps_max(&self) -> usize {
        // Each of its values and rows, at most three times.
        10 + 3 * self.rows.len()
    }

    fn main(&self) -> usize {
        self.mains.last().copied().unwrap_or_default()
    }

    /// Returns the current moment.
    pub(super) fn moment(&self) -> Moment {
        Moment {
            rows: self.rows.len(),
            mains: self.mains.len(),
        }
    }

    /// Checks that a snapshot was taken between the moment `since` and now.
    pub(super) fn is_snapshot(&self, since: Moment, snapshot: &Snapshot<V>) -> Result<(), String> {
        let rows = snapshot.rows() as usize;
        if !(since.rows..=self.rows.len()).contains(&rows) || !self.ends.contains(&rows) {
            return Err(format!(
                "a snapshot has {rows} rows, where {} to {} were appended and the last of an append \
                 is none of them: {}",
                since.rows,
                self.rows.len(),
                !self.ends.contains(&rows)
            ));
        }
        let mains = &self.mains[since.mains - 1..];
        let main = snapshot.main().rows();
        if !mains.contains(&main) {
            return Err(format!(
                "a snapshot has a Main of {main} rows, where there were {mains:?}"
            ));
        }
        Ok(())
    }

    /// Returns those of the `first` rows whose values satisfy a condition.
    pub(super) fn rows_where<'m>(
        &'m self,
        first: u64,
        matches: impl Fn(&'m Option<V>) -> bool,
    ) -> Vec<u64> {
        let rows = (0..first).zip(&self.rows);
        rows.filter(|(_, value)| matches(value))
            .map(|(row, _)| row)
            .collect()
    }

    /// Returns those of the `first` rows whose values are in `list`.
    pub(super) fn rows_in<'m>(&'m self, first: u64, list: &'m [Option<V>]) -> Vec<u64> {
        let list: BTreeSet<Key<'_, V>> = list.iter().flatten().map(key).collect();
        self.rows_where(first, |value| {
            value
                .as_ref()
                .is_some_and(|value| list.contains(&key(value)))
        })
    }

    /// Returns the number of distinct values.
    pub(super) fn distinct(&self) -> usize {
        let all: BTreeSet<Key<'_, V>> = self.rows.iter().flatten().map(key).collect();
        all.len()
    }

    /// Returns the number of Mains made since `moment`.
    pub(super) fn merges_since(&self, moment: Moment) -> usize {
        self.mains.len() - moment.mains
    }
}

/// A point in time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    rows: usize,
    /// Number of Mains so far, the present one included.
    mains: usize,
}

/// Returns the key by which a value is compared.
pub(super) fn key<V: Value>(value: &V) -> Key<'_, V> {
    use column::Element as _;
    value.borrow().key()
}

/// Borrows values in the form in which operations take them.
pub(super) fn borrowed<V: Value>(values: &[Option<V>]) -> Vec<Option<V::Ref<'_>>> {
    values
        .iter()
        .map(|value| value.as_ref().map(V::borrow))
        .collect()
}
