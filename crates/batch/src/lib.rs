//! Rows of values between operators ([`Rows`]), by columns if both sides know how ([`Columns`]),
//! single values that own their memory ([`OwnedValue`]), numbers of rows by keys that are integers
//! ([`IntegerHashTable`], [`IntegerKeys`]), a filter of such keys ([`KeyFilter`]), and numbers in an order ([`Order`]).
//!
//! The crate knows values and types. It never knows tables, plans or text of SQL.

mod columns;
mod integer_hash_table;
mod integer_keys;
mod key_filter;
mod merge_sort;
mod owned;
mod rows;
mod spare;
mod vector;

pub use self::{
    columns::{COLUMN_ROWS, COLUMN_VALUES, ColumnMap, Columns, NewPosition, View},
    integer_hash_table::{Filling, IntegerHashTable, RowKeys, mixed},
    integer_keys::IntegerKeys,
    key_filter::KeyFilter,
    merge_sort::{InOrder, Order, bytes_of, sort_by},
    owned::{OwnedRows, OwnedValue},
    rows::{BATCH_BYTES, BATCH_ROWS, FixedRows, NO_ROW, NewRow, Rows},
    spare::SpareRows,
    vector::{Data, IntegerKind, Vector},
};
