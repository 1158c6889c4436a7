//! Orders that a scan gives by itself, because the key that it reads by is in that order. Then no
//! sort is needed, and a LIMIT ends the scan. A scan that gives the order of the first sort keys is sorted some rows at
//! a time.

use types::Result;

use super::{
    AccessPath, Plan, Scan,
    access::{By, Choice, fixing, index_columns, row_key, row_key_columns},
    cost::{FETCHED, SEEK, scanned},
    estimate::Estimator,
    implied::{is_all_implied, is_same},
    lower::{Lowering, Node},
};
use catalog::RowKey;
use logical::{
    expression::{ColumnId, Expression, Kind},
    relation::{self, Relation},
};

/// Ratio up to which two numbers of rows are the same but for the computer's arithmetic.
const ALIKE: f64 = 1.001;

/// A part of a key: its expression, its direction, and the place of its NULLs, if it can have some.
struct Part {
    value: Expression,
    descending: bool,
    nulls_first: Option<bool>,
}

/// The part of an order that a plan gives.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Given {
    /// Number of sort keys, from the first on, in whose order the rows come.
    pub(super) keys: usize,
    /// Estimated number of groups of the table's rows that are equal in these keys.
    pub(super) groups: f64,
    /// Whether the scan has to be read backwards.
    descending: bool,
}

/// The scan under a relation, with the orders that it could give.
pub(super) struct Ordering {
    scan: relation::Scan,
    /// Conditions of the filter right over the scan.
    conditions: Vec<Expression>,
}

impl Ordering {
    /// Returns the scan; `None` if an operator between the table and the order may change the order
    /// of rows.
    pub(super) fn of(relation: &Relation) -> Option<Self> {
        match relation {
            Relation::Scan(scan) => Some(Self {
                scan: scan.clone(),
                conditions: Vec::new(),
            }),
            Relation::Filter { input, predicate } => {
                let mut found = Self::of(input)?;
                found.conditions.extend(predicate.clone().into_conjuncts());
                Some(found)
            }
            Relation::Compute { input, .. } => Self::of(input),
            _ => None,
        }
    }

