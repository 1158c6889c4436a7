//! `pg_type` and `pg_enum`.

use types::Value;

use super::{Emitter, NO, NONE, OWNER, Source, YES, letter, oid};
use catalog::{EnumType, Object, ObjectId, postgres};

/// First number of a label of an enum. Labels have no numbers in the catalog, and get them from
/// here on, in order.
const FIRST_LABEL: u32 = 0xc000_0000;

pub(super) fn types(source: &Source<'_>, out: &mut Emitter<'_>) {
    for facts in postgres::types() {
        put(out, facts, ObjectId::PG_CATALOG);
    }
    for ty in enums(source) {
        // The type's array type has the next number.
        let array = types::Scalar::Enum(ty.enum_id()).array_oid();
        let own = postgres::TypeFacts {
            oid: ty.id.0,
            array,
            ..postgres::ENUM
        };
        put_named(out, &own, &ty.name, ty.schema);
        let arrays = postgres::TypeFacts {
            oid: array,
            element: ty.id.0,
            ..postgres::ARRAY
        };
        put_named(out, &arrays, &format!("_{}", ty.name), ty.schema);
    }
}

fn enums<'s>(source: &'s Source<'_>) -> impl Iterator<Item = &'s EnumType> {
    source.catalog.objects().filter_map(|object| match object {
        Object::Enum(ty) => Some(&**ty),
        _ => None,
    })
}

fn put(out: &mut Emitter<'_>, facts: &postgres::TypeFacts, schema: ObjectId) {
    put_named(out, facts, facts.name, schema);
}

fn put_named(out: &mut Emitter<'_>, facts: &postgres::TypeFacts, name: &str, schema: ObjectId) {
    let [
        input,
        output,
        receive,
        send,
        modifier_in,
        modifier_out,
        analyze,
    ] = facts.functions.map(Value::Oid);
    out.row(&[
        Value::Oid(facts.oid),
        Value::Text(name),
        oid(schema),
        OWNER,
        Value::Int2(facts.length),
        Value::Bool(facts.by_value),
        letter(facts.kind),
        letter(facts.category),
        Value::Bool(facts.preferred),
        YES,
        letter(','),
        NONE,
        Value::Oid(facts.subscript),
        Value::Oid(facts.element),
        Value::Oid(facts.array),
        input,
        output,
        receive,
        send,
        modifier_in,
        modifier_out,
        analyze,
        letter(facts.align),
        letter(facts.storage),
        NO,
        NONE,
        Value::Int4(-1),
        Value::Int4(0),
        Value::Oid(facts.collation),
        Value::Null,
        Value::Null,
        Value::Null,
    ]);
}

pub(super) fn labels(source: &Source<'_>, out: &mut Emitter<'_>) {
    let labels = enums(source).flat_map(|ty| {
        let labels = ty.labels.iter().enumerate();
        labels.map(|(at, label)| (ty.id, at, label))
    });
    for ((ty, at, label), number) in labels.zip(FIRST_LABEL..) {
        out.row(&[
            Value::Oid(number),
            oid(ty),
            Value::Float4(at as f32 + 1.0),
            Value::Text(label),
        ]);
    }
}
