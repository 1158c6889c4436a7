//! Reads of a transaction: records and, for absent records, nodes of indexes and the ranges of keys
//! that were looked at. Nodes are compared first, since that is quick; changes in a node outside
//! those ranges do not matter (`transaction/phantoms.rs`).
//!
//! A serializable transaction notes all its reads, because it is certified when it commits. A
//! transaction at snapshot isolation notes the first few records only, so that its snapshot can
//! move while they are current (`transaction/refresh.rs`).

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    ops::Bound,
};

use index::{NodeId, NodeVersion, Observer};
use memory::Arena;

use crate::{indirection::Slot, table_set::TableSet, timestamp::Timestamp};

/// Maximum records that are noted only so that a snapshot can move. Each is looked at when the
/// snapshot is to move: this is for transactions that read a few records before they write a hot
/// one.
const RECORDS_TO_MOVE_MAX: usize = 8;

/// Version of a record that a transaction saw.
///
/// Identified by its timestamp, which no other version of the record has: the version in memory at
/// an address may be another one by now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) at: Timestamp,
    pub(crate) is_tombstone: bool,
}

/// Record, and what the transaction saw of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordRead {
    /// The record's slot; slots never move, and stay as long as a snapshot does.
    pub(crate) slot: *const Slot,
    /// Timestamp of the version seen, and in the lowest bit whether it is a tombstone.
    seen: u64,
}

impl RecordRead {
    const NOTHING: u64 = u64::MAX;

    fn new(slot: &Slot, seen: Option<Seen>) -> RecordRead {
        let word = |seen: Seen| seen.at.0 << 1 | u64::from(seen.is_tombstone);
        let seen = seen.map_or(Self::NOTHING, word);
        RecordRead { slot, seen }
    }

    /// Returns the version seen, unless there was none.
    pub(crate) fn seen(self) -> Option<Seen> {
        (self.seen != Self::NOTHING).then_some(Seen {
            at: Timestamp(self.seen >> 1),
            is_tombstone: self.seen & 1 == 1,
        })
    }

    /// Whether the record was there.
    pub(crate) fn was_present(self) -> bool {
        self.seen().is_some_and(|seen| !seen.is_tombstone)
    }
}

/// Purpose for which a transaction notes its reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The transaction notes nothing.
    #[default]
    None,
    /// The snapshot can move.
    Move,
    /// The transaction is certified; its snapshot can move, too.
    Certification,
}

/// Reads of a transaction: see the module text.
#[derive(Default)]
pub(crate) struct Dependencies {
    purpose: Cell<Purpose>,
    /// Whether the snapshot has to stay, because more depends on it than is noted here.
    settled: Cell<bool>,
    pub(crate) records: RefCell<Vec<RecordRead>>,
    nodes: RefCell<HashMap<NodeId, u64>>,
    /// Tables and indexes of the `nodes`.
    absent_in: Cell<TableSet>,
    pub(crate) ranges: RefCell<Vec<KeyRange>>,
    /// Bytes of the keys in the `ranges`.
    range_bytes: Cell<usize>,
    /// Number of scans that are under way or were given up: no range tells what they have looked
    /// at.
    open_scans: Cell<u32>,
}

/// Keys of a table or index, all of which a transaction has looked at.
#[derive(Debug)]
pub(crate) struct KeyRange {
    pub(crate) table: u32,
    from: Bound<Box<[u8]>>,
    to: Bound<Box<[u8]>>,
}

impl KeyRange {
    pub(crate) fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        let from = self.from.as_ref().map(|key| &**key);
        (from, self.to.as_ref().map(|key| &**key))
    }
}

impl Dependencies {
    #[inline(always)]
    pub(crate) fn begin(&self, purpose: Purpose) {
        self.purpose.set(purpose);
        self.settled.set(purpose == Purpose::None);
    }

    /// Whether anything is noted.
    #[inline(always)]
    pub(crate) fn is_active(&self) -> bool {
        self.purpose.get() != Purpose::None
    }

    /// Whether the transaction is certified by what is noted.
    #[inline(always)]
    pub(crate) fn is_for_certification(&self) -> bool {
        self.purpose.get() == Purpose::Certification
    }

    /// Whether there is nothing that a certification would have to look at.
    #[inline(always)]
    pub(crate) fn has_nothing_to_certify(&self) -> bool {
        !self.is_for_certification()
            || (self.records.borrow().is_empty() && self.nodes.borrow().is_empty())
    }

    /// Whether everything that depends on the snapshot is noted here.
    pub(crate) fn may_move(&self) -> bool {
        !self.settled.get()
    }

    /// Settles the snapshot: from now on more depends on it than is noted here.
    #[inline]
    pub(crate) fn settle(&self) {
        self.settled.set(true);
        if self.purpose.get() == Purpose::Move {
            self.purpose.set(Purpose::None);
            self.records.borrow_mut().clear();
        }
    }

    /// Notes that the transaction saw a version of the record in `slot` that it has not made
    /// itself, or none.
    #[inline]
    pub(crate) fn saw(&self, slot: &Slot, seen: Option<Seen>) {
        self.records.borrow_mut().push(RecordRead::new(slot, seen));
    }

