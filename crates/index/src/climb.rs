//! The way up: from a latched node to its latched parent.
//!
//! Nodes have no parent pointers (an interior node has no room for one, and only splits and
//! removals need it, which are one in several operations and have just touched the path). The
//! parent is found by descending again, without suspending, and is latched and checked.
//!
//! # Order of latches
//! All latches are taken in one order, so that no cycle of waits arises: deeper layer before upper
//! layer; within a layer lower level before upper level; within a level left before right. A waiter
//! for a node that is *marked* waits for an operation that has all the latches it needs, because
//! marking comes after the last latch.
//!
//! # Why the parent is found
//! The caller holds the latch of a node that is linked: a node's creator keeps its latch until its
//! parent knows it, and it cannot be unlinked or moved without its latch. Its layer is not empty,
//! so it cannot be unlinked either. Descents fail only when other operations change nodes of the
//! path meanwhile, and then those made progress.

use crate::{
    key::{PIECE_BYTES, Piece},
    node::{Border, Code, Interior, Latch, NodeId},
    tree::Tree,
};

/// A latched parent and the place of its child.
pub(crate) struct Parent<'t> {
    pub(crate) interior: &'t Interior,
    pub(crate) latch: Latch<'t>,
    pub(crate) index: usize,
}

/// A latched border of the upper layer and the slot that names a layer's root.
pub(crate) struct Link<'t> {
    pub(crate) border: &'t Border,
    pub(crate) latch: Latch<'t>,
    pub(crate) slot: usize,
}

/// End of a walk down a layer.
enum Reached<'t> {
    /// The node above the one that was looked for.
    Above(&'t Interior),
    Border(&'t Border),
}

impl Tree {
    /// Latches the parent of `child`, a latched node that is not a root. `key` leads to its layer
    /// and `slice` to the node.
    pub(crate) fn latch_parent(
        &self,
        key: &[u8],
        depth: usize,
        slice: u64,
        child: NodeId,
    ) -> Parent<'_> {
        loop {
            let root = self.layer_root(key, depth);
            if let Some(parent) = self.try_latch_parent(root, slice, child) {
                return parent;
            }
        }
    }

    fn try_latch_parent(&self, root: NodeId, slice: u64, child: NodeId) -> Option<Parent<'_>> {
        let Reached::Above(interior) = self.walk_down(root, slice, Some(child))? else {
            return None;
        };
        let latch = interior.word.latch();
        let now = latch.version();
        if now.is_deleted() {
            return None;
        }
        let index = interior.index_of(child, now.count())?;
        Some(Parent {
            interior,
            latch,
            index,
        })
    }

    /// Latches the border of layer `depth - 1` that names `root`, the latched
    /// root of a layer at `depth > 0`.
    pub(crate) fn latch_link(&self, key: &[u8], depth: usize, root: NodeId) -> Link<'_> {
        let piece = Piece::of(&key[(depth - 1) * PIECE_BYTES..]);
        loop {
            let upper = self.layer_root(key, depth - 1);
            let Some(border) = self.border_below(upper, piece.slice) else {
                continue;
            };
            let latch = border.word.latch();
            if latch.version().is_deleted() {
                continue;
            }
            if let Some(slot) = border.find(piece) {
                let entry = border.entry(slot);
                if entry.code == Code::LAYER && entry.layer() == root {
                    return Link {
                        border,
                        latch,
                        slot,
                    };
                }
            }
        }
    }

    /// Returns the root of the layer at `depth` on the way of `key`, which exists.
    fn layer_root(&self, key: &[u8], depth: usize) -> NodeId {
        'tree: loop {
            let mut root = self.root();
            for upper in 0..depth {
                let piece = Piece::of(&key[upper * PIECE_BYTES..]);
                let Some(border) = self.border_below(root, piece.slice) else {
                    continue 'tree;
                };
                let version = border.word.stable();
                let Some(slot) = border.find(piece) else {
                    continue 'tree;
                };
                let entry = border.entry(slot);
                if border.word.has_changed_since(version)
                    || version.is_deleted()
                    || entry.code != Code::LAYER
                {
                    continue 'tree;
                }
                root = entry.layer();
            }
            return root;
        }
    }

    /// Returns the border for `slice`, most probably: the slice may have moved since.
    fn border_below(&self, root: NodeId, slice: u64) -> Option<&Border> {
        match self.walk_down(root, slice, None)? {
            Reached::Border(border) => Some(border),
            Reached::Above(_) => None,
        }
    }

    /// Goes down from the root of a layer on the way of `slice`, to the node above
    /// `child`, or to a border. Both may have changed since.
    fn walk_down(&self, root: NodeId, slice: u64, child: Option<NodeId>) -> Option<Reached<'_>> {
        let mut node = self.nodes.at(root);
        let mut version = node.word().stable();
        if !version.is_live_root() {
            return None;
        }
        while !version.is_border() {
            let interior = node.interior();
            let next = interior.child_for(slice, version);
            if interior.word.has_changed_since(version) {
                return None;
            }
            if Some(next) == child {
                return Some(Reached::Above(interior));
            }
            let next = self.nodes.at(next);
            let next_version = next.word().stable();
            if interior.word.has_changed_since(version) {
                return None;
            }
            node = next;
            version = next_version;
        }
        Some(Reached::Border(node.border()))
    }
}
