//! Rows as values, and their fields: `(function(...)).field`, `(table).field`, `(row(1, 2)).f1`.
//!
//! A record's type does not say its fields, so the binder remembers the fields of the columns of
//! subqueries that are records. A value knows its own (`types::Record`), for functions.

use std::sync::Arc;

use types::{Result, SqlError, SqlState, Type, TypeModifier};

use super::{
    Binder,
    clause::Clause,
    scalar::place,
    scope::{Scope, Source},
};
use crate::{
    expression::{ColumnId, Expression, Kind},
    relation::JoinKind,
};
use syntax::{expression::Expr, name::Name};

/// A field of a record.
#[derive(Debug, Clone)]
pub(super) struct RecordField {
    name: Box<str>,
    ty: Type,
    modifier: TypeModifier,
}

impl Binder<'_> {
    /// A row of named fields.
    pub(super) fn record(&mut self, fields: Vec<(String, Expression)>) -> Expression {
        let (names, items): (Vec<Box<str>>, _) = fields
            .into_iter()
            .map(|(name, value)| (name.into_boxed_str(), value))
            .unzip();
        let names = Arc::from(names);
        Expression::new(Kind::Row { items, names }, Type::Record)
    }

    /// The row of a relation as one value: NULL where an outer join found none.
    ///
    /// A row that an outer join may replace is taken for replaced if all its columns are NULL, so
    /// a stored row of NULLs alone is NULL there too, unlike in PostgreSQL.
    pub(super) fn whole_row(&mut self, source: &Source) -> Expression {
        self.note_row(source);
        let fields = source.columns.iter();
        let fields = fields.map(|column| (column.name.clone(), column.value.clone()));
        let row = self.record(fields.collect());
        let replaced = source.columns.iter().any(
            |column| matches!(column.value.kind, Kind::Column(id) if self.null_extended.contains(&id)),
        );
        if !replaced {
            return row;
        }
        let absent = Kind::IsNull {
            operand: Box::new(row.clone()),
            negated: false,
        };
        let absent = Expression::new(absent, super::scalar::BOOL);
        let branches = vec![(absent, Expression::null(Type::Record))];
        let otherwise = Box::new(row);
        Expression::new(
            Kind::Case {
                branches,
                otherwise,
            },
            Type::Record,
        )
    }

    /// Takes note of the relations that a join extends with NULLs; those up to `middle` are on its
    /// left side.
    pub(super) fn note_null_extended(&mut self, kind: JoinKind, sources: &[Source], middle: usize) {
        let (left, right) = sources.split_at(middle);
        let extended = match kind {
            JoinKind::Left => right,
            JoinKind::Right => left,
            JoinKind::Full => sources,
            _ => return,
        };
        for column in extended.iter().flat_map(|source| &source.columns) {
            self.null_extended.extend(column.value.columns());
        }
    }

    /// Takes note that a column is an expression, in case that is a row of known fields.
    pub(super) fn note_record(&mut self, column: ColumnId, value: &Expression) {
        if value.ty == Type::Record
            && let Some(fields) = self.fields(value)
        {
            self.records.insert(column, fields);
        }
    }

    /// The fields of a record, where they are known.
    fn fields(&self, value: &Expression) -> Option<Vec<RecordField>> {
        match &value.kind {
            Kind::Row { items, names } => {
                let fields = items
                    .iter()
                    .enumerate()
                    .map(|(position, item)| RecordField {
                        name: match names.get(position) {
                            Some(name) => name.clone(),
                            None => format!("f{}", position + 1).into(),
                        },
                        ty: item.ty,
                        modifier: item.modifier,
                    });
                Some(fields.collect())
            }
            Kind::Case { otherwise, .. } => self.fields(otherwise),
            Kind::Column(id) => self.records.get(id).cloned(),
            _ => None,
        }
    }

    /// The field of what is in parentheses.
    pub(super) fn field(
        &mut self,
        record: &Expr,
        field: &Name,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let position = self.position(record);
        let field = field.as_str();
        let value = self.scalar(record, scope, clause)?;
        if value.ty != Type::Record {
            let message = format!(
                "column notation .{field} applied to type {}, which is not a composite type",
                self.type_name(value.ty)
            );
            let error = SqlError::new(SqlState::WRONG_OBJECT_TYPE, message);
            return Err(place(error, position));
        }
        let Some(fields) = self.fields(&value) else {
            return Err(place(
                SqlError::unsupported("a field of this record"),
                position,
            ));
        };
        let Some(at) = fields.iter().position(|known| *known.name == *field) else {
            let message = format!("could not identify column \"{field}\" in record data type");
            return Err(place(
                SqlError::new(SqlState::UNDEFINED_COLUMN, message),
                position,
            ));
        };
        // Of a row that is made here the field is there already.
        if let Kind::Row { mut items, .. } = value.kind {
            let item = items.swap_remove(at);
            self.note_columns(&item);
            return Ok(item);
        }
        self.note_columns(&value);
        let RecordField { ty, modifier, .. } = fields[at];
        let record = Box::new(value);
        let kind = Kind::Field {
            record,
            position: at,
        };
        Ok(Expression { kind, ty, modifier })
    }
}
