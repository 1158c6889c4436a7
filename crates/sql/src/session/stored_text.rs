//! Expressions as the catalog keeps them: their texts, and what these name (`syntax/kept_text.rs`).

use types::{Names, Result, SqlError, SqlState};

use catalog::{Column, Dependency, ObjectId, Searched, StoredExpression};
use syntax::{
    Expression,
    kept_text::{names_column, with_sequence_numbers},
};

/// Returns an expression's text; which columns it names is to be told ([`name_columns`]).
pub(super) fn stored(names: &Searched<'_>, expression: &Expression) -> StoredExpression {
    StoredExpression {
        text: expression.to_string().into(),
        search_path: names.schemas(),
        dependencies: [].into(),
    }
}

/// Notes which columns of its table an expression names.
pub(super) fn name_columns(stored: &mut StoredExpression, columns: &[Column], table: ObjectId) {
    let live = columns.iter().enumerate();
    let named =
        live.filter(|(_, column)| !column.dropped && names_column(&stored.text, &column.name));
    let dependencies = named.map(|(at, _)| {
        let position = u16::try_from(at).unwrap_or(u16::MAX);
        Dependency::on_column(table, position)
    });
    stored.dependencies = dependencies.collect();
}

/// Returns a default as the catalog keeps it; what it refers to is to be told when it is bound.
///
/// # Errors
/// 42P01 for a sequence that is not there.
pub(super) fn stored_default(names: &Searched<'_>, value: &Expression) -> Result<StoredExpression> {
    let number = |name: &str| {
        let id = match name.parse() {
            Ok(number) => number,
            Err(_) => names.relation_named(name).ok_or_else(|| {
                let message = format!("relation \"{name}\" does not exist");
                SqlError::new(SqlState::UNDEFINED_TABLE, message)
            })?,
        };
        Ok(names.catalog.expect_sequence(ObjectId(id))?.id.0)
    };
    Ok(StoredExpression {
        text: with_sequence_numbers(&value.to_string(), number)?.into(),
        search_path: names.schemas(),
        dependencies: [].into(),
    })
}

/// Returns the name of a check that has been given none, if it is free: after its column, if the
/// check has one alone.
pub(super) fn check_name(table: &str, columns: &[Column], text: &str) -> String {
    let live = columns.iter().filter(|column| !column.dropped);
    let mut named = live.filter(|column| names_column(text, &column.name));
    match (named.next(), named.next()) {
        (Some(column), None) => format!("{table}_{}_check", column.name),
        _ => format!("{table}_check"),
    }
}
