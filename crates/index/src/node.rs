//! Nodes: their names, where they live, and the only place with raw pointers.
//!
//! A node is a block of the arena and is named by a [`NodeId`], its distance
//! from the arena's base in cache lines. There are two kinds, [`Interior`] (3
//! lines) and [`Border`] (5 lines), both starting with a version word; and there
//! are suffix records, which are no nodes (see `suffix.rs`).
//!
//! # Invariants
//! - *Validated links*: an id is followed only after the node it was read from
//!   was found unchanged since a stable version. Such an id named a node that was
//!   linked at that moment, and the epoch pin that every operation holds keeps
//!   its memory a node of the same kind until the operation ends.
//! - *Borders stay borders*: their memory serves nothing else, and the version word goes on
//!   counting when it is used again. A check whether a border is unchanged therefore needs no pin
//!   ([`crate::NodeVersion::is_current`]).
//! - *All atomic*: every field of a node that other threads can see is an atomic. A reader may see
//!   a mixture of old and new fields, never a torn one.

mod border;
mod interior;
mod permutation;
mod search;
mod suffix;
mod version;

#[cfg(all(test, loom))]
mod loom_tests;

use std::{marker::PhantomData, ptr::NonNull, sync::Arc};

use memory::{Arena, Exhausted, LINE_BYTES, Local, Purpose};

pub(crate) use border::{Border, Code, Entry};
pub(crate) use interior::Interior;
pub(crate) use permutation::Permutation;
pub(crate) use suffix::{Suffix, SuffixWord};
pub(crate) use version::{Latch, Version, VersionWord};

/// Entries of a border node.
pub(crate) const BORDER_SLOTS: usize = 15;

/// Keys of an interior node.
pub(crate) const INTERIOR_KEYS: usize = 15;

pub(crate) const BORDER_BYTES: usize = 5 * LINE_BYTES;
pub(crate) const INTERIOR_BYTES: usize = 3 * LINE_BYTES;

/// Levels no layer ever exceeds: a level needs at least eight times as many insertions as the level
/// above, and no machine makes 2^64 of them.
pub(crate) const HEIGHT_MAX: usize = 24;

/// Name of a node: its distance from the arena's base in cache lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// No node. (A node has three lines or more, so no node starts at the last line that 32 bits
    /// can name.)
    pub(crate) const NONE: NodeId = NodeId(u32::MAX);

    #[inline(always)]
    pub(crate) fn is_some(self) -> bool {
        self != NodeId::NONE
    }

    pub(crate) fn some(self) -> Option<NodeId> {
        self.is_some().then_some(self)
    }
}

/// A node of either kind, for as long as `'n`, which no operation makes longer than its pin.
#[derive(Clone, Copy)]
pub(crate) struct NodeRef<'n> {
    address: NonNull<u8>,
    life: PhantomData<&'n Border>,
}

impl<'n> NodeRef<'n> {
    #[inline(always)]
    pub(crate) fn word(self) -> &'n VersionWord {
        // SAFETY: both kinds of node start with the version word; the memory is
        // a node for `'n` (*validated links*).
        unsafe { self.address.cast().as_ref() }
    }

    /// Returns the node as an interior node, which the caller has seen it to be.
    #[inline(always)]
    pub(crate) fn interior(self) -> &'n Interior {
        debug_assert!(!self.word().current().is_border());
        // SAFETY: the memory is a node for `'n`, as in `word`; the caller saw the kind, which never
        // changes.
        unsafe { self.address.cast().as_ref() }
    }

    /// Returns the node as a border node, which the caller has seen it to be.
    #[inline(always)]
    pub(crate) fn border(self) -> &'n Border {
        // SAFETY: the memory is a node for `'n`, as in `word`; the caller saw the kind, which never
        // changes.
        unsafe { self.address.cast().as_ref() }
    }
}

/// Turns names into references and blocks into nodes.
pub(crate) struct Nodes {
    base: NonNull<u8>,
    arena: Arc<Arena>,
}

// SAFETY: `base` is the address of memory owned by `arena`, which is Send and Sync; the memory is
// only reached through atomics.
unsafe impl Send for Nodes {}
// SAFETY: shared access reaches the memory through atomics only, as for Send.
unsafe impl Sync for Nodes {}

