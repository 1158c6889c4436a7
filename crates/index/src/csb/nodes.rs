//! Nodes, and groups of them.

use std::{collections::TryReserveError, fmt};

/// Codes of a leaf: with their number and fingerprints, one line.
pub(super) const LEAF_CODES: usize = 12;

/// Form in which inner nodes hold a value: of one size, and as many as fit into a node. Sealed: searches rely on a
/// node's keys being as many as [`Separator::COUNT`].
pub trait Separator: Copy + sealed::Sealed {
    /// Separators of a node.
    type Keys: Copy + AsRef<[Self]> + AsMut<[Self]> + Send + Sync;

    /// Number of separators of a node, at least 3.
    const COUNT: usize;

    /// Returns an array of keys, to be overwritten.
    fn keys(self) -> Self::Keys;
}

/// Bytes of the separators of a node: two lines without its other fields.
const KEYS_BYTES: usize = 120;
const KEYS_MAX: usize = 30;

pub(super) const fn keys_of<T>() -> usize {
    let count = KEYS_BYTES / size_of::<T>();
    if count > KEYS_MAX { KEYS_MAX } else { count }
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! separators {
    ($($type:ty),* $(,)?) => {$(
        impl sealed::Sealed for $type {}

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
    /// Group of the node's children.
    pub(super) first: u32,
    /// Separators in use.
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
    /// Codes in use.
    pub(super) count: u32,
    /// Fingerprints of the codes' values.
    pub(super) fingerprints: [u8; LEAF_CODES],
    pub(super) codes: [u32; LEAF_CODES],
}

const _: () = assert!(size_of::<Leaf>() == 64);

impl Leaf {
    pub(super) const EMPTY: Leaf = Leaf {
        count: 0,
        fingerprints: [0; LEAF_CODES],
        codes: [0; LEAF_CODES],
    };

    /// Adds a code behind the others; there must be room.
    pub(super) fn push(&mut self, code: u32, fingerprint: u8) {
        self.insert(self.count as usize, code, fingerprint);
    }

    /// Adds a code before the code at place `at`; there must be room.
    pub(super) fn insert(&mut self, at: usize, code: u32, fingerprint: u8) {
        let count = self.count as usize;
        self.codes.copy_within(at..count, at + 1);
        self.codes[at] = code;
        self.fingerprints.copy_within(at..count, at + 1);
        self.fingerprints[at] = fingerprint;
        self.count += 1;
    }

    /// Takes the codes from place `at` on out; returns a leaf of them.
    pub(super) fn split_off(&mut self, at: usize) -> Leaf {
        let count = self.count as usize;
        let mut second = Leaf::EMPTY;
        second.codes[..count - at].copy_from_slice(&self.codes[at..count]);
        second.fingerprints[..count - at].copy_from_slice(&self.fingerprints[at..count]);
        (self.count, second.count) = (at as u32, (count - at) as u32);
        second
    }

    /// Returns a bit for each code whose value may have this fingerprint.
    #[inline(always)]
    pub(super) fn candidates(&self, fingerprint: u8) -> u32 {
        let all = (1 << self.count) - 1;
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: the load is of the first 16 bytes of a leaf, which are its count and fingerprints (asserted above);
        // SSE2 is part of x86-64.
        let equal = unsafe {
            use std::arch::x86_64::{
                __m128i, _mm_cmpeq_epi8, _mm_load_si128, _mm_movemask_epi8, _mm_set1_epi8,
            };
            let header = _mm_load_si128((&raw const *self).cast::<__m128i>());
            let equal = _mm_cmpeq_epi8(header, _mm_set1_epi8(fingerprint as i8));
            _mm_movemask_epi8(equal) as u32 >> size_of::<u32>()
        };
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let equal = self.equal(fingerprint);
        equal & all
    }

    /// Returns a bit for each fingerprint that equals `fingerprint`.
    #[cfg(any(test, not(target_arch = "x86_64"), miri))]
    pub(super) fn equal(&self, fingerprint: u8) -> u32 {
        let bits = self.fingerprints.iter().enumerate();
        bits.fold(0, |bits, (at, &one)| {
            bits | u32::from(one == fingerprint) << at
        })
    }

    pub(super) fn codes(&self) -> &[u32] {
        &self.codes[..self.count as usize]
    }
}

/// Bytes allocated at a time, roughly: a few huge pages.
const CHUNK_BYTES: usize = 8 << 20;

/// Groups of nodes, which stay where they are.
#[derive(Clone, Debug)]
pub(super) struct Pool<T> {
    /// Chunks, each of as many groups except the last.
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

    /// Returns the bytes of all groups.
    pub(super) fn bytes(&self) -> usize {
        self.groups as usize * self.group_nodes * size_of::<T>()
    }

    /// Adds another group, filled with `node`, and returns its number.
    ///
    /// # Errors
    /// [`TryReserveError`] if memory is lacking; nothing has changed.
    pub(super) fn add(&mut self, node: T) -> Result<u32, TryReserveError> {
        let chunk_nodes = self.group_nodes << self.chunk_shift;
        let is_full = |chunk: &Vec<T>| chunk.len() == chunk_nodes;
        if self.chunks.last().is_none_or(is_full) {
            self.chunks.try_reserve(1)?;
            // The first chunk grows: a small tree is to be small.
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

    /// Returns a node of a group that was added.
    #[inline(always)]
    pub(super) fn node(&self, group: u32, at: usize) -> &T {
        debug_assert!(group < self.groups && at < self.group_nodes);
        let (chunk, at) = self.place(group, at);
        // SAFETY: all groups that have numbers are in chunks, whole, and are never taken out; numbers come
        // from `add` alone, and places within a group from counts that are less than its nodes.
        unsafe { self.chunks.get_unchecked(chunk).get_unchecked(at) }
    }

    /// Returns a node whose number may be one of another tree's.
    ///
    /// # Panics
    /// Panics if there is no such node.
    pub(super) fn checked(&self, group: u32, at: usize) -> &T {
        let (chunk, at) = self.place(group, at);
        &self.chunks[chunk][at]
    }

    pub(super) fn node_mut(&mut self, group: u32, at: usize) -> &mut T {
        let (chunk, at) = self.place(group, at);
        &mut self.chunks[chunk][at]
    }

    /// Returns all nodes of a group.
    pub(super) fn group_mut(&mut self, group: u32) -> &mut [T] {
        let (chunk, at) = self.place(group, 0);
        &mut self.chunks[chunk][at..at + self.group_nodes]
    }
}
