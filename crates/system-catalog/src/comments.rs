//! `pg_description` and `pg_shdescription`: comments on objects and their parts.

use types::Value;

use super::{Emitter, Source, attribute_number, dependencies::CLASS, dependencies::CONSTRAINT};
use catalog::{Catalog, Comments, Object, ObjectId, Part, Table};

/// Numbers of `pg_type`, `pg_namespace` and `pg_authid`.
const TYPE: u32 = 1247;
const SCHEMA: u32 = 2615;
const ROLE: u32 = 1260;
/// Number of `pg_statistic_ext`.
const STATISTICS: u32 = 3381;

/// Returns the catalog that an object is in.
fn class_of(object: &Object) -> u32 {
    match object {
        Object::Schema(_) => SCHEMA,
        Object::Table(_) | Object::Sequence(_) | Object::View(_) => CLASS,
        Object::Enum(_) => TYPE,
        Object::Role(_) => ROLE,
    }
}

/// Returns where a comment on a part is shown, if the part is still there: the catalog, the number
/// in it, and the number of a column.
fn place(object: &Object, part: Part) -> Option<(u32, ObjectId, i16)> {
    let table = match object {
        Object::Table(table) => Some(table),
        _ => None,
    };
    match part {
        Part::Whole => Some((class_of(object), object.id(), 0)),
        Part::Column(at) => {
            let is_dropped = |table: &Table| {
                let column = table.columns.get(usize::from(at));
                column.is_none_or(|column| column.dropped)
            };
            let is_there = !table.is_some_and(|table| is_dropped(table));
            is_there.then(|| (CLASS, object.id(), attribute_number(at)))
        }
        Part::Index(id) => table?.index(id).map(|index| (CLASS, index.id, 0)),
        Part::Constraint(id) => has_constraint(table?, id).then_some((CONSTRAINT, id, 0)),
        Part::Statistics(id) => {
            let object = table?.statistics_object(id);
            object.map(|object| (STATISTICS, object.id, 0))
        }
    }
}

fn has_constraint(table: &Table, id: ObjectId) -> bool {
    let key = table.primary_key.iter().map(|key| key.id);
    let uniques = table.uniques.iter().map(|unique| unique.id);
    let checks = table.checks.iter().map(|check| check.id);
    let references = table.foreign_keys.iter().map(|key| key.id);
    let mut all = key.chain(uniques).chain(checks).chain(references);
    all.any(|found| found == id)
}

pub(super) fn descriptions(source: &Source<'_>, out: &mut Emitter<'_>) {
    each(source.catalog, false, |(class, id, column), text| {
        out.row(&[
            Value::Oid(id.0),
            Value::Oid(class),
            Value::Int4(i32::from(column)),
            Value::Text(text),
        ]);
    });
}

/// Adds the comments on objects that all databases have in common.
pub(super) fn shared(source: &Source<'_>, out: &mut Emitter<'_>) {
    each(source.catalog, true, |(class, id, _), text| {
        out.row(&[Value::Oid(id.0), Value::Oid(class), Value::Text(text)]);
    });
}

fn each(catalog: &Catalog, of_roles: bool, mut visit: impl FnMut((u32, ObjectId, i16), &str)) {
    for object in catalog.objects() {
        if matches!(object, Object::Role(_)) != of_roles {
            continue;
        }
        for (part, text) in object.comments().iter() {
            if let Some(place) = place(object, part) {
                visit(place, text);
            }
        }
    }
}

/// Returns the comment on an object, found by the name of its catalog, if that is given, its number
/// there, and the number of a column.
pub(super) fn comment_on<'c>(
    catalog: &'c Catalog,
    class: Option<&str>,
    id: ObjectId,
    column: i32,
) -> Option<&'c str> {
    let class = match class {
        None => None,
        Some("pg_class") => Some(CLASS),
        Some("pg_constraint") => Some(CONSTRAINT),
        Some("pg_statistic_ext") => Some(STATISTICS),
        Some("pg_namespace") => Some(SCHEMA),
        Some("pg_type") => Some(TYPE),
        Some("pg_authid") => Some(ROLE),
        Some(_) => return None,
    };
    let is_asked = |(found, of, at): (u32, ObjectId, i16)| {
        of == id && i32::from(at) == column && class.is_none_or(|class| class == found)
    };
    let find = |object: &'c Object| -> Option<&'c str> {
        let comments: &'c Comments = object.comments();
        let mut said = comments.iter();
        let found = said.find(|(part, _)| place(object, *part).is_some_and(is_asked));
        found.map(|(_, text)| text)
    };
    if let Some(object) = catalog.object(id) {
        return find(object);
    }
    match catalog.index(id) {
        Some((table, _)) => catalog.object(table.id).and_then(find),
        None => catalog.objects().find_map(find),
    }
}
