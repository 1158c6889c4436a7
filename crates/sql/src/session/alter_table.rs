//! ALTER TABLE: its actions, in the order in which PostgreSQL carries them out.
//!
//! | actions | file |
//! | --- | --- |
//! | of columns; their types | `column.rs`; `retype.rs` |
//! | of constraints | `constraint.rs` |
//! | copying all rows, looking at all rows | `rewrite.rs` |
//!
//! Rows are read and copied as the newest committed transactions have left them, which a
//! transaction on a snapshot does not see: there, what needs the rows is refused.

mod column;
mod constraint;
mod rename;
mod retype;
mod rewrite;

use std::sync::Arc;

use engine::TableLockMode;
use types::{Result, SqlError, SqlState};

use super::{Session, define::no_table, role::no_role};
use catalog::{Object, ObjectId, Relation, Table};
use syntax::{
    name::{DottedName, Name},
    statement::{AlterTable, ColumnChange, ConstraintKind, TableAction},
};

impl Session {
    pub(super) async fn alter_table(&self, alter: &AlterTable) -> Result<()> {
        let Some(id) = self.table_to_alter(&alter.name, alter.if_exists)? else {
            return Ok(());
        };
        let modes = alter.actions.iter().map(lock_mode);
        let mode = modes.max().unwrap_or(TableLockMode::AccessExclusive);
        self.transaction.ddl()?.lock(id, mode).await?;
        // As others have left it.
        self.transaction.begin_definition();
        self.transaction.ddl()?.not_pending("ALTER TABLE", id)?;
        let mut actions: Vec<_> = alter.actions.iter().collect();
        actions.sort_by_key(|action| pass(action));
        for action in actions {
            self.alter_table_once(id, action).await?;
        }
        Ok(())
    }

    async fn alter_table_once(&self, id: ObjectId, action: &TableAction) -> Result<()> {
        match action {
            TableAction::AddColumn {
                definition,
                if_not_exists,
            } => self.add_column(id, definition, *if_not_exists).await,
            TableAction::DropColumn {
                name,
                if_exists,
                cascade,
            } => self.drop_column(id, name, *if_exists, *cascade).await,
            TableAction::AlterColumn { name, change } => self.alter_column(id, name, change).await,
            TableAction::AddConstraint {
                constraint,
                is_valid,
            } => self.add_constraint(id, constraint, *is_valid).await,
            TableAction::AddIndex {
                name,
                is_primary,
                index,
            } => {
                self.add_index_constraint(id, name.as_ref(), *is_primary, index)
                    .await
            }
            TableAction::DropConstraint {
                name,
                if_exists,
                cascade,
            } => self.drop_constraint(id, name, *if_exists, *cascade).await,
            TableAction::ValidateConstraint(name) => self.validate_constraint(id, name).await,
            TableAction::Owner(owner) => self.owner_is(owner),
            TableAction::Cluster(index) => self.cluster_on(id, index),
            TableAction::Storage(supported) => supported.clone(),
            TableAction::Unsupported(what) => Err(SqlError::unsupported(what)),
        }
    }

    /// Accepts the index that a table's rows are to be ordered by in PostgreSQL's files.
    fn cluster_on(&self, id: ObjectId, index: &Name) -> Result<()> {
        let table = self.table_now(id)?;
        let index = index.as_str();
        // A primary key whose rows lie under it has no index of its own.
        let key = table.primary_key.as_ref();
        if key.is_some_and(|key| *key.name == *index) || table.index_named(index).is_some() {
            return Ok(());
        }
        let message = format!(
            "index \"{index}\" for table \"{}\" does not exist",
            table.name
        );
        Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message))
    }

    /// Finds the table that a statement alters; `None` if it need not exist.
    fn table_to_alter(&self, written: &DottedName, if_exists: bool) -> Result<Option<ObjectId>> {
        let catalog = self.transaction.catalog();
        let named = written.qualified(&self.database.name)?;
        let (path, schema) = (self.settings.search_path(), named.schema.as_deref());
        match catalog.find_relation(path, schema, &named.name) {
            Some(Relation::Table(table)) => Ok(Some(table.id)),
            Some(_) => Err(no_table(&named.name)),
            None if if_exists => Ok(None),
            None => {
                let found = catalog.expect_relation(path, schema, &named.name);
                found.map(|found| Some(found.id()))
            }
        }
    }

    /// Returns a table as it is by now.
    fn table_now(&self, id: ObjectId) -> Result<Arc<Table>> {
        let catalog = self.transaction.catalog();
        catalog.table(id).cloned().ok_or_else(|| {
            let message = format!("relation with OID {id} does not exist");
            SqlError::new(SqlState::UNDEFINED_TABLE, message)
        })
    }

    /// Accepts an owner. The owner of a thing is not kept; all belongs to everybody. A statement that
    /// names a user who could own it asks for nothing else.
    pub(super) fn owner_is(&self, owner: &Name) -> Result<()> {
        let name = owner.as_str();
        let itself = ["current_user", "session_user", "current_role"];
        if itself.contains(&name) || name == self.settings.users().current() {
            return Ok(());
        }
        if self.transaction.catalog().role_named(name).is_some() {
            return Err(SqlError::unsupported("an owner other than the user"));
        }
        Err(no_role(name))
    }

    /// # Errors
    /// 0A000, if a view reads the table: its text would have to be rewritten.
    pub(super) fn no_view_over(&self, id: ObjectId, what: &str) -> Result<()> {
        let catalog = self.transaction.catalog();
        let mut views = catalog.objects().filter_map(|object| match object {
            Object::View(view) => Some(view),
            _ => None,
        });
        let over = views.find(|view| view.dependencies.iter().any(|on| on.object == id));
        match over {
            None => Ok(()),
            Some(view) => Err(SqlError::unsupported(format_args!(
                "{what} that view \"{}\" depends on",
                view.name
            ))
            .hint("Drop the view, and create it again.")),
        }
    }
}

/// Returns the mode in which an action locks its table: most keep everybody out. A foreign key keeps writers from
/// both of its tables, and readers from none; a look at rows that are there minds neither, because
/// new rows satisfy what is looked at already.
fn lock_mode(action: &TableAction) -> TableLockMode {
    match action {
        TableAction::AddConstraint { constraint, .. } => match constraint.kind {
            ConstraintKind::ForeignKey { .. } => TableLockMode::ShareRowExclusive,
            _ => TableLockMode::AccessExclusive,
        },
        TableAction::ValidateConstraint(_) => TableLockMode::ShareUpdateExclusive,
        _ => TableLockMode::AccessExclusive,
    }
}

/// Returns the order in which an action is carried out: drops come first, then types, then new columns, other changes
/// of columns, and constraints. Constraints that Weft does not have are refused before anything is done.
fn pass(action: &TableAction) -> u8 {
    match action {
        TableAction::DropColumn { .. } | TableAction::DropConstraint { .. } => 0,
        TableAction::AlterColumn {
            change: ColumnChange::Type { .. },
            ..
        } => 1,
        TableAction::AddColumn { .. } => 2,
        TableAction::AlterColumn { .. } => 3,
        TableAction::AddIndex { .. } => 4,
        TableAction::AddConstraint { constraint, .. } => match constraint.kind {
            ConstraintKind::Refused(_) => 0,
            ConstraintKind::PrimaryKey(_) | ConstraintKind::Unique { .. } => 4,
            _ => 5,
        },
        _ => 6,
    }
}
