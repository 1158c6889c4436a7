//! Definitions of sequences. The values that they have given are not part of the catalog.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::{Scalar, Type};

use super::{Comments, ObjectId, type_name};

/// A sequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    /// Number of the sequence.
    pub id: ObjectId,
    /// Schema of the sequence.
    pub schema: ObjectId,
    /// Name of the sequence.
    pub name: Arc<str>,
    /// Options by which the sequence counts.
    pub options: SequenceOptions,
    /// Column that owns the sequence, for `serial` and identities.
    pub owned_by: Option<OwnedBy>,
    /// Number of the counter of its values: another one after each restart, so that a restart can
    /// be rolled back.
    pub counter: ObjectId,
    /// Comments on the sequence.
    #[serde(default)]
    pub comments: Comments,
}

/// The column that owns a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedBy {
    /// Table of the column.
    pub table: ObjectId,
    /// Column, by position.
    pub column: u16,
    /// Whether the column is an identity column: the sequence cannot be dropped alone.
    pub is_identity: bool,
}

/// The options of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceOptions {
    /// `smallint`, `integer` or `bigint`.
    #[serde(with = "type_name")]
    pub ty: Type,
    /// First value after its creation.
    pub start: i64,
    /// Difference from one value to the next; not 0.
    pub increment: i64,
    /// Smallest value.
    pub minimum: i64,
    /// Largest value.
    pub maximum: i64,
    /// Whether the sequence begins again at the other end after its last value, instead of failing.
    pub cycle: bool,
}

impl SequenceOptions {
    /// Returns the options of `CREATE SEQUENCE` without any clause, for a type of integers.
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
