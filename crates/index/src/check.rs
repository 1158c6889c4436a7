//! Structural invariants of a whole tree, by name. For tests: one thread, no
//! operation under way.

use std::collections::HashSet;

use memory::Pin;

use crate::{
    node::{BORDER_BYTES, BORDER_SLOTS, Border, Code, INTERIOR_BYTES, NodeId},
    tree::Tree,
};

/// Parts of a tree, counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Keys in the tree.
    pub keys: u64,
    /// B+-trees in the trie, the outermost one included.
    pub layers: u64,
    /// Interior nodes of the outermost layer by level, the root first.
    pub interior_by_level: Vec<u64>,
    /// Interior nodes of all layers.
    pub interior_nodes: u64,
    /// Border nodes of all layers.
    pub border_nodes: u64,
    /// Children of all interior nodes; each has room for 16.
    pub children: u64,
    /// Entries of all border nodes; each has room for 15.
    pub entries: u64,
    /// Suffix records.
    pub suffixes: u64,
    /// Cache lines of nodes and suffix records.
    pub lines: u64,
}

/// A subtree to visit: its root and the slices it is responsible for.
struct Visit {
    node: NodeId,
    level: usize,
    depth: usize,
    low: u64,
    /// First slice after the range; `None`: no upper bound.
    high: Option<u64>,
}

/// Borders found in one layer, from left to right.
type Borders = Vec<NodeId>;

impl Tree {
    /// Returns node counts and fill.
    ///
    /// The counts are exact while no operation changes the tree.
    pub fn stats(&self, pin: &Pin<'_>) -> Stats {
        self.walk(pin)
    }

    /// Checks every structural invariant of the tree; no operation may change the tree meanwhile.
    ///
    /// # Panics
    /// Panics with the name of the invariant that is broken.
    pub fn check_invariants(&self, pin: &Pin<'_>) {
        self.walk(pin);
    }

    fn walk(&self, _pin: &Pin<'_>) -> Stats {
        let mut stats = Stats::default();
        let mut seen = HashSet::new();
        let mut layers = vec![(self.root(), 0)];
        while let Some((root, depth)) = layers.pop() {
            stats.layers += 1;
            let mut borders = Borders::new();
            let mut visits = vec![Visit {
                node: root,
                level: 0,
                depth,
                low: 0,
                high: None,
            }];
            let mut border_level = None;
            while let Some(visit) = visits.pop() {
                assert!(seen.insert(visit.node), "invariant: a node has one parent");
                let version = self.nodes.at(visit.node).word().current();
                assert_eq!(
                    version,
                    self.nodes.at(visit.node).word().stable(),
                    "invariant: a latch is held during an operation only"
                );
                assert!(
                    !version.is_deleted(),
                    "invariant: a linked node is not deleted"
                );
                assert_eq!(
                    version.is_root(),
                    visit.level == 0,
                    "invariant: exactly the root of a layer is marked as root"
                );
                if version.is_border() {
                    assert_eq!(
                        *border_level.get_or_insert(visit.level),
                        visit.level,
                        "invariant: all borders of a layer are on one level"
                    );
                    borders.push(visit.node);
                    self.check_border(&visit, &mut stats, &mut layers);
                } else {
                    self.check_interior(visit, &mut stats, &mut visits);
                }
            }
            self.check_links(&borders);
        }
        stats.lines += (stats.interior_nodes * INTERIOR_BYTES as u64
            + stats.border_nodes * BORDER_BYTES as u64)
            / memory::LINE_BYTES as u64;
        stats
    }

    fn check_interior(&self, visit: Visit, stats: &mut Stats, visits: &mut Vec<Visit>) {
        let interior = self.nodes.at(visit.node).interior();
        let version = interior.word.current();
        let count = version.count();
        stats.interior_nodes += 1;
        stats.children += count as u64 + 1;
        if visit.depth == 0 {
            if stats.interior_by_level.len() <= visit.level {
                stats.interior_by_level.resize(visit.level + 1, 0);
            }
            stats.interior_by_level[visit.level] += 1;
        }
        let mut bounds = vec![(visit.low, visit.high)];
        for index in 0..crate::node::INTERIOR_KEYS {
            let key = interior.key(index);
            if index >= count {
                assert_eq!(key, u64::MAX, "invariant: unused keys are the greatest");
                continue;
            }
            let last = bounds.len() - 1;
            assert!(
                key > bounds[last].0 && visit.high.is_none_or(|high| key < high),
                "invariant: separators ascend within the node's range"
            );
            bounds[last].1 = Some(key);
            bounds.push((key, visit.high));
        }
        for (index, (low, high)) in bounds.into_iter().enumerate().rev() {
            let node = interior.child(index);
            assert_eq!(
                self.nodes.at(node).word().current().is_border(),
                version.is_over_borders(),
                "invariant: an interior node knows the kind of its children"
            );
            visits.push(Visit {
                node,
                level: visit.level + 1,
                low,
                high,
                ..visit
            });
        }
    }

    fn check_border(&self, visit: &Visit, stats: &mut Stats, layers: &mut Vec<(NodeId, usize)>) {
        let border = self.nodes.at(visit.node).border();
        stats.border_nodes += 1;
        assert_eq!(
            border.lowest(),
            visit.low,
            "invariant: a border's lowest slice is the separator left of it"
        );
        let permutation = border.permutation();
        assert!(
            permutation.len() > 0 || visit.depth == 0 && visit.level == 0,
            "invariant: only the root of the outermost layer is ever empty"
        );
        stats.entries += permutation.len() as u64;
        let mut used = 0u32;
        let mut before = None;
        for slot in permutation.slots() {
            assert!(used & 1 << slot == 0, "invariant: the permutation is one");
            used |= 1 << slot;
            border.check_slot(slot);
            let entry = border.entry(slot);
            let piece = entry.piece();
            assert!(
                before.replace(piece).is_none_or(|before| before < piece),
                "invariant: entries ascend"
            );
            assert!(
                piece.slice >= visit.low && visit.high.is_none_or(|high| piece.slice < high),
                "invariant: entries lie in their border's range"
            );
            assert_eq!(
                border.find(piece),
                Some(slot),
                "invariant: entries are found"
            );
            match entry.code {
                Code::LAYER => layers.push((entry.layer(), visit.depth + 1)),
                Code::SUFFIX => {
                    let word = entry.suffix();
                    assert!(word.suffix_bytes() > 0, "invariant: a suffix is not empty");
                    stats.keys += 1;
                    stats.suffixes += 1;
                    stats.lines += word.record_bytes().div_ceil(memory::LINE_BYTES) as u64;
                }
                Code(len) => {
                    assert!(
                        len > 0 || visit.depth == 0,
                        "invariant: keys of deeper layers are not empty"
                    );
                    stats.keys += 1;
                }
            }
        }
        for slot in (0..=BORDER_SLOTS).filter(|slot| used & 1 << slot == 0) {
            assert_eq!(
                border.code(slot),
                Code::FREE,
                "invariant: free slots say so"
            );
        }
    }

    fn check_links(&self, borders: &[NodeId]) {
        let border = |id: NodeId| -> &Border { self.nodes.at(id).border() };
        let mut prev = NodeId::NONE;
        for (index, &id) in borders.iter().enumerate() {
            let next = borders.get(index + 1).copied().unwrap_or(NodeId::NONE);
            assert_eq!(
                border(id).prev(),
                prev,
                "invariant: borders are linked to the left"
            );
            assert_eq!(
                border(id).next(),
                next,
                "invariant: borders are linked to the right"
            );
            prev = id;
        }
    }
}
