//! Plans of a run: the request as given ([`Options`]) and, checked and completed, as carried out
//! ([`Plan`]).

use crate::comparison::{Asked, Comparison};
use crate::distribution::Distribution;
use crate::keys::KeyShape;
use crate::machine;
use crate::measure::Shape;
use crate::mode::Mode;
use crate::values::ValueShape;
use crate::workload::{OperationKind, Workload};
use commands::number::{bytes_text, plural, with_commas, within};
use commands::{Error, Result};

/// Default number of records, on a machine with memory to spare.
pub const RECORDS_DEFAULT: u64 = 10_000_000;
/// Bytes the engine is allowed per record beyond key and value, when the number of records is
/// chosen to fit the memory.
const RECORD_OVERHEAD_BYTES: u64 = 72;
/// Divisor of the available memory that gives the size of a default load: the rest is for versions,
/// inserts and other processes.
const MEMORY_PART: u64 = 4;
/// Default bytes of a value.
const VALUE_BYTES: u64 = 8;

/// A YCSB run as asked for. `None` stands for the workload's own setting, or else the default.
#[derive(Clone, Debug)]
pub struct Options {
    /// The workload.
    pub workload: Workload,
    /// Number of records to load.
    pub records: Option<u64>,
    /// Number of operations in each transaction.
    pub operations: Option<u64>,
    /// Bytes of each key.
    pub key_bytes: u64,
    /// Bytes of each value.
    pub value_bytes: Option<u64>,
    /// Name of the distribution of the accesses over the records.
    pub distribution: Option<String>,
    /// Exponent of the distribution.
    pub theta: Option<f64>,
    /// Greatest number of records of a scan.
    pub scan_length: Option<u64>,
    /// Number of unique indexes of the table.
    pub unique_indexes: u32,
    /// Number of indexes of the table that are not unique.
    pub secondary_indexes: u32,
    /// Settings of the comparison.
    pub asked: Asked,
}

/// A YCSB run as it will be carried out. Every value is within its bounds.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The workload, with the request's overrides.
    pub workload: Workload,
    /// Number of records to load, at least 1.
    pub records: u64,
    /// Number of operations in each transaction, at least 1.
    pub operations_per_transaction: u32,
    /// Shape of the keys.
    pub key: KeyShape,
    /// Shape of the values.
    pub value: ValueShape,
    /// Number of unique indexes of the table.
    pub unique_indexes: u32,
    /// Number of indexes of the table that are not unique.
    pub secondary_indexes: u32,
    /// Settings of the comparison.
    pub comparison: Comparison,
    /// Notes on the request for the reader; a sentence each.
    pub notes: Vec<String>,
}

/// Returns the number of records of a default load: [`RECORDS_DEFAULT`], or fewer, so that they fit
/// a quarter of `available_bytes` with keys and values of these lengths; two significant digits, at
/// least 1000.
pub fn records_that_fit(available_bytes: Option<u64>, key_bytes: u64, value_bytes: u64) -> u64 {
    // If the memory is not known, a gigabyte is a careful guess.
    let budget = available_bytes.unwrap_or(4 << 30) / MEMORY_PART;
    let fitting = budget / (key_bytes + value_bytes + RECORD_OVERHEAD_BYTES);
    let fitting = fitting.clamp(1000, RECORDS_DEFAULT);
    let unit = 10_u64.pow(fitting.ilog10() - 1);
    fitting / unit * unit
}

impl Options {
    /// Returns a request for the workload as it is, on keys of 8 bytes, with the default
    /// comparison.
    pub fn of(workload: Workload) -> Self {
        Self {
            workload,
            records: None,
            operations: None,
            key_bytes: KeyShape::BYTES_MIN as u64,
            value_bytes: None,
            distribution: None,
            theta: None,
            scan_length: None,
            unique_indexes: 0,
            secondary_indexes: 0,
            asked: Asked::default(),
        }
    }

    /// Checks the request and completes it.
    ///
    /// # Errors
    /// [`Error::Input`] that says which value to change.
    pub fn plan(self) -> Result<Plan> {
        let mut workload = self.workload;
        let mut notes = std::mem::take(&mut workload.notes);
        workload.distribution = distribution(
            workload.distribution,
            self.distribution.as_deref(),
            self.theta,
        )?;
        if let Some(length) = self.scan_length {
            let length = within("--scan-length", length, u64::from(u32::MAX).min(1_000_000))?;
            workload.scan_length.max = length as u32;
            workload.scan_length.min = workload.scan_length.min.min(length as u32);
            if !workload.has(OperationKind::Scan) {
                notes.push(format!(
                    "--scan-length has no effect: the workload {} has no scans",
                    workload.name
                ));
            }
        }
        let operations = self
            .operations
            .unwrap_or_else(|| workload.operations_per_transaction.into());
        let operations = within("--operations", operations, Workload::OPERATIONS_MAX.into())?;
        let key = KeyShape::new(as_length(self.key_bytes), workload.insert_order)?;
        let value_bytes = self
            .value_bytes
            .or(workload.value_bytes)
            .unwrap_or(VALUE_BYTES);
        let value = ValueShape::new(as_length(value_bytes))?;
        let available = machine::memory_available_bytes();
        let records = match self.records.or(workload.records) {
            Some(records) => within("--records", records, u64::MAX)?,
            None => records_that_fit(available, self.key_bytes, value_bytes),
        };
        let modes = modes(&self.asked, &workload, &mut notes)?;
        let comparison = self.asked.check(modes, &mut notes)?;
        let all_records = records.saturating_mul(comparison.databases().len() as u64);
        check_memory(all_records, self.key_bytes + value_bytes, available)?;
        Ok(Plan {
            records,
            operations_per_transaction: operations as u32,
            key,
            value,
            unique_indexes: self.unique_indexes,
            secondary_indexes: self.secondary_indexes,
            comparison,
            workload,
            notes,
        })
    }
}

