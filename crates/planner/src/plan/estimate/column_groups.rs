//! Columns that depend on each other, as statistics objects (`CREATE STATISTICS`) tell.
//!
//! Equalities of columns with values, which are thought to be independent of each other without such an object, are
//! counted together: by the most common combinations of values where the values are known, and otherwise by functional
//! dependencies. Numbers of groups are those of combinations of values. The formulas are PostgreSQL's.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use functions::Comparison;
use types::{compare::compare_as, row::RowLayout};

use super::{
    knowledge::{Estimator, Place},
    known::{as_of_column, known},
    selectivity::LEAST,
};
use crate::program::comparison;
use batch::OwnedValue;
use catalog::{GroupStatistics, StoredType, StoredValue, Table, TableStatistics};
use logical::expression::{ColumnId, Expression, Kind};

/// The conditions that were counted together, and the part of the rows that they leave.
pub(super) struct Together {
    /// Part of the rows, 1 if there are no such conditions.
    pub(super) part: f64,
    /// Positions of the conditions.
    pub(super) counted: BTreeSet<usize>,
}

/// A condition that makes a column equal to one of some values.
struct Equality {
    /// Position of the condition.
    at: usize,
    attribute: u16,
    /// The values; `None` if one of them is not known.
    values: Option<Vec<Arc<OwnedValue>>>,
    /// Part of the rows for which the condition is true by itself.
    part: f64,
}

/// A dependency that applies to conditions.
struct Applied<'e> {
    from: &'e [u16],
    to: u16,
    degree: f64,
}

impl Estimator {
    /// Counts those conditions together that make columns equal to values and that statistics objects are over.
    pub(super) fn equalities_together(
        &self,
        conditions: &[Expression],
        own: &BTreeSet<ColumnId>,
    ) -> Together {
        let mut together = Together {
            part: 1.0,
            counted: BTreeSet::new(),
        };
        if conditions.len() < 2 || !self.has_groups() {
            return together;
        }
        let mut scans: BTreeMap<usize, (ColumnId, Vec<Equality>)> = BTreeMap::new();
        for (at, condition) in conditions.iter().enumerate() {
            let Some((id, values)) = column_and_values(condition, own) else {
                continue;
            };
            let Some((place, ..)) = self.place(id) else {
                continue;
            };
            let (_, equalities) = scans.entry(place.scan).or_insert((id, Vec::new()));
            equalities.push(Equality {
                at,
                attribute: place.attribute,
                values,
                part: self.among_implied(condition, own),
            });
        }
        for (id, mut equalities) in scans.into_values() {
            let Some((_, _, table, statistics)) = self.place(id) else {
                continue;
            };
            let groups: Vec<&GroupStatistics> = groups_of(table, statistics).collect();
            let mut count = |equalities: &[Equality], part: f64| {
                together.part *= part;
                together
                    .counted
                    .extend(equalities.iter().map(|equality| equality.at));
            };
            while let Some((counted, part)) = by_common_groups(&groups, &mut equalities) {
                count(&counted, part);
            }
            if let Some((counted, part)) = by_dependencies(&groups, equalities) {
                count(&counted, part);
            }
        }
        together
    }

    /// Returns the number of different combinations of values of those columns that statistics objects are over, and
    /// the other columns.
    pub(super) fn distinct_together(
        &self,
        columns: BTreeSet<ColumnId>,
    ) -> (f64, BTreeSet<ColumnId>) {
        let (mut product, mut left) = (1.0, columns);
        if left.len() < 2 || !self.has_groups() {
            return (product, left);
        }
        let mut scans: BTreeMap<usize, BTreeMap<u16, Vec<ColumnId>>> = BTreeMap::new();
        for id in &left {
            if let Some((Place { scan, attribute }, ..)) = self.place(*id) {
                let attributes = scans.entry(scan).or_default();
                attributes.entry(attribute).or_default().push(*id);
            }
        }
        for mut attributes in scans.into_values() {
            let of_scan = attributes.values().flatten().next();
            let Some((_, rows, table, statistics)) = of_scan.and_then(|id| self.place(*id)) else {
                continue;
            };
            loop {
                let known = groups_of(table, statistics).flat_map(|group| &group.distinct);
                let known = known.filter(|known| {
                    let mut columns = known.columns.iter();
                    columns.all(|column| attributes.contains_key(column))
                });
                // The object that is over most columns counts where several are over the same ones.
                let Some(best) = known.max_by_key(|known| known.columns.len()) else {
                    break;
                };
                product *= best.distinct.of(rows);
                for column in &best.columns {
                    for id in attributes.remove(column).into_iter().flatten() {
                        left.remove(&id);
                    }
                }
            }
        }
        (product, left)
    }
}

/// Returns the statistics of groups of a table's columns that hold for the table as it is.
fn groups_of<'s>(
    table: &'s Table,
    statistics: &'s TableStatistics,
) -> impl Iterator<Item = &'s GroupStatistics> {
    let objects = table.statistics_objects.iter();
    let groups = objects.filter_map(|object| statistics.groups.get(&object.id.0));
    groups.filter(|group| {
        let has_type = |(at, ty): &(u16, StoredType)| {
            let column = table.columns.get(usize::from(*at));
            column.is_some_and(|column| column.ty == ty.0)
        };
        group.columns.iter().all(has_type)
    })
}

