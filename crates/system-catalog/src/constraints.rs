//! `pg_constraint` and `pg_index`.

use types::{Result, Scalar, Value};

use super::{
    Emitter, NO, NONE, Source, YES, attribute_number, attribute_numbers, expressions, keys, letter,
    oid, small, vector,
};
use catalog::{
    Catalog, ForeignKey, IndexKey, MatchKind, ObjectId, ReferentialAction, Table, postgres,
};

/// Columns in which the rows of `pg_constraint` differ.
struct Constraint<'c> {
    id: ObjectId,
    name: &'c str,
    kind: char,
    index: Option<ObjectId>,
    columns: Option<&'c [u16]>,
    is_valid: bool,
    foreign: Option<&'c ForeignKey>,
    expression: Option<&'c str>,
}

pub(super) fn constraints(source: &Source<'_>, out: &mut Emitter<'_>) -> Result<()> {
    for table in source.catalog.tables() {
        let plain = |id, name, kind| Constraint {
            id,
            name,
            kind,
            index: None,
            columns: None,
            is_valid: true,
            foreign: None,
            expression: None,
        };
        if let Some(key) = &table.primary_key {
            let constraint = Constraint {
                index: Some(key.index.unwrap_or(key.id)),
                columns: Some(&key.columns),
                ..plain(key.id, &key.name, 'p')
            };
            put(source, table, &constraint, out)?;
        }
        for unique in table.uniques.iter() {
            let constraint = Constraint {
                index: Some(unique.index),
                columns: Some(&unique.columns),
                ..plain(unique.id, &unique.name, 'u')
            };
            put(source, table, &constraint, out)?;
        }
        for check in table.checks.iter() {
            let shown = expressions::shown(source.catalog, table, &check.expression, None);
            let expression = shown.stored();
            let constraint = Constraint {
                columns: Some(&shown.columns),
                is_valid: check.is_valid,
                expression: Some(&expression),
                ..plain(check.id, &check.name, 'c')
            };
            put(source, table, &constraint, out)?;
        }
        for foreign in table.foreign_keys.iter() {
            let constraint = Constraint {
                index: index_of_reference(source.catalog, foreign),
                columns: Some(&foreign.columns),
                is_valid: foreign.is_valid,
                foreign: Some(foreign),
                ..plain(foreign.id, &foreign.name, 'f')
            };
            put(source, table, &constraint, out)?;
        }
    }
    Ok(())
}

/// Returns the index that finds the rows a foreign key refers to.
fn index_of_reference(catalog: &Catalog, foreign: &ForeignKey) -> Option<ObjectId> {
    let primary = || Some(catalog.table(foreign.referenced)?.primary_key.as_ref()?.id);
    foreign.referenced_index.or_else(primary)
}

fn put(
    source: &Source<'_>,
    table: &Table,
    constraint: &Constraint<'_>,
    out: &mut Emitter<'_>,
) -> Result<()> {
    let numbers = |positions: Option<&[u16]>| match positions {
        Some(positions) if !positions.is_empty() => attribute_numbers(positions, source.scratch),
        _ => Ok(Value::Null),
    };
    let foreign = constraint.foreign;
    let action =
        |of: fn(&ForeignKey) -> ReferentialAction| foreign.map_or(' ', |key| action(of(key)));
    out.row(&[
        oid(constraint.id),
        Value::Text(constraint.name),
        oid(table.schema),
        letter(constraint.kind),
        Value::Bool(foreign.is_some_and(|key| key.is_deferrable)),
        Value::Bool(foreign.is_some_and(|key| key.is_deferred)),
        Value::Bool(constraint.is_valid),
        oid(table.id),
        NONE,
        constraint.index.map_or(NONE, oid),
        NONE,
        foreign.map_or(NONE, |key| oid(key.referenced)),
        letter(action(|key| key.on_update)),
        letter(action(|key| key.on_delete)),
        letter(foreign.map_or(' ', |key| match key.match_kind {
            MatchKind::Simple => 's',
            MatchKind::Full => 'f',
        })),
        YES,
        Value::Int4(0),
        Value::Bool(constraint.kind != 'c'),
        numbers(constraint.columns)?,
        numbers(foreign.map(|key| &*key.referenced_columns))?,
        Value::Null,
        Value::Null,
        Value::Null,
        numbers(foreign.map(|key| &*key.on_delete_columns))?,
        Value::Null,
        constraint.expression.map_or(Value::Null, Value::Text),
    ]);
    Ok(())
}

fn action(action: ReferentialAction) -> char {
    match action {
        ReferentialAction::NoAction => 'a',
        ReferentialAction::Restrict => 'r',
        ReferentialAction::Cascade => 'c',
        ReferentialAction::SetNull => 'n',
        ReferentialAction::SetDefault => 'd',
    }
}

/// Bits of `indoption`.
const DESCENDING: i16 = 1;
const NULLS_FIRST: i16 = 2;

pub(super) fn indexes(source: &Source<'_>, out: &mut Emitter<'_>) -> Result<()> {
    for table in source.catalog.tables() {
        for key in keys::keys(table) {
            let columns = key.columns.iter();
            let positions = columns.map(|column| match column.key {
                IndexKey::Column(position) => attribute_number(position),
                IndexKey::Expression(_) => 0,
            });
            let included = key
                .included
                .iter()
                .map(|position| attribute_number(*position));
            let positions: Vec<_> = positions.chain(included).map(Value::Int2).collect();
            let facts = || {
                key.columns
                    .iter()
                    .map(|column| postgres::facts_of(column.ty))
            };
            let collations: Vec<_> = facts().map(|facts| Value::Oid(facts.collation)).collect();
            let classes: Vec<_> = facts().map(|facts| Value::Oid(class(&facts))).collect();
            let options = key.columns.iter().map(|column| {
                let descending = if column.descending { DESCENDING } else { 0 };
                let nulls_first = if column.nulls_first { NULLS_FIRST } else { 0 };
                Value::Int2(descending | nulls_first)
            });
            let options: Vec<_> = options.collect();
            let all = key.columns.iter().filter_map(|column| match &column.key {
                IndexKey::Expression(expression) => {
                    Some(expressions::shown(source.catalog, table, expression, None))
                }
                IndexKey::Column(_) => None,
            });
            let all = expressions::Shown::all(all);
            let predicate = key.predicate.map(|predicate| {
                expressions::shown(source.catalog, table, predicate, None).stored()
            });
            let scratch = source.scratch;
            out.row(&[
                oid(key.id),
                oid(table.id),
                small(positions.len()),
                small(key.columns.len()),
                Value::Bool(key.is_unique),
                Value::Bool(key.nulls_not_distinct),
                Value::Bool(key.is_primary),
                NO,
                YES,
                NO,
                Value::Bool(key.is_valid),
                NO,
                YES,
                YES,
                NO,
                vector(Scalar::Int2, &positions, scratch)?,
                vector(Scalar::Oid, &collations, scratch)?,
                vector(Scalar::Oid, &classes, scratch)?,
                vector(Scalar::Int2, &options, scratch)?,
                all.as_deref().map_or(Value::Null, Value::Text),
                predicate.as_deref().map_or(Value::Null, Value::Text),
            ]);
        }
    }
    Ok(())
}

/// Operator class `text_ops`, which strings of varying length share.
const TEXT_CLASS: u32 = 3126;

fn class(facts: &postgres::TypeFacts) -> u32 {
    match (facts.operator_class, facts.category) {
        (0, 'S') => TEXT_CLASS,
        (class, _) => class,
    }
}
