//! A search tree in an array: the children of `n` are `2n + 1` and `2n + 2`.

pub(crate) struct Tree(pub(crate) Vec<u64>);

impl Tree {
    pub(crate) fn look_up(&self, key: u64) -> Option<usize> {
        let mut at = 0;
        while let Some(node) = self.0.get(at) {
            if *node == key {
                return Some(at);
            }
            at = 2 * at + if key < *node { 1 } else { 2 };
        }
        None
    }
}

pub(crate) fn look_up_all(tree: &Tree, keys: &[u64], found: &mut [Option<usize>]) {
    (keys.iter().enumerate()).for_each(|(at, key)| found[at] = tree.look_up(*key));
}
