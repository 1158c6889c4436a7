//! What a column must be, operation by operation.
//!
//! Only one thread runs at a time, and none passes a point between the moment when an operation takes
//! effect, which is before its last latch is released, and its end. So a model that is changed at the end of each
//! operation has them in the order in which the column had them, and predicts exactly. A snapshot alone takes two
//! latches: it is between what the model was before it and is after it.

use std::collections::BTreeSet;

use column::{Key, Snapshot, Value};

/// Rows and parts of a column.
pub(super) struct Model<V> {
    pub(super) rows: Vec<Option<V>>,
    /// Numbers of rows at which an append ended.
    ends: BTreeSet<usize>,
    /// Rows of each Main so far, in the order in which they came.
    mains: Vec<usize>,
    /// Rows up to the last one of the Delta that is frozen.
    frozen: Option<usize>,
    is_merging: bool,
}

impl<V: Value> Model<V> {
    /// Of a column without rows.
    pub(super) fn new() -> Model<V> {
        Model {
            rows: Vec::new(),
            ends: BTreeSet::from([0]),
            mains: vec![0],
            frozen: None,
            is_merging: false,
        }
    }

    /// These were appended.
    pub(super) fn append(&mut self, values: Vec<Option<V>>) {
        self.rows.extend(values);
        self.ends.insert(self.rows.len());
    }

    /// Somebody wanted to begin a merge, and may or not.
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

    /// The merge was dropped.
    pub(super) fn abandon_merge(&mut self) {
        self.is_merging = false;
    }

    /// The merge has swapped the parts.
    pub(super) fn finish_merge(&mut self) {
        self.is_merging = false;
        self.mains.extend(self.frozen.take());
    }

    /// More steps than a merge can take.
    pub(super) fn merge_steps_max(&self) -> usize {
        // Each of its values and rows, at most three times.
        10 + 3 * self.rows.len()
    }

    fn main(&self) -> usize {
        self.mains.last().copied().unwrap_or_default()
    }

    /// What the model is now.
    pub(super) fn moment(&self) -> Moment {
        Moment {
            rows: self.rows.len(),
            mains: self.mains.len(),
        }
    }

    /// Whether a snapshot is one of a moment between that one and now.
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

    /// Rows, of the first ones, whose values are as told.
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

    /// Rows, of the first ones, whose values are in a list.
    pub(super) fn rows_in<'m>(&'m self, first: u64, list: &'m [Option<V>]) -> Vec<u64> {
        let list: BTreeSet<Key<'_, V>> = list.iter().flatten().map(key).collect();
        self.rows_where(first, |value| {
            value
                .as_ref()
                .is_some_and(|value| list.contains(&key(value)))
        })
    }

    /// Distinct values.
    pub(super) fn distinct(&self) -> usize {
        let all: BTreeSet<Key<'_, V>> = self.rows.iter().flatten().map(key).collect();
        all.len()
    }

    /// Mains that have come since.
    pub(super) fn merges_since(&self, moment: Moment) -> usize {
        self.mains.len() - moment.mains
    }
}

/// A point in time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    rows: usize,
    /// Mains so far, the one that is there included.
    mains: usize,
}

/// How a value is compared.
pub(super) fn key<V: Value>(value: &V) -> Key<'_, V> {
    use column::Element as _;
    value.borrow().key()
}

/// Values as they are handed in.
pub(super) fn borrowed<V: Value>(values: &[Option<V>]) -> Vec<Option<V::Ref<'_>>> {
    values
        .iter()
        .map(|value| value.as_ref().map(V::borrow))
        .collect()
}
