//! The comparison baselines, and groups that are interleaved where that pays, answer as `get` does.
#![cfg(feature = "baselines")]

use crate::in_memory;

use engine::{DatabaseConfig, Isolation};
use in_memory::in_memory;
use interleave::{GroupChoice, Interleaved, Sequential, run_inline};

#[test]
fn amac_coroutine_and_chosen_groups_answer_as_single_gets_do() {
    let (session, table) = in_memory(DatabaseConfig::with_memory(64 << 20));
    let load = session.begin(Isolation::Snapshot).unwrap();
    let key = |i: u64| match i % 3 {
        0 => i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec(),
        1 => format!("a key with a long common prefix {i:06}").into_bytes(),
        _ => vec![b'x'; (i % 100) as usize],
    };
    for i in (0..5000).step_by(2) {
        run_inline(load.upsert::<Sequential>(&table, &key(i), &i.to_le_bytes())).unwrap();
    }
    run_inline(load.commit()).unwrap();
    // The table has versions newer than the reader's snapshot, and uncommitted ones.
    let reader = session.begin(Isolation::Snapshot).unwrap();
    let writer = session.begin(Isolation::Snapshot).unwrap();
    for i in (0..5000).step_by(10) {
        run_inline(writer.upsert::<Sequential>(&table, &key(i), b"newer")).unwrap();
    }
    run_inline(writer.commit()).unwrap();
    let open = session.begin(Isolation::Snapshot).unwrap();
    for i in (1..5000).step_by(10) {
        run_inline(open.upsert::<Sequential>(&table, &key(i), b"uncommitted")).unwrap();
    }
    // The choice tries both ways first.
    let mut choice = GroupChoice::default();
    for group in (0..5000).collect::<Vec<u64>>().chunks(10) {
        let keys: Vec<Vec<u8>> = group.iter().map(|&i| key(i)).collect();
        let single: Vec<Option<Vec<u8>>> = keys
            .iter()
            .map(|key| {
                run_inline(reader.get::<Sequential, _>(&table, key, <[u8]>::to_vec)).unwrap()
            })
            .collect();
        let mut amac = vec![None; keys.len()];
        reader
            .multi_get_amac(&table, &keys, |i, value| amac[i] = Some(value.to_vec()))
            .unwrap();
        let mut coroutines = vec![None; keys.len()];
        reader
            .multi_get_coroutines(&table, &keys, |i, value| {
                coroutines[i] = Some(value.to_vec())
            })
            .unwrap();
        assert_eq!(amac, single);
        assert_eq!(coroutines, single);
        let mut chosen = vec![None; keys.len()];
        let found = reader.multi_get_by_choice::<Interleaved, _>(
            &table,
            keys.iter(),
            &mut choice,
            |i, value| chosen[i] = Some(value.to_vec()),
        );
        let found = run_inline(found).unwrap();
        assert_eq!(chosen, single);
        assert_eq!(found, single.iter().flatten().count());
    }
}
