//! Dependencies between objects. Drops are rare, and therefore nothing is kept for them: a drop
//! looks at all objects once for what they name ([`Named`]), and then at those that name what it
//! drops.
//!
//! | target | dependents | bond |
//! | --- | --- | --- |
//! | a schema | objects that lie in it | normal |
//! | a table, a column | views, defaults and expressions elsewhere that refer to it | normal |
//! | | its own indexes and checks, the sequences that it owns | goes along |
//! | | foreign keys of others to it | normal |
//! | a column | generated columns of the same table | normal |
//! | | statistics objects over it | goes along |
//! | a sequence | defaults, other expressions and views that name it | normal |
//! | an enum type | columns of it; defaults, other expressions and views with values of it | normal |
//! | a view | views that refer to it | normal |
//! | a key | foreign keys that it serves, views whose GROUP BY it completes | normal |
//!
//! A *normal* dependent keeps a thing from being dropped, unless it is to be dropped too
//! (`CASCADE`); one that *goes along* is dropped silently.

use std::collections::HashMap;

use types::{EnumId, Scalar, Type};

use super::{
    Catalog, Column, Dependency, Generation, Index, IndexKey, Object, ObjectId, StoredExpression,
    Table,
};
use syntax::phase;

/// A thing that can be dropped.
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
    /// A statistics object of a table.
    Statistics(ObjectId, ObjectId),
}

/// The ways of depending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bond {
    Normal,
    GoesAlong,
}

/// The objects of a catalog by what they name: schemas, tables, sequences, views, enum types, and
/// constraints that complete a GROUP BY.
pub(super) struct Named<'c> {
    catalog: &'c Catalog,
    /// Objects by the numbers that they name, in the order of the catalog.
    by: HashMap<ObjectId, Vec<&'c Object>>,
}

impl<'c> Named<'c> {
    pub(super) fn new(catalog: &'c Catalog) -> Self {
        let mut by: HashMap<ObjectId, Vec<&'c Object>> = HashMap::new();
        for object in catalog.objects() {
            phase::pause();
            for_each_name(object, &mut |name| {
                let objects = by.entry(name).or_default();
                if objects.last().is_none_or(|last| last.id() != object.id()) {
                    objects.push(object);
                }
            });
        }
        Self { catalog, by }
    }

    /// Returns the objects that name the object `id`.
    fn objects(&self, id: ObjectId) -> impl Iterator<Item = &'c Object> {
        self.by.get(&id).into_iter().flatten().copied()
    }

    fn tables(&self, id: ObjectId) -> impl Iterator<Item = &'c Table> {
        self.objects(id).filter_map(|object| match object {
            Object::Table(table) => Some(&**table),
            _ => None,
        })
    }

    /// Returns the direct dependents of a target.
    pub(super) fn dependents(&self, target: Target) -> Vec<(Target, Bond)> {
        phase::pause();
        let mut found = Vec::new();
        match target {
            Target::Object(id) => of_object(self, id, &mut found),
            Target::Column(table, position) => of_column(self, table, position, &mut found),
            Target::Default(..) | Target::Statistics(..) => {}
            Target::Constraint(table, constraint) => {
                of_constraint(self, table, constraint, &mut found);
            }
            Target::Index(table, index) => {
                let of = |object: &Table| serves(object, table, Some(index));
                found.extend(self.tables(table).flat_map(of));
            }
        }
        found.dedup();
        found
    }
}

/// Calls `tell` with the numbers of all objects that an object names in its definition, its own and
/// its schema's included.
fn for_each_name(object: &Object, tell: &mut impl FnMut(ObjectId)) {
    tell(object.id());
    if let Some(schema) = object.schema() {
        tell(schema);
    }
    let of_type = |ty: Type| match ty {
        Type::Scalar(Scalar::Enum(EnumId(id))) | Type::Array(Scalar::Enum(EnumId(id))) => {
            Some(ObjectId(id))
        }
        _ => None,
    };
    match object {
        Object::View(view) => {
            let used = view.dependencies.iter().map(|on| on.object);
            let types = view.columns.iter().filter_map(|column| of_type(column.ty));
            let keys = view.grouped_by.iter().copied();
            used.chain(types).chain(keys).for_each(tell);
        }
        Object::Sequence(sequence) => {
            let owner = sequence.owned_by.as_ref();
            owner.map(|owner| owner.table).into_iter().for_each(tell);
        }
        Object::Table(table) => {
            let types = table.columns.iter().filter_map(|column| of_type(column.ty));
            let referenced = table.foreign_keys.iter().map(|key| key.referenced);
            types.chain(referenced).for_each(&mut *tell);
            for_each_expression(table, &mut |_, expression| {
                let used = expression.dependencies.iter().map(|on| on.object);
                used.for_each(&mut *tell);
            });
        }
        _ => {}
    }
}

