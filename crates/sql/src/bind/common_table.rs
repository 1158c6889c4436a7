//! WITH: common table expressions, recursive ones too.
//!
//! One that is used once, and may be, takes the place of its use; others are asked once and
//! shared. PostgreSQL does the same.

use sqlparser::ast::{self, SetExpr, SetOperator, SetQuantifier};
use types::{Result, SqlError, SqlState, TypeModifier};

use super::{
    Binder,
    scalar::place,
    scope::{Scope, Source, SourceColumn},
};
use crate::{
    expression::{ColumnId, Expression},
    name,
    relation::{Output, Relation, Shared, SharedBody, SharedId},
};

/// What a name in a WITH clause stands for.
#[derive(Debug, Clone)]
pub(crate) struct CommonTable {
    name: String,
    number: SharedId,
    columns: Vec<Output>,
    /// The recursive part is being bound: how often it has named itself.
    own: Option<usize>,
}

impl Binder<'_> {
    /// Binds the definitions of a WITH clause and makes their names known.
    pub(super) fn with(&mut self, with: &ast::With, scope: &Scope<'_>) -> Result<Vec<Shared>> {
        let first = self.common_tables.len();
        let mut definitions = Vec::with_capacity(with.cte_tables.len());
        for cte in &with.cte_tables {
            let folded = name::fold(&cte.alias.name);
            if self.common_tables[first..]
                .iter()
                .any(|other| other.name == folded)
            {
                let message = format!("WITH query name \"{folded}\" specified more than once");
                let error = SqlError::new(SqlState::DUPLICATE_ALIAS, message);
                return Err(place(error, self.at(cte.alias.name.span)));
            }
            if matches!(*cte.query.body, SetExpr::Merge(_)) {
                let message = "MERGE not supported in WITH query";
                let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
                return Err(place(error, self.at(cte.alias.name.span)));
            }
            let number = self.new_shared();
            let own = Scope::within(scope.parent);
            let (body, mut outputs) = if with.recursive {
                self.recursive(cte, &folded, number, &own)?
            } else {
                let (relation, outputs) = self.query(&cte.query, &own)?;
                (SharedBody::Query(Box::new(relation)), outputs)
            };
            self.known_outputs(&outputs)?;
            self.rename(&mut outputs, cte)?;
            let columns = outputs.iter().map(|output| output.column).collect();
            definitions.push(Shared {
                number,
                name: folded.clone(),
                columns,
                body,
            });
            self.common_tables.push(CommonTable {
                name: folded,
                number,
                columns: outputs,
                own: None,
            });
        }
        Ok(definitions)
    }

    /// `initial UNION [ALL] step`, where the step names what it is a step of.
    fn recursive(
        &mut self,
        cte: &ast::Cte,
        folded: &str,
        number: SharedId,
        scope: &Scope<'_>,
    ) -> Result<(SharedBody, Vec<Output>)> {
        let SetExpr::SetOperation {
            op: SetOperator::Union,
            set_quantifier,
            left,
            right,
        } = &*cte.query.body
        else {
            let (relation, outputs) = self.query(&cte.query, scope)?;
            return Ok((SharedBody::Query(Box::new(relation)), outputs));
        };
        let (initial, mut outputs) = self.body(left, scope)?;
        self.known_outputs(&outputs)?;
        self.rename(&mut outputs, cte)?;
        // In the step, the name stands for what the step before has added.
        let columns: Vec<Output> = outputs
            .iter()
            .map(|output| Output {
                column: self.new_column(),
                origin: None,
                ..output.clone()
            })
            .collect();
        let table = CommonTable {
            name: folded.to_owned(),
            number,
            columns,
            own: Some(0),
        };
        self.common_tables.push(table);
        let step = self.body(right, scope);
        let table = self.common_tables.pop();
        let (step, step_outputs) = step?;
        let uses = table.and_then(|table| table.own).unwrap_or_default();
        let distinct = !matches!(set_quantifier, SetQuantifier::All);
        if uses == 0 {
            // It does not name itself: an ordinary union.
            let kind = crate::relation::SetKind::Union;
            let (relation, outputs) =
                self.set_operation(kind, !distinct, (initial, outputs), (step, step_outputs))?;
            return Ok((SharedBody::Query(Box::new(relation)), outputs));
        }
        if uses > 1 {
            let message =
                format!("recursive reference to query \"{folded}\" must not appear more than once");
            return Err(SqlError::new(SqlState::INVALID_RECURSION, message));
        }
        if cte.query.order_by.is_some() || cte.query.limit_clause.is_some() {
            return Err(SqlError::unsupported(
                "ORDER BY or LIMIT in a recursive query",
            ));
        }
        if outputs.len() != step_outputs.len() {
            let message = "each UNION query must have the same number of columns";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        let mut computed = Vec::new();
        let mut step_columns: Vec<ColumnId> = Vec::new();
        for (at, (output, step)) in outputs.iter().zip(&step_outputs).enumerate() {
            if output.ty == step.ty {
                step_columns.push(step.column);
                continue;
            }
            let value = Expression::column(step.column, step.ty, step.modifier);
            let converted = self.coerce(value, output.ty, TypeModifier::NONE, None).map_err(|_| {
                let message = format!(
                    "recursive query \"{folded}\" column {} has type {} in non-recursive term but type {} overall",
                    at + 1,
                    self.type_name(output.ty),
                    self.type_name(step.ty)
                );
                SqlError::new(SqlState::DATATYPE_MISMATCH, message)
                    .hint("Cast the output of the non-recursive term to the correct type.")
            })?;
            let id = self.new_column();
            computed.push((id, converted));
            step_columns.push(id);
        }
        let step = super::query::computed(step, computed);
        let initial_columns = outputs.iter().map(|output| output.column).collect();
        // What others read has columns of its own.
        let outputs: Vec<Output> = outputs
            .into_iter()
            .map(|output| Output {
                column: self.new_column(),
                origin: None,
                ..output
            })
            .collect();
        let distinct = distinct.then(|| outputs.iter().map(|output| output.ty).collect());
        Ok((
            SharedBody::Recursive {
                initial: Box::new(initial),
                initial_columns,
                step: Box::new(step),
                step_columns,
                distinct,
            },
            outputs,
        ))
    }

    fn rename(&self, outputs: &mut [Output], cte: &ast::Cte) -> Result<()> {
        let names = &cte.alias.columns;
        if names.len() > outputs.len() {
            let message = format!(
                "WITH query \"{}\" has {} columns available but {} columns specified",
                name::fold(&cte.alias.name),
                outputs.len(),
                names.len()
            );
            let error = SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, message);
            return Err(place(error, self.at(cte.alias.name.span)));
        }
        for (output, name) in outputs.iter_mut().zip(names) {
            output.name = name::fold(&name.name);
        }
        Ok(())
    }

    /// The common table of a name, if there is one: each use has columns of its own.
    pub(super) fn common_table(&mut self, name: &str) -> Result<Option<(Relation, Source)>> {
        let Some(at) = self
            .common_tables
            .iter()
            .rposition(|table| table.name == name)
        else {
            return Ok(None);
        };
        let table = &mut self.common_tables[at];
        if let Some(uses) = &mut table.own {
            *uses += 1;
        }
        let table = table.clone();
        let mut columns = Vec::with_capacity(table.columns.len());
        let mut shown = Vec::with_capacity(table.columns.len());
        for output in &table.columns {
            let id = self.new_column();
            columns.push((id, output.column));
            shown.push(SourceColumn::new(
                output.name.clone(),
                id,
                output.ty,
                output.modifier,
            ));
        }
        let source = Source {
            name: Some(table.name),
            schema: None,
            columns: shown,
            table: None,
        };
        Ok(Some((
            Relation::Shared {
                number: table.number,
                columns,
            },
            source,
        )))
    }
}
