//! The order of `jsonb`, which is its b-tree operator class's, and its hash.
//!
//! Object > array > boolean > number > string > null; more entries > fewer; then entry by entry
//! in stored order. One quirk of PostgreSQL is kept, because sorted results show it: a scalar
//! that is the whole value counts as an array of one, and comes before the other arrays of one,
//! so that only the empty array is less than it.

use std::{
    cmp::Ordering,
    hash::{Hash, Hasher},
};

use super::{DEPTH_MAX, Jsonb, JsonbView};

impl Jsonb<'_> {
    /// Compares by PostgreSQL's order. A damaged node counts as null; nodes deeper than
    /// [`DEPTH_MAX`](crate::JSON_DEPTH_MAX) count as equal.
    pub fn compare(self, other: Jsonb<'_>) -> Ordering {
        let (one, two) = (view(self), view(other));
        top_rank(&one)
            .cmp(&top_rank(&two))
            .then_with(|| compare_views(one, two, 0))
    }

    /// Feeds a hasher with bytes that are the same for equal values.
    pub fn feed_hasher<H: Hasher>(self, state: &mut H) {
        self.feed_hasher_below(state, 0);
    }

    fn feed_hasher_below<H: Hasher>(self, state: &mut H, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        let view = view(self);
        rank(&view).hash(state);
        match view {
            JsonbView::Null => {}
            JsonbView::Bool(value) => value.hash(state),
            JsonbView::Number(number) => number.feed_hasher(state),
            JsonbView::String(string) => string.hash(state),
            JsonbView::Array(array) => {
                array.len().hash(state);
                for element in array.iter() {
                    element
                        .unwrap_or(Jsonb::NULL)
                        .feed_hasher_below(state, depth + 1);
                }
            }
            JsonbView::Object(object) => {
                object.len().hash(state);
                for (key, value) in object.iter().flatten() {
                    key.hash(state);
                    value.feed_hasher_below(state, depth + 1);
                }
            }
        }
    }
}

fn view(value: Jsonb<'_>) -> JsonbView<'_> {
    value.view().unwrap_or(JsonbView::Null)
}

/// Returns the rank of a kind within containers.
pub(crate) fn rank(view: &JsonbView<'_>) -> u8 {
    match view {
        JsonbView::Null => 0,
        JsonbView::String(_) => 1,
        JsonbView::Number(_) => 2,
        JsonbView::Bool(_) => 3,
        JsonbView::Array(_) => 4,
        JsonbView::Object(_) => 5,
    }
}

/// Returns the rank that is compared first between whole values: the quirk.
pub(crate) fn top_rank(view: &JsonbView<'_>) -> u8 {
    match view {
        JsonbView::Array(array) if array.is_empty() => 0,
        JsonbView::Array(_) => 2,
        JsonbView::Object(_) => 3,
        _ => 1,
    }
}

fn compare_views(one: JsonbView<'_>, two: JsonbView<'_>, depth: usize) -> Ordering {
    if depth > DEPTH_MAX {
        return Ordering::Equal;
    }
    match (one, two) {
        (JsonbView::Bool(one), JsonbView::Bool(two)) => one.cmp(&two),
        (JsonbView::Number(one), JsonbView::Number(two)) => one.compare(two),
        (JsonbView::String(one), JsonbView::String(two)) => one.cmp(two),
        (JsonbView::Array(one), JsonbView::Array(two)) => {
            one.len().cmp(&two.len()).then_with(|| {
                one.iter()
                    .zip(two.iter())
                    .map(|(one, two)| {
                        let (one, two) = (one.unwrap_or(Jsonb::NULL), two.unwrap_or(Jsonb::NULL));
                        compare_views(view(one), view(two), depth + 1)
                    })
                    .find(|order| order.is_ne())
                    .unwrap_or(Ordering::Equal)
            })
        }
        (JsonbView::Object(one), JsonbView::Object(two)) => {
            one.len().cmp(&two.len()).then_with(|| {
                one.iter()
                    .flatten()
                    .zip(two.iter().flatten())
                    .map(|((one_key, one), (two_key, two))| {
                        one_key
                            .cmp(two_key)
                            .then_with(|| compare_views(view(one), view(two), depth + 1))
                    })
                    .find(|order| order.is_ne())
                    .unwrap_or(Ordering::Equal)
            })
        }
        (one, two) => rank(&one).cmp(&rank(&two)),
    }
}
