//! `pg_attribute` and `pg_attrdef`.

use types::{Result, Scalar, Type, TypeModifier, Value};

use super::{Emitter, NONE, Source, YES, attribute_number, expressions, keys, letter, oid};
use catalog::{
    Catalog, Generation, IdentityMode, IndexKey, Object, ObjectId, StoredExpression, Table,
    TableKind, postgres, system,
};

/// First number of a default. Defaults have no numbers in the catalog, and get them from here on,
/// in the order of tables and columns. A number identifies its default within one statement only.
const FIRST_DEFAULT: u32 = 0x8000_0000;

/// Columns in which the rows of `pg_attribute` differ.
struct Attribute<'a> {
    relation: ObjectId,
    name: &'a str,
    number: i16,
    ty: Type,
    modifier: TypeModifier,
    not_null: bool,
    has_default: bool,
    has_missing: bool,
    identity: char,
    generated: char,
    is_dropped: bool,
}

pub(super) fn attributes(source: &Source<'_>, out: &mut Emitter<'_>) -> Result<()> {
    for object in source.catalog.objects() {
        match object {
            Object::Table(table) => {
                of_table(table, out);
                of_indexes(table, out);
            }
            Object::View(view) => {
                for (at, column) in view.columns.iter().enumerate() {
                    plain(view.id, at, &column.name, column.ty, column.modifier, out);
                }
            }
            Object::Sequence(sequence) => {
                let columns = [
                    ("last_value", Scalar::Int8),
                    ("log_cnt", Scalar::Int8),
                    ("is_called", Scalar::Bool),
                ];
                for (at, (name, ty)) in columns.into_iter().enumerate() {
                    let attribute = Attribute {
                        not_null: true,
                        ..Attribute::new(sequence.id, at, name, ty.into(), TypeModifier::NONE)
                    };
                    put(out, &attribute);
                }
            }
            Object::Schema(_) | Object::Enum(_) | Object::Role(_) => {}
        }
    }
    for relation in system::all_relations() {
        let id = relation.object.id();
        for (at, (name, ty, not_null)) in relation.columns.iter().enumerate() {
            let attribute = Attribute {
                not_null: *not_null,
                ..Attribute::new(id, at, name, *ty, TypeModifier::NONE)
            };
            put(out, &attribute);
        }
    }
    Ok(())
}

impl<'a> Attribute<'a> {
    fn new(
        relation: ObjectId,
        position: usize,
        name: &'a str,
        ty: Type,
        modifier: TypeModifier,
    ) -> Self {
        Attribute {
            relation,
            name,
            number: attribute_number(u16::try_from(position).unwrap_or(u16::MAX)),
            ty,
            modifier,
            not_null: false,
            has_default: false,
            has_missing: false,
            identity: ' ',
            generated: ' ',
            is_dropped: false,
        }
    }
}

fn plain(
    relation: ObjectId,
    position: usize,
    name: &str,
    ty: Type,
    modifier: TypeModifier,
    out: &mut Emitter<'_>,
) {
    put(out, &Attribute::new(relation, position, name, ty, modifier));
}

fn of_table(table: &Table, out: &mut Emitter<'_>) {
    for (at, column) in table.columns.iter().enumerate() {
        let dropped_name = format!("........pg.dropped.{}........", at + 1);
        let generation = column.generation.as_ref();
        let attribute = Attribute {
            not_null: column.not_null && !column.dropped,
            has_default: column.default.is_some()
                || matches!(generation, Some(Generation::Stored(_))),
            has_missing: column.missing.is_some(),
            identity: match generation {
                Some(Generation::Identity {
                    mode: IdentityMode::Always,
                    ..
                }) => 'a',
                Some(Generation::Identity {
                    mode: IdentityMode::ByDefault,
                    ..
                }) => 'd',
                _ => ' ',
            },
            generated: match generation {
                Some(Generation::Stored(_)) => 's',
                _ => ' ',
            },
            is_dropped: column.dropped,
            ..Attribute::new(
                table.id,
                at,
                if column.dropped {
                    &dropped_name
                } else {
                    &column.name
                },
                column.ty,
                column.modifier,
            )
        };
        put(out, &attribute);
    }
}

fn of_indexes(table: &Table, out: &mut Emitter<'_>) {
    for key in keys::keys(table) {
        let mut at = 0;
        for column in key.columns.iter() {
            let found = match column.key {
                IndexKey::Column(position) => table.columns.get(usize::from(position)),
                IndexKey::Expression(_) => None,
            };
            let modifier = found.map_or(TypeModifier::NONE, |column| column.modifier);
            let name = found.map_or("expr", |column| &column.name);
            plain(key.id, at, name, column.ty, modifier, out);
            at += 1;
        }
        for position in key.included {
            if let Some(column) = table.columns.get(usize::from(*position)) {
                plain(key.id, at, &column.name, column.ty, column.modifier, out);
                at += 1;
            }
        }
    }
}

fn put(out: &mut Emitter<'_>, attribute: &Attribute<'_>) {
    let facts = postgres::facts_of(attribute.ty);
    let is_array = matches!(attribute.ty, Type::Array(_));
    out.row(&[
        oid(attribute.relation),
        Value::Text(attribute.name),
        if attribute.is_dropped {
            NONE
        } else {
            Value::Oid(attribute.ty.oid())
        },
        Value::Int4(-1),
        Value::Int2(facts.length),
        Value::Int2(attribute.number),
        Value::Int4(is_array.into()),
        Value::Int4(-1),
        Value::Int4(attribute.modifier.0),
        Value::Bool(facts.by_value),
        letter(facts.align),
        letter(facts.storage),
        letter(' '),
        Value::Bool(attribute.not_null),
        Value::Bool(attribute.has_default),
        Value::Bool(attribute.has_missing),
        letter(attribute.identity),
        letter(attribute.generated),
        Value::Bool(attribute.is_dropped),
        YES,
        Value::Int4(0),
        Value::Oid(facts.collation),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
    ]);
}

/// A default, or the expression of a generated column.
pub(super) struct Default<'c> {
    pub(super) number: Value<'static>,
    pub(super) table: &'c Table,
    pub(super) position: u16,
    pub(super) expression: &'c StoredExpression,
}

/// Returns all defaults, with their numbers.
pub(super) fn all_defaults(catalog: &Catalog) -> impl Iterator<Item = Default<'_>> {
    let tables = catalog
        .tables()
        .filter(|table| table.kind == TableKind::Ordinary);
    let columns = tables.flat_map(|table| {
        table.live_columns().filter_map(move |(at, column)| {
            let generated = match &column.generation {
                Some(Generation::Stored(expression)) => Some(expression),
                _ => None,
            };
            Some((table, at, column.default.as_ref().or(generated)?))
        })
    });
    columns
        .zip(FIRST_DEFAULT..)
        .map(|((table, at, expression), number)| Default {
            number: Value::Oid(number),
            table,
            position: u16::try_from(at).unwrap_or(u16::MAX),
            expression,
        })
}

pub(super) fn defaults(source: &Source<'_>, out: &mut Emitter<'_>) {
    for default in all_defaults(source.catalog) {
        let column = default.table.columns.get(usize::from(default.position));
        let ty = column.map(|column| column.ty);
        let shown = expressions::shown(source.catalog, default.table, default.expression, ty);
        out.row(&[
            default.number,
            oid(default.table.id),
            Value::Int2(attribute_number(default.position)),
            Value::Text(&shown.stored()),
        ]);
    }
}
