//! The form of a result: one [`Measurement`] per mode and repeat, one
//! [`Summary`] per mode over all repeats.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::mode::Mode;
use crate::variant::Variant;

mod aborts;
mod certifier;
mod conflict;
mod flusher;
mod kind;
mod latency;
mod resident;
mod shape;
mod spread;
mod summary;

pub use aborts::AbortReasons;
pub use certifier::Certifier;
pub use conflict::ConflictPolicy;
pub use flusher::Flusher;
pub use kind::KindMeasurement;
pub use latency::{Latencies, LatencyNs, LatencySampler};
pub use resident::Resident;
pub use shape::Shape;
pub use spread::Spread;
pub use summary::{RepeatSummary, Summary, summarise};

/// Source version this program was built from, where it is known.
pub const COMMIT: Option<&str> = option_env!("WEFT_COMMIT");

/// Results of one mode in one repeat of one benchmark.
///
/// In a [`Summary`] the same fields hold the medians over the repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// Name of the benchmark, such as `"ycsb"`.
    pub benchmark: &'static str,
    /// Name of the workload, or of the mix of kinds of transactions.
    pub workload: String,
    /// Execution of the transactions.
    pub mode: Mode,
    /// Number of worker threads.
    pub workers: usize,
    /// Transactions in flight per worker, as asked: a number or `"auto"`.
    pub in_flight: InFlight,
    /// Average number of transactions in flight per worker, where the subject tells.
    pub in_flight_effective: Option<f64>,
    /// Shape of the only table, where there is one.
    #[serde(flatten)]
    pub shape: Option<Shape>,
    /// Isolation level of the transactions.
    pub isolation: Isolation,
    /// Certifier of the transactions, if they were serializable.
    pub certifier: Option<Certifier>,
    /// Whether transactions that only read were declared read-only.
    pub read_only_declared: bool,
    /// Reaction of the transactions to a conflict, where that is a choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_conflict: Option<ConflictPolicy>,
    /// Durability of the transactions.
    pub durability: Durability,
    /// Writer of the log of a database in a directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flusher: Option<Flusher>,
    /// Seconds measured.
    pub seconds: f64,
    /// Transactions committed per second, by all workers together.
    pub transactions_per_second: f64,
    /// Operations of committed transactions per second. A scan is one
    /// operation, whatever its length.
    pub operations_per_second: f64,
    /// Time from a transaction's begin to its commit, retries included.
    pub latency_ns: LatencyNs,
    /// Number of times a transaction was aborted and tried again.
    pub aborts: u64,
    /// Number of aborts for each transaction that committed.
    pub aborts_per_transaction: f64,
    /// Number of aborts by reason, as the subject counts them.
    pub aborts_by_reason: AbortReasons,
    /// Whether every answer was the right one.
    pub verified: bool,
    /// Random independent cache lines that the machine loaded per second on as many threads, in the
    /// same repeat.
    pub limit_lines_per_second: f64,
    /// Cache lines that the subject touched per operation, where it tells.
    pub lines_per_operation: Option<f64>,
    /// Source version of the program, where known.
    pub commit: Option<&'static str>,
    /// Results of the kinds of transactions by themselves, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<KindMeasurement>,
    /// Other numbers that the subject reports.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, f64>,
}

impl Measurement {
    /// Returns the variant that was measured.
    pub fn variant(&self) -> Variant {
        Variant {
            durability: self.durability,
            flusher: self.flusher,
            isolation: self.isolation,
            certifier: self.certifier,
            mode: self.mode,
        }
    }

    /// Returns the wall time per operation and worker, in nanoseconds.
    pub fn operation_ns(&self) -> f64 {
        self.workers as f64 * 1e9 / self.operations_per_second
    }

    /// Returns the cache lines touched per second, as a share of the machine's limit.
    pub fn limit_share(&self) -> Option<f64> {
        Some(self.operations_per_second * self.lines_per_operation? / self.limit_lines_per_second)
    }
}

/// Number of transactions that a worker keeps in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InFlight {
    /// The engine chooses and adapts.
    #[default]
    Auto,
    /// Always this number, at least 1.
    Fixed(u32),
}

