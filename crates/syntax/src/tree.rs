//! Syntax trees that can be dropped anywhere.

use std::ops::Deref;

use crate::phase;

/// A text with more tokens may have a tree that is too deep for a worker's stack.
pub const SHALLOW_TOKENS: usize = 128;

/// A syntax tree, of a statement or of another thing that the parser makes.
pub struct Tree<T> {
    /// Always there, but for the drop.
    root: Option<Box<T>>,
    is_deep: bool,
}

impl<T> Tree<T> {
    /// The tree of so many tokens.
    pub fn new(root: T, tokens: usize) -> Self {
        Self {
            root: Some(Box::new(root)),
            is_deep: tokens > SHALLOW_TOKENS,
        }
    }
}

impl<T> Deref for Tree<T> {
    type Target = T;

    fn deref(&self) -> &T {
        let root = self.root.as_deref();
        root.expect("only the drop of a tree takes its root")
    }
}

impl<T> Drop for Tree<T> {
    fn drop(&mut self) {
        if !self.is_deep {
            return;
        }
        let dropped = phase::at_once(|| {
            drop(self.root.take());
            Ok(())
        });
        if dropped.is_err() {
            // Without a stack the tree's memory is lost, which is better than the process.
            std::mem::forget(self.root.take());
        }
    }
}
