//! Places in the order of a tree's codes, which are kept while the tree is not borrowed.

use super::{CsbTree, Separator};

/// A walk through the codes of a tree in the order of their values, as [`CsbTree::codes`] is, that borrows the tree
/// only for a step. The tree must be the same in each step, and unchanged; else any codes may come out.
#[derive(Clone, Debug, Default)]
pub struct Cursor {
    /// Path from the root down to a leaf: groups, the node in each, and how many nodes there are. Empty before the
    /// beginning and behind the end.
    path: Vec<(u32, usize, usize)>,
    /// Place of the next code in the leaf.
    at: usize,
    has_begun: bool,
}

impl Cursor {
    /// Returns a cursor at the beginning.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the next code.
    ///
    /// # Panics
    /// May panic if the tree is another one than before, or has been changed.
    pub fn next<S: Separator>(&mut self, tree: &CsbTree<S>) -> Option<u32> {
        if !self.has_begun {
            self.has_begun = true;
            if !tree.is_empty() {
                self.path.push((tree.root, 0, 1));
                self.go_down(tree);
            }
        }
        loop {
            let &(group, node, _) = self.path.last()?;
            let codes = tree.leaves.checked(group, node).codes();
            if let Some(&code) = codes.get(self.at) {
                self.at += 1;
                return Some(code);
            }
            self.at = 0;
            while let Some((_, node, nodes)) = self.path.last_mut() {
                *node += 1;
                if *node < *nodes {
                    break;
                }
                self.path.pop();
            }
            self.go_down(tree);
        }
    }

    /// Completes the path down to the first leaf below its end.
    fn go_down<S: Separator>(&mut self, tree: &CsbTree<S>) {
        while self.path.len() <= tree.height {
            let Some(&(group, node, _)) = self.path.last() else {
                return;
            };
            let inner = tree.inner.checked(group, node);
            self.path.push((inner.first, 0, inner.count as usize + 1));
        }
    }
}
