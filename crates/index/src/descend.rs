//! The way from a layer's root to the border that holds a slice.
//!
//! Every operation goes this way; it is the hottest loop of the engine.
//!
//! # Validation
//! Each step reads a child's id from an interior node, then the child's version, then checks that
//! the interior node is unchanged. Reading the child's version *before* that check closes the gap:
//!
//! ```text
//! reader at P, wants slice s            splitter of C
//! version of P
//! child C for s
//!                                       latches C, P; marks both; s moves to D
//!                                       P gets D; both are released
//! version of C (after the split)
//! P changed? yes: search P again        (had P been asked before the version of
//!                                        C was taken, the reader would miss s)
//! ```
//! The id itself is validated once more *before* it is followed, because a
//! mixture of old and new fields may name a node that was retired long ago
//! (*validated links*, see `node.rs`).
//!
//! When a node has changed but its range has not, the search goes on in it; when
//! the range may have changed, it starts again from the outermost root.
//!
//! # Form
//! [`Descent`] is a cursor on the way, advanced from one touch to the next. The operations, which
//! suspend between touches, own the loop; the compiler therefore sees one flat coroutine, whose
//! state is the cursor.

use interleave::{Point, Policy};

use crate::{
    node::{Border, INTERIOR_BYTES, Interior, NodeId, Version},
    tree::{HOT_LEVELS, Tree},
};

pub(crate) const NODE_POINT: Point = Point::new("index.node");
pub(crate) const SUFFIX_POINT: Point = Point::new("index.suffix");

/// A search on its way down one layer.
///
/// `TOUCHED` is the part of the border, from its start, that the caller reads.
#[derive(Clone, Copy)]
pub(crate) struct Descent<'t, const TOUCHED: usize> {
    slice: u64,
    /// Interior node that named `child`, at `version`; `None` at the root.
    parent: Option<&'t Interior>,
    version: Version,
    child: NodeId,
    level: u8,
}

/// Next action on the way.
pub(crate) enum Onward<'t> {
    /// Touch these bytes, then advance.
    Touch(*const u8, usize),
    /// Arrived at the border; it was responsible for the slice at this version.
    Border(&'t Border, Version),
    /// A node has moved: start again from the outermost root.
    Moved,
}

impl<'t, const TOUCHED: usize> Descent<'t, TOUCHED> {
    /// Returns a cursor on the way from `root`, of the layer at `depth`, to the border for `slice`.
    #[inline(always)]
    pub(crate) fn new(root: NodeId, depth: usize, slice: u64) -> Self {
        Descent {
            slice,
            parent: None,
            version: Version::NEW_BORDER,
            child: root,
            level: if depth == 0 { 0 } else { HOT_LEVELS },
        }
    }

    /// Returns how deep into the layer the cursor is.
    #[inline(always)]
    pub(crate) fn level(&self) -> u8 {
        self.level
    }

    /// Returns the memory to touch before the first `advance`, in layers below the outermost.
    #[inline(always)]
    pub(crate) fn root_touch(&self, tree: &Tree) -> (*const u8, usize) {
        (tree.nodes.address(self.child), TOUCHED)
    }

    /// Goes on to the next touch or to the border.
    #[inline(always)]
    pub(crate) fn advance(&mut self, tree: &'t Tree) -> Onward<'t> {
        loop {
            // `child` is a validated link, or a root.
            let node = tree.nodes.at(self.child);
            let mut version = node.word().stable();
            let interior = match self.parent {
                Some(parent) if parent.word.has_changed_since(self.version) => {
                    // Search the parent again.
                    let Some(now) = refreshed(parent, self.version) else {
                        return Onward::Moved;
                    };
                    self.level -= 1;
                    version = now;
                    parent
                }
                None if !version.is_live_root() => return Onward::Moved,
                _ if version.is_border() => return Onward::Border(node.border(), version),
                _ => node.interior(),
            };
            self.child = loop {
                let child = interior.child_for(self.slice, version);
                if !interior.word.has_changed_since(version) {
                    break child;
                }
                match refreshed(interior, version) {
                    Some(now) => version = now,
                    None => return Onward::Moved,
                }
            };
            self.parent = Some(interior);
            self.version = version;
            self.level = self.level.saturating_add(1);
            if self.level >= HOT_LEVELS {
                let bytes = if version.is_over_borders() {
                    TOUCHED
                } else {
                    INTERIOR_BYTES
                };
                return Onward::Touch(tree.nodes.address(self.child), bytes);
            }
        }
    }
}

/// Returns the version under which to go on in an interior node that has changed since `version`;
/// `None` if its range may have changed.
#[cold]
fn refreshed(interior: &Interior, version: Version) -> Option<Version> {
    let now = interior.word.stable();
    (!now.has_moved_since(version)).then_some(now)
}

impl Tree {
    /// Goes from the root of the layer at `depth` to the border for `slice`, touching the first
    /// `TOUCHED` bytes of it. The border was responsible for `slice` at the version returned.
    /// Returns `None` if a node has moved: start again from the outermost root.
    ///
    /// # Suspension
    /// Suspends at each node below the hot levels.
    #[inline]
    pub(crate) async fn descend<P: Policy, const TOUCHED: usize>(
        &self,
        root: NodeId,
        depth: usize,
        slice: u64,
    ) -> Option<(&Border, Version)> {
        let mut descent = Descent::<TOUCHED>::new(root, depth, slice);
        if depth > 0 {
            let (address, bytes) = descent.root_touch(self);
            P::touch(NODE_POINT, address, bytes).await;
        }
        loop {
            match descent.advance(self) {
                Onward::Touch(address, bytes) => {
                    P::touch(NODE_POINT.at(descent.level()), address, bytes).await;
                }
                Onward::Border(border, version) => return Some((border, version)),
                Onward::Moved => return None,
            }
        }
    }
}
