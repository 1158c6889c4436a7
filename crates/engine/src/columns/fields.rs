//! Records as fields: what the engine has to be told of records before it can keep them by columns.

use segment::Builder;

/// A description of a table's records as rows of fields.
///
/// The engine knows bytes alone. Whoever scans a table by blocks describes its records; a block holds what this says of
/// them, and all who scan a table must say the same.
pub trait RecordFields {
    /// Returns the number of fields of a record; `None` if it is none of the table's, or not to be kept by columns.
    /// The records of a block have the same number.
    fn count(&self, record: &[u8]) -> Option<usize>;

    /// Appends the fields of a record to the columns of a block, a field to each. The fields for which `plain` says
    /// true are appended as bytes, whatever they are.
    ///
    /// # Errors
    /// [`Unsplit`]; some of the fields may have been appended. [`Unsplit::Mixed`]: `plain` says true now of all fields
    /// that are of another kind than those before them.
    fn split(&self, record: &[u8], plain: &mut [bool], block: &mut Builder) -> Result<(), Unsplit>;
}

/// The reason why a record is not kept by columns as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsplit {
    /// Some fields are of another kind than those before them: all of their columns have to be appended as bytes.
    Mixed,
    /// The record is damaged, or memory is lacking.
    Refused,
}
