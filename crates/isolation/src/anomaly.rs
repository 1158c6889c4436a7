//! Anomalies by name.
//!
//! The names of cycles are Adya's (*Weak Consistency: A Generalized Theory and
//! Optimistic Implementations for Distributed Transactions*, 1999), as refined by
//! Elle (Kingsbury and Alvaro, VLDB 2020). A cycle consists of edges: *ww* (a
//! transaction replaced a version that another wrote), *wr* (a transaction read a
//! version that another wrote), *rw* (a transaction replaced a version that another
//! had read; an *anti-dependency*), and of orders that a client can see: *process*
//! (one process ran both) and *real time* (the first had ended before the second
//! began).

use std::fmt;

/// Class of a cycle, by the dependencies that it consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cycle {
    /// Only ww: writes of two transactions are interleaved (dirty write).
    G0,
    /// ww and wr: information flows in a circle.
    G1c,
    /// Exactly one rw: read skew, lost update.
    GSingle,
    /// Several rw, no two of them adjacent: long fork.
    GNonadjacent,
    /// Adjacent rw, all by records that were read: write skew.
    G2Item,
    /// Adjacent rw, one at least by a record that a scan did not find: phantom.
    G2,
}

/// Order that a cycle needs beyond dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// No further order.
    None,
    /// Order of the transactions of one process.
    Process,
    /// Order of time.
    Realtime,
}

/// Name of an anomaly. The greater it is, the weaker are the levels that forbid it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Anomaly {
    /// A transaction does not see its own writes, or a scan misses records of its
    /// range.
    Internal,
    /// A value was read that no transaction wrote.
    Garbage,
    /// An element is in a list twice.
    DuplicateElement,
    /// Two reads of a record contradict each other about the order of its versions.
    IncompatibleOrder,
    /// A value of an aborted transaction was read.
    G1a,
    /// A value of an aborted transaction was built upon.
    DirtyUpdate,
    /// A value was read that its writer replaced before it committed.
    G1b,
    /// Two transactions read one version of a record and both replaced it.
    LostUpdate,
    /// A cycle.
    Cycle(Cycle, Order),
}

impl Anomaly {
    /// Returns the name in the literature.
    pub fn name(self) -> &'static str {
        use self::{Cycle as C, Order as O};
        match self {
            Anomaly::Internal => "internal",
            Anomaly::Garbage => "garbage read",
            Anomaly::DuplicateElement => "duplicate element",
            Anomaly::IncompatibleOrder => "incompatible order",
            Anomaly::G1a => "G1a",
            Anomaly::DirtyUpdate => "dirty update",
            Anomaly::G1b => "G1b",
            Anomaly::LostUpdate => "P4",
            Anomaly::Cycle(C::G0, O::None) => "G0",
            Anomaly::Cycle(C::G0, O::Process) => "G0-process",
            Anomaly::Cycle(C::G0, O::Realtime) => "G0-realtime",
            Anomaly::Cycle(C::G1c, O::None) => "G1c",
            Anomaly::Cycle(C::G1c, O::Process) => "G1c-process",
            Anomaly::Cycle(C::G1c, O::Realtime) => "G1c-realtime",
            Anomaly::Cycle(C::GSingle, O::None) => "G-single",
            Anomaly::Cycle(C::GSingle, O::Process) => "G-single-process",
            Anomaly::Cycle(C::GSingle, O::Realtime) => "G-single-realtime",
            Anomaly::Cycle(C::GNonadjacent, O::None) => "G-nonadjacent",
            Anomaly::Cycle(C::GNonadjacent, O::Process) => "G-nonadjacent-process",
            Anomaly::Cycle(C::GNonadjacent, O::Realtime) => "G-nonadjacent-realtime",
            Anomaly::Cycle(C::G2Item, O::None) => "G2-item",
            Anomaly::Cycle(C::G2Item, O::Process) => "G2-item-process",
            Anomaly::Cycle(C::G2Item, O::Realtime) => "G2-item-realtime",
            Anomaly::Cycle(C::G2, O::None) => "G2",
            Anomaly::Cycle(C::G2, O::Process) => "G2-process",
            Anomaly::Cycle(C::G2, O::Realtime) => "G2-realtime",
        }
    }

    /// Returns the meaning in plain words.
    pub fn meaning(self) -> &'static str {
        match self {
            Anomaly::Internal => "a transaction contradicts itself",
            Anomaly::Garbage => "a value that nobody wrote",
            Anomaly::DuplicateElement => "an element twice in a list",
            Anomaly::IncompatibleOrder => "versions in two orders",
            Anomaly::G1a => "aborted read",
            Anomaly::DirtyUpdate => "an aborted write was built upon",
            Anomaly::G1b => "intermediate read",
            Anomaly::LostUpdate => "lost update",
            Anomaly::Cycle(Cycle::G0, _) => "dirty write",
            Anomaly::Cycle(Cycle::G1c, _) => "circular information flow",
            Anomaly::Cycle(Cycle::GSingle, _) => "read skew",
            Anomaly::Cycle(Cycle::GNonadjacent, _) => "long fork",
            Anomaly::Cycle(Cycle::G2Item, _) => "write skew",
            Anomaly::Cycle(Cycle::G2, _) => "phantom",
        }
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.meaning())
    }
}
