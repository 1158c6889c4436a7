//! A CSB+-tree: a B+-tree whose nodes name their children by one number, because these lie side by
//! side (Rao and Ross, "Making B+-trees cache conscious in main memory", SIGMOD 2000), in the
//! form of a column store's Delta dictionary (paper 003 sections 2.1 and 5.5).
//!
//! Values lie elsewhere, in an array in order of arrival that the caller owns ([`Values`]); the leaves hold the values'
//! places in it, *codes*. Comparing with a value of a leaf is therefore one more access: a lookup suspends at each node
//! below the root and at each value that it compares with.
//!
//! In addition to the paper's form, a leaf has a byte of a hash beside each code: a lookup compares with the value that
//! it finds and seldom with another one, for an absent key with none. A search by comparisons, as in the paper, costs
//! three to four accesses in place of one, and took up to twice as long, sequentially and interleaved
//! (`benches/csb.rs`; it is kept as `CodesOnly`, behind the feature `baselines`). Insertions do search by comparisons.
//!
//! | part | file |
//! | --- | --- |
//! | nodes, groups of them, their numbers | `nodes.rs` |
//! | building from sorted codes | `bulk.rs` |
//! | inserting, splitting | `insert.rs` |
//! | all codes, some at a time | `cursor.rs` |
//! | arrays of values | `values.rs` |
//!
//! # Shape
//! A node with `n` separators has `n + 1` children, which are the first ones of a *group* of nodes; the separator
//! between two children is not greater than any value of the second child, and greater than all values of the first. An
//! inner node is two lines, a leaf one. All leaves are equally deep. A group has room for as many nodes as a parent can
//! have children (a *full* CSB+-tree: it trades memory for splits that move nodes within a group).

mod bulk;
mod cursor;
mod insert;
mod nodes;
mod values;

#[cfg(all(test, not(loom)))]
mod tests;

use std::cmp::Ordering;

use interleave::{Lookup, Point, Policy};

use self::nodes::{Inner, LEAF_CODES, Leaf, Pool};

pub use cursor::Cursor;
pub use nodes::Separator;
pub use values::{HeapError, Prefix, Stored, StringHeap, Values};

const INNER: Point = Point::new("csb inner node");
const LEAF: Point = Point::new("csb leaf");
const VALUE: Point = Point::new("csb value");

/// Maximum inner levels of a tree: each inner node has at least four children.
const HEIGHT_MAX: usize = 16;

/// A tree of codes. `S` is the form in which inner nodes hold values.
#[derive(Clone, Debug)]
pub struct CsbTree<S: Separator> {
    inner: Pool<Inner<S>>,
    leaves: Pool<Leaf>,
    /// Group whose first node is the root; a group of leaves if the height is 0.
    root: u32,
    height: usize,
    len: usize,
}

impl<S: Separator> Default for CsbTree<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Separator> CsbTree<S> {
    /// Maximum children of a node.
    const FAN_OUT: usize = S::COUNT + 1;

    /// Returns an empty tree. Nothing is allocated.
    pub fn new() -> Self {
        Self {
            inner: Pool::new(Self::FAN_OUT),
            leaves: Pool::new(Self::FAN_OUT),
            root: 0,
            height: 0,
            len: 0,
        }
    }

    /// Returns the number of codes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no codes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of levels of inner nodes.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Returns the bytes of all groups.
    pub fn bytes(&self) -> usize {
        self.inner.bytes() + self.leaves.bytes()
    }

    /// Returns the tree over `values`, to be looked up in. The values must be those that the tree's codes stand for.
    pub fn over<'t, V: Stored<Separator = S>>(&'t self, values: &'t V) -> Over<'t, V> {
        Over { tree: self, values }
    }

    /// Returns the codes, in the order of their values.
    pub fn codes(&self) -> impl Iterator<Item = u32> + '_ {
        let mut cursor = Cursor::new();
        std::iter::from_fn(move || cursor.next(self))
    }
}

