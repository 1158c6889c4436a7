//! The type of a column, changed: all rows are rewritten.

use types::{Result, SqlError, SqlState, TypeModifier};

use super::super::{Session, new_table::live_columns};
use catalog::{Column, Generation, IndexKey, Object, Table};
use logical::{
    bind::{Binder, NewValue, Parameters},
    collation, data_type,
};
use syntax::{
    Expression,
    kept_text::names_column,
    name::DottedName,
    phase,
    statement::{SequenceClauses, TypeName},
};

impl Session {
    pub(super) async fn retype(
        &self,
        table: &Table,
        at: usize,
        data_type: &TypeName,
        collation: Option<&DottedName>,
        using: Option<&Expression>,
    ) -> Result<()> {
        let column = &table.columns[at];
        let catalog = self.transaction.catalog();
        let (ty, modifier) = data_type::resolve(data_type, &catalog, self.settings.search_path())?;
        if let Some(collation) = collation {
            collation::check(collation, ty, &*catalog)?;
        }
        let position = u16::try_from(at).unwrap_or(u16::MAX);
        if matches!(column.generation, Some(Generation::Stored(_))) && using.is_some() {
            let message = "cannot specify USING when altering type of generated column";
            let detail = format!("Column \"{}\" is a generated column.", column.name);
            return Err(SqlError::new(SqlState::INVALID_COLUMN_DEFINITION, message).detail(detail));
        }
        self.is_retypable(table, position)?;
        let mut changed = column.clone();
        (changed.ty, changed.modifier, changed.missing) = (ty, modifier, None);
        phase::run(|| {
            let bind_context = self.bind_context(&catalog);
            let mut parameters = Parameters::default();
            let mut binder = Binder::for_definitions(&bind_context, &mut parameters);
            let live = live_columns(&table.columns);
            let uses = binder
                .check_column(&table.name, &live, &changed)
                .map_err(|error| {
                    if error.state() != SqlState::DATATYPE_MISMATCH || changed.default.is_none() {
                        return error;
                    }
                    let message = format!(
                        "default for column \"{}\" cannot be cast automatically to type {}",
                        column.name,
                        ty.name(&*catalog)
                    );
                    SqlError::new(SqlState::DATATYPE_MISMATCH, message)
                })?;
            changed.refers_to(uses);
            Ok(())
        })
        .await?;
        // A looser form of the same type takes what is there as it is.
        if ty == column.ty && modifier == TypeModifier::NONE && using.is_none() {
            let loosen = |column: &mut Column| column.modifier = modifier;
            let ddl = self.transaction.ddl()?;
            return ddl.alter_column(table.id, position, loosen).await.map(drop);
        }
        if let Some(Generation::Identity { sequence, .. }) = column.generation {
            let clauses = SequenceClauses {
                data_type: Some(data_type.clone()),
                ..SequenceClauses::default()
            };
            let sequence = catalog.expect_sequence(sequence)?;
            self.change_sequence(sequence, &clauses, None).await?;
        }
        let edit = |table: &mut Table| {
            let mut columns = table.columns.to_vec();
            columns[at] = changed;
            // Rows that were older than a column have its value now.
            columns.iter_mut().for_each(|column| column.missing = None);
            table.columns = columns.into();
            let mut indexes = table.indexes.to_vec();
            for index in &mut indexes {
                let mut keys = index.columns.to_vec();
                for key in &mut keys {
                    if matches!(key.key, IndexKey::Column(of) if of == position) {
                        key.ty = ty;
                    }
                }
                index.columns = keys.into();
            }
            table.indexes = indexes.into();
        };
        let value = using.map_or(NewValue::Converted, NewValue::Computed);
        self.rewrite(table.id, edit, &[(at, value)]).await.map(drop)
    }

    /// # Errors
    /// 0A000, if views, generated columns, references or index expressions use the column.
    fn is_retypable(&self, table: &Table, position: u16) -> Result<()> {
        let name = &table.columns[usize::from(position)].name;
        let catalog = self.transaction.catalog();
        let uses = |text: &str| names_column(text, name);
        for (_, other) in table.live_columns() {
            if let Some(Generation::Stored(stored)) = &other.generation
                && other.name != *name
                && uses(&stored.text)
            {
                let message = "cannot alter type of a column used by a generated column";
                let detail = format!(
                    "Column \"{name}\" is used by generated column \"{}\".",
                    other.name
                );
                return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message).detail(detail));
            }
        }
        let reading = catalog.objects().find_map(|object| match object {
            Object::View(view) if view.reads(table.id, position) => Some(view),
            _ => None,
        });
        if let Some(view) = reading {
            let message = "cannot alter type of a column used by a view or rule";
            let view = &view.name;
            let detail = format!("rule _RETURN on view {view} depends on column \"{name}\"");
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message).detail(detail));
        }
        let own = table.foreign_keys.iter();
        let is_own = own.clone().any(|key| key.columns.contains(&position));
        let others = table
            .referenced_by
            .iter()
            .filter_map(|id| catalog.table(*id));
        let mut references = others.flat_map(|other| other.foreign_keys.iter());
        let is_referred = references
            .any(|key| key.referenced == table.id && key.referenced_columns.contains(&position));
        if is_own || is_referred {
            return Err(SqlError::unsupported(
                "altering the type of a column of a foreign key",
            ));
        }
        Ok(())
    }
}
