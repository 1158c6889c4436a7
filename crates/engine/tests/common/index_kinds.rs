//! Kinds of indexes that tests of several subjects have in common.

use std::sync::Arc;

use engine::{Extractor, IndexOptions};

pub(crate) const UNIQUE: IndexOptions = IndexOptions {
    unique: true,
    prefix_free: false,
};

/// Returns the extractor of an index whose one key for a record is the record's value.
pub(crate) fn by_value() -> Extractor {
    Arc::new(|_, value, keys| keys.push(value))
}
