//! One thread, many operations under way: every touch suspends, and the operation that goes on is
//! drawn from a seed.
//!
//! Each key is used by one operation at a time, so its answer is known; the
//! trees are small, so that operations meet in the same nodes all the time.

#![allow(clippy::print_stdout, reason = "a failing test shows its seed")]

#[path = "support/common.rs"]
mod common;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    future::Future,
    ops::Bound,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
};

use common::{AlwaysYield, MIXES, Mix, Rng, setup};
use index::{Batch, Direction, Inserted, Tree};
use memory::Local;

type Model = Rc<RefCell<World>>;

/// Facts that are certain of keys that no operation is changing.
#[derive(Default)]
struct World {
    present: BTreeMap<Vec<u8>, u64>,
    busy: std::collections::HashSet<Vec<u8>>,
}

async fn operation(tree: &Tree, local: &Local, model: Model, mix: Mix, span: u64, seed: u64) {
    let mut rng = Rng(seed);
    let pin = local.pin();
    let kind = rng.below(10);
    if kind == 0 && rng.below(span) < 40 {
        return scan(tree, local, model, &mut rng, mix, span).await;
    }
    let key = mix.key(&mut rng, span);
    if !model.borrow_mut().busy.insert(key.clone()) {
        return;
    }
    let before = model.borrow().present.get(&key).copied();
    match kind {
        1..=3 => {
            let found = tree.get::<AlwaysYield>(&pin, &key).await;
            assert_eq!(found, before, "get {key:?}");
        }
        4..=6 => {
            let value = rng.next();
            let inserted = tree
                .insert::<AlwaysYield>(local, &pin, &key, value)
                .await
                .unwrap();
            match before {
                Some(value) => assert_eq!(inserted, Inserted::Present(value)),
                None => {
                    assert_eq!(inserted, Inserted::New);
                    model.borrow_mut().present.insert(key.clone(), value);
                }
            }
        }
        _ => {
            let removed = tree.remove::<AlwaysYield>(local, &pin, &key, None).await;
            assert_eq!(removed, before, "remove {key:?}");
            model.borrow_mut().present.remove(&key);
        }
    }
    model.borrow_mut().busy.remove(&key);
}

/// Checks a scan: keys that were there, untouched, from beginning to end are found; keys that never
/// were are not.
async fn scan(tree: &Tree, local: &Local, model: Model, rng: &mut Rng, mix: Mix, span: u64) {
    let direction = if rng.below(2) == 0 {
        Direction::Forward
    } else {
        Direction::Backward
    };
    let (mut low, mut high) = (mix.key(rng, span), mix.key(rng, span));
    if low > high {
        std::mem::swap(&mut low, &mut high);
    }
    let range = (
        Bound::Included(low.as_slice()),
        Bound::Included(high.as_slice()),
    );
    let mut stable: BTreeMap<_, _> = {
        let world = model.borrow();
        let quiet = |key: &Vec<u8>| !world.busy.contains(key);
        let within = world.present.range::<[u8], _>(range);
        within
            .filter(|(key, _)| quiet(key))
            .map(|(k, &v)| (k.clone(), v))
            .collect()
    };
    let release = rng.below(2) == 0;
    let mut pin = local.pin();
    let mut scan = tree.scan(range, direction);
    let mut batch = Batch::new();
    let mut found = BTreeMap::new();
    let mut last: Option<Vec<u8>> = None;
    while scan.next::<AlwaysYield>(&pin, &mut batch).await {
        for (key, value) in batch.iter() {
            assert!(*low <= *key && *key <= *high);
            assert!(last.as_deref().is_none_or(|last| match direction {
                Direction::Forward => last < key,
                Direction::Backward => last > key,
            }));
            last = Some(key.to_vec());
            found.insert(key.to_vec(), value);
        }
        if release {
            scan.release();
            drop(pin);
            pin = local.pin();
        }
        // A key that was touched in between is no longer certain.
        let world = model.borrow();
        stable.retain(|key, value| {
            world.present.get(key) == Some(value) && !world.busy.contains(key)
        });
    }
    let world = model.borrow();
    for (key, value) in &stable {
        if world.present.get(key) == Some(value) && !world.busy.contains(key) {
            // The key may have been removed and put back with another value, which `stable` has
            // dropped; with random values never with the same.
            assert_eq!(
                found.get(key),
                Some(value),
                "{direction:?} scan missed {key:?}"
            );
        }
    }
}

fn run(mix: Mix, span: u64, in_flight: usize, operations: u64, seed: u64) {
    println!("mix {mix:?} span {span} in flight {in_flight} seed {seed}");
    let setup = setup(64 << 20);
    let (tree, local) = (&setup.tree, &setup.local);
    let model = Model::default();
    let mut rng = Rng(seed);
    let mut slots: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
    let mut started = 0;
    let mut context = Context::from_waker(Waker::noop());
    while started < operations || !slots.is_empty() {
        if started < operations && slots.len() < in_flight {
            started += 1;
            // The tree grows and shrinks: the mixes empty it and come back.
            slots.push(Box::pin(operation(
                tree,
                local,
                model.clone(),
                mix,
                span,
                rng.next(),
            )));
        }
        let index = rng.below(slots.len() as u64) as usize;
        if let Poll::Ready(()) = slots[index].as_mut().poll(&mut context) {
            drop(slots.swap_remove(index));
        }
        if rng.below(64) == 0 {
            local.quiesce();
        }
        // Cancellation in mid-flight leaves nothing behind but a busy key.
        if rng.below(5000) == 0 && slots.len() > 1 {
            slots.clear();
            model.borrow_mut().busy.clear();
        }
    }
    drop(slots);
    let pin = local.pin();
    tree.check_invariants(&pin);
    let all = common::scan_all(
        tree,
        &pin,
        (Bound::Unbounded, Bound::Unbounded),
        Direction::Forward,
    );
    assert_eq!(
        all,
        model
            .borrow()
            .present
            .clone()
            .into_iter()
            .collect::<Vec<_>>()
    );
}

#[test]
fn interleaved_operations_of_one_thread_keep_their_promises() {
    for (index, mix) in MIXES.into_iter().enumerate() {
        for (span, in_flight, operations) in [(12, 8, 12_000), (150, 24, 8000), (4000, 64, 8000)] {
            let operations = if cfg!(miri) { 80 } else { operations };
            run(mix, span, in_flight, operations, 77 + index as u64);
        }
    }
}
