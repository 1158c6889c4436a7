//! `pg_class`, `pg_sequence`, `pg_rewrite`.

use types::Value;

use super::{Emitter, NO, NONE, OWNER, Source, YES, keys, letter, oid, small, type_number};
use catalog::{Object, ObjectId, TableKind, system};

/// Numbers of the access methods of tables and of indexes.
const HEAP: u32 = 2;
const BTREE: u32 = 403;

/// Columns in which the rows of `pg_class` differ.
struct Class<'c> {
    id: ObjectId,
    name: &'c str,
    schema: ObjectId,
    kind: char,
    method: u32,
    rows: Option<f32>,
    columns: usize,
    checks: usize,
    has_index: bool,
    has_rules: bool,
    has_triggers: bool,
}

impl<'c> Class<'c> {
    fn new(id: ObjectId, name: &'c str, schema: ObjectId, kind: char, columns: usize) -> Self {
        Class {
            id,
            name,
            schema,
            kind,
            method: 0,
            rows: None,
            columns,
            checks: 0,
            has_index: false,
            has_rules: false,
            has_triggers: false,
        }
    }
}

pub(super) fn classes(source: &Source<'_>, out: &mut Emitter<'_>) {
    let own = source.catalog.objects();
    for object in own.chain(system::all_relations().map(|relation| &relation.object)) {
        match object {
            Object::Table(table) => {
                let is_view = system::relation(table.id).is_some_and(|relation| relation.is_view);
                let kind = if is_view { 'v' } else { 'r' };
                let is_stored = table.kind == TableKind::Ordinary;
                put(
                    out,
                    &Class {
                        method: if is_view { 0 } else { HEAP },
                        rows: is_stored.then(|| table.storage().records_estimate() as f32),
                        checks: table.checks.len(),
                        has_index: keys::keys(table).next().is_some(),
                        has_triggers: !table.foreign_keys.is_empty()
                            || !table.referenced_by.is_empty(),
                        ..Class::new(
                            table.id,
                            &table.name,
                            table.schema,
                            kind,
                            table.columns.len(),
                        )
                    },
                );
                for key in keys::keys(table) {
                    let columns = key.columns.len() + key.included.len();
                    put(
                        out,
                        &Class {
                            method: BTREE,
                            ..Class::new(key.id, key.name, table.schema, 'i', columns)
                        },
                    );
                }
            }
            Object::Sequence(sequence) => {
                let (id, name) = (sequence.id, &sequence.name);
                put(out, &Class::new(id, name, sequence.schema, 'S', 3));
            }
            Object::View(view) => put(
                out,
                &Class {
                    has_rules: true,
                    ..Class::new(view.id, &view.name, view.schema, 'v', view.columns.len())
                },
            ),
            Object::Schema(_) | Object::Enum(_) | Object::Role(_) => {}
        }
    }
}

fn put(out: &mut Emitter<'_>, class: &Class<'_>) {
    out.row(&[
        oid(class.id),
        Value::Text(class.name),
        oid(class.schema),
        NONE,
        NONE,
        OWNER,
        Value::Oid(class.method),
        oid(class.id),
        NONE,
        Value::Int4(0),
        Value::Float4(class.rows.unwrap_or(-1.0)),
        Value::Int4(0),
        NONE,
        Value::Bool(class.has_index),
        NO,
        letter('p'),
        letter(class.kind),
        small(class.columns),
        small(class.checks),
        Value::Bool(class.has_rules),
        Value::Bool(class.has_triggers),
        NO,
        NO,
        NO,
        YES,
        letter(if class.kind == 'r' { 'd' } else { 'n' }),
        NO,
        NONE,
        NONE,
        NONE,
        Value::Null,
        Value::Null,
        Value::Null,
    ]);
}

pub(super) fn sequences(source: &Source<'_>, out: &mut Emitter<'_>) {
    for object in source.catalog.objects() {
        let Object::Sequence(sequence) = object else {
            continue;
        };
        let options = &sequence.options;
        out.row(&[
            oid(sequence.id),
            type_number(options.ty),
            Value::Int8(options.start),
            Value::Int8(options.increment),
            Value::Int8(options.maximum),
            Value::Int8(options.minimum),
            Value::Int8(1),
            Value::Bool(options.cycle),
        ]);
    }
}

/// Adds the rows of `pg_rewrite`. Views are rules on SELECT; each rule has the number of its view.
pub(super) fn rules(source: &Source<'_>, out: &mut Emitter<'_>) {
    for object in source.catalog.objects() {
        let Object::View(view) = object else { continue };
        out.row(&[
            oid(view.id),
            Value::Text("_RETURN"),
            oid(view.id),
            letter('1'),
            letter('O'),
            YES,
            Value::Text(""),
            Value::Text(&view.text),
        ]);
    }
}
