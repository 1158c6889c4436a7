//! Indexes in PostgreSQL's sense. The key that rows lie under is among them, although it is no
//! index in Weft.

use std::{borrow::Cow, sync::Arc};

use catalog::{Catalog, Index, IndexColumn, IndexKey, ObjectId, StoredExpression, Table};

/// An index, or the key that a table's rows lie under.
pub(super) struct Key<'t> {
    pub(super) id: ObjectId,
    pub(super) name: &'t Arc<str>,
    pub(super) is_unique: bool,
    pub(super) is_primary: bool,
    pub(super) nulls_not_distinct: bool,
    pub(super) columns: Cow<'t, [IndexColumn]>,
    pub(super) included: &'t [u16],
    pub(super) predicate: Option<&'t StoredExpression>,
    pub(super) is_valid: bool,
}

/// Returns all indexes of a table, the primary key first.
pub(super) fn keys(table: &Table) -> impl Iterator<Item = Key<'_>> {
    let primary = table.primary_key.as_ref();
    let row_key = primary.filter(|key| key.index.is_none()).map(|key| Key {
        id: key.id,
        name: &key.name,
        is_unique: true,
        is_primary: true,
        nulls_not_distinct: false,
        columns: key
            .columns
            .iter()
            .map(|position| ascending(table, *position))
            .collect(),
        included: &[],
        predicate: None,
        is_valid: true,
    });
    let key = move |index: &'_ Index| primary.is_some_and(|key| key.index == Some(index.id));
    let indexes = table.indexes.iter().map(move |index| Key {
        id: index.id,
        name: &index.name,
        is_unique: index.unique,
        is_primary: key(index),
        nulls_not_distinct: index.nulls_not_distinct,
        columns: Cow::Borrowed(&index.columns),
        included: &index.included,
        predicate: index.predicate.as_ref(),
        is_valid: index.is_valid,
    });
    row_key.into_iter().chain(indexes)
}

fn ascending(table: &Table, position: u16) -> IndexColumn {
    let column = table.columns.get(usize::from(position));
    IndexColumn {
        key: IndexKey::Column(position),
        ty: column.map_or(types::Type::Unknown, |column| column.ty),
        descending: false,
        nulls_first: false,
    }
}

/// Returns the index with a number, and its table.
pub(super) fn find(catalog: &Catalog, id: ObjectId) -> Option<(&Arc<Table>, Key<'_>)> {
    let table = match catalog.index(id) {
        Some((table, _)) => table,
        None => catalog.key_index(id)?,
    };
    let key = keys(table).find(|key| key.id == id)?;
    Some((table, key))
}
