//! Names: of tables and other objects, of columns and constraints; and the schema that something
//! lies in.
//!
//! A column is named by the expressions of its table, which are kept as text and rewritten with
//! it. Views name tables and columns too; what they read keeps its names.

use types::{Result, SqlError, SqlState};

use super::super::{
    Session,
    define::{no_constraint, no_table},
    text_names::names_relation,
};
use catalog::{Catalog, Generation, IndexKey, Object, ObjectId, Relation, StoredExpression, Table};
use syntax::{
    kept_text::{names_schema, with_column_renamed},
    name::{Name, QualifiedName},
    statement::{AlterObject, ObjectChange, ObjectKind},
};

impl Session {
    /// `ALTER ... RENAME`, `SET SCHEMA`, `OWNER TO`.
    pub(in crate::session) async fn alter_object(&self, alter: &AlterObject) -> Result<()> {
        let (kind, change) = (alter.kind, &alter.change);
        if kind == ObjectKind::Statistics {
            return self.alter_statistics(alter).await;
        }
        let named = alter.name.qualified(&self.database.name)?;
        if kind == ObjectKind::Schema {
            let catalog = self.transaction.catalog();
            let schema = catalog.expect_schema(&named.name)?.id;
            return match change {
                ObjectChange::Name(new) => self.rename_schema(schema, new).await,
                ObjectChange::Owner(owner) => self.owner_is(owner),
                _ => Err(SqlError::new(
                    SqlState::SYNTAX_ERROR,
                    "a schema can be renamed, and no more",
                )),
            };
        }
        // Nobody comes to depend on it, or renames a part, after it was looked at.
        let Some((catalog, id)) = self.held_relation(&named, alter.if_exists).await? else {
            return Ok(());
        };
        match catalog.relation(id) {
            Some(found) => {
                self.alter_relation(kind, &named, &catalog, found, change)
                    .await
            }
            None => Err(SqlError::new(
                SqlState::INTERNAL_ERROR,
                "a relation without a descriptor",
            )),
        }
    }

