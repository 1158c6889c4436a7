//! Conditions that are checked in a record as it is stored, before any of it is decoded.

use functions::Comparison;
use types::{Result, Scalar, Type, row::is_integer};

use super::lower::Lowering;
use crate::program::{Layout, Program, comparison};
use logical::{
    expression::{Expression, Kind},
    relation::Scan,
};

/// A comparison of a column with a value that is the same for all records. Both are of types whose
/// values are stored and ordered as integers (`types::row::integer_of`).
#[derive(Debug)]
pub struct ColumnTest {
    /// Position of the column in the table.
    pub attribute: usize,
    /// Comparison that has to hold, with the column on the left and the value on the right.
    pub comparison: Comparison,
    /// Program of the value, which needs no row.
    pub value: Program,
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
                }));
            }
        }
        Ok(None)
    }
}

/// Returns whether values of two types are compared by the integers that they are stored as. A date
/// and a timestamp are not.
fn is_alike(column: Type, value: Type) -> bool {
    let is_number = |ty| matches!(ty, Type::Scalar(Scalar::Int2 | Scalar::Int4 | Scalar::Int8));
    is_integer(column) && (column == value || is_number(column) && is_number(value))
}
