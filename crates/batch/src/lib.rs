//! Rows of values between operators ([`Rows`]), and single values that own their memory
//! ([`OwnedValue`]).
//!
//! The crate knows values and types. It never knows tables, plans or text of SQL.

mod owned;
mod rows;
mod spare;

pub use self::{
    owned::OwnedValue,
    rows::{BATCH_BYTES, BATCH_ROWS, NO_ROW, NewRow, Rows},
    spare::SpareRows,
};
