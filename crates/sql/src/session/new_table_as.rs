//! CREATE TABLE AS and SELECT INTO: a table of the columns, and as a rule the rows, of a query.
//!
//! The query is planned before there is the table, so a name in it is never the new one's. Its rows are handed to an
//! INSERT into the table, a batch at a time. In the query's place EXECUTE may stand.

use std::sync::Arc;

use types::{Result, SqlError, SqlState, Type};

use super::{
    CommandTag, Field, Session, Sink,
    copy::no_parameters,
    define::duplicate_relation,
    insertion::Insertion,
    query::{CachedPlan, no_plan},
};
use batch::Rows;
use catalog::{Catalog, Column, NameClass, NewTable, Table};
use executor::execute::{KeyChanges, SharedRows};
use logical::bind::{Binder, Parameters};
use syntax::{
    Source, phase,
    statement::{InnerStatement, RowKind, TableAs},
};

impl Session {
    /// # Errors
    /// 42P07, 42701, 42601, 42P16; those of the query, and of EXECUTE; 0A000.
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
        // As in PostgreSQL, errors of a query come before that of the name, and those of EXECUTE behind it.
        let planned = match &new.query {
            InnerStatement::Rows(query) => {
                let find = async || Ok(Some((self.plan_within(source, query).await?, ())));
                self.runnable(find).await?
            }
            InnerStatement::Execute(_) => None,
        };
        let catalog = self.transaction.catalog();
        let (schema, name) = self.place(&catalog, &new.name)?;
        if new.if_not_exists && self.is_taken(&catalog, schema, &name, sink) {
            return sink.complete(CommandTag::Word(TableAs::TAG));
        }
        if catalog.named(NameClass::Relation, schema, &name).is_some() {
            return Err(duplicate_relation(&name));
        }
        new.supported.clone()?;
        let (query, parameters) = match (planned, &new.query) {
            (Some((query, ())), _) => (query, no_parameters()),
            (None, InnerStatement::Execute(execute)) => {
                let (prepared, given) = self.executed(execute, source).await?;
                self.prepared_query(&prepared, given).await?
            }
            (None, InnerStatement::Rows(_)) => return Err(no_plan()),
        };
        let table = NewTable {
            schema,
            name,
            columns: columns(new, &query.fields, &query.catalog)?,
            ..NewTable::default()
        };
        let table = self.transaction.ddl()?.create_table(table).await?;
        let rows = match (&new.query, new.with_data) {
            (_, true) => self.fill(&table, &query, &parameters, source).await?,
            (InnerStatement::Execute(_), false) => 0,
            (InnerStatement::Rows(_), false) => {
                return sink.complete(CommandTag::Word(TableAs::TAG));
            }
        };
        sink.complete(CommandTag::Rows("SELECT", rows))
    }

    /// Puts the rows of a query into a table that has just its columns; returns how many.
    async fn fill(
        &self,
        table: &Arc<Table>,
        query: &Arc<CachedPlan>,
        parameters: &Rows,
        source: &Source<'_>,
    ) -> Result<u64> {
        let catalog = &query.catalog;
        let insert = phase::run(|| {
            let mut none = Parameters::default();
            let bind_context = self.bind_context(catalog);
            let bound = Binder::bind_rows_into(&bind_context, source.lines(), table, &mut none)?;
            self.lowered(bound, RowKind::Insert, Vec::new(), catalog)
        })
        .await?;
        let environment = self.statement_environment(catalog);
        let (shared, none) = (SharedRows::new(self.budget()), no_parameters());
        let key_changes = KeyChanges::new(catalog, &shared.budget);
        let transaction = self.transaction.open()?;
        let context =
            self.execution_context(transaction, &environment, &none, &shared, &key_changes);
        let (columns, spare_rows) = (query.fields.len(), self.memory.spare_rows());
        let mut insertion = Insertion::new(&insert, columns, spare_rows, &context)?;
        let execution = self.execution(query)?;
        let rows = self
            .run_to_end(execution, parameters, &mut insertion)
            .await?;
        let changed_rows = self.transaction.changed_rows();
        changed_rows.note(rows, std::iter::once(table));
        Ok(rows)
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
    Ok(Column::new(name, field.ty, field.modifier))
}