impl InFlight {
    /// Largest number of transactions in flight per worker.
    pub const MAX: u32 = 4096;

    /// Returns the number that a worker has in flight in a mode: one, unless the mode has several.
    pub fn of_mode(self, mode: Mode) -> weft::InFlight {
        match self {
            _ if !mode.is_interleaved() => weft::InFlight::Fixed(1),
            asked => asked.into(),
        }
    }
}

impl From<InFlight> for weft::InFlight {
    fn from(asked: InFlight) -> weft::InFlight {
        match asked {
            InFlight::Auto => weft::InFlight::Auto,
            InFlight::Fixed(number) => weft::InFlight::Fixed(number as usize),
        }
    }
}

impl std::fmt::Display for InFlight {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => formatter.pad("auto"),
            Self::Fixed(number) => number.fmt(formatter),
        }
    }
}

impl std::str::FromStr for InFlight {
    type Err = commands::Error;

    fn from_str(text: &str) -> commands::Result<Self> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let number = commands::number::parse_count(text)
            .ok()
            .filter(|number| (1..=u64::from(Self::MAX)).contains(number));
        number
            .map(|number| Self::Fixed(number as u32))
            .ok_or_else(|| {
                commands::Error::input(format!(
                    "`{text}` cannot be in flight; give auto or a number from 1 to {}",
                    Self::MAX
                ))
            })
    }
}

impl Serialize for InFlight {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Fixed(number) => serializer.serialize_u32(*number),
        }
    }
}

/// Condition for acknowledging a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// No condition: the database has no directory.
    Memory,
    /// No condition; changes go to the device when there is reason to write.
    None,
    /// No condition; changes are on their way to the device within a stated time.
    Relaxed,
    /// Changes are on the device.
    Synchronous,
}

impl Durability {
    /// Durabilities of a database in a directory.
    pub const DURABLE: [Self; 3] = [Self::None, Self::Relaxed, Self::Synchronous];

    /// Returns the name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::None => "none",
            Self::Relaxed => "relaxed",
            Self::Synchronous => "synchronous",
        }
    }
}

impl From<Durability> for weft::Durability {
    fn from(asked: Durability) -> weft::Durability {
        match asked {
            // The durability has no effect in memory.
            Durability::Memory | Durability::Synchronous => weft::Durability::Synchronous,
            Durability::Relaxed => weft::Durability::Relaxed,
            Durability::None => weft::Durability::None,
        }
    }
}

impl std::str::FromStr for Durability {
    type Err = commands::Error;

    fn from_str(text: &str) -> commands::Result<Self> {
        Self::DURABLE
            .into_iter()
            .find(|durability| durability.name() == text)
            .ok_or_else(|| {
                commands::Error::input(format!(
                    "`{text}` is not a durability; choose from {}",
                    Self::DURABLE.map(Self::name).join(", ")
                ))
            })
    }
}

/// Isolation levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Each statement sees the commits before it began.
    ReadCommitted,
    /// Each transaction sees the commits before it began.
    Snapshot,
    /// Transactions behave as if they ran one after another.
    Serializable,
}

impl Isolation {
    /// Every level.
    pub const ALL: [Self; 3] = [Self::ReadCommitted, Self::Snapshot, Self::Serializable];

    /// Returns the name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadCommitted => "read-committed",
            Self::Snapshot => "snapshot",
            Self::Serializable => "serializable",
        }
    }
}

impl From<Isolation> for weft::Isolation {
    fn from(level: Isolation) -> weft::Isolation {
        match level {
            Isolation::ReadCommitted => weft::Isolation::ReadCommitted,
            Isolation::Snapshot => weft::Isolation::Snapshot,
            Isolation::Serializable => weft::Isolation::Serializable,
        }
    }
}

impl std::str::FromStr for Isolation {
    type Err = commands::Error;

    fn from_str(text: &str) -> commands::Result<Self> {
        Self::ALL
            .into_iter()
            .find(|level| level.name() == text)
            .ok_or_else(|| {
                commands::Error::input(format!(
                    "`{text}` is not an isolation level; choose from {}",
                    Self::ALL.map(Self::name).join(", ")
                ))
            })
    }
}