/// Returns the column of `own` that a condition makes equal to one of some values from elsewhere, and these values if
/// all of them are known.
fn column_and_values(
    condition: &Expression,
    own: &BTreeSet<ColumnId>,
) -> Option<(ColumnId, Option<Vec<Arc<OwnedValue>>>)> {
    let column = |expression: &Expression| match expression.kind {
        Kind::Column(id) if own.contains(&id) => Some(id),
        _ => None,
    };
    let is_other = |value: &Expression| !value.columns().iter().any(|id| own.contains(id));
    if let Kind::Quantified {
        left,
        operator,
        array,
        all: false,
    } = &condition.kind
    {
        let Kind::Array(items) = &array.kind else {
            return None;
        };
        let is_equality = operator.0.comparison == Some(Comparison::Equal);
        let id = column(left).filter(|_| is_equality && items.iter().all(is_other))?;
        return Some((id, items.iter().map(known).collect()));
    }
    let (Comparison::Equal, left, right) = comparison(condition)? else {
        return None;
    };
    [(left, right), (right, left)]
        .into_iter()
        .find_map(|(one, value)| {
            let id = column(one).filter(|_| is_other(value))?;
            Some((id, known(value).map(|value| vec![value])))
        })
}

/// Takes those equalities out that the statistics of one group count together by their most common combinations, as
/// many as possible; returns them with the part of the rows that they leave.
fn by_common_groups(
    groups: &[&GroupStatistics],
    equalities: &mut Vec<Equality>,
) -> Option<(Vec<Equality>, f64)> {
    let is_among = |group: &GroupStatistics, equality: &Equality| {
        let mut columns = group.columns.iter();
        equality.values.is_some() && columns.any(|(at, _)| *at == equality.attribute)
    };
    let attributes = |group: &GroupStatistics| {
        let among = equalities
            .iter()
            .filter(|equality| is_among(group, equality));
        let attributes: BTreeSet<u16> = among.map(|equality| equality.attribute).collect();
        attributes.len()
    };
    let groups = groups.iter().filter(|group| !group.common.is_empty());
    let best = groups.max_by_key(|group| attributes(group))?;
    if attributes(best) < 2 {
        return None;
    }
    let (counted, others) = std::mem::take(equalities)
        .into_iter()
        .partition(|equality| is_among(best, equality));
    *equalities = others;
    let counted: Vec<Equality> = counted;
    let (mut matching, mut independent, mut all) = (0.0, 0.0, 0.0);
    for common in &best.common {
        all += common.fraction;
        let is_match = counted.iter().all(|equality| {
            let mut columns = best.columns.iter().zip(&common.values);
            columns.any(|((at, ty), stored)| {
                *at == equality.attribute && is_one_of(*ty, stored.as_ref(), equality)
            })
        });
        if is_match {
            matching += common.fraction;
            independent += common.independent;
        }
    }
    let alone: f64 = counted.iter().map(|equality| equality.part).product();
    let of_others = (alone - independent).clamp(0.0, (1.0 - all).max(0.0));
    Some((counted, (matching + of_others).clamp(LEAST, 1.0)))
}

/// Returns whether a value is one of those of an equality.
fn is_one_of(ty: StoredType, stored: Option<&StoredValue>, equality: &Equality) -> bool {
    let (Some(stored), Some(values)) = (stored, &equality.values) else {
        return false;
    };
    let Ok(layout) = RowLayout::new(&[ty.0]) else {
        return false;
    };
    let Ok(stored) = stored.value(&layout) else {
        return false;
    };
    values.iter().any(|value| {
        let value = as_of_column(ty.0, value.value());
        !value.is_null() && compare_as(ty.0, stored, value).is_eq()
    })
}

/// Returns those equalities that dependencies relate to each other, with the part of the rows that they leave.
fn by_dependencies(
    groups: &[&GroupStatistics],
    mut equalities: Vec<Equality>,
) -> Option<(Vec<Equality>, f64)> {
    // Parts by columns: a column may have several conditions.
    let mut parts: BTreeMap<u16, f64> = BTreeMap::new();
    for equality in &equalities {
        *parts.entry(equality.attribute).or_insert(1.0) *= equality.part;
    }
    let mut left: BTreeSet<u16> = parts.keys().copied().collect();
    let mut applied: Vec<Applied<'_>> = Vec::new();
    // The strongest dependency is applied last, when the parts of its columns are those that weaker ones have left.
    while let Some(strongest) = strongest(groups, &left) {
        left.remove(&strongest.to);
        applied.push(strongest);
    }
    if applied.is_empty() {
        return None;
    }
    let mut related: BTreeSet<u16> = BTreeSet::new();
    for dependency in applied.iter().rev() {
        related.extend(dependency.from.iter().chain([&dependency.to]));
        let from: f64 = dependency.from.iter().map(|at| parts[at]).product();
        let to = parts[&dependency.to];
        let (from, degree) = (from.max(LEAST), dependency.degree);
        let given = degree * (from.min(to) / from) + (1.0 - degree) * to;
        parts.insert(dependency.to, given);
    }
    equalities.retain(|equality| related.contains(&equality.attribute));
    let part: f64 = related.iter().map(|at| parts[at]).product();
    Some((equalities, part.clamp(LEAST, 1.0)))
}

/// Returns the dependency between columns of `among` that is of most columns, and of those the one of the highest
/// degree.
fn strongest<'e>(groups: &[&'e GroupStatistics], among: &BTreeSet<u16>) -> Option<Applied<'e>> {
    let all = groups.iter().flat_map(|group| &group.dependencies);
    let fitting = all.filter(|one| {
        among.contains(&one.to) && one.from.iter().all(|column| among.contains(column))
    });
    let strongest = fitting.max_by(|one, two| {
        let by_columns = one.from.len().cmp(&two.from.len());
        by_columns.then(one.degree.total_cmp(&two.degree))
    })?;
    Some(Applied {
        from: &strongest.from,
        to: strongest.to,
        degree: strongest.degree,
    })
}
