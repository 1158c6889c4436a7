//! A search tree in an array: the children of `n` are `2n + 1` and `2n + 2`.

use interleave::{Interleaver, Lookup, Point, Policy};

pub(crate) struct Tree(pub(crate) Vec<u64>);

impl Lookup<u64> for Tree {
    type Found = Option<usize>;
    async fn look_up<P: Policy>(&self, key: u64) -> Option<usize> {
        let mut at = 0;
        while let Some(node) = self.0.get(at) {
            P::touch(Point::new("node"), node, 8).await;
            if *node == key {
                return Some(at);
            }
            at = 2 * at + if key < *node { 1 } else { 2 };
        }
        None
    }
}

pub(crate) fn look_up_all(tree: &Tree, keys: &[u64], found: &mut [Option<usize>]) {
    Interleaver::auto().look_up_all(tree, keys, |at, place| found[at] = place);
}
