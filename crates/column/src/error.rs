//! Reasons why a value was refused, or a part not built.

use std::{collections::TryReserveError, error::Error, fmt};

use index::{csb::HeapError, sorted::StringsError};

/// Reason why an operation failed. The column is as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnError {
    /// There is not enough memory. The operation may be tried again.
    Memory(TryReserveError),
    /// A string has 4 GiB or more.
    TooLong,
    /// There are more than [`DISTINCT_MAX`](crate::DISTINCT_MAX) distinct values.
    TooMany,
    /// Values that were said to be sorted are not, or two are equal; the place of the second.
    OutOfOrder(usize),
    /// Values that were said to be distinct are not.
    NotDistinct,
    /// A row has a code that the dictionary does not have.
    NoSuchCode(u32),
}

impl fmt::Display for ColumnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnError::Memory(error) => write!(f, "there is no memory for it: {error}"),
            ColumnError::TooLong => f.write_str("a string has less than 4 GiB; store parts of it"),
            ColumnError::TooMany => {
                f.write_str("there are too many distinct values; split the column")
            }
            ColumnError::OutOfOrder(place) => {
                write!(
                    f,
                    "value {place} is not greater than the one before it; sort them first"
                )
            }
            ColumnError::NotDistinct => f.write_str("two values are equal; drop one of them"),
            ColumnError::NoSuchCode(code) => {
                write!(
                    f,
                    "the dictionary has no code {code}; take codes that it has"
                )
            }
        }
    }
}

impl Error for ColumnError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ColumnError::Memory(error) => Some(error),
            _ => None,
        }
    }
}

impl From<TryReserveError> for ColumnError {
    fn from(error: TryReserveError) -> Self {
        ColumnError::Memory(error)
    }
}

impl From<StringsError> for ColumnError {
    fn from(error: StringsError) -> Self {
        match error {
            StringsError::Memory(error) => ColumnError::Memory(error),
            StringsError::OutOfOrder(error) => ColumnError::OutOfOrder(error.at),
        }
    }
}

impl From<HeapError> for ColumnError {
    fn from(error: HeapError) -> Self {
        match error {
            HeapError::Memory(error) => ColumnError::Memory(error),
            HeapError::TooLong => ColumnError::TooLong,
            HeapError::TooMany => ColumnError::TooMany,
        }
    }
}
