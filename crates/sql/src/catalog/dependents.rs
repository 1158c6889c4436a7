//! What depends on what: found by looking at all objects, since drops are rare.
//!
//! | of | depends | how |
//! | --- | --- | --- |
//! | a schema | what lies in it | normal |
//! | a table, a column | views, defaults and expressions elsewhere that refer to it | normal |
//! | | its own indexes and checks, the sequences that go with it | goes along |
//! | | foreign keys of others to it | normal |
//! | a column | generated columns of the same table | normal |
//! | a sequence | defaults | normal |
//! | an enum type | columns and views of it | normal |
//! | a view | views that refer to it | normal |
//! | a key | foreign keys that it serves, views whose GROUP BY it completes | normal |
//!
//! What depends *normally* keeps a thing from being dropped, unless it is to be dropped too
//! (`CASCADE`); what *goes along* is dropped silently.

use types::{EnumId, Scalar, Type};

use super::{Catalog, Dependency, Generation, IndexKey, Object, ObjectId, StoredExpression, Table};

/// Something that can be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// An object with all that belongs to it.
    Object(ObjectId),
    /// A column, by position.
    Column(ObjectId, u16),
    /// A column's default.
    Default(ObjectId, u16),
    /// A constraint of a table, by its own number.
    Constraint(ObjectId, ObjectId),
    /// An index of a table.
    Index(ObjectId, ObjectId),
}

/// How it depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bond {
    Normal,
    GoesAlong,
}

/// What depends on a target at first hand.
pub(super) fn dependents(catalog: &Catalog, target: Target) -> Vec<(Target, Bond)> {
    let mut found = Vec::new();
    match target {
        Target::Object(id) => of_object(catalog, id, &mut found),
        Target::Column(table, position) => of_column(catalog, table, position, &mut found),
        Target::Default(..) => {}
        Target::Constraint(table, constraint) => {
            of_constraint(catalog, table, constraint, &mut found);
        }
        Target::Index(table, index) => {
            let of = |object: &Table| serves(object, table, Some(index));
            found.extend(tables(catalog).flat_map(of));
        }
    }
    found.dedup();
    found
}

fn tables(catalog: &Catalog) -> impl Iterator<Item = &Table> {
    catalog.objects().filter_map(|object| match object {
        Object::Table(table) => Some(&**table),
        _ => None,
    })
}

fn of_object(catalog: &Catalog, id: ObjectId, found: &mut Vec<(Target, Bond)>) {
    for object in catalog.objects() {
        if object.schema() == Some(id) {
            found.push((Target::Object(object.id()), Bond::Normal));
            continue;
        }
        let is_meant = |on: &Dependency| on.object == id;
        match object {
            Object::View(view) => {
                let refers = view.dependencies.iter().any(is_meant)
                    || view.columns.iter().any(|column| is_of(column.ty, id));
                if refers && view.id != id {
                    found.push((Target::Object(view.id), Bond::Normal));
                }
            }
            Object::Sequence(sequence)
                if (sequence.owned_by).is_some_and(|owner| owner.table == id) =>
            {
                found.push((Target::Object(sequence.id), Bond::GoesAlong));
            }
            Object::Table(table) if table.id != id => {
                of_expressions(table, is_meant, found);
                for (position, column) in table.live_columns() {
                    if is_of(column.ty, id) {
                        let position = position_of(position);
                        found.push((Target::Column(table.id, position), Bond::Normal));
                    }
                }
                let keys = table.foreign_keys.iter().filter(|key| key.referenced == id);
                let keys = keys.map(|key| Target::Constraint(table.id, key.id));
                found.extend(keys.map(|key| (key, Bond::Normal)));
            }
            _ => {}
        }
    }
}

