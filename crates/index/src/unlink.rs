//! Unlinking empty borders, the ancestors that hold nothing else, and layers.
//!
//! A border that became empty is latched again together with its neighbours, left to right, and
//! checked anew: it may have been filled or unlinked in between. Then its ancestors are latched
//! upward as long as they have no other child (the *chain*), to the first that has one (the
//! *survivor*), or to the root if the whole layer is empty.
//!
//! # Heir of the range
//! The survivor loses one child and the key beside it. If there is a child to the left, the range
//! falls to it: the rightmost border below it is the left neighbour, whose range ends where the
//! next one's begins, so that only its `next` changes. If the child was the survivor's first, the
//! range falls to the right: the leftmost border below it is the right neighbour, whose `lowest` is
//! lowered. No other separator is affected in either case, so nothing above the survivor changes.
//!
//! ```text
//! reader of k (absent)                   remover of the border B of k
//! reaches B at v
//!                                        marks B, survivor, right neighbour
//!                                        unlinks, sets D, releases
//! B changed since v: start again         (B's memory stays: the reader's pin)
//! reaches the neighbour
//! ```
//! A backward scan that stands in a neighbour sees `D` or that the left
//! neighbour's `next` is not where it came from (`scan.rs`).
//!
//! # An empty layer
//! The outermost layer keeps its last border, as a root without entries. A
//! deeper layer goes as a whole: the entry that names it is removed from the
//! upper layer's border, which may thereby become empty itself.
//!
//! # Observers
//! The remover's own observer is told the border that has taken the range over, and every border
//! whose version changes on the way. For all other observers the unlinked border is a change.

use memory::Local;

use crate::{
    climb::{Link, Parent},
    node::{Border, Code, HEIGHT_MAX, Latch, NodeId, Version},
    observe::{NodeVersion, Observer},
    tree::Tree,
};

/// Node latched above an empty border.
enum Above<'t> {
    /// An ancestor with other children.
    Survivor(Parent<'t>),
    /// The root, by its id; there is nothing else in the layer.
    WholeLayer(NodeId),
}

type Chain<'t> = [Option<Parent<'t>>; HEIGHT_MAX];

