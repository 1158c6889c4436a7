//! The rows of the system's relations, made from the version of the catalog that a statement sees.
//!
//! The relations and their columns are listed in `catalog/system.rs`; this module makes the rows of
//! those that are not queries over others. Nothing is stored: a scan of a relation has all of its
//! rows made, in memory, and conditions and joins are the ordinary ones. A relation for which no
//! code makes rows is empty.
//!
//! | rows | file |
//! | --- | --- |
//! | tables, indexes, sequences, views; their columns | `classes.rs`, `attributes.rs` |
//! | constraints and indexes; dependencies | `constraints.rs`, `dependencies.rs` |
//! | types, enums; functions, operators, casts | `types.rs`, `routines.rs` |
//! | schemas, databases, roles; comments | `names.rs`; `comments.rs` |
//! | statistics of values, statistics objects | `statistics.rs` |
//! | access methods, collations and the like, which are the same everywhere | `fixed.rs` |
//! | sessions, settings | `activity.rs` |
//!
//! `objects.rs` answers what functions ask about objects, `definitions.rs` and `expressions.rs`
//! write objects as the statements that make them. PostgreSQL's own types and functions are in
//! `catalog/postgres.rs`.

mod activity;
mod attributes;
mod classes;
mod comments;
mod constraints;
mod definitions;
mod dependencies;
mod expressions;
mod fixed;
mod keys;
mod names;
mod objects;
mod routines;
mod statistics;
mod types;

use ::types::{Array, Result, Scalar, Scratch, Type, Value};
use functions::Environment;

use batch::Rows;
use catalog::{Catalog, ObjectId, system};

pub use self::objects::Lookup;

/// Source of the rows of a system relation.
pub struct Source<'s> {
    /// Catalog that the statement sees.
    pub catalog: &'s Catalog,
    /// Session and database, for settings, sessions and names.
    pub environment: &'s dyn Environment,
    /// Arena for values that are made for a row.
    pub scratch: &'s Scratch,
}

/// A collector of rows, which keeps only the columns that were asked for.
struct Emitter<'e> {
    rows: Rows,
    columns: &'e [usize],
}

impl Emitter<'_> {
    /// Adds a row; `values` has all of the relation's columns.
    fn row(&mut self, values: &[Value<'_>]) {
        let wanted = self.columns.iter();
        let wanted = wanted.map(|at| values.get(*at).copied().unwrap_or(Value::Null));
        self.rows.push(wanted);
    }
}

/// Returns the rows of the system relation `relation`, with only its `columns`.
///
/// # Errors
/// Errors of making values; each of them is a fault of Weft.
pub fn rows(relation: ObjectId, columns: &[usize], source: &Source<'_>) -> Result<Rows> {
    let mut out = Emitter {
        rows: Rows::new(columns.len()),
        columns,
    };
    let name = system::relation(relation).map(|relation| &**relation.object.name());
    match name.unwrap_or_default() {
        "pg_class" => classes::classes(source, &mut out),
        "pg_sequence" => classes::sequences(source, &mut out),
        "pg_rewrite" => classes::rules(source, &mut out),
        "pg_attribute" => attributes::attributes(source, &mut out)?,
        "pg_attrdef" => attributes::defaults(source, &mut out),
        "pg_index" => constraints::indexes(source, &mut out)?,
        "pg_constraint" => constraints::constraints(source, &mut out)?,
        "pg_description" => comments::descriptions(source, &mut out),
        "pg_shdescription" => comments::shared(source, &mut out),
        "pg_depend" => dependencies::dependencies(source, &mut out),
        "pg_type" => types::types(source, &mut out),
        "pg_enum" => types::labels(source, &mut out),
        "pg_proc" => routines::procedures(source, &mut out)?,
        "pg_operator" => routines::operators(source, &mut out),
        "pg_namespace" => names::schemas(source, &mut out),
        "pg_database" => names::databases(source, &mut out),
        "pg_authid" => names::roles(source, &mut out),
        "pg_stats" => statistics::columns(source, &mut out)?,
        "pg_statistic_ext" => statistics::objects(source, &mut out)?,
        "pg_statistic_ext_data" => statistics::groups(source, &mut out),
        "pg_settings" => activity::settings(source, &mut out),
        "pg_stat_activity" => activity::sessions(source, &mut out),
        name => fixed::rows(name, relation, source, &mut out)?,
    }
    Ok(out.rows)
}

/// Role that owns everything: the first role of a database.
const OWNER: Value<'static> = Value::Oid(10);

/// Number that stands for no object.
const NONE: Value<'static> = Value::Oid(0);

const YES: Value<'static> = Value::Bool(true);
const NO: Value<'static> = Value::Bool(false);

fn oid(id: ObjectId) -> Value<'static> {
    Value::Oid(id.0)
}

/// Returns `letter` as a `"char"`; the blank stands for no character.
fn letter(letter: char) -> Value<'static> {
    Value::Char(match letter {
        ' ' => 0,
        letter => u8::try_from(letter).unwrap_or(b'?'),
    })
}

fn small(number: usize) -> Value<'static> {
    Value::Int2(i16::try_from(number).unwrap_or(i16::MAX))
}

/// Returns the number of the column at `position`.
fn attribute_number(position: u16) -> i16 {
    i16::try_from(position).map_or(i16::MAX, |position| position.saturating_add(1))
}

/// Returns an array of the numbers of the columns at `positions`.
fn attribute_numbers<'s>(positions: &[u16], scratch: &'s Scratch) -> Result<Value<'s>> {
    let numbers: Vec<Value<'_>> = positions
        .iter()
        .map(|position| Value::Int2(attribute_number(*position)))
        .collect();
    Array::of(Scalar::Int2, &numbers, scratch).map(Value::Array)
}

/// Returns an `int2vector` or `oidvector` of `values`.
fn vector<'s>(element: Scalar, values: &[Value<'_>], scratch: &'s Scratch) -> Result<Value<'s>> {
    let length = u32::try_from(values.len()).unwrap_or(u32::MAX);
    let dimension = ::types::array::Dimension { length, lower: 0 };
    Array::build(element, &[dimension], values, scratch).map(Value::Array)
}

/// Returns the number of the type `ty`.
fn type_number(ty: Type) -> Value<'static> {
    Value::Oid(ty.oid())
}

#[cfg(test)]
mod tests;
