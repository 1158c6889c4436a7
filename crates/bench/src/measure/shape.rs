//! The table of a benchmark that has one.

use serde::Serialize;

/// Shape of a table of like records, and distribution of the accesses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shape {
    /// Number of records loaded.
    pub records: u64,
    /// Number of operations in each transaction.
    pub operations_per_transaction: u32,
    /// Bytes of each key.
    pub key_bytes: usize,
    /// Bytes of each value.
    pub value_bytes: usize,
    /// Name of the distribution of the accesses over the records.
    pub distribution: &'static str,
    /// Exponent of the distribution, where it has one.
    pub theta: Option<f64>,
    /// Number of unique indexes of the table.
    pub unique_indexes: u32,
    /// Number of indexes of the table that are not unique.
    pub secondary_indexes: u32,
}
