//! CREATE TYPE and ALTER TYPE of enums: from syntax to the catalog's operations.

use sqlparser::ast::{
    AlterType, AlterTypeAddValuePosition, AlterTypeOperation, Ident, ObjectName,
    UserDefinedTypeRepresentation,
};
use types::{EnumId, Result, Scalar, SqlError, SqlState, Type};

use super::{
    Session,
    text_names::{has_label, names_type, relabelled},
};
use catalog::{Catalog, Column, LabelPlace, NameClass, Object, ObjectId};
use syntax::name;

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
        // Nobody comes to depend on it after texts were looked at.
        ddl.hold(id).await?;
        let catalog = self.changes.catalog();
        match &alter.operation {
            AlterTypeOperation::Rename(rename) => {
                let name = catalog.object(id).map_or("", |ty| ty.name());
                self.no_text_names(id, "renaming a type", |text| names_type(text, name))?;
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
                let (from, to) = (label(&rename.from)?, label(&rename.to)?);
                self.relabel(&catalog, id, from, to).await?;
                ddl.rename_label(id, from, to).await
            }
        }
    }

    /// Has defaults that are a label of a type, and are of columns of that type, be another one.
    ///
    /// # Errors
    /// 0A000 if another text has the label in it; those of the catalog.
    async fn relabel(&self, catalog: &Catalog, id: ObjectId, from: &str, to: &str) -> Result<()> {
        let ty = Type::Scalar(Scalar::Enum(EnumId(id.0)));
        let new_text = |column: &Column| {
            // In a column of another type the label would become another value.
            let expression = column.expression().filter(|_| column.ty == ty)?;
            relabelled(&expression.text, from, to)
        };
        self.no_expression_names(id, "renaming a label of a type", |of, text| {
            has_label(text, from) && of.is_none_or(|column| new_text(column).is_none())
        })?;
        for object in catalog.objects() {
            let Object::Table(table) = object else {
                continue;
            };
            for (at, column) in table.live_columns() {
                if new_text(column).is_none() {
                    continue;
                }
                // As it is by then.
                let edit = |column: &mut Column| {
                    let other = new_text(column);
                    if let (Some(other), Some(expression)) = (other, column.expression_mut()) {
                        expression.text = other.into();
                    }
                };
                let position = u16::try_from(at).unwrap_or(u16::MAX);
                self.ddl()?.alter_column(table.id, position, edit).await?;
            }
        }
        Ok(())
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
