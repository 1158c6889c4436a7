//! Access paths: which part of which key a scan's conditions determine.

use functions::Comparison;
use types::{
    Result, Scalar, Type,
    key::{KeyColumn, Nulls},
    row::is_integer,
};

use super::{Access, ColumnTest, KeyRange, lower::Lowering};
use crate::{
    catalog::{IndexKey, RowKey, Table},
    expression::{ColumnId, Expression, Kind},
    program::{Layout, Program, comparison},
    relation::Scan,
};

/// A condition on a column of the table by values that do not come from its rows.
struct Bound<'e> {
    attribute: usize,
    comparison: Comparison,
    value: &'e Expression,
    /// The condition's position.
    condition: usize,
}

/// One way to find the records, and the conditions that it makes superfluous.
pub(super) struct Found {
    pub(super) access: Access,
    pub(super) covered: Vec<usize>,
}

/// The columns of the key that a table's rows lie under.
pub(crate) fn row_key_columns(table: &Table) -> Vec<KeyColumn> {
    match &table.row_key {
        RowKey::Columns(key) => key
            .iter()
            .map(|at| KeyColumn {
                ty: table.columns[usize::from(*at)].ty,
                descending: false,
                nulls: Nulls::Never,
            })
            .collect(),
        RowKey::Hidden => Vec::new(),
    }
}

/// The columns of an index's key.
pub(crate) fn index_columns(index: &crate::catalog::Index) -> Vec<KeyColumn> {
    let columns = index.columns.iter();
    columns
        .map(|column| KeyColumn {
            ty: column.ty,
            descending: column.descending,
            nulls: if column.nulls_first {
                Nulls::First
            } else {
                Nulls::Last
            },
        })
        .collect()
}

impl Lowering {
    /// The best access path for conditions; values are computed from rows of `values`.
    pub(super) fn access(
        &self,
        scan: &Scan,
        conditions: &[Expression],
        values: &Layout,
    ) -> Result<Found> {
        let bounds = bounds(scan, conditions);
        let mut best = Found {
            access: Access::Full,
            covered: Vec::new(),
        };
        let mut best_rank = 0;
        if let RowKey::Columns(key) = &scan.table.row_key {
            let attributes: Vec<Option<usize>> =
                key.iter().map(|at| Some(usize::from(*at))).collect();
            let columns = row_key_columns(&scan.table);
            if let Some((range, covered, rank)) =
                self.range(&bounds, &attributes, columns, true, values)?
            {
                // What lies under the key itself needs no second step.
                best_rank = rank + 1;
                best = Found {
                    access: Access::Key(range),
                    covered,
                };
            }
        }
        for (at, index) in scan.table.indexes.iter().enumerate() {
            if !index.is_valid || index.predicate.is_some() {
                continue;
            }
            let attributes: Vec<Option<usize>> = index
                .columns
                .iter()
                .map(|column| match column.key {
                    IndexKey::Column(at) => Some(usize::from(at)),
                    IndexKey::Expression(_) => None,
                })
                .collect();
            let unique = index.unique && !index.nulls_not_distinct;
            let columns = index_columns(index);
            if let Some((range, covered, rank)) =
                self.range(&bounds, &attributes, columns, unique, values)?
                && rank > best_rank
            {
                best_rank = rank;
                best = Found {
                    access: Access::Index { index: at, range },
                    covered,
                };
            }
        }
        Ok(best)
    }

