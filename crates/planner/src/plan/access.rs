//! Access paths: the keys, and the parts of them, that a scan's conditions determine, and their
//! costs.

use std::collections::BTreeSet;

use functions::Comparison;
use types::{
    Result, Scalar, Type,
    key::{KeyColumn, Nulls},
};

use super::{
    AccessPath, KeyBound, KeyRange,
    cost::{FETCHED, POINT, SCANNED, SEEK, scanned},
    estimate::Estimator,
    implied::{is_all_implied, is_same},
    lower::Lowering,
    row_comparison::{Pair, inclusive, row_comparison},
};
use crate::program::{Layout, comparison};
use catalog::{RowKey, Table};
use logical::{
    expression::{ColumnId, Expression, Kind},
    relation::{Scan, ScanIndex},
};

/// Least rows that a table without statistics is thought to have: it may have just been made, and
/// then its plans must not be bad ones when it is full.
const ROWS_UNKNOWN_MIN: f64 = 1_000.0;

/// A condition that compares an expression over the table with a value that does not come from the
/// table's rows, or several such expressions, as a row, with as many values.
#[derive(Clone)]
struct Bound<'e> {
    target: &'e Expression,
    comparison: Comparison,
    value: &'e Expression,
    /// Expressions and values of a row behind the first ones.
    later: Vec<Pair<'e>>,
    /// Position of the condition.
    condition: usize,
    /// Whether the condition is true of no other rows than those within the bound.
    is_exact: bool,
}

impl Bound<'_> {
    /// Returns whether the condition bounds the part `key` of a key, which has the type `ty`.
    fn is_on(&self, key: &Expression, ty: Type) -> bool {
        is_same(self.target, key) && is_alike(self.value.ty, ty)
    }

    /// Returns the bound of the parts `keys` of a key: that of a row ends where the key has another part, or another
    /// direction.
    fn along(&self, keys: &[Expression], columns: &[KeyColumn]) -> Self {
        let parts = keys.iter().zip(columns).skip(1);
        let fitting = self.later.iter().zip(parts);
        let fitting = fitting.take_while(|((target, value), (key, column))| {
            is_same(target, key)
                && is_alike(value.ty, column.ty)
                && column.descending == columns[0].descending
        });
        let fitting = fitting.count();
        let mut bound = self.clone();
        if fitting < bound.later.len() {
            bound.later.truncate(fitting);
            bound.comparison = inclusive(bound.comparison);
        }
        bound
    }
}

/// The key by which records are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Nothing,
    Key,
    Index(usize),
}

/// One access path, with its cost.
pub(super) struct Choice<'e> {
    pub(super) by: By,
    columns: Vec<KeyColumn>,
    equal: Vec<Bound<'e>>,
    lower: Option<Bound<'e>>,
    upper: Option<Bound<'e>>,
    /// Positions of further conditions that the bounds imply.
    implied: Vec<usize>,
    /// Whether there is one record at most.
    pub(super) is_point: bool,
    /// Records that are looked at.
    pub(super) rows: f64,
    pub(super) cost: f64,
}

/// An access path, and the conditions that it makes superfluous.
pub(super) struct Found {
    pub(super) access: AccessPath,
    pub(super) covered: Vec<usize>,
}

