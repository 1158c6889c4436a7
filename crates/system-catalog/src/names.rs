//! `pg_namespace`, `pg_database`, `pg_authid`.

use types::Value;

use super::{Emitter, NO, NONE, OWNER, Source, YES, letter, oid};
use catalog::{Object, ObjectId, system};

/// Number of the one database that a session sees, the number of PostgreSQL's first.
pub(super) const DATABASE: u32 = 5;

/// Number of the encoding UTF-8.
const UTF8: i32 = 6;

/// Number of the tablespace `pg_default`.
const DEFAULT_TABLESPACE: u32 = 1663;

pub(super) fn schemas(source: &Source<'_>, out: &mut Emitter<'_>) {
    let mut put = |id: ObjectId, name: &str| {
        out.row(&[oid(id), Value::Text(name), OWNER, Value::Null]);
    };
    for object in source.catalog.objects() {
        if let Object::Schema(schema) = object {
            put(schema.id, &schema.name);
        }
    }
    let standard = system::INFORMATION_SCHEMA;
    put(standard, source.catalog.schema_name(standard));
}

pub(super) fn databases(source: &Source<'_>, out: &mut Emitter<'_>) {
    out.row(&[
        Value::Oid(DATABASE),
        Value::Text(source.environment.database()),
        OWNER,
        Value::Int4(UTF8),
        letter('c'),
        NO,
        YES,
        Value::Int4(-1),
        NONE,
        NONE,
        Value::Oid(DEFAULT_TABLESPACE),
        Value::Text("C"),
        Value::Text("C"),
        Value::Null,
        Value::Null,
        Value::Null,
    ]);
}

/// Adds the rows of `pg_authid`. A password verifier is shown as asterisks.
pub(super) fn roles(source: &Source<'_>, out: &mut Emitter<'_>) {
    for object in source.catalog.objects() {
        let Object::Role(role) = object else { continue };
        let may_everything = Value::Bool(role.is_superuser);
        out.row(&[
            oid(role.id),
            Value::Text(&role.name),
            may_everything,
            Value::Bool(role.inherits),
            Value::Bool(role.is_superuser || role.can_create_roles),
            Value::Bool(role.is_superuser || role.can_create_databases),
            Value::Bool(role.can_login),
            may_everything,
            may_everything,
            Value::Int4(-1),
            role.verifier
                .as_ref()
                .map_or(Value::Null, |_| Value::Text("********")),
            Value::Null,
        ]);
    }
}
