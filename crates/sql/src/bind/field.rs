//! Fields of records: `(function(...)).field`, `(subquery.column).field`.
//!
//! A record's type does not say its fields, so the binder remembers them for what it has made
//! itself: rows of functions with several columns, and columns of subqueries that are such rows.
//! A field is then the column that it was made of, which operators hand on beside the record.

use sqlparser::ast::{AccessExpr, Expr};
use types::{Result, SqlError, SqlState, Type};

use super::{Binder, clause::Clause, scalar::place, scope::Scope};
use crate::{
    expression::{ColumnId, Expression, Kind},
    name,
};

impl Binder<'_> {
    /// A row of named fields.
    pub(super) fn record(&mut self, fields: Vec<(String, Expression)>) -> Expression {
        let values: Vec<_> = fields.iter().map(|(_, value)| value.clone()).collect();
        if let Some(first) = values.first().and_then(column_of) {
            self.records.insert(first, fields);
        }
        Expression::new(Kind::Row(values), Type::Record)
    }

    /// Takes note that a column is an expression, in case that is such a row.
    pub(super) fn note_record(&mut self, column: ColumnId, value: &Expression) {
        if value.ty == Type::Record
            && let Some(fields) = self.fields(value).cloned()
        {
            self.records.insert(column, fields);
        }
    }

    fn fields(&self, value: &Expression) -> Option<&Vec<(String, Expression)>> {
        let column = match &value.kind {
            Kind::Row(values) => column_of(values.first()?)?,
            Kind::Column(id) => *id,
            _ => return None,
        };
        self.records.get(&column)
    }

    /// The field of what is in parentheses.
    pub(super) fn field(
        &mut self,
        root: &Expr,
        access: &AccessExpr,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let position = self.position(root);
        let AccessExpr::Dot(Expr::Identifier(ident)) = access else {
            return Err(place(
                SqlError::unsupported("this field of an expression"),
                position,
            ));
        };
        let field = name::fold(ident);
        let value = self.scalar(root, scope, clause)?;
        if value.ty != Type::Record {
            let message = format!(
                "column notation .{field} applied to type {}, which is not a composite type",
                self.type_name(value.ty)
            );
            let error = SqlError::new(SqlState::WRONG_OBJECT_TYPE, message);
            return Err(place(error, position));
        }
        let found = self.fields(&value).map(|fields| {
            let mut named = fields.iter().filter(|(name, _)| *name == field);
            named.next().map(|(_, value)| value.clone())
        });
        match found {
            Some(Some(value)) => Ok(value),
            Some(None) => {
                let message = format!("could not identify column \"{field}\" in record data type");
                Err(place(
                    SqlError::new(SqlState::UNDEFINED_COLUMN, message),
                    position,
                ))
            }
            None => Err(place(
                SqlError::unsupported("a field of this record"),
                position,
            )),
        }
    }
}

fn column_of(value: &Expression) -> Option<ColumnId> {
    match value.kind {
        Kind::Column(id) => Some(id),
        _ => None,
    }
}
