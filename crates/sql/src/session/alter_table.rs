//! ALTER TABLE: constraints of tables.

use std::sync::Arc;

use sqlparser::ast::{self, AlterTableOperation, TableConstraint};
use types::{Result, SqlError, SqlState};

use super::{Session, Sink, Tag, foreign_key::Written};
use crate::{
    catalog::{Behavior, Relation, Table, Target},
    name,
};

impl Session {
    pub(super) async fn alter_table(
        &self,
        alter: &ast::AlterTable,
        sink: &mut impl Sink,
    ) -> Result<()> {
        if let Some(table) = self.altered(alter)? {
            for operation in &alter.operations {
                self.alter(&table, operation).await?;
            }
        }
        sink.complete(Tag::Word("ALTER TABLE"))
    }

    fn altered(&self, alter: &ast::AlterTable) -> Result<Option<Arc<Table>>> {
        let catalog = self.changes.catalog();
        let written = name::qualified(&alter.name, &self.database.name)?;
        let schema = written.schema.as_deref();
        let found = catalog.expect_relation(&self.search_path, schema, &written.name);
        match found {
            Ok(Relation::Table(table)) => Ok(Some(table.clone())),
            Ok(_) => {
                let message = format!("\"{}\" is not a table", written.name);
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message))
            }
            Err(_) if alter.if_exists => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn alter(&self, table: &Arc<Table>, operation: &AlterTableOperation) -> Result<()> {
        match operation {
            AlterTableOperation::AddConstraint {
                constraint: TableConstraint::ForeignKey(key),
                not_valid,
            } => {
                let written = Written::of_table(key);
                self.add_foreign_key(table.id, &written, !not_valid).await
            }
            AlterTableOperation::DropConstraint {
                if_exists,
                name,
                drop_behavior,
            } => {
                let behavior = match drop_behavior {
                    Some(ast::DropBehavior::Cascade) => Behavior::Cascade,
                    _ => Behavior::Restrict,
                };
                let name = name::fold(name);
                self.drop_constraint(table, &name, *if_exists, behavior)
                    .await
            }
            AlterTableOperation::ValidateConstraint { name } => {
                self.validate_constraint(table, &name::fold(name)).await
            }
            other => Err(SqlError::unsupported(format_args!("ALTER TABLE {other}"))),
        }
    }

    async fn drop_constraint(
        &self,
        table: &Table,
        name: &str,
        if_exists: bool,
        behavior: Behavior,
    ) -> Result<()> {
        match table.constraint(name) {
            Some(id) => {
                let target = Target::Constraint(table.id, id);
                self.ddl()?.drop(&[target], behavior).await.map(drop)
            }
            None if if_exists => Ok(()),
            None => Err(no_constraint(table, name)),
        }
    }

    async fn validate_constraint(&self, table: &Table, name: &str) -> Result<()> {
        let id = table.constraint(name);
        let id = id.ok_or_else(|| no_constraint(table, name))?;
        let key = table.foreign_keys.iter().find(|key| key.id == id);
        match key {
            Some(key) if key.is_valid => Ok(()),
            Some(_) => self.validate_foreign_key(table.id, name).await,
            None if table.checks.iter().any(|check| check.id == id) => {
                Err(SqlError::unsupported("VALIDATE CONSTRAINT of a check"))
            }
            None => {
                let message = format!(
                    "constraint \"{name}\" of relation \"{}\" is not a foreign key or check \
                     constraint",
                    table.name
                );
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message))
            }
        }
    }
}

fn no_constraint(table: &Table, name: &str) -> SqlError {
    let table = &table.name;
    let message = format!("constraint \"{name}\" of relation \"{table}\" does not exist");
    SqlError::new(SqlState::UNDEFINED_OBJECT, message)
}