/// Returns the columns of the key that a table's rows lie under.
pub fn row_key_columns(table: &Table) -> Vec<KeyColumn> {
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

/// Returns the columns of an index's key.
pub fn index_columns(index: &catalog::Index) -> Vec<KeyColumn> {
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

impl<'e> Choice<'e> {
    /// Returns the positions of the conditions that the access path implies.
    pub(super) fn covered(&self) -> impl Iterator<Item = usize> {
        let exact = self.bounds().filter(|bound| bound.is_exact);
        let exact = exact.map(|bound| bound.condition);
        exact.chain(self.implied.iter().copied())
    }

    fn bounds(&self) -> impl Iterator<Item = &Bound<'e>> {
        self.equal.iter().chain(&self.lower).chain(&self.upper)
    }

    /// Returns the cost of the first `rows` records.
    pub(super) fn cost_of(&self, rows: f64) -> f64 {
        let of_record = match self.by {
            By::Index(_) => FETCHED,
            By::Key | By::Nothing => SCANNED,
        };
        SEEK + rows * of_record
    }

    /// Returns the number of the key's first parts that have one value each.
    pub(super) fn fixed(&self) -> usize {
        self.equal.len()
    }

    /// Returns whether this choice is better than `other`: one with one record at most is the best,
    /// however small the table is now.
    fn is_better(&self, other: &Choice<'_>) -> bool {
        match (self.is_point, other.is_point) {
            (true, false) => true,
            (false, true) => false,
            _ => self.cost < other.cost,
        }
    }

    /// Returns the choice of all entries of an index.
    fn whole(by: By, columns: Vec<KeyColumn>) -> Self {
        Choice {
            by,
            columns,
            equal: Vec::new(),
            lower: None,
            upper: None,
            implied: Vec::new(),
            is_point: false,
            rows: 0.0,
            cost: 0.0,
        }
    }

    /// Returns the choice of the range of a key that `bounds` determine; `None` if they determine
    /// none.
    fn of_key(
        by: By,
        bounds: &[Bound<'e>],
        keys: &[Expression],
        columns: Vec<KeyColumn>,
        is_unique: bool,
    ) -> Option<Self> {
        let mut found = Choice::whole(by, columns);
        for (at, key) in keys.iter().enumerate() {
            let Some(ty) = found.columns.get(at).map(|column| column.ty) else {
                break;
            };
            let of_column = |bound: &&Bound<'e>| bound.is_on(key, ty);
            let own = bounds.iter().filter(of_column);
            if let Some(bound) = own
                .clone()
                .find(|bound| bound.comparison == Comparison::Equal)
            {
                found.equal.push(bound.clone());
                continue;
            }
            let mut side = |strict: Comparison| {
                let wanted = [strict, inclusive(strict)];
                let bounds = own
                    .clone()
                    .filter(|bound| wanted.contains(&bound.comparison));
                let along = bounds.map(|bound| bound.along(&keys[at..], &found.columns[at..]));
                // The first of several bounds that are as good is taken.
                let best = along
                    .rev()
                    .max_by_key(|bound| (bound.later.len(), bound.is_exact))?;
                if !best.is_exact {
                    let implied = own.clone().filter(|other| {
                        other.is_exact && other.comparison == wanted[1] && other.value == best.value
                    });
                    found.implied.extend(implied.map(|other| other.condition));
                }
                Some(best)
            };
            let (lower, upper) = (side(Comparison::Greater), side(Comparison::Less));
            (found.lower, found.upper) = (lower, upper);
            break;
        }
        found.is_point = is_unique && found.equal.len() == found.columns.len();
        let is_determined =
            !found.equal.is_empty() || found.lower.is_some() || found.upper.is_some();
        is_determined.then_some(found)
    }
}

impl Estimator {
    /// Returns the cheapest way to find the records that `conditions` select.
    pub(super) fn choice<'e>(&self, scan: &Scan, conditions: &'e [Expression]) -> Choice<'e> {
        let whole = self.whole_table(scan);
        let choices = self.choices(scan, conditions).into_iter();
        choices.fold(whole, |best, found| match found.is_better(&best) {
            true => found,
            false => best,
        })
    }

    /// Returns the way by all records of a table.
    fn whole_table<'e>(&self, scan: &Scan) -> Choice<'e> {
        let rows = self.rows_of_choices(scan);
        Choice {
            rows,
            cost: scanned(rows),
            ..Choice::whole(By::Nothing, Vec::new())
        }
    }

    fn rows_of_choices(&self, scan: &Scan) -> f64 {
        let rows = self.table_rows(&scan.table);
        match scan.table.statistics.newest() {
            Some(_) => rows,
            None => rows.max(ROWS_UNKNOWN_MIN),
        }
    }

    /// Returns the ways by keys, with their costs, to find the records that `conditions` select.
    pub(super) fn choices<'e>(&self, scan: &Scan, conditions: &'e [Expression]) -> Vec<Choice<'e>> {
        let bounds = bounds(scan, conditions);
        let own: BTreeSet<ColumnId> = scan.columns.iter().map(|(id, _)| *id).collect();
        let rows = self.rows_of_choices(scan);
        let weighed = |mut found: Choice<'e>, part: f64| {
            let bounding = found.bounds().map(|bound| bound.condition);
            let bounding: Vec<Expression> = bounding
                .map(|condition| conditions[condition].clone())
                .collect();
            found.rows = match found.is_point {
                true => 1.0,
                false => rows * part * self.selectivity(&bounding, &own),
            };
            found.cost = match found.is_point {
                true => POINT,
                false => found.cost_of(found.rows),
            };
            found
        };
        let mut choices = Vec::new();
        if let RowKey::Columns(key) = &scan.table.row_key {
            let keys = row_key(scan, key);
            let columns = row_key_columns(&scan.table);
            let found = Choice::of_key(By::Key, &bounds, &keys, columns, true);
            choices.extend(found.map(|found| weighed(found, 1.0)));
        }
        for candidate in &scan.indexes {
            if !is_all_implied(conditions, &candidate.predicate) {
                continue;
            }
            let index = &scan.table.indexes[candidate.at];
            let by = By::Index(candidate.at);
            let is_unique = index.unique && !index.nulls_not_distinct;
            let columns = index_columns(index);
            let found = Choice::of_key(by, &bounds, &candidate.keys, columns, is_unique);
            // A partial index has fewer rows than the table, even without bounds.
            let is_partial = !candidate.predicate.is_empty();
            let part = match is_partial {
                true => self.selectivity(&candidate.predicate, &own),
                false => 1.0,
            };
            let whole = || is_partial.then(|| Choice::whole(by, index_columns(index)));
            choices.extend(found.or_else(whole).map(|found| weighed(found, part)));
        }
        choices
    }
}

