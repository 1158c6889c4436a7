//! Enum types.
//!
//! A value is stored, in rows and in keys, as the *rank* of its label. Ranks have gaps: a label can
//! come between two others without a change of stored values. Bytes in the order of ranks are in
//! the order of labels, and keys therefore need no catalog.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::EnumId;

use super::{Comments, ObjectId};

/// Rank of the first label. There is the same room before it and after it.
const FIRST: u32 = 1 << 31;

/// Gap between labels that were added in order. Twenty labels can come into one gap, each beside
/// the one before, and two thousand at either end.
const GAP: u32 = 1 << 20;

/// An enum type. The type of arrays of it has the next number, which no object has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnumType {
    /// Number of the type.
    pub id: ObjectId,
    /// Schema of the type.
    pub schema: ObjectId,
    /// Name of the type.
    pub name: Arc<str>,
    /// Labels, in the order in which values sort.
    pub labels: Arc<[Arc<str>]>,
    /// Rank of each label; ascending.
    pub(crate) ranks: Arc<[u32]>,
    /// Comments on the type.
    #[serde(default)]
    pub comments: Comments,
}

impl EnumType {
    /// Returns the number in the form that types use.
    pub fn enum_id(&self) -> EnumId {
        EnumId(self.id.0)
    }

    /// Returns the position of a label among the labels.
    pub fn position(&self, label: &str) -> Option<usize> {
        self.labels.iter().position(|other| **other == *label)
    }

    /// Returns the rank of a label.
    pub fn rank(&self, label: &str) -> Option<u32> {
        self.ranks.get(self.position(label)?).copied()
    }

    /// Returns the label of a rank.
    pub fn label(&self, rank: u32) -> Option<&str> {
        let at = self.ranks.binary_search(&rank).ok()?;
        self.labels.get(at).map(|label| &**label)
    }

    /// Returns ranks for `count` labels of a new type; `None` if there is no room for them.
    pub(super) fn new_ranks(count: usize) -> Option<Arc<[u32]>> {
        let room = usize::try_from(u32::MAX - FIRST).unwrap_or(usize::MAX);
        let gap = u32::try_from(room / count.max(1)).ok()?.min(GAP);
        let ranks = (0..u32::try_from(count).ok()?).map(|at| FIRST + at * gap);
        (gap > 0).then(|| ranks.collect())
    }

    /// Returns a rank for a label that comes before the one at a position, or behind all; `None` if
    /// there is no room.
    pub(super) fn rank_between(&self, at: usize) -> Option<u32> {
        let before = at.checked_sub(1).and_then(|at| self.ranks.get(at)).copied();
        let after = self.ranks.get(at).copied();
        let between = |low: u32, high: u32| {
            let middle = low + (high - low) / 2;
            (middle > low).then_some(middle)
        };
        match (before, after) {
            (None, None) => Some(FIRST),
            (Some(low), Some(high)) => between(low, high),
            (Some(low), None) => low.checked_add(GAP).or_else(|| between(low, u32::MAX)),
            (None, Some(high)) => high.checked_sub(GAP).or_else(|| between(0, high)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enumeration(labels: usize) -> EnumType {
        EnumType {
            id: ObjectId(20000),
            schema: ObjectId::PUBLIC,
            name: "e".into(),
            labels: (0..labels).map(|at| at.to_string().into()).collect(),
            ranks: EnumType::new_ranks(labels).unwrap(),
            comments: Comments::default(),
        }
    }

    /// Adds labels at the positions that `at` gives until there is no room, and checks that order
    /// is kept; returns how many were added.
    fn fill(mut ty: EnumType, at: impl Fn(usize) -> usize, most: usize) -> usize {
        for added in 0..most {
            let at = at(ty.ranks.len());
            let Some(rank) = ty.rank_between(at) else {
                return added;
            };
            let mut ranks = ty.ranks.to_vec();
            ranks.insert(at, rank);
            assert!(ranks.is_sorted_by(|one, two| one < two));
            ty.ranks = ranks.into();
        }
        most
    }

    #[test]
    fn labels_come_in_anywhere_until_there_is_no_room() {
        assert_eq!(fill(enumeration(0), |count| count, 2_000), 2_000);
        assert_eq!(fill(enumeration(1), |_| 0, 2_000), 2_000);
        assert_eq!(fill(enumeration(2), |_| 1, 100), 20);
        assert_eq!(fill(enumeration(2), |count| count - 1, 100), 20);
        // Behind the last gap of full width the room is halved each time, and ends.
        let many = fill(enumeration(2), |count| count, 5_000);
        assert!((2_040..2_100).contains(&many), "{many}");
        let many = fill(enumeration(2), |_| 0, 5_000);
        assert!((2_040..2_100).contains(&many), "{many}");
    }

    #[test]
    fn new_types_have_ranks_for_many_labels() {
        for count in [0, 1, 2, 5_000, 1_000_000] {
            let ranks = EnumType::new_ranks(count).unwrap();
            assert_eq!(ranks.len(), count);
            assert!(ranks.is_sorted_by(|one, two| one < two));
        }
    }

    #[test]
    fn ranks_and_labels_are_found_by_each_other() {
        let ty = enumeration(3);
        for label in ["0", "1", "2"] {
            assert_eq!(ty.label(ty.rank(label).unwrap()), Some(label));
        }
        assert_eq!((ty.rank("3"), ty.label(7)), (None, None));
    }
}