/// A tree with the values that its codes stand for.
#[derive(Debug)]
pub struct Over<'t, V: Stored> {
    tree: &'t CsbTree<V::Separator>,
    values: &'t V,
}

impl<V: Stored> Clone for Over<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V: Stored> Copy for Over<'_, V> {}

/// Tells whether a separator is not greater than the key. Suspends if the value decides.
macro_rules! is_at_most {
    ($policy:ty, $values:expr, $separator:expr, $key:expr) => {{
        let separator = $separator;
        match $values.compare_separator(separator, $key) {
            Ok(ordering) => ordering != Ordering::Greater,
            Err(code) => {
                let (address, bytes) = $values.address(code);
                <$policy>::touch(VALUE, address, bytes).await;
                $values.compare(code, $key) != Ordering::Greater
            }
        }
    }};
}

/// Goes down to the leaf where a key belongs, and touches it. A macro, so that it is a part of the coroutine it stands
/// in.
macro_rules! descend {
    ($policy:ty, $over:expr, $key:expr) => {{
        let Over { tree, values } = *$over;
        let (mut group, mut at) = (tree.root, 0);
        for depth in 0..tree.height {
            let node = tree.inner.node(group, at);
            if depth > 0 {
                <$policy>::touch(INNER.at(depth as u8), node, size_of_val(node)).await;
            }
            let (mut low, mut size) = (0, node.count as usize);
            while size > 0 {
                let half = size.div_ceil(2);
                // SAFETY: the index is within the separators that the node has.
                let separator = unsafe { *node.keys.as_ref().get_unchecked(low + half - 1) };
                let passes = is_at_most!($policy, values, separator, $key);
                low = std::hint::select_unpredictable(passes, low + half, low);
                size = std::hint::select_unpredictable(passes, size - half, half - 1);
            }
            (group, at) = (node.first, low);
        }
        let leaf = tree.leaves.node(group, at);
        if tree.height > 0 {
            <$policy>::touch(LEAF, leaf, size_of_val(leaf)).await;
        }
        leaf
    }};
}

/// Finds the code of the value that equals the key.
impl<K: Copy, V: Values<K>> Lookup<K> for Over<'_, V> {
    type Found = Option<u32>;

    #[inline(always)]
    async fn look_up<P: Policy>(&self, key: K) -> Option<u32> {
        if self.tree.is_empty() {
            return None;
        }
        let leaf = descend!(P, self, key);
        let mut candidates = leaf.candidates(V::fingerprint(key));
        while candidates != 0 {
            // SAFETY: only codes have bits.
            let code = unsafe {
                *leaf
                    .codes
                    .get_unchecked(candidates.trailing_zeros() as usize)
            };
            let (address, bytes) = self.values.address(code);
            P::touch(VALUE, address, bytes).await;
            if self.values.compare(code, key) == Ordering::Equal {
                return Some(code);
            }
            candidates &= candidates - 1;
        }
        None
    }
}

/// Lookup in a tree whose leaves hold only codes, as those of paper 003 section 5.5 do: a binary search in the leaf
/// compares with values.
#[cfg(feature = "baselines")]
pub struct CodesOnly<'t, V: Stored>(pub Over<'t, V>);

#[cfg(feature = "baselines")]
impl<K: Copy, V: Values<K>> Lookup<K> for CodesOnly<'_, V> {
    type Found = Option<u32>;

    #[inline(always)]
    async fn look_up<P: Policy>(&self, key: K) -> Option<u32> {
        let over = &self.0;
        if over.tree.is_empty() {
            return None;
        }
        let leaf = descend!(P, over, key);
        let (mut low, mut size) = (0, leaf.count as usize);
        while size > 0 {
            let half = size / 2;
            let code = leaf.codes[low + half];
            let (address, bytes) = over.values.address(code);
            P::touch(VALUE, address, bytes).await;
            match over.values.compare(code, key) {
                Ordering::Equal => return Some(code),
                Ordering::Less => {
                    low += half + 1;
                    size -= half + 1;
                }
                Ordering::Greater => size = half,
            }
        }
        None
    }
}