fn of_column(catalog: &Catalog, id: ObjectId, position: u16, found: &mut Vec<(Target, Bond)>) {
    let is_meant = |on: &Dependency| on.object == id && on.column == Some(position);
    // A view that names no column of the table may read any.
    let reads = |dependencies: &[Dependency]| {
        let mut own = dependencies.iter().filter(|on| on.object == id).peekable();
        let names_columns = own.clone().any(|on| on.column.is_some());
        own.peek().is_some() && (!names_columns || own.any(is_meant))
    };
    for object in catalog.objects() {
        match object {
            Object::View(view) if reads(&view.dependencies) => {
                found.push((Target::Object(view.id), Bond::Normal));
            }
            Object::Sequence(sequence) => {
                let owner = sequence.owned_by;
                if owner.is_some_and(|owner| (owner.table, owner.column) == (id, position)) {
                    found.push((Target::Object(sequence.id), Bond::GoesAlong));
                }
            }
            Object::Table(table) => of_expressions(table, is_meant, found),
            _ => {}
        }
    }
    let Some(table) = catalog.table(id) else {
        return;
    };
    for index in table
        .indexes
        .iter()
        .filter(|index| index.uses_column(id, position))
    {
        let unique = table.uniques.iter().find(|unique| unique.index == index.id);
        let key = table
            .primary_key
            .iter()
            .find(|key| key.index == Some(index.id));
        let constraint = unique.map(|unique| unique.id).or(key.map(|key| key.id));
        found.push(match constraint {
            Some(constraint) => (Target::Constraint(id, constraint), Bond::GoesAlong),
            None => (Target::Index(id, index.id), Bond::GoesAlong),
        });
    }
    if let Some(key) = &table.primary_key
        && key.index.is_none()
        && key.columns.contains(&position)
    {
        found.push((Target::Constraint(id, key.id), Bond::GoesAlong));
    }
    let keys = table
        .foreign_keys
        .iter()
        .filter(|key| key.columns.contains(&position));
    let keys = keys.map(|key| Target::Constraint(id, key.id));
    found.extend(keys.map(|key| (key, Bond::GoesAlong)));
}

/// What the expressions of a table refer to. Its own checks and indexes go along with what
/// they refer to; for others they are in the way.
fn of_expressions(
    table: &Table,
    is_meant: impl Fn(&Dependency) -> bool,
    found: &mut Vec<(Target, Bond)>,
) {
    let refers = |expression: &StoredExpression| expression.dependencies.iter().any(&is_meant);
    let bond = |expression: &StoredExpression| {
        let mut meant = expression.dependencies.iter().filter(|on| is_meant(on));
        match meant.all(|on| on.object == table.id) {
            true => Bond::GoesAlong,
            false => Bond::Normal,
        }
    };
    for (position, column) in table.live_columns() {
        let position = position_of(position);
        if column.default.as_ref().is_some_and(&refers) {
            found.push((Target::Default(table.id, position), Bond::Normal));
        }
        if let Some(Generation::Stored(expression)) = &column.generation
            && refers(expression)
        {
            found.push((Target::Column(table.id, position), Bond::Normal));
        }
    }
    for check in table
        .checks
        .iter()
        .filter(|check| refers(&check.expression))
    {
        let constraint = Target::Constraint(table.id, check.id);
        found.push((constraint, bond(&check.expression)));
    }
    for index in table.indexes.iter() {
        let keys = index.columns.iter().filter_map(|column| match &column.key {
            IndexKey::Expression(expression) => Some(expression),
            IndexKey::Column(_) => None,
        });
        let mut expressions = keys.chain(&index.predicate);
        if let Some(expression) = expressions.find(|expression| refers(expression))
            && bond(expression) == Bond::Normal
        {
            // Its own columns' are found with the index.
            found.push((Target::Index(table.id, index.id), Bond::Normal));
        }
    }
}

fn of_constraint(
    catalog: &Catalog,
    id: ObjectId,
    constraint: ObjectId,
    found: &mut Vec<(Target, Bond)>,
) {
    let Some(table) = catalog.table(id) else {
        return;
    };
    let unique = table.uniques.iter().find(|unique| unique.id == constraint);
    let key = table
        .primary_key
        .as_ref()
        .filter(|key| key.id == constraint);
    let index = match (unique, key) {
        (Some(unique), _) => Some(unique.index),
        (None, Some(key)) => key.index,
        (None, None) => return,
    };
    let of = |object: &Table| serves(object, id, index);
    found.extend(tables(catalog).flat_map(of));
    let views = catalog.objects().filter_map(|object| match object {
        Object::View(view) if view.grouped_by.contains(&constraint) => Some(view.id),
        _ => None,
    });
    found.extend(views.map(|view| (Target::Object(view), Bond::Normal)));
}

