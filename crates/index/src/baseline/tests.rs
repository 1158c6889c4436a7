use memory::{Arena, Epochs, Local};

use super::*;

#[test]
fn all_forms_give_the_same_answers() {
    let local = Local::new(&Arena::new(64 << 20).unwrap(), &Epochs::new());
    let tree = Tree::new(&local).unwrap();
    let pin = local.pin();
    let keys: Vec<Vec<u8>> = (0..if cfg!(miri) { 300u64 } else { 20_000 })
        .map(|i| {
            let hash = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut key = vec![b'k'; (hash >> 60) as usize * 2];
            key.extend(hash.to_be_bytes());
            key
        })
        .collect();
    for (value, key) in keys.iter().enumerate().step_by(2) {
        run_inline(tree.insert::<Sequential>(&local, &pin, key, value as u64)).unwrap();
    }
    let expected: Vec<_> = (0..keys.len() as u64)
        .map(|i| (i % 2 == 0).then_some(i))
        .collect();
    let mut answers = vec![Some(77); keys.len()];
    multi_get_sequential(&tree, &pin, &keys, &mut answers);
    assert_eq!(answers, expected);
    for in_flight in [1, 7, 32] {
        answers.fill(Some(77));
        multi_get_amac(&tree, &pin, &keys, &mut answers, in_flight);
        assert_eq!(answers, expected);
        answers.fill(Some(77));
        multi_get_coroutines(&tree, &pin, &keys, &mut answers, in_flight);
        assert_eq!(answers, expected);
    }
}
