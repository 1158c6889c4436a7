//! Splits: making room for one more entry.
//!
//! Three phases, so that running out of memory changes nothing:
//! 1. *Latch* the full border and its ancestors, from the bottom up, to the
//!    first that has room (or to what names the root).
//! 2. *Allocate* one new node per full node, and a new root if the old one is
//!    full. On failure free them and release the latches, unmarked.
//! 3. *Change* everything, then release. Nothing can fail here.
//!
//! The upper half of a node moves to a new right sibling. Readers that were on their way to the
//! moved half notice: those at a changed node see its split counter (or wait while it is marked),
//! those above see the ancestor changed (`descend.rs`).
//!
//! Entries of one slice stay together (see `key.rs`). At the right end of a
//! layer, when keys come in ascending order, the left node stays full; at the
//! left end, in descending order, the right one does.

use memory::{Exhausted, Local};

use crate::{
    climb::{Link, Parent},
    insert::Newcomer,
    node::{
        BORDER_SLOTS, Border, Code, Entry, HEIGHT_MAX, INTERIOR_KEYS, Interior, Latch, NodeId,
        Version,
    },
    observe::{NodeVersion, Observer},
    tree::Tree,
};

/// Place where the topmost new node will be named.
enum Top<'t> {
    /// An ancestor that has room.
    Parent(Parent<'t>),
    /// A new root of the outermost layer.
    Tree,
    /// A new root of a deeper layer, named by this border.
    Layer(Link<'t>),
}

/// A full ancestor and the node that will be its right sibling.
struct Full<'t> {
    parent: Parent<'t>,
    right: Option<&'t Interior>,
}

