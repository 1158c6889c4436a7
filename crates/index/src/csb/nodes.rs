//! Nodes, and groups of them.

use std::{collections::TryReserveError, fmt};

/// Codes of a leaf: with their number, one line.
pub(super) const LEAF_CODES: usize = 15;

/// What inner nodes have of a value: of one size, and as many as fit into a node.
pub trait Separator: Copy {
    /// Those of a node.
    type Keys: Copy + AsRef<[Self]> + AsMut<[Self]>;

    /// How many these are, at least 3.
    const COUNT: usize;

    /// Some keys, to be overwritten.
    fn keys(self) -> Self::Keys;
}

/// Bytes of the separators of a node: two lines without its other fields.
const KEYS_BYTES: usize = 120;
const KEYS_MAX: usize = 30;

pub(super) const fn keys_of<T>() -> usize {
    let count = KEYS_BYTES / size_of::<T>();
    if count > KEYS_MAX { KEYS_MAX } else { count }
}

macro_rules! separators {
    ($($type:ty),* $(,)?) => {$(
        impl Separator for $type {
            type Keys = [$type; keys_of::<$type>()];

            const COUNT: usize = keys_of::<$type>();

            #[inline]
            fn keys(self) -> Self::Keys {
                [self; keys_of::<$type>()]
            }
        }
    )*};
}

separators!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128);
separators!(
    super::values::Prefix,
    crate::sorted::TotalF32,
    crate::sorted::TotalF64
);

/// An inner node.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Inner<S: Separator> {
    /// The group of its children.
    pub(super) first: u32,
    /// Separators that it has.
    pub(super) count: u32,
    pub(super) keys: S::Keys,
}

impl<S: Separator> fmt::Debug for Inner<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Inner({} separators, children {})",
            self.count, self.first
        )
    }
}

/// A leaf.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Leaf {
    /// Codes that it has.
    pub(super) count: u32,
    pub(super) codes: [u32; LEAF_CODES],
}

impl Leaf {
    pub(super) const EMPTY: Leaf = Leaf {
        count: 0,
        codes: [0; LEAF_CODES],
    };

    pub(super) fn codes(&self) -> &[u32] {
        &self.codes[..self.count as usize]
    }
}

/// Bytes that are asked for at a time, about: a few huge pages.
const CHUNK_BYTES: usize = 8 << 20;

/// Groups of nodes, which stay where they are.
#[derive(Clone, Debug)]
pub(super) struct Pool<T> {
    /// Each of as many groups, but the last one.
    chunks: Vec<Vec<T>>,
    /// Nodes of a group.
    group_nodes: usize,
    /// Groups of a chunk: a power of two, as shift and mask.
    chunk_shift: u32,
    groups: u32,
}

impl<T: Copy> Pool<T> {
    pub(super) fn new(group_nodes: usize) -> Self {
        let groups = CHUNK_BYTES / (group_nodes * size_of::<T>());
        Self {
            chunks: Vec::new(),
            group_nodes,
            chunk_shift: groups.max(1).ilog2(),
            groups: 0,
        }
    }

    /// Bytes of all groups.
    pub(super) fn bytes(&self) -> usize {
        self.groups as usize * self.group_nodes * size_of::<T>()
    }

    /// Another group, filled with `node`.
    ///
    /// # Errors
    /// When there is no memory for it; nothing has changed.
    pub(super) fn add(&mut self, node: T) -> Result<u32, TryReserveError> {
        let chunk_nodes = self.group_nodes << self.chunk_shift;
        let is_full = |chunk: &Vec<T>| chunk.len() == chunk_nodes;
        if self.chunks.last().is_none_or(is_full) {
            self.chunks.try_reserve(1)?;
            // The first one grows: a small tree is to be small.
            let chunk = match self.chunks.is_empty() {
                true => Vec::new(),
                false => memory::on_huge_pages(chunk_nodes)?,
            };
            self.chunks.push(chunk);
        }
        let chunk = self.chunks.last_mut().expect("one was pushed");
        chunk.try_reserve(self.group_nodes)?;
        chunk.resize(chunk.len() + self.group_nodes, node);
        self.groups += 1;
        Ok(self.groups - 1)
    }

    #[inline(always)]
    fn place(&self, group: u32, at: usize) -> (usize, usize) {
        let chunk = (group >> self.chunk_shift) as usize;
        let within = group as usize & ((1 << self.chunk_shift) - 1);
        (chunk, within * self.group_nodes + at)
    }

    /// A node of a group that was added.
    #[inline(always)]
    pub(super) fn node(&self, group: u32, at: usize) -> &T {
        debug_assert!(group < self.groups && at < self.group_nodes);
        let (chunk, at) = self.place(group, at);
        // SAFETY: all groups that have numbers are in chunks, whole, and are never taken out; numbers come
        // from `add` alone, and places within a group from counts that are less than its nodes.
        unsafe { self.chunks.get_unchecked(chunk).get_unchecked(at) }
    }

    pub(super) fn node_mut(&mut self, group: u32, at: usize) -> &mut T {
        let (chunk, at) = self.place(group, at);
        &mut self.chunks[chunk][at]
    }

    /// All nodes of a group.
    pub(super) fn group_mut(&mut self, group: u32) -> &mut [T] {
        let (chunk, at) = self.place(group, 0);
        &mut self.chunks[chunk][at..at + self.group_nodes]
    }
}
