//! COPY and CREATE TABLE AS: a table's rows from the client, or from a query that it is made of, are those of an INSERT
//! that is handed them in batches; its rows to the client are those of a query.

use std::sync::Arc;

use types::{Result, SqlError, SqlState};

use super::{
    BindContext, Binder, Bound, Parameters, clause::Clause, select::applied, write::NewRow,
};
use crate::{
    expression::Expression,
    relation::{Insert, Relation},
};
use catalog::{Generation, Table, TableKind};
use syntax::{
    name::{DottedName, Name},
    position::Lines,
};

/// The columns of a table that are copied, by position.
pub struct CopiedColumns {
    /// Table that COPY names.
    pub table: Arc<Table>,
    /// Positions of the columns in the table, in the order of the fields of a copied row.
    pub columns: Vec<usize>,
}

impl<'b> Binder<'b> {
    /// Rows of the client's, put into columns of a table.
    ///
    /// # Errors
    /// Those of names.
    pub fn bind_copy_from(
        bind_context: &BindContext<'b>,
        lines: &'b Lines<'b>,
        name: &DottedName,
        columns: &[Name],
        parameters: &'b mut Parameters,
    ) -> Result<(Bound, CopiedColumns)> {
        let mut binder = Binder::new(bind_context, lines, parameters);
        let copied = binder.copied(name, columns, "copy to")?;
        let bound = binder.put_into(&copied.table, &copied.columns)?;
        Ok((bound, copied))
    }

    /// Binds an INSERT into all columns of a table, whose rows are handed over in batches.
    ///
    /// # Errors
    /// Errors of the table's definition.
    pub fn bind_rows_into(
        bind_context: &BindContext<'b>,
        lines: &'b Lines<'b>,
        table: &Arc<Table>,
        parameters: &'b mut Parameters,
    ) -> Result<Bound> {
        let columns: Vec<_> = (0..table.columns.len()).collect();
        Binder::new(bind_context, lines, parameters).put_into(table, &columns)
    }

    /// Binds an INSERT whose rows are handed over in batches and give some columns, by position; the others have
    /// their defaults.
    fn put_into(mut self, table: &Arc<Table>, columns: &[usize]) -> Result<Bound> {
        let received: Vec<_> = columns.iter().map(|_| self.new_column()).collect();
        let given = columns.iter().zip(&received).map(|(&at, &id)| {
            let column = &table.columns[at];
            (at, Expression::column(id, column.ty, column.modifier))
        });
        let given = given.collect();
        let rows = Relation::CopySource { columns: received };
        let mut clause = Clause::plain("DEFAULT");
        let values = self.filled(table, given, &mut clause)?;
        let NewRow {
            columns: new,
            checks,
            generated,
        } = self.new_row(table)?;
        let relation = Relation::Insert(Box::new(Insert {
            table: table.clone(),
            input: applied(rows, clause.subqueries),
            values,
            on_conflict: None,
            new,
            checks,
            generated,
        }));
        Ok(self.into_bound(relation, Vec::new()))
    }

    /// The columns whose rows go to the client.
    ///
    /// # Errors
    /// Those of names.
    pub fn bind_copy_to(
        bind_context: &BindContext<'b>,
        lines: &'b Lines<'b>,
        name: &DottedName,
        columns: &[Name],
        parameters: &'b mut Parameters,
    ) -> Result<CopiedColumns> {
        Binder::new(bind_context, lines, parameters).copied(name, columns, "copy from")
    }

    fn copied(&mut self, name: &DottedName, names: &[Name], what: &str) -> Result<CopiedColumns> {
        let qualified = name.qualified(self.database())?;
        let found = self.catalog.expect_relation(
            &self.search_path,
            qualified.schema.as_deref(),
            &qualified.name,
        )?;
        let table = match found {
            catalog::Relation::Table(table)
                if what == "copy to" && table.kind == TableKind::System =>
            {
                let message = format!("permission denied: \"{}\" is a system catalog", table.name);
                return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
            }
            catalog::Relation::Table(table) => table.clone(),
            other => {
                let kind = match other {
                    catalog::Relation::View(_) => "view",
                    catalog::Relation::Sequence(_) => "sequence",
                    _ => "non-table relation",
                };
                let message = format!("cannot {what} {kind} \"{}\"", qualified.name);
                let error = SqlError::new(SqlState::WRONG_OBJECT_TYPE, message);
                return Err(match (kind, what) {
                    ("view", "copy from") => error.hint("Try the COPY (SELECT ...) TO variant."),
                    ("view", _) => error
                        .hint("To enable copying to a view, provide an INSTEAD OF INSERT trigger."),
                    _ => error,
                });
            }
        };
        if names.is_empty() {
            let copied = table
                .live_columns()
                .filter(|(_, column)| !matches!(column.generation, Some(Generation::Stored(_))));
            let columns = copied.map(|(at, _)| at).collect();
            return Ok(CopiedColumns { table, columns });
        }
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let at = self.column_of(&table, name)?;
            let column = &table.columns[at];
            if matches!(column.generation, Some(Generation::Stored(_))) {
                let message = format!("column \"{}\" is a generated column", column.name);
                return Err(SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, message)
                    .detail("Generated columns cannot be used in COPY."));
            }
            if columns.contains(&at) {
                let message = format!("column \"{}\" specified more than once", column.name);
                return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
            }
            columns.push(at);
        }
        Ok(CopiedColumns { table, columns })
    }
}
