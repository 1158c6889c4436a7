use std::{
    future::Future,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake},
};

use types::{Result, SqlState};

use super::{AdvisoryLocks, Key, Owner};
use logical::relation::Strength;

const KEY: Key = Key::One(1);

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls a wait once.
fn poll(wait: Pin<&mut impl Future<Output = Result<()>>>, wakes: &Arc<Wakes>) -> Poll<Result<()>> {
    let waker = wakes.clone().into();
    wait.poll(&mut Context::from_waker(&waker))
}

fn owners(locks: &AdvisoryLocks) -> [Owner; 3] {
    std::array::from_fn(|_| locks.new_owner())
}

#[test]
fn a_lock_is_handed_over_in_order_and_a_newcomer_does_not_pass() {
    let (locks, wakes) = (AdvisoryLocks::default(), Arc::new(Wakes::default()));
    let [a, b, c] = owners(&locks);
    assert!(locks.try_take(a, KEY, Strength::Shared));
    let mut exclusive = pin!(locks.take(b, KEY, Strength::Exclusive, None));
    assert!(poll(exclusive.as_mut(), &wakes).is_pending());
    // A shared lock is compatible with the lock held, but b would wait the longer.
    assert!(!locks.try_take(c, KEY, Strength::Shared));
    let mut shared = pin!(locks.take(c, KEY, Strength::Shared, None));
    assert!(poll(shared.as_mut(), &wakes).is_pending());
    // The holder itself does not wait.
    assert!(locks.try_take(a, KEY, Strength::Shared));
    locks.give_back(a, KEY, Strength::Shared);
    assert!(poll(exclusive.as_mut(), &wakes).is_pending());
    locks.give_back(a, KEY, Strength::Shared);
    assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
    assert!(poll(exclusive, &wakes).is_ready());
    assert!(poll(shared.as_mut(), &wakes).is_pending());
    locks.give_back(b, KEY, Strength::Exclusive);
    assert!(poll(shared, &wakes).is_ready());
    locks.give_back(c, KEY, Strength::Shared);
    assert!(locks.latch().locks.is_empty());
}

#[test]
fn a_wait_that_is_given_up_keeps_nothing_whether_or_not_it_was_its_turn() {
    let (locks, wakes) = (AdvisoryLocks::default(), Arc::new(Wakes::default()));
    let [a, b, c] = owners(&locks);
    for is_handed_over in [false, true] {
        assert!(locks.try_take(a, KEY, Strength::Exclusive));
        let mut last = Box::pin(locks.take(c, KEY, Strength::Exclusive, None));
        {
            let mut wait = pin!(locks.take(b, KEY, Strength::Exclusive, None));
            assert!(poll(wait.as_mut(), &wakes).is_pending());
            assert!(poll(last.as_mut(), &wakes).is_pending());
            if is_handed_over {
                locks.give_back(a, KEY, Strength::Exclusive);
                assert!(poll(last.as_mut(), &wakes).is_pending());
            }
        }
        if !is_handed_over {
            locks.give_back(a, KEY, Strength::Exclusive);
        }
        assert!(poll(last.as_mut(), &wakes).is_ready());
        locks.give_back(c, KEY, Strength::Exclusive);
        let table = locks.latch();
        assert!(table.locks.is_empty() && table.waits.is_empty());
    }
}

#[test]
fn who_closes_a_cycle_is_told_and_the_others_go_on() {
    let (locks, wakes) = (AdvisoryLocks::default(), Arc::new(Wakes::default()));
    let all = owners(&locks);
    let key = |at: usize| Key::Two(0, at as i32);
    for (at, owner) in all.iter().enumerate() {
        assert!(locks.try_take(*owner, key(at), Strength::Exclusive));
    }
    let mut first = pin!(locks.take(all[0], key(1), Strength::Exclusive, None));
    let mut second = pin!(locks.take(all[1], key(2), Strength::Shared, None));
    assert!(poll(first.as_mut(), &wakes).is_pending());
    assert!(poll(second.as_mut(), &wakes).is_pending());
    let third = pin!(locks.take(all[2], key(0), Strength::Shared, None));
    let Poll::Ready(Err(error)) = poll(third, &wakes) else {
        panic!("it waits for itself");
    };
    assert_eq!(error.state(), SqlState::DEADLOCK_DETECTED);
    locks.give_back(all[2], key(2), Strength::Exclusive);
    assert!(poll(second, &wakes).is_ready());
}

#[test]
fn two_holders_that_both_want_more_are_a_deadlock() {
    let (locks, wakes) = (AdvisoryLocks::default(), Arc::new(Wakes::default()));
    let [a, b, c] = owners(&locks);
    assert!(locks.try_take(a, KEY, Strength::Shared));
    assert!(locks.try_take(b, KEY, Strength::Shared));
    let mut waits = pin!(locks.take(c, KEY, Strength::Exclusive, None));
    assert!(poll(waits.as_mut(), &wakes).is_pending());
    // The holder goes before c, which would otherwise wait for it.
    let mut stronger = pin!(locks.take(a, KEY, Strength::Exclusive, None));
    assert!(poll(stronger.as_mut(), &wakes).is_pending());
    let both = pin!(locks.take(b, KEY, Strength::Exclusive, None));
    assert!(matches!(poll(both, &wakes), Poll::Ready(Err(_))));
    locks.give_back(b, KEY, Strength::Shared);
    assert!(poll(stronger, &wakes).is_ready());
    locks.give_back(a, KEY, Strength::Shared);
    assert!(poll(waits.as_mut(), &wakes).is_pending());
    locks.give_back(a, KEY, Strength::Exclusive);
    assert!(poll(waits, &wakes).is_ready());
}
