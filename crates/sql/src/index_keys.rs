//! The keys that indexes have of a table's rows.

use std::sync::Arc;

use engine::{Extractor, IndexKeys as Keys, IndexOptions};
use types::{
    Result, SqlError, Value,
    key::{KeyColumn, write_all},
    row::{Row, RowLayout},
};

use crate::{
    catalog::{Catalog, Index, IndexKey, IndexKeys, Table},
    plan::{index_columns, row_layout},
};

/// Makes the functions by which indexes over columns are maintained.
pub(crate) struct RowKeys;

impl IndexKeys for RowKeys {
    fn keys(
        &self,
        _catalog: &Catalog,
        table: &Table,
        index: &Index,
    ) -> Result<(Extractor, IndexOptions)> {
        if index.predicate.is_some() {
            return Err(SqlError::unsupported("a partial index"));
        }
        let positions = index.columns.iter().map(|column| match column.key {
            IndexKey::Column(at) => Ok(usize::from(at)),
            IndexKey::Expression(_) => Err(SqlError::unsupported("an index over an expression")),
        });
        let extract = Extract {
            rows: row_layout(table)?,
            positions: positions.collect::<Result<_>>()?,
            columns: index_columns(index),
            nulls_differ: index.unique && !index.nulls_not_distinct,
        };
        let options = IndexOptions {
            unique: index.unique,
            ..IndexOptions::default()
        };
        Ok((
            Arc::new(move |key, record, keys| extract.keys(key, record, keys)),
            options,
        ))
    }
}

struct Extract {
    rows: Arc<RowLayout>,
    positions: Vec<usize>,
    columns: Vec<KeyColumn>,
    /// Keys with a NULL are told apart by what their row lies under.
    nulls_differ: bool,
}

impl Extract {
    /// A row that cannot be read, or a value that has no key, has no entry; whoever reads the row
    /// itself is told what is wrong with it.
    fn keys(&self, key: &[u8], record: &[u8], keys: &mut Keys) {
        let Ok(row) = Row::new(&self.rows, record) else {
            return;
        };
        let mut values: Vec<Value<'_>> = Vec::with_capacity(self.positions.len());
        for at in &self.positions {
            // A row that is older than the column has no value of its own there; indexes over
            // columns with such rows are refused when they are created.
            match row.value(*at) {
                Ok(value) => values.push(value.unwrap_or(Value::Null)),
                Err(_) => return,
            }
        }
        let mut entry = Vec::new();
        if write_all(&self.columns, &values, &mut entry).is_err() {
            return;
        }
        if self.nulls_differ && values.iter().any(Value::is_null) {
            entry.extend_from_slice(key);
        }
        keys.push(&entry);
    }
}
