//! The graph of dependencies and orders.
//!
//! Its first nodes are the transactions of the history; further ones stand for moments
//! (`order.rs`), so that the order of time needs few edges.

use crate::history::{Key, UNBORN, Version};

/// The reason why one transaction comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum Kind {
    Ww,
    Wr,
    /// An absence that is explained this way only at a strict level.
    WrIfStrict,
    Rw,
    /// An absence that a scan found.
    RwPredicate,
    Process,
    /// An edge from a transaction to the moment after its end, or from a moment to a
    /// transaction that begins after it.
    Realtime,
    /// An edge from a moment to the next.
    Time,
}

impl Kind {
    pub(crate) fn is_rw(self) -> bool {
        matches!(self, Kind::Rw | Kind::RwPredicate)
    }
}

/// Versions that an edge is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reason {
    pub(crate) key: Key,
    pub(crate) before: Version,
    pub(crate) after: Version,
    /// The operation that read, for an anti-dependency.
    pub(crate) operation: u32,
}

impl Reason {
    pub(crate) fn of(key: Key, before: Version, after: Version) -> Reason {
        Reason {
            key,
            before,
            after,
            operation: 0,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) kind: Kind,
    pub(crate) reason: u32,
}

/// The graph: see the module text.
pub(crate) struct Graph {
    pub(crate) transactions: usize,
    pub(crate) nodes: usize,
    /// By `from`, once sorted.
    pub(crate) edges: Vec<Edge>,
    /// Position of each node's first edge.
    starts: Vec<u32>,
    reasons: Vec<Reason>,
}

impl Graph {
    pub(crate) fn new(transactions: usize) -> Graph {
        Graph {
            transactions,
            nodes: transactions,
            edges: Vec::new(),
            starts: Vec::new(),
            reasons: vec![Reason::of(0, UNBORN, UNBORN)],
        }
    }

    /// Notes a reason and returns its number.
    pub(crate) fn reason(&mut self, reason: Reason) -> u32 {
        self.reasons.push(reason);
        (self.reasons.len() - 1) as u32
    }

    pub(crate) fn reason_of(&self, edge: &Edge) -> &Reason {
        &self.reasons[edge.reason as usize]
    }

    pub(crate) fn add(&mut self, edge: Edge) {
        self.edges.push(edge);
    }

    /// Adds a node and returns its number.
    pub(crate) fn add_node(&mut self) -> u32 {
        self.nodes += 1;
        (self.nodes - 1) as u32
    }

    /// Sorts and indexes the edges, once all are there. Keeps the first of equal
    /// edges.
    pub(crate) fn sort(&mut self) {
        self.edges
            .sort_by_key(|edge| (edge.from, edge.to, edge.kind, edge.reason));
        self.edges
            .dedup_by_key(|edge| (edge.from, edge.to, edge.kind));
        self.starts = vec![0; self.nodes + 1];
        for edge in &self.edges {
            self.starts[edge.from as usize + 1] += 1;
        }
        for node in 0..self.nodes {
            self.starts[node + 1] += self.starts[node];
        }
    }

    /// Returns the edges that leave a node.
    pub(crate) fn leaving(&self, node: u32) -> &[Edge] {
        let node = node as usize;
        &self.edges[self.starts[node] as usize..self.starts[node + 1] as usize]
    }
}