    /// Returns the key that gives the order of `keys`, where it leads to the first `wanted_rows` at less cost than the
    /// cheapest path does to all rows, and its range has no more rows; `None` if there is none, or none is needed.
    pub(super) fn path_to_first(
        &self,
        keys: &[relation::SortKey],
        wanted_rows: f64,
        estimator: &Estimator,
    ) -> Option<(relation::ScanId, By)> {
        let best = estimator.choice(&self.scan, &self.conditions);
        // A scan of the whole table is given an index for its order later.
        if best.by == By::Nothing || best.is_point {
            return None;
        }
        let wanted: Vec<_> = keys.iter().map(|key| (None, key)).collect();
        let is_in_order = |choice: &Choice<'_>| {
            let parts = match (choice.by, &self.scan.table.row_key) {
                (By::Index(at), _) => self.index(at).map(|index| self.parts(index)),
                (By::Key, RowKey::Columns(key)) => Some(self.row_key(key)),
                _ => None,
            };
            parts.is_some_and(|parts| given_keys(&parts, choice.fixed(), &wanted).0 == keys.len())
        };
        if is_in_order(&best) {
            return None;
        }
        let lists = estimator.points(&self.scan, &self.conditions);
        let cost_of_all = lists.map_or(best.cost, |lists| lists.cost);
        let own = self.scan.columns.iter().map(|(id, _)| *id).collect();
        let rows = estimator.table_rows(&self.scan.table);
        let found = rows * estimator.selectivity(&self.conditions, &own);
        let choices = estimator.choices(&self.scan, &self.conditions);
        let cost = |choice: &Choice<'_>| {
            let looked_at = (wanted_rows + 1.0) * choice.rows / found.max(1.0);
            choice.cost_of(looked_at.min(choice.rows))
        };
        let choices = choices.iter().filter(|choice| {
            choice.rows <= best.rows * ALIKE && cost(choice) < cost_of_all && is_in_order(choice)
        });
        let cheapest = choices.min_by(|one, two| cost(one).total_cmp(&cost(two)))?;
        Some((self.scan.id, cheapest.by))
    }

    /// Returns the part of the order that a plan gives. The scan is reversed for it if need be. A scan
    /// of the whole table is given an index for it if not all rows are wanted, but `wanted_rows` at first.
    ///
    /// # Errors
    /// XX000 for a fault of Weft.
    pub(super) fn given(
        &self,
        node: &mut Node,
        keys: &[relation::SortKey],
        wanted_rows: Option<f64>,
        lowering: &Lowering,
    ) -> Result<Given> {
        // The positions are found before the scan is borrowed: a column under another name has the
        // position of its own.
        let is_scan = matches!(node.plan.beneath(), Plan::Scan(_));
        let names: Vec<_> = keys
            .iter()
            .map(|key| match key.expression.kind {
                Kind::Column(id) if is_scan => node.layout.position(id),
                _ => None,
            })
            .collect();
        let Some(scan) = scan_below(&mut node.plan) else {
            return Ok(Given::default());
        };
        let wanted: Vec<_> = keys
            .iter()
            .zip(names)
            .map(|(key, at)| (self.column_at(scan, at), key))
            .collect();
        let estimator = &lowering.estimator;
        let table_rows = estimator.table_rows(&self.scan.table);
        let given = |parts: &[Part], fixed| {
            let (given, descending) = given_keys(parts, fixed, &wanted);
            let expressions = keys[..given].iter().map(|key| &key.expression);
            Given {
                keys: given,
                groups: estimator.groups(expressions, table_rows).max(1.0),
                descending,
            }
        };
        let by_access = match (&scan.access, &scan.table.row_key) {
            (AccessPath::Full, RowKey::Columns(key)) => given(&self.row_key(key), 0),
            (AccessPath::Key(range), RowKey::Columns(key)) => {
                given(&self.row_key(key), range.equal.len())
            }
            (AccessPath::Index { index, range }, _) => {
                self.index(*index).map_or_else(Given::default, |index| {
                    given(&self.parts(index), range.equal.len())
                })
            }
            _ => Given::default(),
        };
        let mut best = by_access;
        if let Some(wanted_rows) = wanted_rows
            && matches!(scan.access, AccessPath::Full)
        {
            for index in &self.scan.indexes {
                if !is_all_implied(&self.conditions, &index.predicate) {
                    continue;
                }
                let range = lowering.range_of_index(&self.scan, index, &self.conditions)?;
                let by_index = given(&self.parts(index), range.equal.len());
                if by_index.keys > best.keys
                    && (by_index.keys == keys.len()
                        || self.is_cheap(&by_index, wanted_rows, estimator))
                {
                    scan.access = AccessPath::Index {
                        index: index.at,
                        range,
                    };
                    best = by_index;
                }
            }
        }
        if best.keys > 0 {
            scan.ordered = true;
            scan.descending = best.descending;
        }
        Ok(best)
    }

    /// Returns whether an index that gives a part of the order leads to the first `wanted_rows` at less than the cost
    /// of all rows of the table.
    fn is_cheap(&self, given: &Given, wanted_rows: f64, estimator: &Estimator) -> bool {
        let rows = estimator.table_rows(&self.scan.table);
        let own = self.scan.columns.iter().map(|(id, _)| *id).collect();
        let found = rows * estimator.selectivity(&self.conditions, &own);
        // The group of the last one is read whole, and one row more that shows its end.
        let looked_at = rows / given.groups + (wanted_rows + 1.0) * rows / found.max(1.0);
        SEEK + looked_at * FETCHED < scanned(rows)
    }

    /// Returns the positions of the conditions that give the parts of a key before `value` one value each, where an
    /// index of the table, or the key that its rows lie under, has the value's order from there on; the most of them if
    /// there are several such keys. `None` if there is none.
    pub(super) fn fixed_before(&self, value: &Expression) -> Option<Vec<usize>> {
        let table = &self.scan.table;
        let before = |keys: &[Expression], columns| {
            let fixed = fixing(&self.scan, &self.conditions, keys, columns);
            let next = keys.get(fixed.len())?;
            is_same(next, value).then_some(fixed)
        };
        let by_row_key = match &table.row_key {
            RowKey::Columns(key) => before(&row_key(&self.scan, key), row_key_columns(table)),
            RowKey::Hidden => None,
        };
        let usable = self.scan.indexes.iter();
        let usable = usable.filter(|index| is_all_implied(&self.conditions, &index.predicate));
        let by_index =
            usable.filter_map(|index| before(&index.keys, index_columns(&table.indexes[index.at])));
        by_row_key.into_iter().chain(by_index).max_by_key(Vec::len)
    }

    fn index(&self, at: usize) -> Option<&relation::ScanIndex> {
        self.scan.indexes.iter().find(|index| index.at == at)
    }

    /// Returns the scan's column at a position of its rows.
    fn column_at(&self, scan: &Scan, at: Option<usize>) -> Option<ColumnId> {
        let attribute = scan.columns.get(at?)?;
        let mut columns = self.scan.columns.iter();
        columns
            .find(|(_, other)| other == attribute)
            .map(|(id, _)| *id)
    }

    fn is_never_null(&self, value: &Expression) -> bool {
        let Kind::Column(id) = value.kind else {
            return false;
        };
        let mut columns = self.scan.columns.iter();
        let found = columns.find(|(other, _)| *other == id);
        found.is_some_and(|(_, at)| self.scan.table.columns[*at].not_null)
    }

    fn row_key(&self, key: &[u16]) -> Vec<Part> {
        let parts = row_key(&self.scan, key).into_iter();
        parts
            .map(|value| Part {
                value,
                descending: false,
                nulls_first: None,
            })
            .collect()
    }

    fn parts(&self, index: &relation::ScanIndex) -> Vec<Part> {
        let columns = self.scan.table.indexes[index.at].columns.iter();
        let parts = index.keys.iter().zip(columns);
        parts
            .map(|(value, column)| Part {
                value: value.clone(),
                descending: column.descending,
                nulls_first: (!self.is_never_null(value)).then_some(column.nulls_first),
            })
            .collect()
    }
}

