//! COMMENT ON: what is said of objects, columns and constraints.

use types::{Result, SqlError, SqlState};

use super::{
    Session,
    define::{no_constraint, no_such_column, no_table},
    new_statistics::no_statistics,
    role::no_role,
};
use catalog::{Catalog, ObjectId, Part, Relation, TableKind};
use syntax::{
    name::DottedName,
    statement::{Comment, Commented, ObjectKind},
};

impl Session {
    /// # Errors
    /// 42P01, 42703, 42704, 3F000 for what is not there; 42809; 42501; 0A000.
    pub(super) async fn comment(&self, comment: &Comment) -> Result<()> {
        let catalog = self.transaction.catalog();
        let (id, part) = self.commented(&catalog, &comment.on)?;
        if let Some(table) = catalog.table(id)
            && table.kind == TableKind::System
        {
            let message = format!("permission denied: \"{}\" is a system catalog", table.name);
            return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        let ddl = self.transaction.ddl()?;
        ddl.comment(id, part, comment.text.as_deref()).await
    }

    /// The object, and what of it is meant.
    fn commented(&self, catalog: &Catalog, on: &Commented) -> Result<(ObjectId, Part)> {
        match on {
            Commented::Object(ObjectKind::Schema, written) => {
                let named = written.qualified(&self.database.name)?;
                Ok((catalog.expect_schema(&named.name)?.id, Part::Whole))
            }
            Commented::Object(ObjectKind::Statistics, written) => {
                let named = written.qualified(&self.database.name)?;
                let found = self.statistics_named(catalog, &named);
                let (table, object) = found.ok_or_else(|| no_statistics(&named.name))?;
                Ok((table, Part::Statistics(object)))
            }
            Commented::Object(kind, written) => self.commented_relation(catalog, *kind, written),
            Commented::Column(written) => self.commented_column(catalog, written),
            Commented::Constraint(constraint, written) => {
                let constraint = constraint.as_str();
                let (Relation::Table(table), _) = self.relation_written(catalog, written)? else {
                    return Err(no_table(&written.to_string()));
                };
                let found = table.constraint(constraint);
                let found = found.ok_or_else(|| no_constraint(&table.name, constraint))?;
                Ok((table.id, Part::Constraint(found)))
            }
            Commented::Type(written) => Ok((self.enum_named(catalog, written)?, Part::Whole)),
            Commented::Role(role) => {
                let role = role.as_str();
                let found = catalog.role_named(role).ok_or_else(|| no_role(role))?;
                Ok((found.id, Part::Whole))
            }
            Commented::Other(what) => Err(SqlError::unsupported(format_args!("COMMENT ON {what}"))),
        }
    }

    fn commented_relation(
        &self,
        catalog: &Catalog,
        kind: ObjectKind,
        written: &DottedName,
    ) -> Result<(ObjectId, Part)> {
        let (found, name) = self.relation_written(catalog, written)?;
        match (kind, found) {
            (ObjectKind::Table, Relation::Table(table)) => Ok((table.id, Part::Whole)),
            (ObjectKind::View, Relation::View(view)) => Ok((view.id, Part::Whole)),
            (ObjectKind::Sequence, Relation::Sequence(sequence)) => Ok((sequence.id, Part::Whole)),
            (ObjectKind::Index, Relation::Index(table, index)) => {
                Ok((table.id, Part::Index(index.id)))
            }
            _ => {
                let article = if kind == ObjectKind::Index { "an" } else { "a" };
                let message = format!("\"{name}\" is not {article} {}", kind.noun());
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message))
            }
        }
    }

    fn commented_column(
        &self,
        catalog: &Catalog,
        written: &DottedName,
    ) -> Result<(ObjectId, Part)> {
        let Some((relation, column)) = written.split_last() else {
            let message = "column name must be qualified";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        };
        let column = column.as_str();
        let (id, name, position) = match self.relation_written(catalog, &relation)?.0 {
            Relation::Table(table) => {
                let found = table.column(column).map(|(at, _)| at);
                (table.id, &table.name, found)
            }
            Relation::View(view) => {
                let mut columns = view.columns.iter();
                let found = columns.position(|found| *found.name == *column);
                (view.id, &view.name, found)
            }
            Relation::Index(..) | Relation::Sequence(_) => {
                let message = format!("cannot set comment on relation \"{relation}\"");
                return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
        };
        let position = position.and_then(|at| u16::try_from(at).ok());
        let position = position.ok_or_else(|| no_such_column(name, column))?;
        Ok((id, Part::Column(position)))
    }
}
