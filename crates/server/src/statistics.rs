//! Counters of a server: each worker has its own, and their reader adds them
//! up.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of one worker.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) connections: Counter,
    pub(crate) refused: Counter,
    pub(crate) requests: Counter,
    pub(crate) bytes_received: Counter,
    pub(crate) bytes_sent: Counter,
    pub(crate) panics: Counter,
}

/// A counter that only grows. It orders nothing.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        // One thread writes it, so no locked instruction is needed.
        let sum = self.0.load(Ordering::Relaxed).wrapping_add(count);
        self.0.store(sum, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counters of a server since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Open connections.
    pub connections_open: u64,
    /// Accepted connections.
    pub connections: u64,
    /// Accepted connections beyond the limit.
    pub refused: u64,
    /// Executed messages of clients.
    pub requests: u64,
    /// Bytes from clients.
    pub bytes_received: u64,
    /// Bytes to clients.
    pub bytes_sent: u64,
    /// Statements that ended in a panic.
    pub panics: u64,
}

impl Statistics {
    pub(crate) fn add(&mut self, counters: &Counters) {
        self.connections += counters.connections.get();
        self.refused += counters.refused.get();
        self.requests += counters.requests.get();
        self.bytes_received += counters.bytes_received.get();
        self.bytes_sent += counters.bytes_sent.get();
        self.panics += counters.panics.get();
    }
}