impl Lowering {
    /// Returns the cheapest access path for `conditions`; values are computed from rows of
    /// `values`.
    pub(super) fn access(
        &self,
        scan: &Scan,
        conditions: &[Expression],
        values: &Layout,
    ) -> Result<Found> {
        let mut choice = self.estimator.choice(scan, conditions);
        if let Some((id, by)) = self.in_order
            && id == scan.id
        {
            let choices = self.estimator.choices(scan, conditions).into_iter();
            choice = choices.fold(choice, |other, found| match found.by == by {
                true => found,
                false => other,
            });
        }
        if !choice.is_point && may_depend_on_literals(scan, conditions) {
            self.literals_matter.set(true);
        }
        self.weigh_literals(choice.cost);
        let covered = choice.covered().collect();
        let by = choice.by;
        let range = self.range(choice, values)?;
        let access = match by {
            By::Nothing => AccessPath::Full,
            By::Key => AccessPath::Key(range),
            By::Index(index) => AccessPath::Index { index, range },
        };
        Ok(Found { access, covered })
    }

    /// Returns the range of an index that `conditions` leave: all of its entries if they do not
    /// bound its key.
    pub(super) fn range_of_index(
        &self,
        scan: &Scan,
        index: &ScanIndex,
        conditions: &[Expression],
    ) -> Result<KeyRange> {
        let definition = &scan.table.indexes[index.at];
        let columns = index_columns(definition);
        let by = By::Index(index.at);
        let bounds = bounds(scan, conditions);
        let choice = Choice::of_key(by, &bounds, &index.keys, columns.clone(), false);
        let choice = choice.unwrap_or_else(|| Choice::whole(by, columns));
        self.range(choice, &Layout::default())
    }

