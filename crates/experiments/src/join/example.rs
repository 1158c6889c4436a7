//! A user's own lookup, before and after interleaving.

pub(super) mod interleaved;
pub(super) mod sequential;

#[cfg(test)]
mod tests {
    use super::{interleaved, sequential};

    #[test]
    fn both_find_the_same() {
        // Two levels of a search tree; places beyond them are missing children.
        let nodes = vec![50, 20, 80, 10, 30, 70, 90];
        let keys: Vec<u64> = (0..200).map(|n| n % 100).collect();
        let mut expected = vec![None; keys.len()];
        let before = sequential::Tree(nodes.clone());
        sequential::look_up_all(&before, &keys, &mut expected);
        for (key, place) in keys.iter().zip(&expected) {
            assert_eq!(*place, nodes.iter().position(|node| node == key));
        }
        let mut places = vec![None; keys.len()];
        interleaved::look_up_all(&interleaved::Tree(nodes), &keys, &mut places);
        assert_eq!(places, expected);
    }
}
