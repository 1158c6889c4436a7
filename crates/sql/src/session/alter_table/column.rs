//! Columns: added, dropped, and changed in all but their types.

use engine::TableLockMode;
use types::{Result, SqlError, SqlState};

use super::super::{
    Session,
    define::no_such_column,
    foreign_key::Written,
    new_table::{live_columns, name_own_columns},
    sequence::{column_identity, identity_mode},
    stored_text::stored_default,
};
use catalog::{
    Behavior, Column, Generation, NewTable, ObjectId, OwnedBy, RowKey, Sequence, Table, Target,
};
use logical::bind::{Binder, NewValue, Parameters};
use syntax::{
    name::Name,
    phase,
    statement::{ColumnChange, ColumnDefinition, IdentityChange},
};

impl Session {
    pub(super) async fn add_column(
        &self,
        id: ObjectId,
        definition: &ColumnDefinition,
        if_not_exists: bool,
    ) -> Result<()> {
        let table = self.table_now(id)?;
        let catalog = self.transaction.catalog();
        if let Some((_, there)) = table.column(definition.name.as_str()) {
            if if_not_exists {
                return Ok(());
            }
            let message = format!(
                "column \"{}\" of relation \"{}\" already exists",
                there.name, table.name
            );
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        // The new column is put behind those that there are; its constraints follow it.
        let position = table.columns.len();
        let mut draft = NewTable {
            schema: table.schema,
            name: table.name.to_string(),
            columns: table.columns.to_vec(),
            ..NewTable::default()
        };
        let sequence = phase::run(|| {
            self.column(&catalog, definition, &mut draft)?;
            name_own_columns(&mut draft, id);
            self.sequence_of(&table.name, position, &draft.columns[position], definition)
        })
        .await?;
        let mut owned = Vec::new();
        if let Some(sequence) = sequence {
            let column = &mut draft.columns[position];
            let created = self.create_column_sequence(table.schema, &table.name, column, &sequence);
            owned.push(created.await?);
        }
        let mut column = draft.columns[position].clone();
        let live = live_columns(&draft.columns);
        let missing = phase::run(|| {
            let catalog = self.transaction.catalog();
            let bind_context = self.bind_context(&catalog);
            let mut parameters = Parameters::default();
            let mut binder = Binder::for_definitions(&bind_context, &mut parameters);
            let uses = binder.check_column(&table.name, &live, &column)?;
            column.refers_to(uses);
            binder.default_if_fixed(&column)
        })
        .await?;
        match missing {
            // Rows that are there are read as if they had it.
            Some(value) => {
                column.missing = self.value_of(value).await?;
                if column.not_null
                    && column.missing.is_none()
                    && self.has_row(&table, "true").await?
                {
                    return Err(contains_nulls(&table, &column.name));
                }
                self.transaction.ddl()?.add_column(id, column).await?;
                self.transaction.ddl()?.rebuild_indexes(id).await?;
            }
            None => {
                let add = |table: &mut Table| {
                    table.columns = table.columns.iter().cloned().chain([column]).collect();
                };
                self.rewrite(id, add, &[(position, NewValue::Default)])
                    .await?;
            }
        }
        let table = self.table_now(id)?;
        self.own_sequences(&table, &owned).await?;
        self.add_constraints_of(id, draft).await?;
        for written in Written::of_column(definition) {
            self.add_foreign_key(id, &written, true).await?;
        }
        Ok(())
    }

    pub(super) async fn drop_column(
        &self,
        id: ObjectId,
        name: &Name,
        if_exists: bool,
        cascade: bool,
    ) -> Result<()> {
        let table = self.table_now(id)?;
        let name = name.as_str();
        let Some((position, _)) = table.column(name) else {
            return match if_exists {
                true => Ok(()),
                false => Err(no_such_column(&table.name, name)),
            };
        };
        let position = u16::try_from(position).unwrap_or(u16::MAX);
        let behavior = Behavior::of(cascade);
        let target = Target::Column(id, position);
        if matches!(&table.row_key, RowKey::Columns(key) if key.contains(&position)) {
            self.unkey(id, target, behavior).await?;
        }
        let ddl = self.transaction.ddl()?;
        ddl.drop(&[target], behavior).await.map(drop)
    }

    pub(super) async fn alter_column(
        &self,
        id: ObjectId,
        name: &Name,
        change: &ColumnChange,
    ) -> Result<()> {
        let table = self.table_now(id)?;
        let name = name.as_str();
        let Some((at, column)) = table.column(name) else {
            return Err(no_such_column(&table.name, name));
        };
        let position = u16::try_from(at).unwrap_or(u16::MAX);
        let of = format!("column \"{name}\" of relation \"{}\"", table.name);
        let syntax = |message: String| SqlError::new(SqlState::SYNTAX_ERROR, message);
        let is_identity = matches!(column.generation, Some(Generation::Identity { .. }));
        let is_computed = matches!(column.generation, Some(Generation::Stored(_)));
        match change {
            ColumnChange::Type {
                data_type,
                collation,
                using,
            } => {
                let (collation, using) = (collation.as_ref(), using.as_ref());
                self.retype(&table, at, data_type, collation, using).await
            }
            ColumnChange::SetDefault(_) | ColumnChange::DropDefault if is_identity => {
                let error = syntax(format!("{of} is an identity column"));
                Err(match change {
                    ColumnChange::DropDefault => {
                        error.hint("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead.")
                    }
                    _ => error,
                })
            }
            ColumnChange::SetDefault(_) | ColumnChange::DropDefault if is_computed => {
                Err(syntax(format!("{of} is a generated column")))
            }
            ColumnChange::SetDefault(value) => {
                let catalog = self.transaction.catalog();
                let mut changed = column.clone();
                let names = self.names(&catalog);
                phase::run(|| {
                    changed.default = Some(stored_default(&names, value)?);
                    let bind_context = self.bind_context(&catalog);
                    let mut parameters = Parameters::default();
                    let mut binder = Binder::for_definitions(&bind_context, &mut parameters);
                    let uses = binder.check_column(&table.name, &[], &changed)?;
                    changed.refers_to(uses);
                    Ok(())
                })
                .await?;
                let set = |column: &mut Column| column.default = changed.default;
                self.edit_column(id, position, set).await
            }
            ColumnChange::DropDefault => {
                let unset = |column: &mut Column| column.default = None;
                self.edit_column(id, position, unset).await
            }
            ColumnChange::SetNotNull => {
                if column.not_null {
                    return Ok(());
                }
                let condition = format!("{} is null", syntax::name::quoted(name));
                if self.has_row(&table, &condition).await? {
                    return Err(contains_nulls(&table, name));
                }
                let set = |column: &mut Column| column.not_null = true;
                self.edit_column(id, position, set).await
            }
            ColumnChange::DropNotNull => {
                if is_identity {
                    return Err(syntax(format!("{of} is an identity column")));
                }
                let key = table.primary_key_columns().unwrap_or_default();
                if key.contains(&position) {
                    let message = format!("column \"{name}\" is in a primary key");
                    return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message));
                }
                let unset = |column: &mut Column| column.not_null = false;
                self.edit_column(id, position, unset).await
            }
            ColumnChange::DropExpression { if_exists } => {
                if !is_computed {
                    return match if_exists {
                        true => Ok(()),
                        false => Err(wrong_state(format!(
                            "{of} is not a stored generated column"
                        ))),
                    };
                }
                let unset = |column: &mut Column| column.generation = None;
                self.edit_column(id, position, unset).await
            }
            ColumnChange::AddIdentity { mode, clauses } => {
                let refused = match () {
                    () if is_identity => Some("is already an identity column"),
                    () if !column.not_null => {
                        Some("must be declared NOT NULL before identity can be added")
                    }
                    () if column.default.is_some() => Some("already has a default value"),
                    () if is_computed => Some("is a generated column"),
                    () => None,
                };
                if let Some(refused) = refused {
                    return Err(wrong_state(format!("{of} {refused}")));
                }
                let mut changed = column.clone();
                let sequence = column_identity(at, column.ty, *mode, clauses)?;
                let owned = self
                    .create_column_sequence(table.schema, &table.name, &mut changed, &sequence)
                    .await?;
                let set = |column: &mut Column| column.generation = changed.generation;
                let ddl = self.transaction.ddl()?;
                let table = ddl.alter_column(id, position, set).await?;
                self.own_sequences(&table, &[owned]).await
            }
            ColumnChange::SetIdentity(change) => self.set_identity(&table, at, change).await,
            ColumnChange::DropIdentity { if_exists } => {
                let Some(Generation::Identity { sequence, .. }) = column.generation else {
                    return match if_exists {
                        true => Ok(()),
                        false => Err(wrong_state(format!("{of} is not an identity column"))),
                    };
                };
                let unset = |column: &mut Column| column.generation = None;
                let ddl = self.transaction.ddl()?;
                ddl.alter_column(id, position, unset).await?;
                let free = |sequence: &mut Sequence| {
                    sequence.owned_by = None;
                    Ok(())
                };
                ddl.alter_sequence(sequence, false, free).await?;
                let target = Target::Object(sequence);
                ddl.drop(&[target], Behavior::Restrict).await.map(drop)
            }
            ColumnChange::Storage(supported) => supported.clone(),
        }
    }

    async fn set_identity(&self, table: &Table, at: usize, change: &IdentityChange) -> Result<()> {
        change.clauses.consistent()?;
        let column = &table.columns[at];
        let Some(Generation::Identity { mode, sequence }) = column.generation else {
            return Err(wrong_state(format!(
                "column \"{}\" of relation \"{}\" is not an identity column",
                column.name, table.name
            )));
        };
        if let Some(new) = change.mode.map(identity_mode)
            && new != mode
        {
            let position = u16::try_from(at).unwrap_or(u16::MAX);
            let set = |column: &mut Column| {
                column.generation = Some(Generation::Identity {
                    mode: new,
                    sequence,
                });
            };
            self.edit_column(table.id, position, set).await?;
        }
        let catalog = self.transaction.catalog();
        let sequence = catalog.expect_sequence(sequence)?;
        let owner: Option<Option<OwnedBy>> = None;
        self.change_sequence(sequence, &change.clauses, owner).await
    }

    /// Locks a table and changes what no row depends on in a column.
    async fn edit_column(
        &self,
        id: ObjectId,
        position: u16,
        edit: impl FnOnce(&mut Column),
    ) -> Result<()> {
        let ddl = self.transaction.ddl()?;
        ddl.alter_column(id, position, edit).await.map(drop)
    }

    /// Locks a table and changes what no row depends on.
    pub(super) async fn edit_table(
        &self,
        id: ObjectId,
        edit: impl FnOnce(&mut Table) -> Result<()>,
    ) -> Result<()> {
        let ddl = self.transaction.ddl()?;
        let mode = TableLockMode::AccessExclusive;
        ddl.alter_table(id, mode, edit).await.map(drop)
    }
}

pub(super) fn contains_nulls(table: &Table, column: &str) -> SqlError {
    let name = &table.name;
    let message = format!("column \"{column}\" of relation \"{name}\" contains null values");
    SqlError::new(SqlState::NOT_NULL_VIOLATION, message)
        .table(name)
        .column(column)
}

fn wrong_state(message: String) -> SqlError {
    SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}
