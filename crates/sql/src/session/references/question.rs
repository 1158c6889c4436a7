//! Questions about a key, and actions on it, as statements.

use types::{Result, SqlError, SqlState, Type};

use catalog::{Catalog, Table};
use executor::execute::Reference;
use syntax::name::quoted;

/// A statement about one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::session) enum Question {
    /// Finds the row that is referred to, and locks it; by the values of a row that refers to it.
    Find,
    /// Finds rows that refer to the key, by the values of a row that refers to it.
    StillRefers,
    /// Finds rows that have these values, of which some are NULL.
    StillMixed,
    /// Finds the row that has the key.
    HasKey,
    /// Finds rows that refer to the key.
    Refers,
    /// Finds rows that refer to the key, and locks them.
    RefersLocked,
    /// Deletes the rows that refer to the key.
    Delete,
    /// Gives the rows that refer to the key another one, whose values follow.
    Follow,
    /// Makes the columns of the rows that refer to the key NULL.
    SetNull {
        /// Whether the key is gone, not changed: the constraint may name some columns for that.
        is_deleted: bool,
    },
    /// Gives the columns of the rows that refer to the key their defaults.
    SetDefault {
        /// Whether the key is gone, not changed: the constraint may name some columns for that.
        is_deleted: bool,
    },
}

impl Question {
    /// Returns the statement's text, and the types of its parameters.
    ///
    /// # Errors
    /// XX000 if one of the tables is gone, which locks exclude.
    pub(super) fn text(
        self,
        reference: &Reference,
        catalog: &Catalog,
    ) -> Result<(String, Vec<Type>)> {
        let key = &reference.key;
        let table = |id| {
            let gone =
                || SqlError::new(SqlState::INTERNAL_ERROR, "a foreign key without its table");
            catalog.table(id).ok_or_else(gone)
        };
        let referring = table(reference.referring.id)?;
        let referenced = table(key.referenced)?;
        let (there, own) = (&*key.referenced_columns, &*key.columns);
        let name = |table: &Table| qualified(table, catalog);
        let of = |table: &Table, columns: &[u16]| -> Vec<Type> {
            columns
                .iter()
                .map(|at| table.columns[usize::from(*at)].ty)
                .collect()
        };
        let refers = equals(referring, own);
        let text = match self {
            Self::Find => format!(
                "select 1 from {} where {} for key share",
                name(referenced),
                equals(referenced, there)
            ),
            Self::HasKey => format!(
                "select 1 from {} where {}",
                name(referenced),
                equals(referenced, there)
            ),
            Self::StillRefers | Self::Refers => {
                format!("select 1 from {} where {refers}", name(referring))
            }
            Self::StillMixed => format!(
                "select 1 from {} where {}",
                name(referring),
                same(referring, own)
            ),
            Self::RefersLocked => {
                format!(
                    "select 1 from {} where {refers} for key share",
                    name(referring)
                )
            }
            Self::Delete => format!("delete from {} where {refers}", name(referring)),
            Self::Follow => {
                let values = (1..=own.len()).map(|at| format!("${}", own.len() + at));
                set(referring, own, values, &refers, catalog)
            }
            Self::SetNull { is_deleted } | Self::SetDefault { is_deleted } => {
                let columns = match &*key.on_delete_columns {
                    named if is_deleted && !named.is_empty() => named,
                    _ => own,
                };
                let value = match self {
                    Self::SetNull { .. } => "null",
                    _ => "default",
                };
                let values = columns.iter().map(|_| value.to_owned());
                set(referring, columns, values, &refers, catalog)
            }
        };
        let types = match self {
            Self::Find | Self::StillRefers | Self::StillMixed => of(referring, own),
            Self::Follow => [of(referenced, there), of(referenced, there)].concat(),
            _ => of(referenced, there),
        };
        Ok((text, types))
    }
}

fn set(
    table: &Table,
    columns: &[u16],
    values: impl Iterator<Item = String>,
    condition: &str,
    catalog: &Catalog,
) -> String {
    let columns = columns.iter().map(|at| column(table, *at));
    let assignments = columns
        .zip(values)
        .map(|(column, value)| format!("{column} = {value}"));
    let assignments: Vec<String> = assignments.collect();
    format!(
        "update {} set {} where {condition}",
        qualified(table, catalog),
        assignments.join(", ")
    )
}

/// Returns the condition that these columns equal the parameters.
fn equals(table: &Table, columns: &[u16]) -> String {
    compared(table, columns, "=")
}

/// Returns the condition that these columns equal the parameters, where two NULLs are equal.
fn same(table: &Table, columns: &[u16]) -> String {
    compared(table, columns, "is not distinct from")
}

fn compared(table: &Table, columns: &[u16], operator: &str) -> String {
    let conditions = columns
        .iter()
        .enumerate()
        .map(|(at, position)| format!("{} {operator} ${}", column(table, *position), at + 1));
    conditions.collect::<Vec<_>>().join(" and ")
}

pub(in crate::session) fn column(table: &Table, position: u16) -> String {
    quoted(&table.columns[usize::from(position)].name)
}

pub(in crate::session) fn qualified(table: &Table, catalog: &Catalog) -> String {
    let schema = quoted(catalog.schema_name(table.schema));
    format!("{schema}.{}", quoted(&table.name))
}
