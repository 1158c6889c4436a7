//! The table of a benchmark that has one.

use serde::Serialize;

/// What a table of like records looks like, and how they are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shape {
    /// Records loaded.
    pub records: u64,
    /// Operations in each transaction.
    pub operations_per_transaction: u32,
    /// Bytes of each key.
    pub key_bytes: usize,
    /// Bytes of each value.
    pub value_bytes: usize,
    /// Name of the law by which records are chosen.
    pub distribution: &'static str,
    /// Its exponent, where it has one.
    pub theta: Option<f64>,
    /// Unique indexes of the table.
    pub unique_indexes: u32,
    /// Indexes of the table that are not unique.
    pub secondary_indexes: u32,
}