/// Converts `bytes` to a length in memory; the shapes refuse one that is too long to be one as out
/// of range.
fn as_length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn distribution(
    workload: Distribution,
    name: Option<&str>,
    theta: Option<f64>,
) -> Result<Distribution> {
    let name = name.unwrap_or(workload.name());
    let exponent = theta
        .or(workload.theta())
        .unwrap_or(Distribution::THETA_DEFAULT);
    let chosen = Distribution::named(name, exponent)?;
    if theta.is_some() && chosen.theta().is_none() {
        return Err(Error::input(
            "--theta means nothing to the uniform distribution; add --distribution zipfian, \
             scrambled or latest",
        ));
    }
    Ok(chosen)
}

/// Refuses a load that cannot fit whatever the engine does, before minutes of loading.
fn check_memory(records: u64, payload_bytes: u64, available: Option<u64>) -> Result<()> {
    let Some(available) = available else {
        return Ok(());
    };
    match records.checked_mul(payload_bytes) {
        Some(needed) if needed <= available => Ok(()),
        _ => Err(Error::input(format!(
            "{} records of {payload_bytes} bytes do not fit the {} MiB of memory available; give \
             fewer --records or shorter values",
            with_commas(records),
            with_commas(available >> 20)
        ))),
    }
}

/// Returns the modes that are meaningful for the workload, in canonical order, each once.
fn modes(asked: &Asked, workload: &Workload, notes: &mut Vec<String>) -> Result<Vec<Mode>> {
    let mut modes = asked.modes_of(&Mode::ALL);
    if !workload.has(OperationKind::Read) {
        let (skipped, kept): (Vec<_>, Vec<_>) =
            modes.into_iter().partition(|mode| mode.needs_reads());
        for mode in &skipped {
            notes.push(format!(
                "mode {mode} is skipped: the workload {} has no plain reads to batch",
                workload.name
            ));
        }
        modes = kept;
    }
    let only_reads = OperationKind::ALL
        .into_iter()
        .all(|kind| kind == OperationKind::Read || !workload.has(kind));
    if !only_reads {
        modes.retain(|mode| !mode.needs_reads_alone());
    }
    if modes.is_empty() {
        return Err(Error::input(format!(
            "no mode is left to run: the workload {} has no plain reads; add sequential or \
             interleaved to --modes",
            workload.name
        )));
    }
    Ok(modes)
}

impl Plan {
    /// Returns whether a database loaded and set up for `other` suits this plan too: the plans
    /// differ at most in the transactions and the comparison.
    pub fn same_tables(&self, other: &Self) -> bool {
        let tables = |plan: &Self| {
            let indexes = (plan.unique_indexes, plan.secondary_indexes);
            let workers = plan.comparison.workers;
            (plan.records, plan.key, plan.value, workers, indexes)
        };
        tables(self) == tables(other) && self.comparison.databases() == other.comparison.databases()
    }

    /// Returns the shape of the plan's table, for results.
    pub(crate) fn shape(&self) -> Shape {
        Shape {
            records: self.records,
            operations_per_transaction: self.operations_per_transaction,
            key_bytes: self.key.bytes(),
            value_bytes: self.value.bytes(),
            distribution: self.workload.distribution.name(),
            theta: self.workload.distribution.theta(),
            unique_indexes: self.unique_indexes,
            secondary_indexes: self.secondary_indexes,
        }
    }

    /// Returns a line that describes the run.
    pub fn description(&self) -> String {
        let law = match self.workload.distribution.theta() {
            Some(theta) => format!("{} {theta}", self.workload.distribution.name()),
            None => self.workload.distribution.name().to_owned(),
        };
        let indexes = match (self.unique_indexes, self.secondary_indexes) {
            (0, 0) => String::new(),
            (unique, others) => format!(" indexes {unique} unique and {others} not,"),
        };
        format!(
            "YCSB {}: {}, keys {}, values {},{indexes} {law}, {} per transaction, {}",
            self.workload.name,
            plural(self.records, "record"),
            bytes_text(self.key.bytes() as u64),
            bytes_text(self.value.bytes() as u64),
            plural(self.operations_per_transaction.into(), "operation"),
            self.comparison.description(),
        )
    }
}

#[cfg(test)]
pub(crate) mod tests;
