//! The catalog as a whole, put together from its records: recovery and inspection share it, so that
//! the two cannot disagree.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    catalog::{
        NAMES, OBJECTS,
        definition::{Definition, Kind, ObjectKey},
    },
    timestamp::Timestamp,
    ttl::Ttl,
};

/// Records by key: the newest version met, and its timestamp.
type Records = BTreeMap<Vec<u8>, (Timestamp, Option<Vec<u8>>)>;

/// View of the catalog: see the module text. Records may be met in any order.
#[derive(Debug, Default)]
pub(crate) struct CatalogView {
    objects: Records,
    names: Records,
    /// Tables by storage: the newest name met, even of a dropped table, and the TTL of its records.
    storages: BTreeMap<u32, (Timestamp, String, Option<Ttl>)>,
}

impl CatalogView {
    /// Whether a table's records are the catalog's.
    pub(crate) fn is_about(table: u32) -> bool {
        matches!(table, OBJECTS | NAMES)
    }

    /// Adds a record of one of the two tables, as it was written at `timestamp`.
    pub(crate) fn note(
        &mut self,
        table: u32,
        key: &[u8],
        value: Option<&[u8]>,
        timestamp: Timestamp,
    ) {
        let records = match table {
            OBJECTS => &mut self.objects,
            _ => &mut self.names,
        };
        if table == OBJECTS
            && let Some(Ok(definition)) = value.map(Definition::decode)
            && let Kind::Table { storage, ttl } = definition.kind
        {
            let known = self.storages.get(&storage);
            if known.is_none_or(|&(since, ..)| since <= timestamp) {
                let known = (timestamp, definition.name, ttl);
                self.storages.insert(storage, known);
            }
        }
        let known = records.get(key);
        if known.is_none_or(|&(since, _)| since < timestamp) {
            let value = value.map(<[u8]>::to_vec);
            records.insert(key.to_vec(), (timestamp, value));
        }
    }

    /// Returns the last known name of the table that has or had a storage.
    pub(crate) fn name_of(&self, storage: u32) -> Option<&str> {
        match storage {
            OBJECTS => Some("catalog: objects"),
            NAMES => Some("catalog: names"),
            _ => Some(&self.storages.get(&storage)?.1),
        }
    }

    /// Returns the TTL of the records of a storage, if they expire and it is known.
    pub(crate) fn ttl_of(&self, storage: u32) -> Option<Ttl> {
        self.storages.get(&storage)?.2
    }

    /// Returns all objects that can be read, by key.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (ObjectKey, Definition)> {
        live(&self.objects).filter_map(|(key, value)| {
            Some((
                ObjectKey::decode(key).ok()?,
                Definition::decode(value).ok()?,
            ))
        })
    }

    /// Returns the inconsistencies of the catalog.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        for (key, value) in live(&self.objects) {
            let (key, value) = (ObjectKey::decode(key), Definition::decode(value));
            if let Some(undecodable) = key.err().or(value.err()) {
                complaints.push(format!("a definition in the catalog: {undecodable}"));
            }
        }
        for (name, value) in live(&self.names) {
            if std::str::from_utf8(name).is_err() || ObjectKey::decode(value).is_err() {
                complaints.push(format!("the name {} in the catalog is none", shown(name)));
            }
        }
        let objects: BTreeMap<ObjectKey, Definition> = self.objects().collect();
        let (mut storages, mut indexes) = (BTreeSet::new(), BTreeSet::new());
        for (key, definition) in &objects {
            let name = &definition.name;
            let named = self.names.get(name.as_bytes());
            let named = named.and_then(|(_, value)| value.as_deref());
            if named != Some(&key.encode()[..]) {
                complaints.push(format!("the catalog does not find {name:?} by its name"));
            }
            let fits = match definition.kind {
                Kind::Table { storage, .. } => {
                    if !storages.insert(storage) {
                        let what =
                            format!("two tables have the storage {storage}, one is {name:?}");
                        complaints.push(what);
                    }
                    key.index == 0
                }
                Kind::Index { .. } => {
                    if !indexes.insert(key.index) {
                        let number = key.index;
                        complaints.push(format!(
                            "two indexes have the number {number}, one is {name:?}"
                        ));
                    }
                    let table = ObjectKey { index: 0, ..*key };
                    key.index > 0 && objects.contains_key(&table)
                }
            };
            if !fits {
                complaints.push(format!(
                    "the index {name:?} is of no table, or a table of one"
                ));
            }
        }
        for (name, value) in live(&self.names) {
            let object = ObjectKey::decode(value)
                .ok()
                .and_then(|key| objects.get(&key));
            if object.is_none_or(|definition| definition.name.as_bytes() != name) {
                let what = format!("the name {} in the catalog is of nothing", shown(name));
                complaints.push(what);
            }
        }
        complaints
    }
}