impl Tree {
    /// Unlinks `border` of the layer at `depth` on the way of `key`, if it is
    /// still empty and linked.
    pub(crate) fn unlink_empty<'t, O: Observer>(
        &'t self,
        local: &Local,
        key: &[u8],
        depth: usize,
        border: &'t Border,
        observer: &mut O,
    ) {
        let (mut border, mut depth) = (border, depth);
        while let Some(upper) = self.unlink_one(local, key, depth, border, observer) {
            border = upper;
            depth -= 1;
        }
    }

    /// Unlinks one border. Returns the border of the upper layer if that has become empty.
    fn unlink_one<'t, O: Observer>(
        &'t self,
        local: &Local,
        key: &[u8],
        depth: usize,
        border: &'t Border,
        observer: &mut O,
    ) -> Option<&'t Border> {
        let id = self.nodes.border_id(border);
        let (left, mut latch) = self.latch_with_left(border, id)?;
        let before = latch.version();
        let mut right = border.next().some().map(|right| {
            // The right border stays linked as long as its left neighbour is latched.
            let right = self.nodes.at(right).border();
            (right, right.word.latch())
        });
        if left.is_none() && right.is_none() && depth == 0 && before.is_root() {
            return None;
        }
        let mut chain: Chain<'_> = [const { None }; HEIGHT_MAX];
        let above = self.latch_chain(key, depth, border, &latch, &mut chain);
        match above {
            Above::Survivor(mut survivor) => {
                if survivor.index == 0
                    && let Some((right, right_latch)) = &mut right
                {
                    let right_before = right_latch.version();
                    right_latch.splitting();
                    right.set_lowest(border.lowest());
                    self.report_change(right, right_before, right_latch, observer);
                    self.report_absorbed((border, before), (right, right_latch), observer);
                } else if let Some((left, left_latch)) = &left {
                    self.report_absorbed((border, before), (left, left_latch), observer);
                }
                survivor
                    .interior
                    .remove(&mut survivor.latch, survivor.index);
                latch.delete();
                if let Some((left, _)) = &left {
                    left.set_next(border.next());
                }
                if let Some((right, _)) = &right {
                    right.set_prev(border.prev());
                }
                drop(latch);
                drop((left, right));
                self.lower_root(local, key, depth, survivor, observer);
                self.nodes.retire_border(local, border);
                self.retire_chain(local, chain);
                None
            }
            Above::WholeLayer(_) if depth == 0 => {
                latch.set_root(true);
                self.delete_chain(&mut chain);
                self.set_root(id);
                self.report_change(border, before, &latch, observer);
                drop(latch);
                self.retire_chain(local, chain);
                None
            }
            Above::WholeLayer(root) => {
                let mut link = self.latch_link(key, depth, root);
                latch.delete();
                self.delete_chain(&mut chain);
                let link_before = link.latch.version();
                link.latch.inserting();
                link.border.remove(link.slot);
                self.report_change(link.border, link_before, &link.latch, observer);
                self.report_absorbed((border, before), (link.border, &link.latch), observer);
                let is_empty = link.border.permutation().len() == 0;
                drop(latch);
                drop(link.latch);
                self.nodes.retire_border(local, border);
                self.retire_chain(local, chain);
                is_empty.then_some(link.border)
            }
        }
    }

    /// Latches the left neighbour, if any, then `border`. Returns `None` if there is nothing to
    /// unlink any more.
    fn latch_with_left<'t>(
        &'t self,
        border: &'t Border,
        id: NodeId,
    ) -> Option<(Option<(&'t Border, Latch<'t>)>, Latch<'t>)> {
        loop {
            let mut left = None;
            if let Some(prev) = border.prev().some() {
                // The pin keeps the memory, whatever happened to the neighbour.
                let prev = self.nodes.at(prev).border();
                let latch = prev.word.latch();
                if latch.version().is_deleted() || prev.next() != id {
                    drop(latch);
                    if border.word.stable().is_deleted() {
                        return None;
                    }
                    continue;
                }
                left = Some((prev, latch));
            }
            let latch = border.word.latch();
            if latch.version().is_deleted() || border.permutation().len() > 0 {
                return None;
            }
            // A border without a left neighbour keeps none: a new border is always right of
            // another. But a neighbour that was seen may have been unlinked before it was latched;
            // then it was found deleted above.
            return Some((left, latch));
        }
    }

    /// Latches ancestors upward while they have a single child.
    fn latch_chain<'t>(
        &'t self,
        key: &[u8],
        depth: usize,
        border: &Border,
        latch: &Latch<'_>,
        chain: &mut Chain<'t>,
    ) -> Above<'t> {
        let mut child = self.nodes.border_id(border);
        let mut version = latch.version();
        for place in chain {
            if version.is_root() {
                return Above::WholeLayer(child);
            }
            let parent = self.latch_parent(key, depth, border.lowest(), child);
            version = parent.latch.version();
            if version.count() > 0 {
                return Above::Survivor(parent);
            }
            child = self.nodes.interior_id(parent.interior);
            *place = Some(parent);
        }
        unreachable!("a layer has more than {HEIGHT_MAX} levels")
    }

    fn delete_chain(&self, chain: &mut Chain<'_>) {
        for parent in chain.iter_mut().flatten() {
            parent.latch.delete();
        }
    }

    /// Retires the chain, marking it dead first.
    fn retire_chain(&self, local: &Local, mut chain: Chain<'_>) {
        self.delete_chain(&mut chain);
        for Parent {
            interior, latch, ..
        } in chain.into_iter().flatten()
        {
            drop(latch);
            self.nodes.retire_interior(local, interior);
        }
    }

    /// Reports that the range of `gone`, which was empty at this version, now belongs to `into`,
    /// whose latch is about to publish the change.
    fn report_absorbed<O: Observer>(
        &self,
        (gone, before): (&Border, Version),
        (into, latch): (&Border, &Latch<'_>),
        observer: &mut O,
    ) {
        if O::ACTIVE {
            let gone = NodeVersion::new(self.nodes.border_id(gone), before);
            let into = self.nodes.border_id(into);
            observer.absorbed(gone, NodeVersion::new(into, latch.next_version()));
        }
    }

    /// Makes the survivor's last child the root, if the survivor is a root with one child left. The
    /// child is below the survivor in the order of latches, so its latch is only tried; if another
    /// operation holds it, the layer stays one level taller than it need be.
    fn lower_root<O: Observer>(
        &self,
        local: &Local,
        key: &[u8],
        depth: usize,
        survivor: Parent<'_>,
        observer: &mut O,
    ) {
        let Parent {
            interior,
            mut latch,
            ..
        } = survivor;
        if !latch.version().is_root() || latch.next_version().count() > 0 {
            return;
        }
        let child_id = interior.child(0);
        let child = self.nodes.at(child_id);
        let Some(mut child_latch) = child.word().try_latch() else {
            return;
        };
        let child_before = child_latch.version();
        if depth == 0 {
            child_latch.set_root(true);
            latch.delete();
            self.set_root(child_id);
        } else {
            let Link {
                border,
                latch: mut link_latch,
                slot,
            } = self.latch_link(key, depth, self.nodes.interior_id(interior));
            let link_before = link_latch.version();
            child_latch.set_root(true);
            latch.delete();
            link_latch.inserting();
            border.replace(slot, Code::LAYER, child_id.0.into());
            self.report_change(border, link_before, &link_latch, observer);
        }
        if child_before.is_border() {
            self.report_change(child.border(), child_before, &child_latch, observer);
        }
        drop(child_latch);
        drop(latch);
        self.nodes.retire_interior(local, interior);
    }
}
