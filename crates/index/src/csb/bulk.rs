//! Building a tree from codes that are sorted by their values.

use std::collections::TryReserveError;

use super::{CsbTree, Inner, LEAF_CODES, Leaf, Separator, Stored};

impl<S: Separator> CsbTree<S> {
    /// Builds a tree of `codes`, which are in ascending order of their values, no two of which are
    /// equal. Nodes are filled to `fill_percent`, 50 to 100: later insertions split full ones.
    ///
    /// # Errors
    /// [`TryReserveError`] if memory is lacking.
    ///
    /// # Panics
    /// Panics if `fill_percent` is out of range.
    pub fn bulk_load<V: Stored<Separator = S>>(
        values: &V,
        codes: impl ExactSizeIterator<Item = u32>,
        fill_percent: u32,
    ) -> Result<Self, TryReserveError> {
        assert!(
            (50..=100).contains(&fill_percent),
            "nodes are filled to 50 to 100 %"
        );
        let filled = |room: usize| (room * fill_percent as usize).div_ceil(100).max(2);
        let (per_leaf, children) = (filled(LEAF_CODES), filled(Self::FAN_OUT));
        let mut tree = Self::new();
        tree.len = codes.len();
        if tree.len == 0 {
            return Ok(tree);
        }
        // Smallest value of each node of the level that is being built; the group of a node is its
        // number divided by `children`.
        let mut smallest: Vec<S> = memory::on_huge_pages(tree.len.div_ceil(per_leaf))?;
        let mut groups = Vec::new();
        let mut leaf = Leaf::EMPTY;
        let mut codes = codes.peekable();
        while let Some(code) = codes.next() {
            if leaf.count == 0 {
                smallest.push(values.separator(code));
            }
            leaf.push(code, values.fingerprint_of(code));
            if leaf.count as usize == per_leaf || codes.peek().is_none() {
                let at = (smallest.len() - 1) % children;
                if at == 0 {
                    groups.push(tree.leaves.add(Leaf::EMPTY)?);
                }
                let group = groups.last().copied().expect("one was pushed");
                *tree.leaves.node_mut(group, at) = leaf;
                leaf = Leaf::EMPTY;
            }
        }
        while groups.len() > 1 || smallest.len() > 1 {
            (smallest, groups) = tree.add_level(&smallest, &groups, children)?;
        }
        tree.root = groups[0];
        Ok(tree)
    }

    /// Adds a level of inner nodes above a level whose smallest separators and groups are given;
    /// returns the separators and groups of the new level.
    fn add_level(
        &mut self,
        below: &[S],
        below_groups: &[u32],
        children: usize,
    ) -> Result<(Vec<S>, Vec<u32>), TryReserveError> {
        let mut smallest = memory::on_huge_pages(below_groups.len())?;
        let mut groups = Vec::new();
        for (&first, of_node) in below_groups.iter().zip(below.chunks(children)) {
            let at = smallest.len() % children;
            let mut node: Inner<S> = Inner {
                first,
                count: of_node.len() as u32 - 1,
                keys: of_node[0].keys(),
            };
            node.keys.as_mut()[..of_node.len() - 1].copy_from_slice(&of_node[1..]);
            if at == 0 {
                groups.push(self.inner.add(node)?);
            }
            let group = groups.last().copied().expect("one was pushed");
            *self.inner.node_mut(group, at) = node;
            smallest.push(of_node[0]);
        }
        self.height += 1;
        Ok((smallest, groups))
    }
}
