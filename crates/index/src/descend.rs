//! The way from a layer's root to the border that holds a slice.
//!
//! Every operation goes this way; it is the hottest loop of the engine.
//!
//! # Validation
//! Each step reads a child's id from an interior node, then the child's version,
//! then asks whether the interior node is unchanged. Reading the child's version
//! *before* that question is what closes the gap:
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

use interleave::{Point, Policy};
use memory::Pin;

use crate::{
    node::{Border, INTERIOR_BYTES, Interior, NodeId, Version},
    tree::{HOT_LEVELS, Tree},
};

pub(crate) const INTERIOR_POINT: Point = Point("index.interior");
pub(crate) const BORDER_POINT: Point = Point("index.border");
pub(crate) const ROOT_POINT: Point = Point("index.layer");
pub(crate) const SLOT_POINT: Point = Point("index.slot");
pub(crate) const SUFFIX_POINT: Point = Point("index.suffix");

/// The version under which to go on in an interior node that has changed since
/// `version`; `None` when its range may have changed.
#[inline]
pub(crate) fn refreshed(interior: &Interior, version: Version) -> Option<Version> {
    let now = interior.word.stable();
    (!now.has_moved_since(version)).then_some(now)
}

impl Tree {
    /// Goes from the root of a layer to the border for `slice`, touching the
    /// first `TOUCHED` bytes of it. `depth` is the layer's. The border was
    /// responsible for `slice` at the version returned. `None` when something
    /// has moved: start again from the outermost root.
    ///
    /// # Suspension
    /// At each node below the hot levels.
    #[inline]
    pub(crate) async fn descend<'p, P: Policy, const TOUCHED: usize>(
        &'p self,
        _pin: &'p Pin<'_>,
        root: NodeId,
        depth: usize,
        slice: u64,
    ) -> Option<(&'p Border, Version)> {
        let mut level = if depth == 0 { 0 } else { HOT_LEVELS };
        if depth > 0 {
            P::touch(ROOT_POINT, self.nodes.address(root), TOUCHED).await;
        }
        let mut node = self.nodes.at(root);
        let mut version = node.word().stable();
        if !version.is_live_root() {
            return None;
        }
        while !version.is_border() {
            let interior = node.interior();
            let child = loop {
                let child = interior.child_for(slice, version);
                if !interior.word.has_changed_since(version) {
                    break child;
                }
                version = refreshed(interior, version)?;
            };
            level = level.saturating_add(1);
            if level >= HOT_LEVELS {
                let address = self.nodes.address(child);
                if version.is_over_borders() {
                    P::touch(BORDER_POINT, address, TOUCHED).await;
                } else {
                    P::touch(INTERIOR_POINT, address, INTERIOR_BYTES).await;
                }
            }
            let child = self.nodes.at(child);
            let child_version = child.word().stable();
            if interior.word.has_changed_since(version) {
                version = refreshed(interior, version)?;
                level -= 1;
                continue;
            }
            node = child;
            version = child_version;
        }
        Some((node.border(), version))
    }
}
