//! Access paths: which part of which key a scan's conditions determine.

use functions::Comparison;
use types::{
    Result, Scalar, Type,
    key::{KeyColumn, Nulls},
};

use super::{
    Access, KeyRange,
    implied::{is_all_implied, is_same},
    lower::Lowering,
};
use crate::{
    catalog::{RowKey, Table},
    expression::{ColumnId, Expression, Kind},
    program::{Layout, Program, comparison},
    relation::{Scan, ScanIndex},
};

/// The rank of what finds one record.
const POINT_RANK: usize = 1_000;

/// A condition that compares something of the table's with a value that does not come from its rows.
struct Bound<'e> {
    target: &'e Expression,
    comparison: Comparison,
    value: &'e Expression,
    /// The condition's position.
    condition: usize,
}

impl Bound<'_> {
    /// Whether it bounds a part of a key.
    fn is_on(&self, key: &Expression, ty: Type) -> bool {
        is_same(self.target, key) && is_alike(self.value.ty, ty)
    }
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

impl KeyRange {
    /// All entries of an index.
    pub(super) fn whole(index: &crate::catalog::Index) -> Self {
        KeyRange {
            columns: index_columns(index),
            equal: Vec::new(),
            lower: None,
            upper: None,
            is_point: false,
        }
    }
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
            let keys = row_key(scan, key);
            let columns = row_key_columns(&scan.table);
            if let Some((range, covered, rank)) =
                self.range(&bounds, &keys, columns, true, values)?
            {
                // What lies under the key itself needs no second step.
                best_rank = rank + 1;
                best = Found {
                    access: Access::Key(range),
                    covered,
                };
            }
        }
        for candidate in &scan.indexes {
            let index = &scan.table.indexes[candidate.at];
            if !is_all_implied(conditions, &candidate.predicate) {
                continue;
            }
            let unique = index.unique && !index.nulls_not_distinct;
            let columns = index_columns(index);
            let found = self.range(&bounds, &candidate.keys, columns, unique, values)?;
            // It has fewer rows than the table, even without bounds.
            let (range, covered, rank) = match found {
                Some((range, covered, rank)) if index.predicate.is_some() => {
                    (range, covered, rank + 1)
                }
                Some(found) => found,
                None if index.predicate.is_some() => (KeyRange::whole(index), Vec::new(), 1),
                None => continue,
            };
            if rank > best_rank {
                best_rank = rank;
                best = Found {
                    access: Access::Index {
                        index: candidate.at,
                        range,
                    },
                    covered,
                };
            }
        }
        if best_rank < POINT_RANK && may_depend_on_literals(scan, conditions) {
            self.literals_matter.set(true);
        }
        Ok(best)
    }

    /// The range of a key that bounds determine, the conditions that say no more than it, and a
    /// rank: more equal columns are better, a range after them a little, one record the best.
    fn range(
        &self,
        bounds: &[Bound<'_>],
        keys: &[Expression],
        columns: Vec<KeyColumn>,
        unique: bool,
        values: &Layout,
    ) -> Result<Option<(KeyRange, Vec<usize>, usize)>> {
        let mut equal = Vec::new();
        let mut covered = Vec::new();
        let mut lower = None;
        let mut upper = None;
        for (key, column) in keys.iter().zip(&columns) {
            let of_column = |bound: &&Bound<'_>| bound.is_on(key, column.ty);
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
        let rank = equal.len() * 8
            + bounded(&lower)
            + bounded(&upper)
            + if is_point { POINT_RANK } else { 0 };
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

/// The parts of the key that rows lie under, as columns of the scan.
fn row_key(scan: &Scan, key: &[u16]) -> Vec<Expression> {
    let column = |at: &u16| {
        let at = usize::from(*at);
        let mut columns = scan.columns.iter();
        let (id, _) = columns.find(|(_, attribute)| *attribute == at)?;
        let column = &scan.table.columns[at];
        Some(Expression::column(*id, column.ty, column.modifier))
    };
    key.iter().map_while(column).collect()
}

/// The conditions that compare something of the scan with a value from elsewhere.
fn bounds<'e>(scan: &Scan, conditions: &'e [Expression]) -> Vec<Bound<'e>> {
    let own = |id: ColumnId| scan.columns.iter().any(|(column, _)| *column == id);
    let is_own = |expression: &Expression| expression.columns().into_iter().any(own);
    let mut bounds = Vec::new();
    for (condition, expression) in conditions.iter().enumerate() {
        let Some((comparison, left, right)) = comparison(expression) else {
            continue;
        };
        for (target, value, comparison) in [
            (left, right, comparison),
            (right, left, comparison.commuted()),
        ] {
            if is_own(target) && !is_own(value) && value.is_stable() {
                bounds.push(Bound {
                    target,
                    comparison,
                    value,
                    condition,
                });
            }
        }
    }
    bounds
}

/// Whether an index might be of use if parameters of the conditions were constants: its predicate,
/// or an expression in it, has some.
fn may_depend_on_literals(scan: &Scan, conditions: &[Expression]) -> bool {
    let has_constant = |index: &ScanIndex| {
        let mut all = index.keys.iter().chain(&index.predicate);
        all.any(|part| part.any(&mut |part| matches!(part.kind, Kind::Constant(_))))
    };
    let has_parameter =
        |condition: &Expression| condition.any(&mut |part| matches!(part.kind, Kind::Parameter(_)));
    scan.indexes.iter().any(has_constant) && conditions.iter().any(has_parameter)
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
