//! `pg_stats`, `pg_statistic_ext` and `pg_statistic_ext_data`: what is known of the values of columns and of groups of
//! columns.

use types::{Array, Context, Result, Scalar, Settings, Value, row::RowLayout};

use super::{Emitter, NO, OWNER, Source, attribute_number, letter, oid, vector};
use catalog::{ColumnStatistics, Distinct, DistinctGroups, StatisticsObject, StoredValue, Table};

/// Adds the rows of `pg_stats`. Values are shown as texts; the correlation of values with the order of rows is not
/// known, because records lie in no order that costs depend on.
pub(super) fn columns(source: &Source<'_>, out: &mut Emitter<'_>) -> Result<()> {
    for table in source.catalog.tables() {
        let Some(statistics) = table.statistics.newest() else {
            continue;
        };
        let schema = source.catalog.schema_name(table.schema);
        for (at, column) in table.live_columns() {
            let known = u16::try_from(at).ok();
            let known = known.and_then(|at| statistics.columns.get(&at));
            let Some(known) = known.filter(|known| known.ty == column.ty) else {
                continue;
            };
            let common = known.common.iter().map(|common| &common.value);
            let shares: Vec<Value<'_>> = known
                .common
                .iter()
                .map(|common| Value::Float4(common.fraction as f32))
                .collect();
            let shares = match shares.is_empty() {
                true => Value::Null,
                false => Value::Array(Array::of(Scalar::Float4, &shares, source.scratch)?),
            };
            out.row(&[
                Value::Text(schema),
                Value::Text(&table.name),
                Value::Text(&column.name),
                NO,
                Value::Float4(known.null_fraction as f32),
                Value::Int4(known.average_width.round() as i32),
                Value::Float4(distinct(known.distinct)),
                texts(known, common, source)?,
                shares,
                texts(known, known.histogram.iter(), source)?,
                Value::Null,
                Value::Null,
                Value::Null,
                Value::Null,
            ]);
        }
    }
    Ok(())
}

/// Returns a number of different values as PostgreSQL shows it: one that grows with the rows is a negative part of
/// them, and 0 is not known.
fn distinct(distinct: Option<Distinct>) -> f32 {
    match distinct {
        None => 0.0,
        Some(Distinct::Count(count)) => count.round() as f32,
        Some(Distinct::Fraction(fraction)) => -fraction as f32,
    }
}

/// Returns values of a column as an array of texts; NULL if there are none.
fn texts<'v, 's>(
    statistics: &ColumnStatistics,
    values: impl Iterator<Item = &'v StoredValue>,
    source: &'s Source<'_>,
) -> Result<Value<'s>> {
    let settings = Settings::default();
    let context = Context {
        settings: &settings,
        names: source.catalog,
        now: 0,
    };
    let layout = RowLayout::new(&[statistics.ty])?;
    let mut shown = Vec::new();
    for value in values {
        let mut text = Vec::new();
        types::text::write(value.value(&layout)?, statistics.ty, &context, &mut text)?;
        let text = String::from_utf8_lossy(&text);
        shown.push(Value::Text(source.scratch.alloc_str(&text)));
    }
    match shown.is_empty() {
        true => Ok(Value::Null),
        false => Array::of(Scalar::Text, &shown, source.scratch).map(Value::Array),
    }
}

/// Adds the rows of `pg_statistic_ext`.
pub(super) fn objects(source: &Source<'_>, out: &mut Emitter<'_>) -> Result<()> {
    for (table, object) in all_objects(source) {
        let keys = object.columns.iter();
        let keys: Vec<Value<'_>> = keys.map(|at| Value::Int2(attribute_number(*at))).collect();
        let kinds = object.kinds;
        let kinds = [
            (kinds.ndistinct, 'd'),
            (kinds.dependencies, 'f'),
            (kinds.mcv, 'm'),
        ];
        let kinds = kinds.into_iter().filter(|(is_there, _)| *is_there);
        let kinds: Vec<Value<'_>> = kinds.map(|(_, kind)| letter(kind)).collect();
        out.row(&[
            oid(object.id),
            oid(table.id),
            Value::Text(&object.name),
            oid(table.schema),
            OWNER,
            Value::Int4(-1),
            vector(Scalar::Int2, &keys, source.scratch)?,
            Value::Array(Array::of(Scalar::Char, &kinds, source.scratch)?),
            Value::Null,
        ]);
    }
    Ok(())
}

/// Adds the rows of `pg_statistic_ext_data`, as PostgreSQL writes its types of them; common combinations are not shown.
pub(super) fn groups(source: &Source<'_>, out: &mut Emitter<'_>) {
    for (table, object) in all_objects(source) {
        let Some(statistics) = table.statistics.newest() else {
            continue;
        };
        let Some(group) = statistics.groups.get(&object.id.0) else {
            continue;
        };
        let numbers = |columns: &[u16]| {
            let numbers = columns.iter().map(|at| attribute_number(*at).to_string());
            numbers.collect::<Vec<_>>().join(", ")
        };
        let of_groups = |known: &DistinctGroups| {
            let distinct = known.distinct.of(statistics.rows).round();
            format!("\"{}\": {distinct}", numbers(&known.columns))
        };
        let distinct = listed(group.distinct.iter().map(of_groups));
        let dependencies = group.dependencies.iter().map(|known| {
            let (from, to) = (numbers(&known.from), numbers(&[known.to]));
            format!("\"{from} => {to}\": {:.6}", known.degree)
        });
        let dependencies = listed(dependencies);
        let shown = |text: &Option<String>| match text {
            Some(text) => Value::Text(source.scratch.alloc_str(text)),
            None => Value::Null,
        };
        out.row(&[
            oid(object.id),
            NO,
            shown(&distinct),
            shown(&dependencies),
            Value::Null,
            Value::Null,
        ]);
    }
}

/// Returns texts in braces, with commas between them; `None` if there are none.
fn listed(texts: impl Iterator<Item = String>) -> Option<String> {
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| format!("{{{}}}", texts.join(", ")))
}

/// Iterates over all statistics objects, with their tables.
fn all_objects<'s>(
    source: &'s Source<'_>,
) -> impl Iterator<Item = (&'s Table, &'s StatisticsObject)> {
    source.catalog.tables().flat_map(|table| {
        let objects = table.statistics_objects.iter();
        objects.map(|object| (&**table, object))
    })
}