impl Nodes {
    pub(crate) fn new(arena: Arc<Arena>) -> Nodes {
        Nodes {
            base: arena.base(),
            arena,
        }
    }

    pub(crate) fn debug_assert_local(&self, local: &Local) {
        debug_assert!(
            Arc::ptr_eq(&self.arena, &local.arena()),
            "an index was used with a handle on another arena"
        );
    }

    /// Follows a validated link. Returns the node.
    #[inline(always)]
    pub(crate) fn at(&self, id: NodeId) -> NodeRef<'_> {
        debug_assert!(id.is_some());
        NodeRef {
            // SAFETY: ids are made by `id_of` from blocks of this arena only.
            address: unsafe { self.base.add(id.0 as usize * LINE_BYTES) },
            life: PhantomData,
        }
    }

    /// Returns the address of the node, for prefetches of links not validated yet.
    #[inline(always)]
    pub(crate) fn address(&self, id: NodeId) -> *const u8 {
        self.base.as_ptr().wrapping_add(id.0 as usize * LINE_BYTES)
    }

    #[inline(always)]
    fn id_of<T>(&self, node: &T) -> NodeId {
        let distance = (&raw const *node).addr() - self.base.as_ptr().addr();
        NodeId((distance / LINE_BYTES) as u32)
    }

    #[inline(always)]
    pub(crate) fn border_id(&self, node: &Border) -> NodeId {
        self.id_of(node)
    }

    pub(crate) fn interior_id(&self, node: &Interior) -> NodeId {
        self.id_of(node)
    }

    /// Allocates a border node with nothing in it.
    pub(crate) fn new_border(
        &self,
        local: &Local,
        version: Version,
        lowest: u64,
    ) -> Result<&Border, Exhausted> {
        let block = local
            .allocate(BORDER_BYTES, Purpose::Border)?
            .cast::<Border>();
        // SAFETY: the block has the size and alignment of a border; its content is zeros or a
        // former border, and both are valid borders for code that only stores into it.
        let border = unsafe { block.as_ref() };
        border.renew(version, lowest);
        Ok(border)
    }

    /// Allocates an interior node without children.
    pub(crate) fn new_interior(
        &self,
        local: &Local,
        version: Version,
    ) -> Result<&Interior, Exhausted> {
        let block = local.allocate(INTERIOR_BYTES, Purpose::Index)?.cast();
        // SAFETY: as in `new_border`.
        unsafe {
            block.write(Interior::new(version));
            Ok(block.as_ref())
        }
    }

    /// Returns the version word of a node that was a border once.
    #[inline]
    pub(crate) fn former_border(arena: &Arena, id: NodeId) -> &VersionWord {
        // SAFETY: callers ask only for borders' ids, made by `id_of` from blocks of this arena, and
        // those stay borders (*borders stay borders*).
        unsafe { arena.base().add(id.0 as usize * LINE_BYTES).cast().as_ref() }
    }

    /// Frees a border that was never linked.
    pub(crate) fn free_border(&self, local: &Local, border: &Border) {
        let block = NonNull::from(border).cast();
        // SAFETY: allocated by `new_border`; the caller never linked it.
        unsafe { local.free(block, BORDER_BYTES, Purpose::Border) };
    }

    /// Frees an interior node that was never linked.
    pub(crate) fn free_interior(&self, local: &Local, interior: &Interior) {
        let block = NonNull::from(interior).cast();
        // SAFETY: allocated by `new_interior`; the caller never linked it.
        unsafe { local.free(block, INTERIOR_BYTES, Purpose::Index) };
    }

    /// Gives a border that was unlinked to the epochs.
    pub(crate) fn retire_border(&self, local: &Local, border: &Border) {
        let block = NonNull::from(border).cast();
        // SAFETY: allocated by `new_border`; the caller, which alone set the deleted bit, has
        // unlinked the border from parent and neighbours.
        unsafe { local.retire(block, BORDER_BYTES, Purpose::Border) };
    }

    /// Gives an interior node that was unlinked to the epochs.
    pub(crate) fn retire_interior(&self, local: &Local, interior: &Interior) {
        let block = NonNull::from(interior).cast();
        // SAFETY: as in `retire_border`.
        unsafe { local.retire(block, INTERIOR_BYTES, Purpose::Index) };
    }
}
