//! Inserting a code.
//!
//! On the way down, each full child is split before it is entered, so that a parent always has room for one more: a
//! split changes a node, its parent and their two groups, and nothing above. The memory for a split is allocated before
//! anything is changed.

use std::{cmp::Ordering, collections::TryReserveError};

use interleave::{Lookup as _, Sequential, run_inline};

use super::{CsbTree, HEIGHT_MAX, Inner, LEAF_CODES, Leaf, Separator, Values};

impl<S: Separator> CsbTree<S> {
    /// Inserts the code of a value that equals `key`, unless such a value is there already: then returns its code. The
    /// new value must be among the values.
    ///
    /// # Errors
    /// [`TryReserveError`] if memory is lacking. The code is not in the tree, and all others are.
    pub fn insert<K: Copy, V: Values<K, Separator = S>>(
        &mut self,
        values: &V,
        key: K,
        code: u32,
    ) -> Result<Option<u32>, TryReserveError> {
        if let Some(there) = run_inline(self.over(values).look_up::<Sequential>(key)) {
            return Ok(Some(there));
        }
        self.insert_absent(values, key, code)?;
        Ok(None)
    }

    /// Inserts the code of a value that equals `key`, and is known not to be there. (If it is there, either code may be
    /// found from then on.) The new value must be among the values.
    ///
    /// # Errors
    /// [`TryReserveError`] if memory is lacking. The code is not in the tree, and all others are.
    pub fn insert_absent<K: Copy, V: Values<K, Separator = S>>(
        &mut self,
        values: &V,
        key: K,
        code: u32,
    ) -> Result<(), TryReserveError> {
        if self.len == 0 {
            self.root = self.leaves.add(Leaf::EMPTY)?;
        }
        self.make_room_in_root(values)?;
        let (mut group, mut at) = (self.root, 0);
        for below in (0..self.height).rev() {
            let mut child = self.child_for(values, group, at, key);
            if self.is_full(below, self.inner.node(group, at).first, child) {
                self.split(values, below, group, at, child)?;
                child = self.child_for(values, group, at, key);
            }
            (group, at) = (self.inner.node(group, at).first, child);
        }
        let leaf = self.leaves.node_mut(group, at);
        let count = leaf.count as usize;
        let place = leaf.codes[..count]
            .partition_point(|&other| values.compare(other, key) == Ordering::Less);
        leaf.insert(place, code, V::fingerprint(key));
        self.len += 1;
        Ok(())
    }

    fn is_full(&self, height: usize, group: u32, at: usize) -> bool {
        match height {
            0 => self.leaves.node(group, at).count as usize == LEAF_CODES,
            _ => self.inner.node(group, at).count as usize == S::COUNT,
        }
    }

    /// Returns the child of a node that a key belongs to.
    fn child_for<K: Copy, V: Values<K, Separator = S>>(
        &self,
        values: &V,
        group: u32,
        at: usize,
        key: K,
    ) -> usize {
        let node = self.inner.node(group, at);
        let separators = &node.keys.as_ref()[..node.count as usize];
        separators.partition_point(|&separator| {
            let ordering = values.compare_separator(separator, key);
            ordering.unwrap_or_else(|code| values.compare(code, key)) != Ordering::Greater
        })
    }

    /// Splits a full root: the root becomes the first child of a new root, in the group where it is.
    fn make_room_in_root<V: super::Stored<Separator = S>>(
        &mut self,
        values: &V,
    ) -> Result<(), TryReserveError> {
        if !self.is_full(self.height, self.root, 0) {
            return Ok(());
        }
        assert!(self.height < HEIGHT_MAX, "codes of 32 bits need no more");
        let some = match self.height {
            0 => values.separator(self.leaves.node(self.root, 0).codes[0]),
            _ => self.inner.node(self.root, 0).keys.as_ref()[0],
        };
        let root = self.inner.add(Inner {
            first: self.root,
            count: 0,
            keys: some.keys(),
        })?;
        (self.root, self.height) = (root, self.height + 1);
        // If there is no memory for this split, the root has one child, which is all right.
        self.split(values, self.height - 1, root, 0, 0)
    }

    /// Splits the full `child` of a node that has room; `height` is that of the child.
    fn split<V: super::Stored<Separator = S>>(
        &mut self,
        values: &V,
        height: usize,
        group: u32,
        at: usize,
        child: usize,
    ) -> Result<(), TryReserveError> {
        let parent = *self.inner.node(group, at);
        let children = parent.count as usize + 1;
        let separator = match height {
            0 => self.split_leaf(values, parent.first, child, children),
            _ => self.split_inner(height, parent.first, child, children)?,
        };
        let parent = self.inner.node_mut(group, at);
        let count = parent.count as usize;
        let keys = parent.keys.as_mut();
        keys.copy_within(child..count, child + 1);
        keys[child] = separator;
        parent.count += 1;
        Ok(())
    }

    /// Moves the second half of a leaf's codes to a new leaf behind it; returns the separator between the two.
    fn split_leaf<V: super::Stored<Separator = S>>(
        &mut self,
        values: &V,
        group: u32,
        at: usize,
        nodes: usize,
    ) -> S {
        let leaves = self.leaves.group_mut(group);
        leaves.copy_within(at + 1..nodes, at + 2);
        let half = LEAF_CODES / 2;
        let second = leaves[at].split_off(half);
        leaves[at + 1] = second;
        values.separator(second.codes[0])
    }

    /// Moves the second half of an inner node's children to a group of their own, below a new node behind it; returns
    /// the separator between the two nodes.
    fn split_inner(
        &mut self,
        height: usize,
        group: u32,
        at: usize,
        nodes: usize,
    ) -> Result<S, TryReserveError> {
        let node = *self.inner.node(group, at);
        // Half of the separators stay, and one more child.
        let half = S::COUNT / 2;
        let moved = half + 1..Self::FAN_OUT;
        let first = match height {
            1 => {
                let first = self.leaves.add(Leaf::EMPTY)?;
                move_nodes(&mut self.leaves, node.first, first, moved);
                first
            }
            _ => {
                let first = self.inner.add(node)?;
                move_nodes(&mut self.inner, node.first, first, moved);
                first
            }
        };
        let keys = node.keys.as_ref();
        let mut second: Inner<S> = Inner {
            first,
            count: (S::COUNT - half - 1) as u32,
            keys: node.keys,
        };
        second.keys.as_mut()[..S::COUNT - half - 1].copy_from_slice(&keys[half + 1..]);
        let siblings = self.inner.group_mut(group);
        siblings.copy_within(at + 1..nodes, at + 2);
        siblings[at].count = half as u32;
        siblings[at + 1] = second;
        Ok(keys[half])
    }
}

/// Copies some nodes of a group to the beginning of another one.
fn move_nodes<T: Copy>(
    pool: &mut super::Pool<T>,
    from: u32,
    to: u32,
    nodes: std::ops::Range<usize>,
) {
    for (at, node) in nodes.enumerate() {
        *pool.node_mut(to, at) = *pool.node(from, node);
    }
}
