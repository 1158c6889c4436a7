//! CREATE TABLE AS and SELECT INTO: a table of the columns, and as a rule the rows, of a query.
//!
//! The query is planned before there is the table, so a name in it is never the new one's; for its
//! rows it is bound once more under the same catalog version, below an INSERT into the table.

use std::sync::Arc;

use types::{Result, SqlError, SqlState, Type};

use super::{Field, Notice, Session, Sink, Tag, copy::no_parameters, execution::Execution};
use catalog::{Catalog, Column, NameClass, NewTable};
use logical::bind::{Binder, Parameters};
use syntax::{
    Source, phase,
    statement::{RowKind, TableAs},
};

impl Session {
    /// # Errors
    /// 42P07, 42701, 42601, 42P16; those of the query; 0A000.
    pub(super) async fn create_table_as(
        &mut self,
        new: &TableAs,
        source: &Source<'_>,
        sink: &mut impl Sink,
    ) -> Result<()> {
        // No table of another schema is in the way of a temporary one: IF NOT EXISTS is looked at later.
        if new.temporary {
            return Err(SqlError::unsupported("a temporary table"));
        }
        let find = async || {
            let cached_plan = self.plan_within(source, &new.query).await?;
            Ok(Some((cached_plan, ())))
        };
        let Some((query, ())) = self.runnable(find).await? else {
            return Err(SqlError::new(SqlState::INTERNAL_ERROR, "no plan"));
        };
        let catalog = query.catalog.clone();
        let (schema, name) = self.place(&catalog, &new.name)?;
        if new.if_not_exists && catalog.named(NameClass::Relation, schema, &name).is_some() {
            self.tell(sink, &Notice::exists_already("relation", &name));
            return sink.complete(Tag::Word(TableAs::TAG));
        }
        if let Some(what) = new.unsupported {
            return Err(SqlError::unsupported(what));
        }
        let table = NewTable {
            schema,
            name,
            columns: columns(new, &query.fields, &catalog)?,
            ..NewTable::default()
        };
        let table = self.transaction.ddl()?.create_table(table).await?;
        if !new.with_data {
            return sink.complete(Tag::Word(TableAs::TAG));
        }
        let cached_plan = phase::run(|| {
            let mut parameters = Parameters::default();
            let bind_context = self.bind_context(&catalog);
            let bound = Binder::bind_rows_of(
                &bind_context,
                source.lines(),
                &new.query,
                &table,
                &mut parameters,
            )?;
            self.lowered(bound, RowKind::Insert, Vec::new(), &catalog)
        })
        .await?;
        let execution = Execution::new(
            &Arc::new(cached_plan),
            self.budget(),
            self.memory.spare_rows(),
        )?;
        let rows = self.run_to_end(execution, &no_parameters(), sink).await?;
        sink.complete(Tag::Rows("SELECT", rows))
    }
}

fn columns(new: &TableAs, fields: &[Field], catalog: &Catalog) -> Result<Vec<Column>> {
    if new.columns.len() > fields.len() {
        let message = "too many column names were specified";
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
    }
    let names = new.columns.iter().map(|name| name.as_str().to_owned());
    let others = fields.iter().map(|field| field.name.clone());
    let names = names.chain(others.skip(new.columns.len()));
    let columns = fields.iter().zip(names);
    columns
        .map(|(field, name)| column(field, name, catalog))
        .collect()
}

fn column(field: &Field, name: String, catalog: &Catalog) -> Result<Column> {
    if let Type::Record | Type::Void = field.ty {
        let message = format!(
            "column \"{name}\" has pseudo-type {}",
            field.ty.name(catalog)
        );
        return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message));
    }
    Ok(Column {
        name: name.into(),
        ty: field.ty,
        modifier: field.modifier,
        not_null: false,
        default: None,
        generation: None,
        dropped: false,
        missing: None,
    })
}