fn of_object(named: &Named<'_>, id: ObjectId, found: &mut Vec<(Target, Bond)>) {
    for object in named.objects(id) {
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
                // The targets are in PostgreSQL's order. A part that goes along with a column is
                // not listed beside it.
                for (position, column) in table.live_columns().rev() {
                    if is_of(column.ty, id) {
                        let position = position_of(position);
                        found.push((Target::Column(table.id, position), Bond::Normal));
                    }
                }
                of_expressions(table, is_meant, found);
                let keys = table.foreign_keys.iter().filter(|key| key.referenced == id);
                let keys = keys.map(|key| Target::Constraint(table.id, key.id));
                found.extend(keys.map(|key| (key, Bond::Normal)));
            }
            _ => {}
        }
    }
}

fn of_column(named: &Named<'_>, id: ObjectId, position: u16, found: &mut Vec<(Target, Bond)>) {
    let is_meant = |on: &Dependency| on.object == id && on.column == Some(position);
    for object in named.objects(id) {
        match object {
            Object::View(view) if view.reads(id, position) => {
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
    let Some(table) = named.catalog.table(id) else {
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
    let over = table.statistics_objects.iter();
    let over = over.filter(|object| object.columns.contains(&position));
    found.extend(over.map(|object| (Target::Statistics(id, object.id), Bond::GoesAlong)));
}

/// Appends the dependents among the expressions of a table. Its checks and indexes go along with a
/// part of the table that they refer to; they prevent the drop of another object.
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
        let mut expressions = expressions_of(index);
        if let Some(expression) = expressions.find(|expression| refers(expression))
            && bond(expression) == Bond::Normal
        {
            // An index on the table's own columns is found with the other indexes.
            found.push((Target::Index(table.id, index.id), Bond::Normal));
        }
    }
}

/// Calls `visit` with the expressions of a table's definition.
pub fn for_each_expression(
    table: &Table,
    tell: &mut impl FnMut(Option<&Column>, &StoredExpression),
) {
    for (_, column) in table.live_columns() {
        if let Some(expression) = &column.default {
            tell(Some(column), expression);
        }
        if let Some(Generation::Stored(expression)) = &column.generation {
            tell(Some(column), expression);
        }
    }
    for check in table.checks.iter() {
        tell(None, &check.expression);
    }
    for index in table.indexes.iter() {
        expressions_of(index).for_each(|expression| tell(None, expression));
    }
}

/// Returns the expressions of an index: its keys and its predicate.
fn expressions_of(index: &Index) -> impl Iterator<Item = &StoredExpression> {
    let keys = index.columns.iter().filter_map(|column| match &column.key {
        IndexKey::Expression(expression) => Some(expression),
        IndexKey::Column(_) => None,
    });
    keys.chain(&index.predicate)
}

fn of_constraint(
    named: &Named<'_>,
    id: ObjectId,
    constraint: ObjectId,
    found: &mut Vec<(Target, Bond)>,
) {
    let Some(table) = named.catalog.table(id) else {
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
    found.extend(named.tables(id).flat_map(of));
    let views = named.objects(constraint).filter_map(|object| match object {
        Object::View(view) if view.grouped_by.contains(&constraint) => Some(view.id),
        _ => None,
    });
    found.extend(views.map(|view| (Target::Object(view), Bond::Normal)));
}

/// Returns the foreign keys of `referring` to another table that are served by an index of that, or
/// by the key of its rows.
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

/// Returns the name of a target for messages.
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
        Target::Statistics(id, object) => {
            let name = catalog
                .table(id)
                .and_then(|table| table.statistics_object(object));
            format!(
                "statistics object {}",
                name.map_or("", |object| &object.name)
            )
        }
    }
}

/// Returns a message's line that one target depends on another: a foreign key on the index that
/// serves it, a column of an array type on the array type.
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

/// Returns the name of an object, with its schema unless that is `public` or `pg_catalog`.
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
