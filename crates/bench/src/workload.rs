//! Operations of a benchmark's clients: the YCSB core workload as data.
//!
//! A [`Workload`] comes from a built-in name ([`builtin`]), a shipped file (YCSB's A to F, under
//! `workloads/`) or a file of the user's in YCSB's own property format ([`properties`]). It
//! describes the operations on the engine, not their duration or the number of workers; the
//! [`plan`](crate::plan) has these.

use std::path::Path;

use crate::distribution::Distribution;
use crate::keys::InsertOrder;
use commands::{Error, Result};

pub mod builtin;
pub mod properties;

/// Kinds of operations on the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OperationKind {
    /// Reads one record and verifies it.
    Read,
    /// Writes a new value to one record without reading it.
    Update,
    /// Adds a record.
    Insert,
    /// Reads and verifies a number of records in key order.
    Scan,
    /// Reads one record and writes a value with the next version to it.
    ReadModifyWrite,
}

impl OperationKind {
    /// Every kind, in the order of [`Proportions::share`].
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Update,
        Self::Insert,
        Self::Scan,
        Self::ReadModifyWrite,
    ];
}

/// Shares of the kinds of operation; they sum to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Proportions {
    /// Plain reads.
    pub read: f64,
    /// Blind writes.
    pub update: f64,
    /// New records.
    pub insert: f64,
    /// Range reads.
    pub scan: f64,
    /// Reads followed by a write of the same record.
    pub read_modify_write: f64,
}

impl Proportions {
    /// Returns the share of one kind.
    pub fn share(&self, kind: OperationKind) -> f64 {
        match kind {
            OperationKind::Read => self.read,
            OperationKind::Update => self.update,
            OperationKind::Insert => self.insert,
            OperationKind::Scan => self.scan,
            OperationKind::ReadModifyWrite => self.read_modify_write,
        }
    }

    /// Returns the sum of all shares.
    pub fn sum(&self) -> f64 {
        OperationKind::ALL
            .iter()
            .map(|&kind| self.share(kind))
            .sum()
    }

    /// Returns these shares, scaled to sum to 1. The sum must be positive.
    #[must_use]
    pub fn normalised(&self) -> Self {
        let sum = self.sum();
        Self {
            read: self.read / sum,
            update: self.update / sum,
            insert: self.insert / sum,
            scan: self.scan / sum,
            read_modify_write: self.read_modify_write / sum,
        }
    }
}

/// Ways in which the operations of a transaction follow from the proportions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Each operation draws its kind, as YCSB does.
    Drawn,
    /// Every transaction has the same number of each kind, its share rounded; read-modify-writes
    /// come first, and the records that they lock stay locked for the rest of the transaction: the
    /// harder order.
    Quota,
}

/// Distributions of scan lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanLaw {
    /// Always the maximum. Not in YCSB.
    Constant,
    /// Uniform from minimum to maximum.
    Uniform,
    /// Zipf with theta 0.99 from minimum to maximum, short scans likeliest.
    Zipfian,
}

/// Number of records that a scan reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanLength {
    /// Distribution of the length.
    pub law: ScanLaw,
    /// Least number of records, at least 1.
    pub min: u32,
    /// Greatest number of records.
    pub max: u32,
}

impl ScanLength {
    /// Greatest maximum.
    pub const MAX: u32 = 1_000_000;
}

/// Operations of the clients. Made by [`Workload::named_or_file`].
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Name used in results: the built-in name or the file's stem.
    pub name: String,
    /// Shares of the kinds of operation.
    pub proportions: Proportions,
    /// Way in which transactions follow from the shares.
    pub selection: Selection,
    /// Distribution of the accesses over the records.
    pub distribution: Distribution,
    /// Default number of operations in each transaction, at least 1.
    pub operations_per_transaction: u32,
    /// Number of records a scan reads.
    pub scan_length: ScanLength,
    /// Relation of key order to load order.
    pub insert_order: InsertOrder,
    /// Number of records to load, where the workload has one.
    pub records: Option<u64>,
    /// Bytes of each value, where the workload has them.
    pub value_bytes: Option<u64>,
    /// Settings of the file that have no effect here, each with the reason in a sentence.
    pub notes: Vec<String>,
}

impl Workload {
    /// Largest number of operations in one transaction.
    pub const OPERATIONS_MAX: u32 = 10_000;

    /// Returns the built-in workload called `text`, or the one in the file at `text`.
    ///
    /// # Errors
    /// [`Error::Input`] when there is neither, or the file is not a workload.
    pub fn named_or_file(text: &str) -> Result<Self> {
        if let Some(workload) = builtin::named(text)? {
            return Ok(workload);
        }
        let path = Path::new(text);
        let source = match std::fs::read(path) {
            Ok(source) => source,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::input(format!(
                    "there is no workload `{text}`, neither built in nor as a file; choose from \
                     {} or give the path of a YCSB property file",
                    builtin::NAMES.join(", ")
                )));
            }
            Err(error) => {
                return Err(Error::input(format!(
                    "cannot read the workload file `{text}`: {error}"
                )));
            }
        };
        let name = path
            .file_stem()
            .map_or(text.into(), |stem| stem.to_string_lossy());
        properties::parse(&name, &source)
            .map_err(|error| Error::input(format!("workload file `{text}`: {error}")))
    }

    /// Returns whether transactions contain operations of this kind.
    pub fn has(&self, kind: OperationKind) -> bool {
        self.proportions.share(kind) > 0.0
    }

    /// Returns whether transactions neither change nor add records.
    pub fn only_reads(&self) -> bool {
        use OperationKind::{Insert, ReadModifyWrite, Update};
        ![Update, Insert, ReadModifyWrite]
            .into_iter()
            .any(|kind| self.has(kind))
    }
}

#[cfg(test)]
mod tests;
