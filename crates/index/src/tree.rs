//! The tree: the root of its outermost layer and the nodes' memory.

use std::fmt;

use memory::{Exhausted, Local};

use crate::{
    node::{NodeId, Nodes, Version},
    sync::{AtomicU32, Ordering},
};

/// Levels of the outermost layer that are reached without a touch: the root and the two levels
/// below it. At the usual ten children per node they have about a hundred nodes of 192 bytes, and
/// every operation reads one of each level, so they stay in the caches; a switch would cost more
/// than such a hit.
///
/// With debug assertions only the root is hot, so that tests of small trees
/// suspend wherever large ones do.
pub(crate) const HOT_LEVELS: u8 = if cfg!(debug_assertions) { 1 } else { 3 };

/// A trie of B+-trees from byte strings to 64-bit values.
///
/// Shared between threads by reference. Every operation takes the calling
/// thread's pin; those that change something also take its [`Local`]. Both must
/// belong to the arena and the epochs that the tree was made with.
pub struct Tree {
    pub(crate) nodes: Nodes,
    root: AtomicU32,
}

impl Tree {
    /// Makes an empty tree in the arena of `local`.
    ///
    /// # Errors
    /// [`Exhausted`] if the arena has no room for one node.
    pub fn new(local: &Local) -> Result<Tree, Exhausted> {
        let nodes = Nodes::new(local.arena());
        let root = nodes.new_border(local, Version::NEW_BORDER.rooted(), 0)?;
        let root = AtomicU32::new(nodes.border_id(root).0);
        Ok(Tree { nodes, root })
    }

    /// Returns the root of the outermost layer, most probably.
    #[inline(always)]
    pub(crate) fn root(&self) -> NodeId {
        // Acquire: pairs with `set_root`.
        NodeId(self.root.load(Ordering::Acquire))
    }

    /// Replaces the root of the outermost layer. The caller holds the latch of the old root.
    pub(crate) fn set_root(&self, root: NodeId) {
        // Release: the new root's content comes first.
        self.root.store(root.0, Ordering::Release);
    }
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree")
            .field("root", &self.root())
            .finish_non_exhaustive()
    }
}
