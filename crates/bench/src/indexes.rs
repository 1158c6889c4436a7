//! Secondary indexes of the table under measurement: their keys.
//!
//! The keys of both kinds follow from the record, so an index can be compared with its table. A
//! *unique* key is a permutation of the key word, one for each index: unlike records have unlike
//! keys, in an order that has nothing to do with that of the table. It does not change with the
//! value, as an account number does not. A *group* has eight records on average and follows from
//! the version too: an update moves the record to another group.

use crate::keys::{KeyShape, mix};
use crate::values::ValueShape;

/// Average number of records that have the same key in an index that is not unique.
const GROUP_RECORDS: u64 = 8;

/// An index of the table under measurement.
pub(crate) type Index = weft::Index<u64, Vec<u8>, Vec<u8>>;

/// Definition of such an index.
pub(crate) type Definition = weft::IndexDefinition<u64, Vec<u8>, Vec<u8>>;

/// Returns the key in unique index `number` of the record with `key_word`.
pub fn unique_key(number: u32, key_word: u64) -> u64 {
    mix(key_word ^ mix(number.into()))
}

/// Returns the key in index `number`, which is not unique, of the record with `key_word` at
/// `version`, in a table loaded with `records`.
pub fn group(number: u32, key_word: u64, version: u16, records: u64) -> u64 {
    let groups = (records / GROUP_RECORDS).max(1);
    mix(unique_key(number, key_word).wrapping_add(version.into())) % groups
}

/// Returns the definition of a unique index.
pub(crate) fn unique(number: u32) -> Definition {
    Definition::unique(
        &format!("unique {number}"),
        move |key: Vec<u8>, _: Vec<u8>| Some(unique_key(number, KeyShape::word_of(&key))),
    )
}

/// Returns the definition of an index that is not unique, of a table loaded with `records`.
pub(crate) fn grouped(number: u32, records: u64) -> Definition {
    Definition::non_unique(
        &format!("grouped {number}"),
        move |key: Vec<u8>, value: Vec<u8>| {
            let version = ValueShape::version(&value);
            Some(group(number, KeyShape::word_of(&key), version, records))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn unique_keys_differ_by_record_and_index() {
        let keys: BTreeSet<_> = (0..3)
            .flat_map(|number| (0..1000).map(move |word| unique_key(number, word)))
            .collect();
        assert_eq!(keys.len(), 3000);
    }

    #[test]
    fn groups_have_eight_records_and_change_with_the_version() {
        let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
        for word in 0..80_000 {
            *sizes.entry(group(0, word, 0, 80_000)).or_default() += 1;
        }
        assert!(sizes.keys().all(|&group| group < 10_000));
        assert!(sizes.len() > 9_900, "hardly any group is empty");
        let moved =
            (0..1000).filter(|&word| group(0, word, 0, 80_000) != group(0, word, 1, 80_000));
        assert!(moved.count() > 990);
    }
}