    /// The range of a key that bounds determine, the conditions that say no more than it, and a
    /// rank: more equal columns are better, a range after them a little, one record the best.
    fn range(
        &self,
        bounds: &[Bound<'_>],
        attributes: &[Option<usize>],
        columns: Vec<KeyColumn>,
        unique: bool,
        values: &Layout,
    ) -> Result<Option<(KeyRange, Vec<usize>, usize)>> {
        let mut equal = Vec::new();
        let mut covered = Vec::new();
        let mut next = attributes.iter();
        let mut lower = None;
        let mut upper = None;
        for attribute in next.by_ref() {
            let of_column = |bound: &&Bound<'_>| Some(bound.attribute) == *attribute;
            let found = bounds
                .iter()
                .filter(of_column)
                .find(|bound| bound.comparison == Comparison::Equal);
            if let Some(bound) = found {
                equal.push(self.program(bound.value, values)?);
                covered.push(bound.condition);
                continue;
            }
            for bound in bounds.iter().filter(of_column) {
                let (side, inclusive) = match bound.comparison {
                    Comparison::Greater => (&mut lower, false),
                    Comparison::GreaterOrEqual => (&mut lower, true),
                    Comparison::Less => (&mut upper, false),
                    Comparison::LessOrEqual => (&mut upper, true),
                    Comparison::Equal | Comparison::NotEqual => continue,
                };
                if side.is_none() {
                    *side = Some((self.program(bound.value, values)?, inclusive));
                    covered.push(bound.condition);
                }
            }
            break;
        }
        if equal.is_empty() && lower.is_none() && upper.is_none() {
            return Ok(None);
        }
        let is_point = unique && equal.len() == columns.len();
        let bounded: fn(&Option<(Program, bool)>) -> usize = |side| usize::from(side.is_some());
        let rank =
            equal.len() * 8 + bounded(&lower) + bounded(&upper) + if is_point { 1_000 } else { 0 };
        Ok(Some((
            KeyRange {
                columns,
                equal,
                lower,
                upper,
                is_point,
            },
            covered,
            rank,
        )))
    }
}

impl Lowering {
    /// Takes out the conditions that can be looked at in a record as it is stored.
    pub(super) fn tests(
        &self,
        scan: &Scan,
        conditions: Vec<Expression>,
    ) -> Result<(Vec<ColumnTest>, Vec<Expression>)> {
        let mut tests = Vec::new();
        let mut tested = Vec::new();
        let nothing = Layout::default();
        for bound in bounds(scan, &conditions) {
            let ty = scan.table.columns[bound.attribute].ty;
            let is_alone = bound.value.columns().is_empty();
            if is_integer(ty) && is_integer(bound.value.ty) && is_alone {
                tests.push(ColumnTest {
                    attribute: bound.attribute,
                    comparison: bound.comparison,
                    value: self.program(bound.value, &nothing)?,
                });
                tested.push(bound.condition);
            }
        }
        let rest = conditions.into_iter().enumerate();
        let rest = rest.filter(|(at, _)| !tested.contains(at));
        Ok((tests, rest.map(|(_, condition)| condition).collect()))
    }
}

/// The conditions that compare a column of the scan, as it is, with a value from elsewhere.
fn bounds<'e>(scan: &Scan, conditions: &'e [Expression]) -> Vec<Bound<'e>> {
    let own = |id: ColumnId| {
        scan.columns
            .iter()
            .find(|(column, _)| *column == id)
            .map(|(_, at)| *at)
    };
    let is_own = |expression: &Expression| expression.columns().iter().any(|id| own(*id).is_some());
    let mut bounds = Vec::new();
    for (condition, expression) in conditions.iter().enumerate() {
        let Some((comparison, left, right)) = comparison(expression) else {
            continue;
        };
        for (column, value, comparison) in [
            (left, right, comparison),
            (right, left, comparison.commuted()),
        ] {
            let Kind::Column(id) = column.kind else {
                continue;
            };
            if let Some(attribute) = own(id) {
                let ty = scan.table.columns[attribute].ty;
                if is_alike(value.ty, ty) && !is_own(value) && value.is_stable() {
                    bounds.push(Bound {
                        attribute,
                        comparison,
                        value,
                        condition,
                    });
                }
            }
        }
    }
    bounds
}

/// Whether values of one type find their place among keys of another: the same, integers of other
/// widths, texts by other names.
fn is_alike(value: Type, key: Type) -> bool {
    let family = |ty| match ty {
        Type::Scalar(Scalar::Int2 | Scalar::Int4 | Scalar::Int8) => Some(0),
        Type::Scalar(Scalar::Text | Scalar::Varchar | Scalar::Name) => Some(1),
        _ => None,
    };
    value == key || family(value).is_some() && family(value) == family(key)
}
