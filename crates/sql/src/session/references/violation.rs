//! Violations of foreign keys, as clients see them.

use std::sync::Arc;

use types::{SqlError, SqlState, Value};

use crate::session::Session;
use catalog::Table;
use executor::execute::Reference;

/// Returns the error for a row that refers to a key that does not exist.
pub(in crate::session) fn missing(
    session: &Session,
    reference: &Reference,
    key: &[Value<'_>],
) -> SqlError {
    let ends = Ends::now(session, reference);
    let there = &ends.referenced.name;
    let shown = shown(session, &ends.referring, &reference.key.columns, key);
    let detail = format!("Key {shown} is not present in table \"{there}\".");
    ends.dangling().detail(detail)
}

/// Returns the error for a row with NULLs in a part of a key that must have none or be NULL as a
/// whole.
pub(in crate::session) fn mixed(session: &Session, reference: &Reference) -> SqlError {
    Ends::now(session, reference)
        .dangling()
        .detail("MATCH FULL does not allow mixing of null and nonnull key values.")
}

/// Returns the error for a key that is gone and to which rows refer.
pub(super) fn referred(session: &Session, reference: &Reference, key: &[Value<'_>]) -> SqlError {
    let ends = Ends::now(session, reference);
    let (from, to) = (&ends.referring.name, &ends.referenced.name);
    let message = format!(
        "update or delete on table \"{to}\" violates foreign key constraint \"{}\" on table \
         \"{from}\"",
        ends.constraint
    );
    let columns = &reference.key.referenced_columns;
    let shown = shown(session, &ends.referenced, columns, key);
    ends.violation(message).detail(format!(
        "Key {shown} is still referenced from table \"{from}\"."
    ))
}

/// The tables of a constraint by the names that they have now: a check may have been deferred since
/// before they got these.
struct Ends {
    referring: Arc<Table>,
    referenced: Arc<Table>,
    constraint: Arc<str>,
}

impl Ends {
    fn now(session: &Session, reference: &Reference) -> Self {
        let catalog = session.transaction.catalog();
        let now = |table: &Arc<Table>| catalog.table(table.id).unwrap_or(table).clone();
        let referring = now(&reference.referring);
        let mut keys = referring.foreign_keys.iter();
        let key = keys.find(|key| key.id == reference.key.id);
        let constraint = key.map_or(&reference.key.name, |key| &key.name).clone();
        Self {
            referring,
            referenced: now(&reference.referenced),
            constraint,
        }
    }

    fn dangling(&self) -> SqlError {
        let message = format!(
            "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
            self.referring.name, self.constraint
        );
        self.violation(message)
    }

    fn violation(&self, message: String) -> SqlError {
        SqlError::new(SqlState::FOREIGN_KEY_VIOLATION, message)
            .table(&self.referring.name)
            .constraint(&self.constraint)
    }
}

/// Returns columns and values as `(a, b)=(1, 2)`.
fn shown(session: &Session, table: &Table, columns: &[u16], key: &[Value<'_>]) -> String {
    let catalog = session.transaction.catalog();
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
