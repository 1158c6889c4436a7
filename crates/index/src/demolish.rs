//! Demolition of a tree that no thread uses any more, a little at a time.
//!
//! A tree consists only of nodes that are linked; nodes unlinked before are with the epochs
//! already. A walk from the root therefore meets each remaining block exactly once.

use memory::Local;

use crate::{
    node::{Code, NodeId},
    tree::Tree,
};

/// Progress of the demolition of one tree.
#[derive(Debug)]
pub struct Demolition {
    /// Nodes reachable only from here, not yet freed.
    nodes: Vec<NodeId>,
}

impl Tree {
    /// Begins to free all memory of the tree.
    ///
    /// # Safety
    /// No thread uses the tree from now on, and no pin is open under which a thread did. The
    /// demolition is begun once.
    pub unsafe fn demolish(&self) -> Demolition {
        Demolition {
            nodes: vec![self.root()],
        }
    }
}

impl Demolition {
    /// Frees some `budget` nodes of `tree`, the tree that the demolition is of; returns whether all
    /// are gone.
    pub fn go_on(&mut self, tree: &Tree, local: &Local, budget: usize) -> bool {
        tree.nodes.debug_assert_local(local);
        for _ in 0..budget {
            let Some(node) = self.nodes.pop() else {
                return true;
            };
            self.free(tree, local, node);
        }
        self.nodes.is_empty()
    }

    fn free(&mut self, tree: &Tree, local: &Local, node: NodeId) {
        let nodes = &tree.nodes;
        let version = nodes.at(node).word().current();
        if !version.is_border() {
            let interior = nodes.at(node).interior();
            let children = 0..=version.count();
            self.nodes
                .extend(children.map(|index| interior.child(index)));
            return nodes.free_interior(local, interior);
        }
        let border = nodes.at(node).border();
        for slot in border.permutation().slots() {
            let entry = border.entry(slot);
            match entry.code {
                Code::LAYER => self.nodes.push(entry.layer()),
                _ => tree.free_entry(local, entry),
            }
        }
        nodes.free_border(local, border);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use interleave::{Sequential, run_inline};
    use memory::{Arena, Epochs};

    use super::*;

    #[test]
    fn nothing_is_left_of_a_tree_of_layers_suffixes_and_levels() {
        let arena = Arena::new(64 << 20).unwrap();
        let local = Local::new(&arena, &Epochs::new());
        let tree = Tree::new(&local).unwrap();
        for number in 0..20_000_u64 {
            let mut key = b"a shared beginning ".repeat(number as usize % 4);
            key.extend_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
            key.extend_from_slice(&b"and an end of its own"[..number as usize % 20]);
            let pin = local.pin();
            run_inline(tree.insert::<Sequential>(&local, &pin, &key, number)).unwrap();
            if number % 3 == 0 {
                run_inline(tree.remove::<Sequential>(&local, &pin, &key, None));
            }
        }
        // SAFETY: this thread alone knows the tree.
        let mut demolition = unsafe { tree.demolish() };
        let mut calls = 0;
        while !demolition.go_on(&tree, &local, 64) {
            calls += 1;
        }
        assert!(calls > 20, "{calls}");
        while local.limbo_len() > 0 {
            local.quiesce();
        }
        assert_eq!(arena.usage().index_bytes, 0);
    }
}
