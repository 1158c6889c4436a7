//! Violations of foreign keys, as clients are told of them.

use types::{SqlError, SqlState, Value};

use crate::{catalog::Table, execute::Reference, session::Session};

/// A row refers to a key that is not there.
pub(in crate::session) fn missing(
    session: &Session,
    reference: &Reference,
    key: &[Value<'_>],
) -> SqlError {
    let there = &reference.referenced.name;
    let shown = shown(session, &reference.referring, &reference.key.columns, key);
    dangling(reference).detail(format!("Key {shown} is not present in table \"{there}\"."))
}

/// A row has NULLs in a part of a key that must have none or be NULL as a whole.
pub(in crate::session) fn mixed(reference: &Reference) -> SqlError {
    dangling(reference).detail("MATCH FULL does not allow mixing of null and nonnull key values.")
}

fn dangling(reference: &Reference) -> SqlError {
    let message = format!(
        "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
        reference.referring.name, reference.key.name
    );
    violation(reference, message)
}

/// A key is gone to which rows refer.
pub(super) fn referred(session: &Session, reference: &Reference, key: &[Value<'_>]) -> SqlError {
    let (from, to) = (&reference.referring.name, &reference.referenced.name);
    let message = format!(
        "update or delete on table \"{to}\" violates foreign key constraint \"{}\" on table \
         \"{from}\"",
        reference.key.name
    );
    let columns = &reference.key.referenced_columns;
    let shown = shown(session, &reference.referenced, columns, key);
    violation(reference, message).detail(format!(
        "Key {shown} is still referenced from table \"{from}\"."
    ))
}

fn violation(reference: &Reference, message: String) -> SqlError {
    SqlError::new(SqlState::FOREIGN_KEY_VIOLATION, message)
        .table(&reference.referring.name)
        .constraint(&reference.key.name)
}

/// `(a, b)=(1, 2)`
fn shown(session: &Session, table: &Table, columns: &[u16], key: &[Value<'_>]) -> String {
    let catalog = session.changes.catalog();
    let names = session.names(&catalog);
    let context = session.context(&names);
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for (at, value) in columns.iter().zip(key) {
        let column = &table.columns[usize::from(*at)];
        names.push(&*column.name);
        let mut text = Vec::new();
        values.push(
            match types::text::write(*value, column.ty, &context, &mut text) {
                Ok(()) => String::from_utf8_lossy(&text).into_owned(),
                Err(_) => "?".to_owned(),
            },
        );
    }
    format!("({})=({})", names.join(", "), values.join(", "))
}
