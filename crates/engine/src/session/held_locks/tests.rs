use std::collections::HashMap;

use super::*;

/// Expected content of the list, found by a search through all of it.
#[derive(Default)]
struct Model(Vec<(usize, Option<Strength>, Strength, bool)>);

impl Model {
    fn strength(&self, record: usize) -> Option<Strength> {
        let all = self.0.iter().rev();
        let mut found = all.filter(|(of, _, _, counts)| *of == record && *counts);
        found.next().map(|(_, _, strength, _)| *strength)
    }
}

fn place(record: usize) -> Place {
    Place::Record(std::ptr::without_provenance(64 * (record + 1)))
}

/// Locks of few records and of many are taken, given up and forgotten in any order.
#[test]
fn a_records_locks_are_found_however_many_there_are() {
    const STRENGTHS: [Strength; 4] = [
        Strength::KeyShare,
        Strength::Share,
        Strength::NoKeyUpdate,
        Strength::Update,
    ];
    let mut random = 7_u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (random >> 33) as usize % below
    };
    for records in [1, 5, 40, 1000] {
        let (mut locks, mut model) = (HeldLocks::default(), Model::default());
        let mut deepest = 0;
        for _ in 0..20_000 {
            let record = next(records);
            match next(10) {
                0..6 => {
                    let (before, strength) = (model.strength(record), STRENGTHS[next(4)]);
                    let strength = before.map_or(strength, |before| before.max(strength));
                    locks.push(place(record), strength, before.is_none());
                    model.0.push((record, before, strength, true));
                }
                6 => {
                    let (newest, expected) = (locks.pop(), model.0.pop());
                    assert_eq!(newest.is_some(), expected.is_some());
                    if let (Some(held), Some((of, before, strength, counts))) = (newest, expected) {
                        assert_eq!(held.place, counts.then(|| place(of)));
                        assert_eq!((held.before, held.strength), (before, strength));
                    }
                }
                7 => {
                    let weaker = |(of, before, strength, counts): &(_, _, _, _)| {
                        *of == record && *counts && *before < Some(*strength)
                    };
                    let newest = (model.0.iter())
                        .rposition(|(of, _, _, counts)| *of == record && *counts)
                        .filter(|at| weaker(&model.0[*at]));
                    let given_up = locks.give_up(place(record));
                    assert_eq!(given_up.is_some(), newest.is_some());
                    if let Some(at) = newest {
                        model.0[at].3 = false;
                        if at + 1 == model.0.len() {
                            model.0.pop();
                        }
                    }
                }
                8 if next(20) == 0 => {
                    locks.forget(place(record));
                    for at in (0..model.0.len()).rev() {
                        if model.0[at].0 == record && model.0[at].3 {
                            model.0[at].3 = false;
                            if at + 1 == model.0.len() {
                                model.0.pop();
                            }
                        }
                    }
                }
                _ => {}
            }
            assert_eq!(locks.len(), model.0.len());
            assert_eq!(locks.strength(place(record)), model.strength(record));
            deepest = deepest.max(locks.len());
        }
        assert!(deepest > 100);
        let mut all = HashMap::new();
        for (place, _) in locks.newest_first() {
            *all.entry(place).or_insert(0) += 1;
        }
        for record in 0..records {
            let expected = model.0.iter().filter(|lock| lock.0 == record && lock.3);
            let found = all.get(&place(record)).copied().unwrap_or(0);
            assert_eq!(found, expected.count());
        }
        while !locks.is_empty() {
            locks.pop();
        }
        assert!((0..records).all(|record| locks.strength(place(record)).is_none()));
        while locks.drop_part() {}
        locks.push(place(0), Strength::Share, true);
        assert_eq!(locks.strength(place(0)), Some(Strength::Share));
    }
}
