//! All rows of a table, put into another of which some columns are computed anew: how a table is
//! rewritten.

use std::sync::Arc;

use types::{Result, SqlError, SqlState};

use super::{
    BindContext, Binder, Parameters, clause::Clause, scope::Scope, select::applied, write::NewRow,
};
use crate::{
    expression::Expression,
    relation::{Insert, Relation},
};
use catalog::{Generation, Table};
use syntax::position::Lines;

/// Where a column of the new rows comes from, if not from the old one at its position.
#[derive(Debug, Clone, Copy)]
pub enum NewValue<'v> {
    /// The old value, converted.
    Converted,
    /// An expression over the old row.
    Computed(&'v syntax::Expression),
    /// The column's default.
    Default,
}

impl<'b> Binder<'b> {
    /// Binds what copies the rows of `old` into `new`.
    ///
    /// # Errors
    /// 42804 for a value that does not become the column's type by itself; those of binding.
    pub fn rewrite(
        bind_context: &BindContext<'b>,
        old: &Arc<Table>,
        new: &Arc<Table>,
        changed: &[(usize, NewValue<'_>)],
    ) -> Result<Relation> {
        let mut parameters = Parameters::default();
        let mut binder = Binder::new(bind_context, Lines::none(), &mut parameters);
        let (scan, source) = binder.scan(old);
        let old_columns = scan.columns.clone();
        let mut scope = Scope::default();
        scope.add(source)?;
        let mut clause = Clause::plain("transform expressions");
        let mut values = Vec::with_capacity(new.columns.len());
        for (at, column) in new.columns.iter().enumerate() {
            let is_computed = matches!(column.generation, Some(Generation::Stored(_)));
            if column.dropped || is_computed {
                values.push(Expression::null(column.ty));
                continue;
            }
            let own = old_columns.iter().find(|(_, attribute)| *attribute == at);
            let own = own
                .zip(old.columns.get(at))
                .map(|((id, _), before)| Expression::column(*id, before.ty, before.modifier));
            let change = changed.iter().find(|(position, _)| *position == at);
            values.push(match (change.map(|(_, value)| value), own) {
                (Some(NewValue::Computed(value)), _) => {
                    let value =
                        binder.scalar_for(value.tree(), column.ty, false, &scope, &mut clause)?;
                    let assigned = binder.assigned(value, column, None);
                    assigned.map_err(|error| does_not_fit(error, &binder, column, true))?
                }
                (Some(NewValue::Converted), Some(own)) => {
                    let assigned = binder.assigned(own, column, None);
                    assigned.map_err(|error| does_not_fit(error, &binder, column, false))?
                }
                (None, Some(own)) => own,
                (Some(NewValue::Default | NewValue::Converted) | None, _) => {
                    binder.default_of(column, &mut clause)?
                }
            });
        }
        let NewRow {
            columns,
            checks,
            generated,
        } = binder.new_row(new)?;
        Ok(Relation::Insert(Box::new(Insert {
            table: new.clone(),
            input: applied(Relation::Scan(scan), clause.subqueries),
            values,
            on_conflict: None,
            new: columns,
            checks,
            generated,
        })))
    }
}

fn does_not_fit(
    error: SqlError,
    binder: &Binder<'_>,
    column: &catalog::Column,
    using: bool,
) -> SqlError {
    if error.state() != SqlState::DATATYPE_MISMATCH {
        return error;
    }
    let (name, ty) = (&column.name, binder.type_name(column.ty));
    if using {
        let message = format!(
            "result of USING clause for column \"{name}\" cannot be cast automatically to type {ty}"
        );
        return SqlError::new(SqlState::DATATYPE_MISMATCH, message)
            .hint("You might need to add an explicit cast.");
    }
    let message = format!("column \"{name}\" cannot be cast automatically to type {ty}");
    let quoted = syntax::name::quoted(name);
    SqlError::new(SqlState::DATATYPE_MISMATCH, message).hint(format!(
        "You might need to specify \"USING {quoted}::{ty}\"."
    ))
}
