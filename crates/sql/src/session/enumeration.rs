//! CREATE TYPE and ALTER TYPE of enums: from syntax to the catalog's operations.

use sqlparser::ast::{
    AlterType, AlterTypeAddValuePosition, AlterTypeOperation, Ident, ObjectName,
    UserDefinedTypeRepresentation,
};
use types::{Result, SqlError, SqlState, Type};

use super::Session;
use crate::{
    catalog::{Catalog, LabelPlace, NameClass, ObjectId},
    name,
};

impl Session {
    pub(super) async fn create_type(
        &self,
        written: &ObjectName,
        representation: Option<&UserDefinedTypeRepresentation>,
    ) -> Result<()> {
        let labels = match representation {
            Some(UserDefinedTypeRepresentation::Enum { labels }) => labels,
            Some(UserDefinedTypeRepresentation::Composite { .. }) => {
                return Err(SqlError::unsupported("a composite type"));
            }
            Some(UserDefinedTypeRepresentation::Range { .. }) => {
                return Err(SqlError::unsupported("a range type"));
            }
            Some(UserDefinedTypeRepresentation::SqlDefinition { .. }) | None => {
                return Err(SqlError::unsupported("a base type"));
            }
        };
        let labels = labels.iter().map(label).collect::<Result<Vec<_>>>()?;
        let catalog = self.changes.catalog();
        let (schema, name) = self.place(&catalog, written)?;
        self.ddl()?
            .create_enum(schema, &name, &labels)
            .await
            .map(drop)
    }

    pub(super) async fn alter_type(&self, alter: &AlterType) -> Result<()> {
        let catalog = self.changes.catalog();
        let id = self.enum_named(&catalog, &alter.name)?;
        let ddl = self.ddl()?;
        match &alter.operation {
            AlterTypeOperation::Rename(rename) => {
                ddl.rename(id, &name::fold(&rename.new_name)).await
            }
            AlterTypeOperation::AddValue(add) => {
                let place = match &add.position {
                    None => LabelPlace::Last,
                    Some(AlterTypeAddValuePosition::Before(other)) => {
                        LabelPlace::Before(label(other)?)
                    }
                    Some(AlterTypeAddValuePosition::After(other)) => {
                        LabelPlace::After(label(other)?)
                    }
                };
                ddl.add_label(id, label(&add.value)?, place, add.if_not_exists)
                    .await
                    .map(drop)
            }
            AlterTypeOperation::RenameValue(rename) => {
                ddl.rename_label(id, label(&rename.from)?, label(&rename.to)?)
                    .await
            }
        }
    }

    /// The enum type of a name.
    ///
    /// # Errors
    /// 42704; 42809 for types of another kind.
    pub(super) fn enum_named(&self, catalog: &Catalog, written: &ObjectName) -> Result<ObjectId> {
        let found = name::qualified(written, &self.database.name)?;
        let schema = found.schema.as_deref();
        if let Some(id) = catalog.find(
            NameClass::Type,
            &self.inputs.search_path,
            schema,
            &found.name,
        ) {
            return Ok(id);
        }
        Err(match Type::named(&found.name) {
            Some(ty) => SqlError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("{} is not an enum", ty.name(catalog)),
            ),
            None => SqlError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("type \"{found}\" does not exist"),
            ),
        })
    }
}

/// A label: a string, which the parser gives as a name in its quotes.
fn label(ident: &Ident) -> Result<&str> {
    match ident.quote_style {
        Some('\'') => Ok(&ident.value),
        _ => {
            let message = format!("syntax error at or near \"{ident}\"");
            let error = SqlError::new(SqlState::SYNTAX_ERROR, message);
            Err(error.detail("A label is written as a string."))
        }
    }
}
