//! Origins of a statement's columns, and the statistics of their values.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use types::Type;

use super::{Answers, CommonTableRows};
use crate::{plan::disjunction::implied_by, program::comparison};
use catalog::{ColumnStatistics, IndexKey, RowKey, Table, TableKind, TableStatistics};
use logical::{
    expression::{ColumnId, Expression, Kind},
    relation::{Join, Relation, Scan},
};

/// Different values of a column without statistics: PostgreSQL's number.
const DISTINCT_UNKNOWN: f64 = 200.0;
/// Rows of a table that is computed.
const SYSTEM_ROWS: f64 = 500.0;

/// The present statistics of a statement's tables; see the module above.
#[derive(Default)]
pub(in crate::plan) struct Estimator {
    tables: Vec<Known>,
    columns: HashMap<ColumnId, Origin>,
    /// Disjunctions of joins, each with what it implies for the sides.
    implied: Vec<(Expression, Vec<Expression>)>,
    pub(super) shared: CommonTableRows,
    pub(super) answers: Answers,
    /// Whether the part of some rows, by a range or a pattern, was guessed for want of the value of a parameter.
    pub(super) guesses: Cell<bool>,
    order_is_guessed: Cell<bool>,
    /// Number of questions that are being answered, each for the one before.
    pub(super) asked: Cell<usize>,
    /// Part of the pairs of rows in which two columns are equal: see `common.rs`.
    pub(super) equalities: RefCell<HashMap<(ColumnId, ColumnId), f64>>,
    /// Number of scans that were seen.
    scans: usize,
}

/// A table at this moment.
struct Known {
    table: Arc<Table>,
    rows: f64,
    statistics: Option<Arc<TableStatistics>>,
}

/// The column of a table that a column of the statement is, under another number.
#[derive(Clone, Copy)]
struct Origin {
    table: usize,
    /// Number of the scan: a statement may read a table more than once.
    scan: usize,
    attribute: usize,
}

/// A column of a scan, by the number of the scan and the column's place in the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) scan: usize,
    pub(super) attribute: u16,
}

/// The statistics of a column.
#[derive(Clone, Copy)]
pub(super) struct Column<'e> {
    pub(super) ty: Type,
    pub(super) statistics: Option<&'e ColumnStatistics>,
    /// Number of different values, at least one.
    pub(super) distinct: f64,
}

impl Estimator {
    pub(in crate::plan) fn new(relation: &Relation) -> Self {
        let mut found = Self::default();
        let mut same = Vec::new();
        relation.clone().walk(&mut |relation| match relation {
            Relation::Scan(scan) => found.add(scan),
            Relation::Join(join) => found.note_implied(join),
            Relation::Compute { columns, .. } => {
                for (id, value) in columns.iter() {
                    note_same(*id, value, &mut same);
                }
            }
            Relation::Aggregate(aggregate) => {
                for (id, key) in &aggregate.keys {
                    note_same(*id, key, &mut same);
                }
            }
            Relation::Shared { columns, .. } => same.extend(columns.iter().copied()),
            Relation::Set(set) => {
                same.extend(set.columns.iter().map(|(id, left, _)| (*id, *left)));
            }
            _ => {}
        });
        // The numbers of a statement's columns are in no order.
        loop {
            let before = found.columns.len();
            for (id, source) in &same {
                if let Some(origin) = found.columns.get(source).copied() {
                    found.columns.entry(*id).or_insert(origin);
                }
            }
            if found.columns.len() == before {
                return found;
            }
        }
    }

    /// Notes that the relations of several joins were put in order by these estimates.
    pub(in crate::plan) fn note_order(&self) {
        let is_guessed = self.order_is_guessed.get() || self.guesses.get();
        self.order_is_guessed.set(is_guessed);
    }

    /// Returns whether an order of several joins follows from a guess that the value of a parameter would replace: each
    /// join multiplies its error.
    pub(in crate::plan) fn order_is_guessed(&self) -> bool {
        self.order_is_guessed.get()
    }

    /// Notes what a column is that the planner has made.
    pub(in crate::plan) fn note(&mut self, id: ColumnId, value: &Expression) {
        if let Kind::Column(source) = value.kind
            && let Some(origin) = self.columns.get(&source).copied()
        {
            self.columns.insert(id, origin);
        }
    }

    fn add(&mut self, scan: &Scan) {
        let known = self
            .tables
            .iter()
            .position(|known| known.table == scan.table);
        let at = known.unwrap_or_else(|| {
            self.tables.push(Known::new(&scan.table));
            self.tables.len() - 1
        });
        self.scans += 1;
        for (id, attribute) in &scan.columns {
            let origin = Origin {
                table: at,
                scan: self.scans,
                attribute: *attribute,
            };
            self.columns.insert(*id, origin);
        }
    }

    /// Notes what the disjunctions of a join imply, which the sides of the join have among their conditions.
    fn note_implied(&mut self, join: &Join) {
        if !join.on.iter().any(|part| matches!(part.kind, Kind::Or(_))) {
            return;
        }
        let [left, right] =
            [&join.left, &join.right].map(|side| side.columns().into_iter().collect());
        for (disjunction, implied) in implied_by(join.kind, &join.on, &left, &right) {
            let implied: Vec<Expression> = implied.into_iter().flatten().collect();
            if !implied.is_empty() {
                self.implied.push((disjunction.clone(), implied));
            }
        }
    }

