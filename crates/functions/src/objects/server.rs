//! Functions about the server: encodings, its state, features it does not have.

use types::{Result, Value};

use crate::{
    Body, Context, Function, Rows,
    argument::{Oid, TimestampTz},
    function::{BOOL, INT2, INT4, NAME, OID, REGCLASS, TEXT, TIMESTAMPTZ, entry},
};

/// Number of UTF-8 among PostgreSQL's encodings.
const UTF8: i32 = 6;

fn encoding_name(number: i32) -> &'static str {
    match number {
        0 => "SQL_ASCII",
        UTF8 => "UTF8",
        8 => "LATIN1",
        _ => "",
    }
}

fn encoding_number(name: &str) -> i32 {
    match name.to_ascii_uppercase().replace(['-', '_'], "").as_str() {
        "SQLASCII" => 0,
        "UTF8" | "UNICODE" => UTF8,
        "LATIN1" | "ISO88591" => 8,
        _ => -1,
    }
}

/// Returns NULL: for addresses, as the server does not look at them, and for versions of
/// collations, as text is ordered by its bytes.
fn nothing<'a>(_: &Context<'a>, _: &[Value<'a>]) -> Result<Value<'a>> {
    Ok(Value::Null)
}

/// Returns no rows: no table is a part of another.
fn no_ancestors<'a>(_: &Context<'a>, _: &[Value<'a>]) -> Result<Rows<'a>> {
    Ok(Box::new(std::iter::empty()))
}

/// Returns a property of indexes, of the one existing kind.
fn index_property(_: Oid, property: &str) -> Option<bool> {
    match property.to_ascii_lowercase().as_str() {
        "clusterable" | "index_scan" | "bitmap_scan" | "backward_scan" => Some(true),
        _ => None,
    }
}

fn method_property(Oid(method): Oid, property: &str) -> Option<bool> {
    const BTREE: u32 = 403;
    if method != BTREE {
        return None;
    }
    match property.to_ascii_lowercase().as_str() {
        "can_order" | "can_unique" | "can_multi_col" | "can_include" => Some(true),
        "can_exclude" => Some(false),
        _ => None,
    }
}

fn start_time(context: &Context<'_>) -> TimestampTz {
    TimestampTz(context.environment.start_time())
}

fn no_temporary_schema() -> Oid {
    Oid(0)
}

/// Returns bits of 1 << command: all of INSERT, UPDATE and DELETE for tables.
fn updatable(context: &Context<'_>, Oid(oid): Oid, _: bool) -> i32 {
    const ALL: i32 = 1 << 2 | 1 << 3 | 1 << 4;
    let is_view = context.environment.objects().view_definition(oid).is_some();
    if is_view { 0 } else { ALL }
}

fn column_updatable(context: &Context<'_>, table: Oid, _column: i16, _: bool) -> bool {
    updatable(context, table, false) != 0
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry!("pg_encoding_to_char"(INT4) -> NAME, encoding_name),
    entry!("pg_char_to_encoding"(NAME) -> INT4, encoding_number),
    entry!("pg_client_encoding"() -> NAME, || "UTF8").stable(),
    Function::scalar("pg_collation_actual_version", &[OID], TEXT, nothing).stable(),
    Function::scalar(
        "pg_database_collation_actual_version",
        &[OID],
        TEXT,
        nothing,
    )
    .stable(),
    Function::scalar("inet_server_port", &[], INT4, nothing).stable(),
    Function::scalar("inet_client_port", &[], INT4, nothing).stable(),
    Function::scalar("inet_server_addr", &[], TEXT, nothing).stable(),
    Function::scalar("inet_client_addr", &[], TEXT, nothing).stable(),
    entry!("pg_index_has_property"(REGCLASS, TEXT) -> BOOL, index_property).stable(),
    entry!("pg_indexam_has_property"(OID, TEXT) -> BOOL, method_property).stable(),
    Function::new(
        "pg_partition_ancestors",
        &[REGCLASS],
        REGCLASS,
        Body::Set(no_ancestors),
    )
    .volatile(),
    Function::scalar("pg_partition_root", &[REGCLASS], REGCLASS, nothing),
    entry!("pg_is_in_recovery"() -> BOOL, || false).volatile(),
    entry!("pg_postmaster_start_time"() -> TIMESTAMPTZ, in context start_time).stable(),
    entry!("pg_conf_load_time"() -> TIMESTAMPTZ, in context start_time).stable(),
    entry!("pg_my_temp_schema"() -> OID, no_temporary_schema).stable(),
    entry!("pg_is_other_temp_schema"(OID) -> BOOL, |_: Oid| false).stable(),
    entry!("pg_tablespace_location"(OID) -> TEXT, |_: Oid| "").stable(),
    entry!("row_security_active"(OID) -> BOOL, |_: Oid| false).stable(),
    entry!("row_security_active"(TEXT) -> BOOL, |_: &str| false).stable(),
    entry!("pg_relation_is_publishable"(REGCLASS) -> BOOL, |_: Oid| false).stable(),
    entry!("pg_relation_is_updatable"(REGCLASS, BOOL) -> INT4, in context updatable).stable(),
    entry!("pg_column_is_updatable"(REGCLASS, INT2, BOOL) -> BOOL, in context column_updatable)
        .stable(),
];
