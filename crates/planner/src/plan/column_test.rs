//! Conditions that are checked in a record as it is stored, before any of it is decoded.

use functions::Comparison;
use types::{
    Result, Scalar, Type, Value,
    datetime::{
        DATE_INFINITY, DATE_NEGATIVE_INFINITY, MICROSECONDS_PER_DAY, TIMESTAMP_INFINITY,
        TIMESTAMP_NEGATIVE_INFINITY,
    },
    row::{integer_of, is_integer},
};

use super::lower::Lowering;
use crate::program::{Layout, Program, comparison};
use logical::{
    expression::{Expression, Kind},
    relation::Scan,
};

/// A comparison of a column with a value that is the same for all records. Both are of types whose
/// values are stored as integers (`types::row::integer_of`) and ordered by these, or by days.
#[derive(Debug)]
pub struct ColumnTest {
    /// Position of the column in the table.
    pub attribute: usize,
    /// Comparison that has to hold, with the column on the left and the value on the right.
    pub comparison: Comparison,
    /// Program of the value, which needs no row.
    pub value: Program,
    /// Whether the column is a date, and the value a timestamp.
    by_days: bool,
}

impl ColumnTest {
    /// Returns the integer that those of the column are to be compared with, for a value; `None` for NULL, for which
    /// no comparison holds.
    pub fn limit(&self, value: Value<'_>) -> Option<i64> {
        let limit = integer_of(value)?;
        Some(match self.by_days {
            true => days(self.comparison, limit),
            false => limit,
        })
    }
}

/// Returns the day with which dates agree in a comparison if, and only if, their midnights agree with a timestamp.
fn days(comparison: Comparison, timestamp: i64) -> i64 {
    /// A number that is no date.
    const NO_DATE: i64 = i64::MIN;
    match timestamp {
        TIMESTAMP_INFINITY => return DATE_INFINITY.into(),
        TIMESTAMP_NEGATIVE_INFINITY => return DATE_NEGATIVE_INFINITY.into(),
        _ => {}
    }
    let day = timestamp.div_euclid(MICROSECONDS_PER_DAY);
    let is_midnight = timestamp.rem_euclid(MICROSECONDS_PER_DAY) == 0;
    match comparison {
        Comparison::LessOrEqual | Comparison::Greater => day,
        Comparison::Less | Comparison::GreaterOrEqual => day + i64::from(!is_midnight),
        Comparison::Equal | Comparison::NotEqual if is_midnight => day,
        Comparison::Equal | Comparison::NotEqual => NO_DATE,
    }
}

impl Lowering {
    /// Takes the conditions of this form out of those of a scan; returns them and the others.
    pub(super) fn tests(
        &self,
        scan: &Scan,
        conditions: Vec<Expression>,
    ) -> Result<(Vec<ColumnTest>, Vec<Expression>)> {
        let mut tests = Vec::new();
        let mut others = Vec::new();
        for condition in conditions {
            match self.test(scan, &condition)? {
                Some(test) => tests.push(test),
                None => others.push(condition),
            }
        }
        Ok((tests, others))
    }

    fn test(&self, scan: &Scan, condition: &Expression) -> Result<Option<ColumnTest>> {
        let Some((comparison, left, right)) = comparison(condition) else {
            return Ok(None);
        };
        for (column, value, comparison) in [
            (left, right, comparison),
            (right, left, comparison.commuted()),
        ] {
            let Kind::Column(id) = column.kind else {
                continue;
            };
            let mut columns = scan.columns.iter();
            let Some((_, attribute)) = columns.find(|(own, _)| *own == id) else {
                continue;
            };
            if is_alike(scan.table.columns[*attribute].ty, value.ty)
                && value.columns().is_empty()
                && value.is_stable()
            {
                return Ok(Some(ColumnTest {
                    attribute: *attribute,
                    comparison,
                    value: self.program(value, &Layout::default())?,
                    by_days: column.ty != value.ty && value.ty == TIMESTAMP,
                }));
            }
        }
        Ok(None)
    }
}

const DATE: Type = Type::Scalar(Scalar::Date);
const TIMESTAMP: Type = Type::Scalar(Scalar::Timestamp);

/// Returns whether values of two types are compared by the integers that they are stored as, or dates with timestamps,
/// whose days can be compared.
fn is_alike(column: Type, value: Type) -> bool {
    let is_number = |ty| matches!(ty, Type::Scalar(Scalar::Int2 | Scalar::Int4 | Scalar::Int8));
    let is_day = column == DATE && value == TIMESTAMP;
    is_integer(column) && (column == value || is_number(column) && is_number(value) || is_day)
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;
    use crate::program::agrees;

    /// Dates about each timestamp, and the infinities, are compared with it in both ways.
    #[test]
    fn days_agree_as_midnights_do() {
        let day = MICROSECONDS_PER_DAY;
        let midnight = |date: i32| match date {
            DATE_INFINITY => i128::from(TIMESTAMP_INFINITY),
            DATE_NEGATIVE_INFINITY => i128::from(TIMESTAMP_NEGATIVE_INFINITY),
            date => i128::from(date) * i128::from(day),
        };
        let timestamps = [-day - 1, -day, -1, 0, 1, day, day + 1];
        let infinities = [TIMESTAMP_INFINITY, TIMESTAMP_NEGATIVE_INFINITY];
        let comparisons = [
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Less,
            Comparison::LessOrEqual,
            Comparison::Greater,
            Comparison::GreaterOrEqual,
        ];
        for timestamp in timestamps.into_iter().chain(infinities) {
            for date in [-2, -1, 0, 1, 2, DATE_INFINITY, DATE_NEGATIVE_INFINITY] {
                for comparison in comparisons {
                    let order: Ordering = midnight(date).cmp(&i128::from(timestamp));
                    let by_days = i64::from(date).cmp(&days(comparison, timestamp));
                    assert_eq!(
                        agrees(comparison, by_days),
                        agrees(comparison, order),
                        "{date} {comparison:?} {timestamp}"
                    );
                }
            }
        }
    }
}