fn live(records: &Records) -> impl Iterator<Item = (&[u8], &[u8])> {
    let all = records.iter();
    all.filter_map(|(key, (_, value))| Some((key.as_slice(), value.as_deref()?)))
}

fn shown(name: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(name))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const KEY: ObjectKey = ObjectKey { table: 2, index: 0 };

    fn table(storage: u32, name: &str) -> Vec<u8> {
        let definition = Definition {
            kind: Kind::Table { storage, ttl: None },
            name: name.to_owned(),
            description: Vec::new(),
        };
        definition.encode()
    }

    fn index(name: &str) -> Vec<u8> {
        let definition = Definition {
            kind: Kind::Index { unique: false },
            name: name.to_owned(),
            description: Vec::new(),
        };
        definition.encode()
    }

    fn note(view: &mut CatalogView, key: ObjectKey, name: &str, value: &[u8], at: u64) {
        view.note(OBJECTS, &key.encode(), Some(value), Timestamp(at));
        view.note(NAMES, name.as_bytes(), Some(&key.encode()), Timestamp(at));
    }

    #[test]
    fn the_newest_record_counts_whatever_the_order() {
        let mut view = CatalogView::default();
        // The table was renamed and truncated at 9, which is met first.
        note(&mut view, KEY, "b", &table(5, "b"), 9);
        view.note(NAMES, b"a", None, Timestamp(9));
        note(&mut view, KEY, "a", &table(2, "a"), 4);
        assert_eq!(view.complaints(), [""; 0]);
        let all: Vec<_> = view.objects().map(|(_, found)| found.name).collect();
        assert_eq!(all, ["b"]);
        assert_eq!((view.name_of(5), view.name_of(2)), (Some("b"), Some("a")));
        assert_eq!(view.name_of(3), None);
    }

    #[test]
    fn everything_that_does_not_fit_together_is_told() {
        const OTHER: ObjectKey = ObjectKey { table: 3, index: 0 };
        const OF_NONE: ObjectKey = ObjectKey { table: 9, index: 4 };
        const FIRST: ObjectKey = ObjectKey { table: 2, index: 4 };
        const SECOND: ObjectKey = ObjectKey { table: 2, index: 5 };
        const OF_OTHER: ObjectKey = ObjectKey { table: 3, index: 4 };
        type Case = (&'static str, fn(&mut CatalogView));
        let cases: [Case; 8] = [
            ("cannot be decoded", |view| {
                view.note(OBJECTS, &KEY.encode(), Some(b"?"), Timestamp(5));
            }),
            ("by its name", |view| {
                view.note(NAMES, b"t", None, Timestamp(5));
            }),
            ("of nothing", |view| {
                view.note(NAMES, b"u", Some(&KEY.encode()), Timestamp(5));
            }),
            ("is none", |view| {
                view.note(NAMES, b"u", Some(b"?"), Timestamp(5));
            }),
            ("two tables", |view| {
                note(view, OTHER, "u", &table(2, "u"), 5);
            }),
            ("of no table", |view| {
                note(view, OF_NONE, "i", &index("i"), 5);
            }),
            ("find \"i\" by its name", |view| {
                note(view, FIRST, "i", &index("i"), 5);
                note(view, SECOND, "i", &index("i"), 6);
            }),
            ("two indexes", |view| {
                note(view, OTHER, "u", &table(3, "u"), 5);
                note(view, FIRST, "i", &index("i"), 6);
                note(view, OF_OTHER, "j", &index("j"), 7);
            }),
        ];
        for (expected, change) in cases {
            let mut view = CatalogView::default();
            note(&mut view, KEY, "t", &table(2, "t"), 4);
            assert_eq!(view.complaints(), [""; 0]);
            change(&mut view);
            let complaints = view.complaints();
            let told = complaints.iter().any(|what| what.contains(expected));
            assert!(told, "{expected}: {complaints:?}");
        }
    }
}
