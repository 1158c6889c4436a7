//! Equality of two columns, by the lists of their most common values: PostgreSQL's `eqjoinsel`.
//!
//! The share of pairs that have a value of both lists is known. A value that is in one list alone is thought to be one
//! of the other column's values that are not in its list, and each of the remaining values to be one of the other
//! column's that are in no match, all of them equally common. Without both lists, each value of the column with fewer
//! values is thought to be one of the other's.
//!
//! Two lists are sorted and searched, some thousand comparisons at most for the hundred values that each may have; the
//! answer is kept for as long as the statement is planned, because joins are put in order by asking for it often.

use types::{Scalar, Type, Value, compare::compare_as, row::RowLayout};

use super::{
    knowledge::{Column, Estimator},
    selectivity::nulls_of,
};
use catalog::ColumnStatistics;
use logical::expression::ColumnId;

/// Values of two lists that are equal, and the shares of rows that lists have.
struct Matches {
    /// Part of the pairs of rows whose values are in both lists and are equal.
    pairs: f64,
    /// Number of values that are in both lists.
    count: f64,
    /// Values of each list.
    lengths: [f64; 2],
    /// Part of each column's rows whose value is in both lists.
    matched: [f64; 2],
    /// Part of each column's rows whose value is in its own list alone.
    unmatched: [f64; 2],
}

impl Matches {
    /// Compares the lists of two columns; `None` if one of the lists is empty, or their values are not of the same
    /// kind.
    fn of(first: Column<'_>, second: Column<'_>) -> Option<Self> {
        if !are_of_a_kind(first.ty, second.ty) {
            return None;
        }
        let (one, two) = (first.statistics?, second.statistics?);
        let layouts = [
            RowLayout::new(&[one.ty]).ok()?,
            RowLayout::new(&[two.ty]).ok()?,
        ];
        let one = values(one, &layouts[0])?;
        let mut two = values(two, &layouts[1])?;
        two.sort_by(|(left, _), (right, _)| compare_as(second.ty, *left, *right));
        let mut found = Self {
            pairs: 0.0,
            count: 0.0,
            lengths: [one.len() as f64, two.len() as f64],
            matched: [0.0; 2],
            unmatched: [0.0, two.iter().map(|(_, share)| share).sum()],
        };
        for (value, share) in one {
            let at = two.binary_search_by(|(other, _)| compare_as(first.ty, *other, value));
            match at {
                Ok(at) => {
                    let other = two[at].1;
                    found.pairs += share * other;
                    found.count += 1.0;
                    found.matched[0] += share;
                    found.matched[1] += other;
                    found.unmatched[1] -= other;
                }
                Err(_) => found.unmatched[0] += share,
            }
        }
        found.unmatched[1] = found.unmatched[1].max(0.0);
        Some(found)
    }
}

impl Estimator {
    /// Returns the part of the pairs of rows in which two columns are equal.
    pub(super) fn equal_columns(&self, one: ColumnId, two: ColumnId) -> Option<f64> {
        if let Some(known) = self.equalities.borrow().get(&(one, two)) {
            return Some(*known);
        }
        let found = equal_pairs(self.column(one)?, self.column(two)?);
        self.equalities.borrow_mut().insert((one, two), found);
        Some(found)
    }
}

/// Returns the part of the pairs of rows in which two columns are equal.
fn equal_pairs(first: Column<'_>, second: Column<'_>) -> f64 {
    let present = [first, second].map(|column| 1.0 - nulls_of(column));
    let distinct = [first.distinct, second.distinct];
    let Some(matches) = Matches::of(first, second) else {
        return present[0] * present[1] / distinct[0].max(distinct[1]);
    };
    let others = [0, 1].map(|side| {
        let others = present[side] - matches.matched[side] - matches.unmatched[side];
        others.max(0.0)
    });
    // Each side gives a number, for the numbers of different values are estimates: the less is believed.
    let seen_from = |this: usize, that: usize| {
        let (in_no_list, in_no_match) = (
            distinct[that] - matches.lengths[that],
            distinct[that] - matches.count,
        );
        let mut part = matches.pairs;
        if in_no_list > 0.0 {
            part += matches.unmatched[this] * others[that] / in_no_list;
        }
        if in_no_match > 0.0 {
            part += others[this] * (others[that] + matches.unmatched[that]) / in_no_match;
        }
        part
    };
    seen_from(0, 1).min(seen_from(1, 0))
}

/// Returns the part of the rows whose value in the column `left` is one of those that `right_rows` rows have in the
/// column `right`. Where conditions have left fewer rows than the column has values, as many values are left, each of
/// them as probably as any other.
pub(super) fn matched_rows(left: Column<'_>, right: Column<'_>, right_rows: f64) -> f64 {
    let present = 1.0 - nulls_of(left);
    let Some(matches) = Matches::of(left, right) else {
        let right_distinct = right.distinct.min(right_rows);
        return present * (right_distinct / left.distinct).min(1.0);
    };
    let kept = (right_rows / right.distinct).min(1.0);
    let left_others = left.distinct - matches.count;
    let right_others = (right.distinct - matches.count).max(0.0);
    let part = match left_others > right_others {
        true => right_others / left_others,
        false => 1.0,
    };
    kept * (matches.matched[0] + part * (present - matches.matched[0]).max(0.0))
}

/// Returns whether values of two types are compared with each other as they are kept.
fn are_of_a_kind(one: Type, two: Type) -> bool {
    let is_integer = |ty| matches!(ty, Type::Scalar(Scalar::Int2 | Scalar::Int4 | Scalar::Int8));
    one == two || is_integer(one) && is_integer(two)
}

/// Returns the common values of a column with their shares of the rows; `None` if there are none.
fn values<'s>(
    statistics: &'s ColumnStatistics,
    layout: &RowLayout,
) -> Option<Vec<(Value<'s>, f64)>> {
    let common = statistics.common.iter();
    let values = common.map(|common| Some((common.value.value(layout).ok()?, common.fraction)));
    let values: Vec<_> = values.collect::<Option<_>>()?;
    (!values.is_empty()).then_some(values)
}
