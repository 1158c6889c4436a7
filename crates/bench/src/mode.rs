//! The ways one workload can be executed, compared side by side.

use std::fmt;
use std::str::FromStr;

use commands::{Error, Result};

/// Executions of a workload's transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// Reads without a transaction: the same index, slot and version, nothing else. It is the
    /// yardstick for `sequential`; read-only workloads only.
    Bare,
    /// One transaction after another, no prefetch instruction.
    Sequential,
    /// One transaction after another, each node prefetched whole.
    Prefetch,
    /// The reads of a transaction as one batch through a hand-written state
    /// machine (asynchronous memory access chaining).
    AmacMultiget,
    /// The reads of a transaction as one batch of coroutines.
    CoroutineMultiget,
    /// Many transactions in flight on each worker, application code flat.
    Interleaved,
    /// Interleaved transactions, written through at least four nested application `async fn`
    /// levels, the scheduler behind a type-erased interface.
    InterleavedNested,
    /// Interleaved transactions whose reads of known keys are issued together: they overlap within
    /// the transaction as well.
    Hybrid,
}

impl Mode {
    /// Every mode, in the order reports show them.
    pub const ALL: [Self; 8] = [
        Self::Bare,
        Self::Sequential,
        Self::Prefetch,
        Self::AmacMultiget,
        Self::CoroutineMultiget,
        Self::Interleaved,
        Self::InterleavedNested,
        Self::Hybrid,
    ];

    /// Modes in which an index can be probed, alone.
    pub const PROBES: [Self; 4] = [
        Self::Sequential,
        Self::Prefetch,
        Self::AmacMultiget,
        Self::CoroutineMultiget,
    ];

    /// Modes in which whole transactions over several tables are executed.
    pub const APPLICATION: [Self; 4] = [
        Self::Sequential,
        Self::Prefetch,
        Self::Interleaved,
        Self::Hybrid,
    ];

    /// Returns the name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Sequential => "sequential",
            Self::Prefetch => "prefetch",
            Self::AmacMultiget => "amac-multiget",
            Self::CoroutineMultiget => "coroutine-multiget",
            Self::Interleaved => "interleaved",
            Self::InterleavedNested => "interleaved-nested",
            Self::Hybrid => "hybrid",
        }
    }

    /// Returns whether the mode batches plain reads, and so says nothing about a workload without
    /// any.
    pub fn needs_reads(self) -> bool {
        matches!(
            self,
            Self::AmacMultiget | Self::CoroutineMultiget | Self::Hybrid
        )
    }

    /// Returns whether the mode says nothing about a workload that also writes or scans.
    pub fn needs_reads_alone(self) -> bool {
        self == Self::Bare
    }

    /// Returns whether several transactions are in flight on one worker.
    pub fn is_interleaved(self) -> bool {
        matches!(
            self,
            Self::Interleaved | Self::InterleavedNested | Self::Hybrid
        )
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Mode {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.name() == text)
            .ok_or_else(|| {
                let known: Vec<_> = Self::ALL.iter().map(|mode| mode.name()).collect();
                Error::input(format!(
                    "`{text}` is not a mode; choose from {}",
                    known.join(", ")
                ))
            })
    }
}

impl serde::Serialize for Mode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for mode in Mode::ALL {
            assert_eq!(mode.name().parse::<Mode>().unwrap(), mode);
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = "threaded".parse::<Mode>().unwrap_err().to_string();
        assert!(
            error.contains("threaded") && error.contains("interleaved-nested"),
            "{error}"
        );
    }
}
