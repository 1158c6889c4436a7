//! Rows of values between operators ([`Rows`]), by columns if both sides know how ([`Columns`]), and
//! single values that own their memory ([`OwnedValue`]).
//!
//! The crate knows values and types. It never knows tables, plans or text of SQL.

mod columns;
mod owned;
mod rows;
mod spare;
mod vector;

pub use self::{
    columns::{COLUMN_ROWS, COLUMN_VALUES, ColumnMap, Columns, NewPosition, View},
    owned::{OwnedRows, OwnedValue},
    rows::{BATCH_BYTES, BATCH_ROWS, NO_ROW, NewRow, Rows},
    spare::SpareRows,
    vector::{Data, IntegerKind, Vector},
};
