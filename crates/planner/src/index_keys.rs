//! The entries of indexes, computed from a table's rows.
//!
//! An entry is computed by programs from the columns that the index is over. It depends on the row
//! alone: expressions of indexes are immutable (`logical/bind/index.rs`), which is why no session,
//! clock or catalog is needed here.

use std::sync::Arc;

use engine::{Extractor, IndexKeys as Keys, IndexOptions};
use functions::{Context, Patterns};
use types::{
    Result, Scratch, Settings, Value,
    key::{KeyColumn, write},
    row::{Row, RowLayout},
};

use crate::{
    plan::{index_columns, row_layout},
    program::{Evaluator, Layout, Outer, Program, Sessionless, compile},
};
use batch::OwnedValue;
use catalog::{Catalog, Index, IndexKeys, Table};
use logical::bind::{BindContext, Binder, IndexEntries, Inputs, Parameters};
use syntax::phase;

/// Maker of the functions by which indexes are maintained.
pub struct RowKeys;

impl IndexKeys for RowKeys {
    fn keys(
        &self,
        catalog: &Catalog,
        table: &Table,
        index: &Index,
    ) -> Result<(Extractor, IndexOptions)> {
        let inputs = Inputs::default();
        let bind_context = BindContext {
            catalog,
            inputs: &inputs,
            database: "",
            now: 0,
        };
        let mut parameters = Parameters::default();
        let mut binder = Binder::for_definitions(&bind_context, &mut parameters);
        let extract = phase::at_once(|| {
            let bound = binder.index_entries(table, index)?;
            Extract::new(table, index, &bound)
        })?;
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

/// A column that an index is computed from.
struct Input {
    position: usize,
    /// Value of the column in rows that are older than it.
    missing: OwnedValue,
}

struct Extract {
    rows: Arc<RowLayout>,
    inputs: Vec<Input>,
    /// Condition of a partial index, over the inputs.
    predicate: Option<Program>,
    keys: Vec<(Program, KeyColumn)>,
    settings: Settings,
    /// Whether keys with a NULL are kept apart by the key of their row.
    nulls_differ: bool,
}

impl Extract {
    fn new(table: &Table, index: &Index, bound: &IndexEntries) -> Result<Self> {
        let all = bound.keys.iter().chain(&bound.predicate);
        let used: Vec<_> = all.flat_map(|part| part.columns()).collect();
        let used = bound.columns.iter().filter(|(id, _)| used.contains(id));
        let used: Vec<_> = used.copied().collect();
        let layout = Layout::new(used.iter().map(|(id, _)| *id));
        let outer = Outer::default();
        let inputs = used.iter().map(|(_, at)| {
            Ok(Input {
                position: *at,
                missing: OwnedValue::new(table.columns[*at].missing_value()?),
            })
        });
        let keys = bound.keys.iter().zip(index_columns(index));
        let keys = keys.map(|(key, column)| Ok((compile(key, &layout, &outer)?, column)));
        let predicate = bound.predicate.as_ref();
        Ok(Self {
            rows: row_layout(table)?,
            inputs: inputs.collect::<Result<_>>()?,
            predicate: predicate
                .map(|predicate| compile(predicate, &layout, &outer))
                .transpose()?,
            keys: keys.collect::<Result<_>>()?,
            settings: Settings::default(),
            nulls_differ: index.unique && !index.nulls_not_distinct,
        })
    }

    /// Adds the entry of a record to `keys`. A row that cannot be read, or whose entry cannot be
    /// computed, has none. No such row was written while the index was there: errors of the index's
    /// expressions are raised before the write.
    fn keys(&self, key: &[u8], record: &[u8], keys: &mut Keys) {
        if let Ok(Some(entry)) = self.entry(key, record) {
            keys.push(&entry);
        }
    }

    fn entry(&self, key: &[u8], record: &[u8]) -> Result<Option<Vec<u8>>> {
        let row = Row::new(&self.rows, record)?;
        let mut values: Vec<Value<'_>> = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            let value = row.value(input.position)?;
            values.push(value.unwrap_or_else(|| input.missing.value()));
        }
        let (scratch, patterns) = (Scratch::new(), Patterns::new());
        let context = Context {
            scratch: &scratch,
            settings: &self.settings,
            environment: &Sessionless,
            patterns: &patterns,
            argument_types: &[],
        };
        let mut evaluator = Evaluator::new(context, &[]);
        if let Some(predicate) = &self.predicate
            && !predicate.holds(&mut evaluator, &values)?
        {
            return Ok(None);
        }
        let mut entry = Vec::new();
        let mut has_null = false;
        for (program, column) in &self.keys {
            let value = program.run(&mut evaluator, &values)?;
            has_null |= value.is_null();
            write(*column, value, &mut entry)?;
        }
        if self.nulls_differ && has_null {
            entry.extend_from_slice(key);
        }
        Ok(Some(entry))
    }
}
