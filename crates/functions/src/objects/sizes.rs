//! Sizes of objects.

use types::Numeric;

use super::{ObjectClass, SizeOf};
use crate::{
    Context, Function,
    argument::Oid,
    function::{INT8, NAME, NUMERIC, OID, REGCLASS, TEXT, entry},
};

/// Below this many of a unit it is used, but for the largest.
const NEXT_UNIT: f64 = 10.0 * 1024.0;
const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];

fn pretty<'a>(context: &Context<'a>, size: i64) -> &'a str {
    context.text(&shown(size as f64))
}

fn pretty_numeric<'a>(context: &Context<'a>, size: Numeric<'a>) -> &'a str {
    context.text(&shown(size.to_f64()))
}

/// Formats a size with halves rounded away from zero, and the unit that leaves no more
/// than five digits.
fn shown(size: f64) -> String {
    let mut left = size;
    for (at, unit) in UNITS.iter().enumerate() {
        let rounded = if at == 0 { left } else { left.round() };
        if rounded.abs() < NEXT_UNIT || at + 1 == UNITS.len() {
            return format!("{rounded:.0} {unit}");
        }
        left /= 1024.0;
    }
    String::new()
}

/// Defines `pg_..._size(regclass)`.
macro_rules! size {
    ($name:literal, $of:ident) => {
        entry!($name(REGCLASS) -> INT8, in context |context: &Context<'_>, Oid(oid): Oid| {
            context.environment.objects().size(SizeOf::$of, oid)
        })
        .volatile()
    };
}

fn fork(context: &Context<'_>, Oid(oid): Oid, _fork: &str) -> Option<i64> {
    context.environment.objects().size(SizeOf::Relation, oid)
}

fn database(context: &Context<'_>, Oid(oid): Oid) -> Option<i64> {
    let objects = context.environment.objects();
    let exists = objects.exists(ObjectClass::Database, oid);
    exists.then(|| objects.database_size())
}

fn database_named(context: &Context<'_>, name: &str) -> types::Result<i64> {
    let objects = context.environment.objects();
    match objects.named(ObjectClass::Database, name) {
        Some(_) => Ok(objects.database_size()),
        None => Err(types::SqlError::new(
            types::SqlState::INVALID_CATALOG_NAME,
            format!("database \"{name}\" does not exist"),
        )),
    }
}

fn filenode(Oid(oid): Oid) -> Oid {
    Oid(oid)
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry!("pg_size_pretty"(INT8) -> TEXT, in context pretty),
    entry!("pg_size_pretty"(NUMERIC) -> TEXT, in context pretty_numeric),
    size!("pg_relation_size", Relation),
    size!("pg_table_size", Relation),
    size!("pg_indexes_size", Indexes),
    size!("pg_total_relation_size", Total),
    entry!("pg_relation_size"(REGCLASS, TEXT) -> INT8, in context fork).volatile(),
    entry!("pg_database_size"(OID) -> INT8, in context database).volatile(),
    entry!("pg_database_size"(NAME) -> INT8, in context database_named).volatile(),
    entry!("pg_relation_filenode"(REGCLASS) -> OID, filenode).stable(),
];