/// Returns the scan under operators that leave rows in their order.
fn scan_below(plan: &mut Plan) -> Option<&mut Scan> {
    match plan.beneath_mut() {
        Plan::Scan(scan) => Some(scan),
        Plan::Filter { input, .. } | Plan::Project { input, .. } => scan_below(input),
        _ => None,
    }
}

/// Returns the number of sort keys, from the first on, in whose order rows lie under a key, and whether the key has to
/// be read backwards for that. The first `fixed` parts of the key have one value each.
fn given_keys(
    parts: &[Part],
    fixed: usize,
    wanted: &[(Option<ColumnId>, &relation::SortKey)],
) -> (usize, bool) {
    let is_of = |part: &Part, column: Option<ColumnId>, key: &relation::SortKey| {
        is_same(&part.value, &key.expression)
            || matches!((&part.value.kind, column), (Kind::Column(id), Some(other)) if *id == other)
    };
    let fixed = fixed.min(parts.len());
    let (fixed, rest) = parts.split_at(fixed);
    let mut rest = rest.iter();
    let mut direction = None;
    for (at, (column, key)) in wanted.iter().enumerate() {
        if fixed.iter().any(|part| is_of(part, *column, key)) {
            continue;
        }
        let fits = |part: &Part| {
            let backwards = part.descending != key.descending;
            let nulls_fit = part
                .nulls_first
                .is_none_or(|first| (first != backwards) == key.nulls_first);
            let is_fit = is_of(part, *column, key)
                && nulls_fit
                && direction.is_none_or(|known| known == backwards);
            is_fit.then_some(backwards)
        };
        let Some(backwards) = rest.next().and_then(fits) else {
            // Keys with one value each order nothing.
            return direction.map_or((0, false), |backwards| (at, backwards));
        };
        direction = Some(backwards);
    }
    (wanted.len(), direction.unwrap_or(false))
}