    /// Notes that the transaction relied on an absence in a node of a table or index.
    pub(crate) fn missed(&self, table: u32, node: NodeVersion) {
        self.absent_in.set(self.absent_in.get().with(table));
        // The first version counts: if the node has another version by now, the transaction will
        // find out when it commits.
        let mut nodes = self.nodes.borrow_mut();
        nodes.entry(node.node).or_insert(node.version);
    }

    /// Notes that the transaction has looked at all keys in a range, and was told which are there.
    pub(crate) fn looked_at(&self, table: u32, (from, to): (Bound<&[u8]>, Bound<&[u8]>)) {
        let bytes = |bound: Bound<&[u8]>| match bound {
            Bound::Included(key) | Bound::Excluded(key) => key.len(),
            Bound::Unbounded => 0,
        };
        let bytes = bytes(from) + bytes(to);
        self.range_bytes.set(self.range_bytes.get() + bytes);
        let (from, to) = (from.map(Box::from), to.map(Box::from));
        let range = KeyRange { table, from, to };
        self.ranges.borrow_mut().push(range);
    }

    /// Counts a scan that begins, or that ends with its range noted.
    pub(crate) fn count_scan(&self, change: i32) {
        let open = self.open_scans.get().saturating_add_signed(change);
        self.open_scans.set(open);
    }

    /// Whether the ranges tell all that the transaction has looked at.
    pub(crate) fn are_ranges_complete(&self) -> bool {
        self.open_scans.get() == 0
    }

    /// Whether the next record will make the list grow, or be one too many.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        let records = self.records.borrow();
        records.len() == records.capacity() || self.has_noted_enough(records.len())
    }

    #[inline(always)]
    fn has_noted_enough(&self, records: usize) -> bool {
        records >= RECORDS_TO_MOVE_MAX && self.purpose.get() == Purpose::Move
    }

    /// Returns whether a full list may take the next record. Settles the snapshot if the list
    /// serves only to move the snapshot and the next record is one too many.
    pub(crate) fn has_room(&self) -> bool {
        let has_room = !self.has_noted_enough(self.records.borrow().len());
        if !has_room {
            self.settle();
        }
        has_room
    }

    pub(super) fn list_bytes(&self) -> usize {
        let node_bytes = size_of::<(NodeId, u64)>() + 1;
        self.records.borrow().capacity() * size_of::<RecordRead>()
            + self.nodes.borrow().capacity() * node_bytes
            + self.ranges.borrow().capacity() * size_of::<KeyRange>()
            + self.range_bytes.get()
    }

    /// Returns the tables where the transaction relies on the absence of records.
    pub(crate) fn absent_in(&self) -> TableSet {
        self.absent_in.get()
    }

    /// Whether no node has changed except by the transaction itself.
    pub(crate) fn nodes_are_current(&self, arena: &Arena) -> bool {
        let nodes = self.nodes.borrow();
        let mut nodes = nodes.iter();
        nodes.all(|(&node, &version)| NodeVersion { node, version }.is_current(arena))
    }

    /// Forgets everything.
    #[inline]
    pub(crate) fn clear(&self) {
        if self.purpose.take() == Purpose::None {
            return;
        }
        // A huge transaction should not keep its memory for ever.
        let mut records = self.records.borrow_mut();
        records.clear();
        records.shrink_to(1 << 14);
        self.absent_in.take();
        self.open_scans.take();
        if self.range_bytes.take() > 0 || !self.ranges.borrow().is_empty() {
            let mut ranges = self.ranges.borrow_mut();
            ranges.clear();
            ranges.shrink_to(1 << 10);
        }
        let mut nodes = self.nodes.borrow_mut();
        if !nodes.is_empty() {
            nodes.clear();
            nodes.shrink_to(1 << 10);
        }
    }
}

/// Observer that notes nodes of a table or index for a transaction that is certified, or for none.
#[derive(Clone, Copy)]
pub(crate) struct Tracker<'t> {
    pub(crate) dependencies: Option<&'t Dependencies>,
    pub(crate) table: u32,
}

impl Observer for Tracker<'_> {
    const ACTIVE: bool = true;

    #[inline]
    fn depended(&mut self, node: NodeVersion) {
        if let Some(dependencies) = self.dependencies {
            dependencies.missed(self.table, node);
        }
    }

    #[inline]
    fn changed(&mut self, before: NodeVersion, after: NodeVersion) {
        if let Some(dependencies) = self.dependencies
            && let Some(version) = dependencies.nodes.borrow_mut().get_mut(&before.node)
            && *version == before.version
        {
            *version = after.version;
        }
    }

    fn divided(&mut self, from: NodeId, node: NodeVersion) {
        if let Some(dependencies) = self.dependencies {
            let mut nodes = dependencies.nodes.borrow_mut();
            if nodes.contains_key(&from) {
                // The memory may have been a node that the transaction depended on: it does not
                // hold that node's version any more, and must not seem to.
                nodes.entry(node.node).or_insert(node.version);
            }
        }
    }

    fn absorbed(&mut self, gone: NodeVersion, into: NodeVersion) {
        if let Some(dependencies) = self.dependencies {
            let mut nodes = dependencies.nodes.borrow_mut();
            // Otherwise other transactions have changed the node, and shall be noticed.
            if nodes.get(&gone.node) == Some(&gone.version) {
                nodes.remove(&gone.node);
                nodes.entry(into.node).or_insert(into.version);
            }
        }
    }
}