    fn range(&self, choice: Choice<'_>, values: &Layout) -> Result<KeyRange> {
        let side = |bound: Option<Bound<'_>>| -> Result<Option<KeyBound>> {
            let Some(bound) = bound else {
                return Ok(None);
            };
            let later = bound.later.iter().map(|(_, value)| *value);
            Ok(Some(KeyBound {
                values: self.programs([bound.value].into_iter().chain(later), values)?,
                is_inclusive: bound.comparison == inclusive(bound.comparison),
            }))
        };
        Ok(KeyRange {
            equal: self.programs(choice.equal.iter().map(|bound| bound.value), values)?,
            lower: side(choice.lower)?,
            upper: side(choice.upper)?,
            is_point: choice.is_point,
            columns: choice.columns,
        })
    }
}

/// Returns the parts of the key that rows lie under, as columns of the scan.
pub(super) fn row_key(scan: &Scan, key: &[u16]) -> Vec<Expression> {
    let column = |at: &u16| {
        let at = usize::from(*at);
        let mut columns = scan.columns.iter();
        let (id, _) = columns.find(|(_, attribute)| *attribute == at)?;
        let column = &scan.table.columns[at];
        Some(Expression::column(*id, column.ty, column.modifier))
    };
    key.iter().map_while(column).collect()
}

/// Returns the positions of the conditions that give the first parts of a key one value each.
pub(super) fn fixing(
    scan: &Scan,
    conditions: &[Expression],
    keys: &[Expression],
    columns: Vec<KeyColumn>,
) -> Vec<usize> {
    let bounds = bounds(scan, conditions);
    let choice = Choice::of_key(By::Nothing, &bounds, keys, columns, false);
    let fixed = choice.map(|choice| choice.equal).unwrap_or_default();
    fixed.iter().map(|bound| bound.condition).collect()
}

/// Returns the conditions that compare an expression over the scan, or a row of them, with values from elsewhere.
fn bounds<'e>(scan: &Scan, conditions: &'e [Expression]) -> Vec<Bound<'e>> {
    let own = |id: ColumnId| scan.columns.iter().any(|(column, _)| *column == id);
    let is_own = |expression: &Expression| expression.columns().into_iter().any(own);
    let sides = |expression: &'e Expression| {
        let (comparison, left, right) = comparison(expression)?;
        let sides = [
            (left, right, comparison),
            (right, left, comparison.commuted()),
        ];
        let mut sides = sides.into_iter();
        sides.find(|(target, value, _)| is_own(target) && !is_own(value) && value.is_stable())
    };
    let mut bounds = Vec::new();
    for (condition, expression) in conditions.iter().enumerate() {
        let is_exact = !matches!(expression.kind, Kind::Or(_));
        let found = match is_exact {
            true => sides(expression)
                .map(|(target, value, comparison)| (comparison, vec![(target, value)])),
            false => row_comparison(expression, sides),
        };
        if let Some((comparison, pairs)) = found
            && let [(target, value), later @ ..] = pairs.as_slice()
        {
            bounds.push(Bound {
                target,
                comparison,
                value,
                later: later.to_vec(),
                condition,
                is_exact,
            });
        }
    }
    bounds
}

/// Returns whether an index might be of use if parameters of the conditions were constants: its
/// predicate, or an expression in it, has some.
fn may_depend_on_literals(scan: &Scan, conditions: &[Expression]) -> bool {
    let has_constant = |index: &ScanIndex| {
        let mut all = index.keys.iter().chain(&index.predicate);
        all.any(|part| part.any(&mut |part| matches!(part.kind, Kind::Constant(_))))
    };
    let has_parameter =
        |condition: &Expression| condition.any(&mut |part| matches!(part.kind, Kind::Parameter(_)));
    scan.indexes.iter().any(has_constant) && conditions.iter().any(has_parameter)
}

/// Returns whether values of the type `value` find their place among keys of the type `key`: both
/// are of one type, integers of different widths, or texts by different names.
fn is_alike(value: Type, key: Type) -> bool {
    let family = |ty| match ty {
        Type::Scalar(Scalar::Int2 | Scalar::Int4 | Scalar::Int8) => Some(0),
        Type::Scalar(Scalar::Text | Scalar::Varchar | Scalar::Name) => Some(1),
        _ => None,
    };
    value == key || family(value).is_some() && family(value) == family(key)
}
