//! CREATE VIEW: from the statement to the catalog's operations.

use types::{Result, SqlError, SqlState};

use super::Session;
use catalog::{Comments, NameClass, Object, ObjectId, View, ViewColumn};
use logical::bind::{Binder, Parameters};
use syntax::{Source, phase, statement::CreateView};

impl Session {
    pub(super) async fn create_view(&self, create: &CreateView, source: &Source<'_>) -> Result<()> {
        create.supported.clone()?;
        let catalog = self.transaction.catalog();
        let (schema, name) = self.place(&catalog, &create.name)?;
        let (text, outputs, uses, grouped_by) = phase::run(|| {
            let text = create.query.to_string();
            let mut parameters = Parameters::default();
            let bind_context = self.bind_context(&catalog);
            let (lines, query) = (source.lines(), &create.query);
            let bound = Binder::bind_definition(&bind_context, lines, query, &mut parameters)?;
            let tables = planner::plan::tables(&bound.relation);
            if tables.iter().any(|(_, writes)| *writes) {
                let message = "views must not contain data-modifying statements in WITH";
                return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            Ok((text, bound.outputs, bound.uses, bound.grouped_by))
        })
        .await?;
        let mut columns: Vec<ViewColumn> = outputs
            .iter()
            .map(|output| ViewColumn {
                name: output.name.as_str().into(),
                ty: output.ty,
                modifier: output.modifier,
            })
            .collect();
        if create.columns.len() > columns.len() {
            let message = "CREATE VIEW specifies more column names than columns";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        for (column, renamed) in columns.iter_mut().zip(&create.columns) {
            column.name = renamed.as_str().into();
        }
        for (at, column) in columns.iter().enumerate() {
            if columns[..at].iter().any(|other| other.name == column.name) {
                let message = format!("column \"{}\" specified more than once", column.name);
                return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
            }
        }
        let existing = catalog
            .named(NameClass::Relation, schema, &name)
            .filter(|_| create.or_replace);
        let view = View {
            id: existing.unwrap_or_default(),
            schema,
            name: name.as_str().into(),
            text: text.into(),
            search_path: self.names(&catalog).schemas(),
            columns: columns.into(),
            dependencies: uses.into(),
            names_columns: true,
            grouped_by: grouped_by.into(),
            comments: Comments::default(),
        };
        match existing {
            None => self.transaction.ddl()?.create_view(view).await.map(drop),
            Some(id) => {
                let Some(Object::View(_)) = catalog.object(id) else {
                    let message = format!("\"{name}\" is not a view");
                    return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
                };
                is_not_within(&view, id, &catalog)?;
                self.transaction.ddl()?.replace_view(view).await
            }
        }
    }
}

/// A view cannot be made of itself.
fn is_not_within(view: &View, id: ObjectId, catalog: &catalog::Catalog) -> Result<()> {
    let mut next: Vec<ObjectId> = view.dependencies.iter().map(|on| on.object).collect();
    while let Some(used) = next.pop() {
        if used == id {
            let message = format!(
                "infinite recursion detected in rules for relation \"{}\"",
                view.name
            );
            return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message));
        }
        if let Some(Object::View(other)) = catalog.object(used) {
            next.extend(other.dependencies.iter().map(|on| on.object));
        }
    }
    Ok(())
}