impl Tree {
    /// Splits `border`, which is full and latched, while adding `entry`.
    pub(crate) fn split_and_insert<'t, O: Observer>(
        &'t self,
        local: &Local,
        border: &'t Border,
        mut latch: Latch<'t>,
        newcomer: Newcomer<'_>,
        entry: Entry,
        observer: &mut O,
    ) -> Result<(), Exhausted> {
        let before = latch.version();
        let rank = border.rank(entry.piece());
        let entries = ordered(border, rank, entry);
        let at_right_end = !border.next().is_some() && rank == BORDER_SLOTS;
        let kept = split_point(
            &entries,
            at_right_end,
            !border.prev().is_some() && rank == 0,
        );
        let interior_kept = if at_right_end {
            INTERIOR_KEYS - 1
        } else {
            INTERIOR_KEYS / 2
        };

        // Phase 1.
        let mut full: [Option<Full<'_>>; HEIGHT_MAX] = [const { None }; HEIGHT_MAX];
        let (top, full, highest) = self.latch_ancestors(border, before, newcomer, &mut full);

        // Phase 2.
        let lowest = entries[kept].slice;
        let right = self.nodes.new_border(local, Version::NEW_BORDER, lowest)?;
        let allocated = self.allocate_interiors(local, full, interior_kept, &top);
        let new_root = match allocated {
            Ok(new_root) => new_root,
            Err(exhausted) => {
                self.nodes.free_border(local, right);
                for level in full.iter().flatten() {
                    if let Some(interior) = level.right {
                        self.nodes.free_interior(local, interior);
                    }
                }
                return Err(exhausted);
            }
        };

        // Phase 3.
        latch.splitting();
        let right_latch = right.word.latch_new();
        let right_id = self.nodes.border_id(right);
        self.divide_border(border, right, &entries, rank, kept);
        let mut separator = lowest;
        let mut named = right_id;
        for level in full.iter_mut().flatten() {
            if let Some(right) = level.right {
                let Parent {
                    interior,
                    latch,
                    index,
                } = &mut level.parent;
                let added = (*index, separator, named);
                separator = interior.split(latch, right, interior_kept, added);
                named = self.nodes.interior_id(right);
            }
        }
        if let Some(root) = new_root {
            let old_latch = match full.last_mut() {
                Some(Some(level)) => &mut level.parent.latch,
                _ => &mut latch,
            };
            old_latch.set_root(false);
            root.fill_pair(highest, separator, named);
        }
        self.name(top, new_root, separator, named, observer);
        self.report_change(border, before, &latch, observer);
        if O::ACTIVE {
            let id = self.nodes.border_id(border);
            observer.divided(id, NodeVersion::new(right_id, right_latch.next_version()));
        }
        Ok(())
    }

    /// Latches upwards from a full border up to the place where the topmost new node will be named.
    /// Returns that place, the full ancestors on the way, and the highest node that is split.
    fn latch_ancestors<'t, 'f>(
        &'t self,
        border: &Border,
        before: Version,
        newcomer: Newcomer<'_>,
        full: &'f mut [Option<Full<'t>>; HEIGHT_MAX],
    ) -> (Top<'t>, &'f mut [Option<Full<'t>>], NodeId) {
        let Newcomer { key, depth, .. } = newcomer;
        let mut full_len = 0;
        let mut child = self.nodes.border_id(border);
        let mut child_version = before;
        let top = loop {
            if child_version.is_root() {
                break match depth {
                    0 => Top::Tree,
                    _ => Top::Layer(self.latch_link(key, depth, child)),
                };
            }
            let parent = self.latch_parent(key, depth, border.lowest(), child);
            child_version = parent.latch.version();
            if child_version.count() < INTERIOR_KEYS {
                break Top::Parent(parent);
            }
            child = self.nodes.interior_id(parent.interior);
            full[full_len] = Some(Full {
                parent,
                right: None,
            });
            full_len += 1;
        };
        (top, &mut full[..full_len], child)
    }

    /// Names the topmost new node, which has the keys from `separator` on, or the new root above
    /// it.
    fn name<O: Observer>(
        &self,
        top: Top<'_>,
        new_root: Option<&Interior>,
        separator: u64,
        named: NodeId,
        observer: &mut O,
    ) {
        match (top, new_root) {
            (Top::Parent(mut parent), _) => {
                parent
                    .interior
                    .insert(&mut parent.latch, parent.index, separator, named);
            }
            (Top::Tree, Some(root)) => self.set_root(self.nodes.interior_id(root)),
            (Top::Layer(mut link), Some(root)) => {
                let before = link.latch.version();
                link.latch.inserting();
                let id = self.nodes.interior_id(root);
                link.border.replace(link.slot, Code::LAYER, id.0.into());
                self.report_change(link.border, before, &link.latch, observer);
            }
            (Top::Tree | Top::Layer(_), None) => unreachable!("phase 2 made a root"),
        }
    }

    /// Allocates the right siblings of full ancestors, and the new root if one is needed.
    fn allocate_interiors<'t>(
        &'t self,
        local: &Local,
        full: &mut [Option<Full<'t>>],
        kept: usize,
        top: &Top<'_>,
    ) -> Result<Option<&'t Interior>, Exhausted> {
        let moved = INTERIOR_KEYS - kept;
        for level in full.iter_mut().flatten() {
            let over_borders = level.parent.latch.version().is_over_borders();
            let version = Version::new_interior(over_borders, moved);
            level.right = Some(self.nodes.new_interior(local, version)?);
        }
        Ok(match top {
            Top::Parent(_) => None,
            Top::Tree | Top::Layer(_) => {
                let version = Version::new_interior(full.is_empty(), 1).rooted();
                Some(self.nodes.new_interior(local, version)?)
            }
        })
    }

    /// Moves the entries from `kept` on to `right` and links it.
    fn divide_border(
        &self,
        border: &Border,
        right: &Border,
        entries: &[Entry; BORDER_SLOTS + 1],
        rank: usize,
        kept: usize,
    ) {
        for (rank, &entry) in entries[kept..].iter().enumerate() {
            right.insert(rank, entry);
        }
        if rank < kept {
            border.truncate(kept - 1);
            border.insert(rank, entries[rank]);
        } else {
            border.truncate(kept);
        }
        let right_id = self.nodes.border_id(right);
        right.set_prev(self.nodes.border_id(border));
        right.set_next(border.next());
        if let Some(next) = border.next().some() {
            self.nodes.at(next).border().set_prev(right_id);
        }
        border.set_next(right_id);
    }
}

/// Returns the entries of a full border and the new one, in order.
fn ordered(border: &Border, rank: usize, entry: Entry) -> [Entry; BORDER_SLOTS + 1] {
    let mut entries = [entry; BORDER_SLOTS + 1];
    for (i, slot) in border.permutation().slots().enumerate() {
        entries[i + usize::from(i >= rank)] = border.entry(slot);
    }
    entries
}

/// Returns how many of the entries stay left. Both sides get at least one, and entries of one slice
/// stay together.
fn split_point(
    entries: &[Entry; BORDER_SLOTS + 1],
    at_right_end: bool,
    at_left_end: bool,
) -> usize {
    let separates = |kept: usize| entries[kept - 1].slice != entries[kept].slice;
    if at_right_end && separates(BORDER_SLOTS) {
        return BORDER_SLOTS;
    }
    if at_left_end && separates(1) {
        return 1;
    }
    const MIDDLE: usize = BORDER_SLOTS.div_ceil(2);
    let near_middle = (0..MIDDLE).flat_map(|distance| [MIDDLE - distance, MIDDLE + distance]);
    for kept in near_middle {
        if separates(kept) {
            return kept;
        }
    }
    unreachable!("more than ten entries of one slice in a border")
}
