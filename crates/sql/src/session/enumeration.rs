//! CREATE TYPE and ALTER TYPE of enums: from syntax to the catalog's operations.

use types::{EnumId, Result, Scalar, SqlError, SqlState, Type};

use super::Session;
use catalog::{Catalog, Column, LabelPlace, NameClass, Object, ObjectId};
use syntax::{
    kept_text::{has_label, names_type, relabelled},
    name::DottedName,
    statement::{self, AlterType, CreateType, TypeChange},
};

impl Session {
    pub(super) async fn create_type(&self, create: &CreateType) -> Result<()> {
        let labels: Vec<&str> = create.labels.iter().map(String::as_str).collect();
        let catalog = self.transaction.catalog();
        let (schema, name) = self.place(&catalog, &create.name)?;
        create.supported.clone()?;
        let ddl = self.transaction.ddl()?;
        ddl.create_enum(schema, &name, &labels).await.map(drop)
    }

    pub(super) async fn alter_type(&self, alter: &AlterType) -> Result<()> {
        let catalog = self.transaction.catalog();
        let id = self.enum_named(&catalog, &alter.name)?;
        let ddl = self.transaction.ddl()?;
        // Nobody comes to depend on it after texts were looked at.
        ddl.hold(id).await?;
        let catalog = self.transaction.catalog();
        match &alter.change {
            TypeChange::Name(new) => {
                let name = catalog.object(id).map_or("", |ty| ty.name());
                self.no_text_names(id, "renaming a type", |text| names_type(text, name))?;
                ddl.rename(id, new.as_str()).await
            }
            TypeChange::AddLabel {
                label,
                place,
                if_not_exists,
            } => {
                let place = match place {
                    statement::LabelPlace::Last => LabelPlace::Last,
                    statement::LabelPlace::Before(other) => LabelPlace::Before(other),
                    statement::LabelPlace::After(other) => LabelPlace::After(other),
                };
                let added = ddl.add_label(id, label, place, *if_not_exists);
                added.await.map(drop)
            }
            TypeChange::RenameLabel { from, to } => {
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
                let ddl = self.transaction.ddl()?;
                ddl.alter_column(table.id, position, edit).await?;
            }
        }
        Ok(())
    }

    /// The enum type of a name.
    ///
    /// # Errors
    /// 42704; 42809 for types of another kind.
    pub(super) fn enum_named(&self, catalog: &Catalog, written: &DottedName) -> Result<ObjectId> {
        let found = written.qualified(&self.database.name)?;
        let schema = found.schema.as_deref();
        if let Some(id) = catalog.find(
            NameClass::Type,
            self.settings.search_path(),
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