/// Foreign keys of a table to another that an index of that serves, or the key of its rows.
fn serves(referring: &Table, referenced: ObjectId, index: Option<ObjectId>) -> Vec<(Target, Bond)> {
    let keys = referring.foreign_keys.iter();
    let keys = keys.filter(|key| (key.referenced, key.referenced_index) == (referenced, index));
    let keys = keys.map(|key| (Target::Constraint(referring.id, key.id), Bond::Normal));
    keys.collect()
}

fn is_of(ty: Type, id: ObjectId) -> bool {
    matches!(ty, Type::Scalar(Scalar::Enum(EnumId(of))) | Type::Array(Scalar::Enum(EnumId(of)))
        if of == id.0)
}

fn position_of(position: usize) -> u16 {
    u16::try_from(position).unwrap_or(u16::MAX)
}

/// What messages call a target.
pub(super) fn describe(catalog: &Catalog, target: Target) -> String {
    let relation = |id: ObjectId| match catalog.object(id) {
        Some(object) => name_of(catalog, object),
        None => id.to_string(),
    };
    let column = |id: ObjectId, position: u16| {
        let column = catalog
            .table(id)
            .and_then(|table| table.columns.get(usize::from(position)));
        column.map_or_else(String::new, |column| column.name.to_string())
    };
    match target {
        Target::Object(id) => match catalog.object(id) {
            Some(object) => format!("{} {}", object.kind().noun(), name_of(catalog, object)),
            None => format!("object {id}"),
        },
        Target::Column(id, position) => {
            format!("column {} of table {}", column(id, position), relation(id))
        }
        Target::Default(id, position) => {
            let column = column(id, position);
            format!(
                "default value for column {column} of table {}",
                relation(id)
            )
        }
        Target::Constraint(id, constraint) => {
            let name = catalog
                .table(id)
                .and_then(|table| constraint_name(table, constraint));
            format!(
                "constraint {} on table {}",
                name.unwrap_or_default(),
                relation(id)
            )
        }
        Target::Index(id, index) => {
            let name = catalog.table(id).and_then(|table| table.index(index));
            format!("index {}", name.map_or("", |index| &index.name))
        }
    }
}

/// What a message says that one target depends on: a foreign key on the index that serves it, a
/// column of an array type on that.
pub(super) fn describe_bond(catalog: &Catalog, dependent: Target, on: Target) -> String {
    let what = match (dependent, on) {
        (Target::Constraint(..), Target::Constraint(table, constraint)) => {
            let name = catalog
                .table(table)
                .and_then(|table| constraint_name(table, constraint));
            format!("index {}", name.unwrap_or_default())
        }
        (Target::Column(table, position), Target::Object(ty)) => {
            let table = catalog.table(table);
            let column = table.and_then(|table| table.columns.get(usize::from(position)));
            let is_array = column
                .is_some_and(|column| matches!(column.ty, Type::Array(_)) && is_of(column.ty, ty));
            describe(catalog, on) + if is_array { "[]" } else { "" }
        }
        _ => describe(catalog, on),
    };
    format!("{} depends on {what}", describe(catalog, dependent))
}

/// With its schema, unless that is `public` or `pg_catalog`.
fn name_of(catalog: &Catalog, object: &Object) -> String {
    match object.schema() {
        None | Some(ObjectId::PUBLIC | ObjectId::PG_CATALOG) => object.name().to_string(),
        Some(schema) => format!("{}.{}", catalog.schema_name(schema), object.name()),
    }
}

fn constraint_name(table: &Table, id: ObjectId) -> Option<&str> {
    let keys = table.primary_key.iter().map(|key| (key.id, &key.name));
    let uniques = table.uniques.iter().map(|unique| (unique.id, &unique.name));
    let checks = table.checks.iter().map(|check| (check.id, &check.name));
    let references = table.foreign_keys.iter().map(|key| (key.id, &key.name));
    let mut all = keys.chain(uniques).chain(checks).chain(references);
    all.find(|(other, _)| *other == id).map(|(_, name)| &**name)
}