    /// Returns what a condition of a join implies for the sides of the join, whose rows are those for which it holds.
    pub(super) fn implied(&self, condition: &Expression) -> &[Expression] {
        let mut known = self.implied.iter();
        let found = known.find(|(disjunction, _)| disjunction == condition);
        found.map_or(&[], |(_, implied)| implied)
    }

    /// Returns the rows of a table.
    pub(in crate::plan) fn table_rows(&self, table: &Arc<Table>) -> f64 {
        let known = self.tables.iter().find(|known| known.table == *table);
        known.map_or_else(|| Known::new(table).rows, |known| known.rows)
    }

    /// Returns the statistics of a column that comes from a table.
    pub(super) fn column(&self, id: ColumnId) -> Option<Column<'_>> {
        let origin = self.columns.get(&id)?;
        let known = &self.tables[origin.table];
        let ty = known.table.columns[origin.attribute].ty;
        let statistics = known.statistics.as_ref().and_then(|statistics| {
            let at = u16::try_from(origin.attribute).ok()?;
            statistics.columns.get(&at).filter(|column| column.ty == ty)
        });
        let distinct = if is_unique(&known.table, origin.attribute) {
            known.rows
        } else {
            match statistics.and_then(|column| column.distinct) {
                Some(distinct) => distinct.of(known.rows),
                None => DISTINCT_UNKNOWN,
            }
        };
        Some(Column {
            ty,
            statistics,
            distinct: distinct.max(1.0),
        })
    }

    /// Returns whether groups of columns of any of the tables were looked at.
    pub(super) fn has_groups(&self) -> bool {
        let mut statistics = self.tables.iter().flat_map(|known| &known.statistics);
        statistics.any(|statistics| !statistics.groups.is_empty())
    }

    /// Returns the place of a column that comes from a table, and what is known of the table: its rows, its definition
    /// and its statistics; `None` without statistics.
    pub(super) fn place(&self, id: ColumnId) -> Option<(Place, f64, &Table, &TableStatistics)> {
        let origin = self.columns.get(&id)?;
        let known = &self.tables[origin.table];
        let place = Place {
            scan: origin.scan,
            attribute: u16::try_from(origin.attribute).ok()?,
        };
        Some((
            place,
            known.rows,
            &known.table,
            known.statistics.as_deref()?,
        ))
    }

    /// Returns the type of a column that comes from a table, and the average bytes of its values,
    /// as far as they were sampled.
    pub(in crate::plan) fn type_and_width(&self, id: ColumnId) -> Option<(Type, Option<f64>)> {
        let column = self.column(id)?;
        let width = column.statistics.map(|seen| seen.average_width);
        Some((column.ty, width))
    }

    /// Returns the number of different values of a column that comes from a table.
    pub(in crate::plan) fn distinct(&self, id: ColumnId) -> Option<f64> {
        Some(self.column(id)?.distinct)
    }

    /// Returns whether equalities give each column of a unique key of the table a value that does
    /// not come from the columns of `own`.
    pub(in crate::plan) fn is_one(
        &self,
        scan: &Scan,
        conditions: &[Expression],
        own: &BTreeSet<ColumnId>,
    ) -> bool {
        let given: Vec<usize> = conditions
            .iter()
            .filter_map(|condition| {
                let (functions::Comparison::Equal, left, right) = comparison(condition)? else {
                    return None;
                };
                [(left, right), (right, left)]
                    .into_iter()
                    .find_map(|(column, value)| {
                        let Kind::Column(id) = column.kind else {
                            return None;
                        };
                        let found = scan.columns.iter().find(|(own, _)| *own == id);
                        let is_free = !value.columns().iter().any(|id| own.contains(id));
                        found.filter(|_| is_free).map(|(_, attribute)| *attribute)
                    })
            })
            .collect();
        unique_keys(&scan.table).any(|key| key.iter().all(|attribute| given.contains(attribute)))
    }
}

impl Known {
    fn new(table: &Arc<Table>) -> Self {
        if table.kind != TableKind::Ordinary {
            return Self {
                table: table.clone(),
                rows: SYSTEM_ROWS,
                statistics: None,
            };
        }
        let statistics = table.statistics.newest();
        let places = table.storage().records_estimate() as f64;
        // The share of places with records is thought to be the same as when they were sampled.
        let rows = match &statistics {
            Some(known) if known.places > 0 => places * known.rows / known.places as f64,
            _ => places,
        };
        Self {
            table: table.clone(),
            rows: rows.max(1.0),
            statistics,
        }
    }
}

fn note_same(id: ColumnId, value: &Expression, same: &mut Vec<(ColumnId, ColumnId)>) {
    if let Kind::Column(source) = value.kind {
        same.push((id, source));
    }
}

/// Returns the keys whose values are in one row at most, as positions of columns.
pub(super) fn unique_keys(table: &Table) -> impl Iterator<Item = Vec<usize>> {
    let own = match &table.row_key {
        RowKey::Columns(key) => Some(key.iter().map(|at| usize::from(*at)).collect()),
        RowKey::Hidden => None,
    };
    let indexes = table.indexes.iter().filter(|index| {
        index.unique && index.is_valid && index.predicate.is_none() && !index.columns.is_empty()
    });
    let indexes = indexes.filter_map(|index| {
        let columns = index.columns.iter().map(|column| match column.key {
            IndexKey::Column(at) => Some(usize::from(at)),
            IndexKey::Expression(_) => None,
        });
        columns.collect::<Option<Vec<usize>>>()
    });
    own.into_iter().chain(indexes)
}

fn is_unique(table: &Table, attribute: usize) -> bool {
    unique_keys(table).any(|key| key == [attribute])
}
