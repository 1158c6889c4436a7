//! `pg_depend`, as far as clients ask: columns that own sequences, relations and types that
//! defaults and views refer to, and the index and table of each constraint.

use types::Value;

use super::{Emitter, Source, attribute_number, attributes, letter, oid};
use catalog::{Dependency, Object, ObjectId};

/// Numbers of the catalogs that objects are in.
pub(super) const CLASS: u32 = 1259;
pub(super) const CONSTRAINT: u32 = 2606;
const DEFAULT: u32 = 2604;
const RULE: u32 = 2618;
const TYPE: u32 = 1247;

/// Dependent that is dropped along with what it depends on.
const AUTO: char = 'a';
/// Dependent that is a part of what it depends on.
const INTERNAL: char = 'i';
/// Dependent that forbids dropping what it depends on.
const NORMAL: char = 'n';

fn put(
    out: &mut Emitter<'_>,
    (class, object): (u32, Value<'_>),
    (other_class, other, column): (u32, ObjectId, Option<u16>),
    kind: char,
) {
    let column = column.map_or(0, |position| i32::from(attribute_number(position)));
    out.row(&[
        Value::Oid(class),
        object,
        Value::Int4(0),
        Value::Oid(other_class),
        oid(other),
        Value::Int4(column),
        letter(kind),
    ]);
}

pub(super) fn dependencies(source: &Source<'_>, out: &mut Emitter<'_>) {
    for object in source.catalog.objects() {
        match object {
            Object::Sequence(sequence) => {
                if let Some(owner) = &sequence.owned_by {
                    let kind = if owner.is_identity { INTERNAL } else { AUTO };
                    let on = (CLASS, owner.table, Some(owner.column));
                    put(out, (CLASS, oid(sequence.id)), on, kind);
                }
            }
            Object::View(view) => {
                let rule = (RULE, oid(view.id));
                put(out, rule, (CLASS, view.id, None), INTERNAL);
                refers(rule, &view.dependencies, source, out);
            }
            _ => {}
        }
    }
    for default in attributes::all_defaults(source.catalog) {
        let this = (DEFAULT, default.number);
        put(
            out,
            this,
            (CLASS, default.table.id, Some(default.position)),
            AUTO,
        );
        refers(this, &default.expression.dependencies, source, out);
    }
    for table in source.catalog.tables() {
        let columns = |columns: &[u16], id: ObjectId, out: &mut Emitter<'_>| {
            for position in columns {
                put(
                    out,
                    (CONSTRAINT, oid(id)),
                    (CLASS, table.id, Some(*position)),
                    AUTO,
                );
            }
        };
        if let Some(key) = &table.primary_key {
            columns(&key.columns, key.id, out);
            let index = key.index.unwrap_or(key.id);
            put(
                out,
                (CLASS, oid(index)),
                (CONSTRAINT, key.id, None),
                INTERNAL,
            );
        }
        for unique in table.uniques.iter() {
            columns(&unique.columns, unique.id, out);
            put(
                out,
                (CLASS, oid(unique.index)),
                (CONSTRAINT, unique.id, None),
                INTERNAL,
            );
        }
        for foreign in table.foreign_keys.iter() {
            columns(&foreign.columns, foreign.id, out);
            for position in foreign.referenced_columns.iter() {
                let on = (CLASS, foreign.referenced, Some(*position));
                put(out, (CONSTRAINT, oid(foreign.id)), on, NORMAL);
            }
        }
    }
}

/// Adds rows for the relations and types that an expression or a query refers to.
fn refers(
    this: (u32, Value<'_>),
    dependencies: &[Dependency],
    source: &Source<'_>,
    out: &mut Emitter<'_>,
) {
    for on in dependencies {
        let class = match source.catalog.object(on.object) {
            Some(Object::Enum(_)) => TYPE,
            _ if source.catalog.relation(on.object).is_some() => CLASS,
            _ => continue,
        };
        put(out, this, (class, on.object, on.column), NORMAL);
    }
}