    /// The same for a relation that is held.
    async fn alter_relation(
        &self,
        kind: ObjectKind,
        named: &QualifiedName,
        catalog: &Catalog,
        found: Relation<'_>,
        change: &ObjectChange,
    ) -> Result<()> {
        let id = found.id();
        let is = match &found {
            Relation::Table(_) => ObjectKind::Table,
            Relation::Index(..) => ObjectKind::Index,
            Relation::Sequence(_) => ObjectKind::Sequence,
            Relation::View(_) => ObjectKind::View,
        };
        // ALTER TABLE is for all of them, and ALTER INDEX takes tables' names as well.
        let fits = is == kind
            || kind == ObjectKind::Table
            || (kind, is) == (ObjectKind::Index, ObjectKind::Table);
        if !fits {
            let article = if kind == ObjectKind::Index { "an" } else { "a" };
            let noun = kind.noun();
            let message = format!("\"{}\" is not {article} {noun}", named.name);
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        match (change, found) {
            (ObjectChange::Owner(owner), _) => self.owner_is(owner),
            (ObjectChange::Name(new), _) => {
                self.no_view_over(id, "renaming what")?;
                self.no_text_names(id, "renaming what", |text| names_relation(text, id))?;
                self.transaction.ddl()?.rename(id, new.as_str()).await
            }
            (ObjectChange::Schema(_), Relation::Index(..)) => {
                let message = format!("cannot set the schema of \"{}\" alone", named.name);
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message))
            }
            (ObjectChange::Schema(schema), found) => {
                let schema = catalog.expect_schema(schema.as_str())?.id;
                if let Relation::Sequence(sequence) = found
                    && let Some(owner) = sequence.owned_by
                {
                    let owner = catalog.table(owner.table).map_or("", |table| &table.name);
                    let message = "cannot move an owned sequence into another schema";
                    let detail = format!(
                        "Sequence \"{}\" is linked to table \"{owner}\".",
                        sequence.name
                    );
                    return Err(
                        SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message).detail(detail)
                    );
                }
                self.no_view_over(id, "moving what")?;
                self.no_text_names(id, "moving what", |text| names_relation(text, id))?;
                self.transaction.ddl()?.set_schema(id, schema).await
            }
            (ObjectChange::ColumnName(old, new), Relation::Table(table)) => {
                self.rename_column(table, old, new).await
            }
            (ObjectChange::ColumnName(..), _) => Err(SqlError::unsupported(format_args!(
                "renaming a column of {}",
                kind.noun()
            ))),
            (ObjectChange::ConstraintName(old, new), Relation::Table(table)) => {
                self.rename_constraint(table, old, new).await
            }
            (ObjectChange::ConstraintName(..), _) => Err(no_table(&named.name)),
        }
    }

    async fn rename_schema(&self, id: ObjectId, new: &Name) -> Result<()> {
        let ddl = self.transaction.ddl()?;
        // Nothing comes into it after texts were looked at.
        ddl.hold(id).await?;
        let catalog = self.transaction.catalog();
        let old = catalog.schema_name(id).to_owned();
        let inside = catalog
            .objects()
            .filter(|object| object.schema() == Some(id));
        for object in inside {
            let what = "renaming the schema of what";
            match object {
                Object::Enum(_) => {
                    self.no_text_names(object.id(), what, |text| names_schema(text, &old))?;
                }
                _ => self.no_view_over(object.id(), what)?,
            }
        }
        ddl.rename(id, new.as_str()).await
    }

    async fn rename_column(&self, table: &Table, old: &Name, new: &Name) -> Result<()> {
        let (old, new) = (old.as_str(), new.as_str());
        let Some((at, _)) = table.column(old) else {
            let message = format!("column \"{old}\" does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, message));
        };
        if table.column(new).is_some() {
            let message = format!(
                "column \"{new}\" of relation \"{}\" already exists",
                table.name
            );
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        self.no_view_over(table.id, "renaming a column of what")?;
        let position = u16::try_from(at).unwrap_or(u16::MAX);
        let ddl = self.transaction.ddl()?;
        ddl.rename_column(table.id, position, new).await?;
        self.edit_table(table.id, |table| rename_in(table, old, new))
            .await
    }

    async fn rename_constraint(&self, table: &Table, old: &Name, new: &Name) -> Result<()> {
        let (old, new) = (old.as_str(), new.as_str());
        let unique = table.uniques.iter().find(|unique| *unique.name == *old);
        let key = table.primary_key.iter().find(|key| *key.name == *old);
        let index = unique
            .map(|unique| unique.index)
            .or(key.and_then(|key| key.index));
        if let Some(index) = index {
            return self.transaction.ddl()?.rename(index, new).await;
        }
        let known = key.is_some()
            || table.checks.iter().any(|check| *check.name == *old)
            || table.foreign_keys.iter().any(|key| *key.name == *old);
        if !known {
            return Err(no_constraint(&table.name, old));
        }
        let rename = |table: &mut Table| {
            let name = std::sync::Arc::<str>::from(new);
            if let Some(key) = &mut table.primary_key
                && *key.name == *old
            {
                key.name = name.clone();
            }
            let mut checks = table.checks.to_vec();
            let renamed = checks.iter_mut().filter(|check| *check.name == *old);
            renamed.for_each(|check| check.name = name.clone());
            checks.sort_by(|one, other| one.name.cmp(&other.name));
            table.checks = checks.into();
            let mut keys = table.foreign_keys.to_vec();
            let renamed = keys.iter_mut().filter(|key| *key.name == *old);
            renamed.for_each(|key| key.name = name.clone());
            keys.sort_by(|one, other| one.name.cmp(&other.name));
            table.foreign_keys = keys.into();
            Ok(())
        };
        super::constraint::is_free(table, new)?;
        self.edit_table(table.id, rename).await
    }
}

/// Has a table's expressions name a column otherwise.
fn rename_in(table: &mut Table, old: &str, new: &str) -> Result<()> {
    let renamed = |stored: &mut StoredExpression| {
        stored.text = with_column_renamed(&stored.text, old, new)?.into();
        Ok::<(), SqlError>(())
    };
    let mut checks = table.checks.to_vec();
    for check in &mut checks {
        renamed(&mut check.expression)?;
    }
    table.checks = checks.into();
    let mut columns = table.columns.to_vec();
    for column in &mut columns {
        if let Some(Generation::Stored(stored)) = &mut column.generation {
            renamed(stored)?;
        }
    }
    table.columns = columns.into();
    let mut indexes = table.indexes.to_vec();
    for index in &mut indexes {
        let mut keys = index.columns.to_vec();
        for key in &mut keys {
            if let IndexKey::Expression(stored) = &mut key.key {
                renamed(stored)?;
            }
        }
        index.columns = keys.into();
        if let Some(predicate) = &mut index.predicate {
            renamed(predicate)?;
        }
    }
    table.indexes = indexes.into();
    Ok(())
}
