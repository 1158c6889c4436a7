//! Names in expressions: columns, and rows as a whole by a table's name alone.

use types::{Result, Scalar, SqlError, SqlState, Type, Value};

use super::{Binder, scalar::place, scope::Scope};
use crate::expression::Expression;
use batch::OwnedValue;
use syntax::name::{DottedName, Name};

impl Binder<'_> {
    /// Binds a name alone: a column, a value such as `current_date`, or a whole row.
    pub(super) fn identifier(&mut self, name: &Name, scope: &Scope<'_>) -> Result<Expression> {
        let folded = name.as_str();
        let position = self.at(name.span());
        if folded == TABLE_NUMBER
            && let Some(table) = scope.own_table().map_err(|error| place(error, position))?
        {
            return Ok(table_number(table));
        }
        if let Some(column) = scope
            .column(folded)
            .map_err(|error| place(error, position))?
        {
            self.note_columns(&column.value);
            return Ok(column.value.clone());
        }
        if !name.is_quoted()
            && let Some(value) = self.special_value(folded)?
        {
            return Ok(value);
        }
        if let Some(source) = scope
            .source(None, folded)
            .map_err(|error| place(error, position))?
        {
            let source = source.clone();
            return Ok(self.whole_row(&source));
        }
        let message = format!("column \"{folded}\" does not exist");
        Err(place(
            SqlError::new(SqlState::UNDEFINED_COLUMN, message),
            position,
        ))
    }

    /// Binds a name with dots: a column of a table.
    pub(super) fn compound(&mut self, name: &DottedName, scope: &Scope<'_>) -> Result<Expression> {
        let position = self.at(name.span());
        let folded: Vec<&str> = name.parts().iter().map(Name::as_str).collect();
        let (schema, table, column) = match *folded.as_slice() {
            [table, column] => (None, table, column),
            [schema, table, column] => (Some(schema), table, column),
            [database, schema, table, column] if database == self.database() => {
                (Some(schema), table, column)
            }
            [_, _, _, _] => {
                let message = format!(
                    "cross-database references are not implemented: {}",
                    folded.join(".")
                );
                return Err(place(
                    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message),
                    position,
                ));
            }
            _ => {
                let message = format!(
                    "improper qualified name (too many dotted names): {}",
                    folded.join(".")
                );
                return Err(place(
                    SqlError::new(SqlState::SYNTAX_ERROR, message),
                    position,
                ));
            }
        };
        let Some(source) = scope
            .source(schema, table)
            .map_err(|error| place(error, position))?
        else {
            let message = format!("missing FROM-clause entry for table \"{table}\"");
            return Err(place(
                SqlError::new(SqlState::UNDEFINED_TABLE, message),
                position,
            ));
        };
        let mut found = source
            .named_columns()
            .filter(|candidate| candidate.name == column);
        match (found.next(), found.next()) {
            (Some(column), None) => {
                self.note_columns(&column.value);
                Ok(column.value.clone())
            }
            (Some(_), Some(_)) => {
                let message = format!("column reference \"{column}\" is ambiguous");
                Err(place(
                    SqlError::new(SqlState::AMBIGUOUS_COLUMN, message),
                    position,
                ))
            }
            (None, _) => match &source.table {
                Some(table) if column == TABLE_NUMBER => Ok(table_number(table)),
                _ => {
                    let message = format!("column {table}.{column} does not exist");
                    Err(place(
                        SqlError::new(SqlState::UNDEFINED_COLUMN, message),
                        position,
                    ))
                }
            },
        }
    }
}

/// The system column that every row of a table has.
const TABLE_NUMBER: &str = "tableoid";

/// Returns the number of a table, as its system column has it.
fn table_number(table: &catalog::Table) -> Expression {
    let number = OwnedValue::new(Value::Oid(table.id.0));
    Expression::constant(number, Type::Scalar(Scalar::Oid))
}
