//! Dependences of an operation, in terms of node versions.
//!
//! A reader that found a key absent, or a range to hold certain keys, depended on the border nodes
//! it looked at: every insertion, removal or split that could change the answer changes the version
//! of one of them. A transaction that wants to be serializable keeps the pairs and checks at commit
//! that they are current ([`NodeVersion::is_current`]). Its own changes change versions too; they
//! are reported as before and after, so that the transaction can bring its notes up to date.

use memory::Arena;

use crate::{
    node::{Border, Latch, NodeId, Nodes, Version},
    tree::Tree,
};

/// A border node at one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeVersion {
    /// The node. Its memory may be another border, even another tree's, as soon as the
    /// pin under which it was observed is gone.
    pub node: NodeId,
    /// The version, to be compared for equality only.
    pub version: u64,
}

impl NodeVersion {
    pub(crate) fn new(node: NodeId, version: Version) -> NodeVersion {
        NodeVersion {
            node,
            version: version.bits(),
        }
    }

    /// Returns whether the node has not changed since it was observed. No pin is needed: a border's
    /// version goes on counting when its memory is used again.
    ///
    /// `arena` is the arena of the tree that was observed.
    #[inline]
    pub fn is_current(self, arena: &Arena) -> bool {
        // Equality also fails while the node is in the middle of a change.
        Nodes::former_border(arena, self.node).current().bits() == self.version
    }
}

/// Receiver of the node versions that an operation depended on. The observer `()` receives nothing
/// and costs nothing.
pub trait Observer {
    /// Whether versions need to be reported.
    const ACTIVE: bool;

    /// Notes that the answer depends on `node`.
    fn depended(&mut self, node: NodeVersion);

    /// Notes that the operation itself moved a node from `before` to `after`.
    fn changed(&mut self, before: NodeVersion, after: NodeVersion);

    /// Notes that the operation's change of `from` moved part of its range to a new node, beside it
    /// or in a layer below: operations that depended on `from` depend on `node` too.
    fn divided(&mut self, from: NodeId, node: NodeVersion);

    /// Notes that the operation unlinked `gone`, which was empty, and gave its range to `into`:
    /// operations that depended on `gone` depend on `into` now.
    fn absorbed(&mut self, gone: NodeVersion, into: NodeVersion);
}

impl Observer for () {
    const ACTIVE: bool = false;
    #[inline(always)]
    fn depended(&mut self, _: NodeVersion) {}
    #[inline(always)]
    fn changed(&mut self, _: NodeVersion, _: NodeVersion) {}
    #[inline(always)]
    fn divided(&mut self, _: NodeId, _: NodeVersion) {}
    #[inline(always)]
    fn absorbed(&mut self, _: NodeVersion, _: NodeVersion) {}
}

impl<O: Observer> Observer for &mut O {
    const ACTIVE: bool = O::ACTIVE;
    #[inline(always)]
    fn depended(&mut self, node: NodeVersion) {
        (**self).depended(node);
    }
    #[inline(always)]
    fn changed(&mut self, before: NodeVersion, after: NodeVersion) {
        (**self).changed(before, after);
    }
    #[inline(always)]
    fn divided(&mut self, from: NodeId, node: NodeVersion) {
        (**self).divided(from, node);
    }
    #[inline(always)]
    fn absorbed(&mut self, gone: NodeVersion, into: NodeVersion) {
        (**self).absorbed(gone, into);
    }
}

impl Tree {
    /// Reports a change of `border` since `before`, which its latch is about to publish.
    #[inline(always)]
    pub(crate) fn report_change<O: Observer>(
        &self,
        border: &Border,
        before: Version,
        latch: &Latch<'_>,
        observer: &mut O,
    ) {
        if O::ACTIVE {
            let id = self.nodes.border_id(border);
            observer.changed(
                NodeVersion::new(id, before),
                NodeVersion::new(id, latch.next_version()),
            );
        }
    }
}
