//! Sequences, as they are defined. What they have come to is not part of the catalog.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::{Scalar, Type};

use super::{Comments, ObjectId, type_name};

/// A sequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    /// Its number.
    pub id: ObjectId,
    /// The schema it lies in.
    pub schema: ObjectId,
    /// Its name.
    pub name: Arc<str>,
    /// How it counts.
    pub options: SequenceOptions,
    /// The column that it goes with: of `serial` and identities.
    pub owned_by: Option<OwnedBy>,
    /// Where its values are counted: another number after each restart, so that a restart can be
    /// rolled back.
    pub counter: ObjectId,
    /// What is said of it and its parts.
    #[serde(default)]
    pub comments: Comments,
}

/// The column that a sequence goes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedBy {
    /// The table.
    pub table: ObjectId,
    /// The column, by position.
    pub column: u16,
    /// It is an identity column's: it cannot be dropped alone.
    pub is_identity: bool,
}

/// How a sequence counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceOptions {
    /// `smallint`, `integer` or `bigint`.
    #[serde(with = "type_name")]
    pub ty: Type,
    /// Its first value after its creation.
    pub start: i64,
    /// From one value to the next; not 0.
    pub increment: i64,
    /// The smallest value.
    pub minimum: i64,
    /// The largest value.
    pub maximum: i64,
    /// After the last value it begins again at the other end; else that is an error.
    pub cycle: bool,
}

impl SequenceOptions {
    /// Those of `CREATE SEQUENCE` without any said, for a type of integers.
    pub fn ascending(ty: Type) -> Self {
        let maximum = match ty {
            Type::Scalar(Scalar::Int2) => i16::MAX.into(),
            Type::Scalar(Scalar::Int4) => i32::MAX.into(),
            _ => i64::MAX,
        };
        Self {
            ty,
            start: 1,
            increment: 1,
            minimum: 1,
            maximum,
            cycle: false,
        }
    }
}
