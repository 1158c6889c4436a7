//! The transactions that get a table, and their order.

use super::{TableLockMode::*, *};

fn id(number: u16) -> TransactionId {
    TransactionId::new(0, number, 1)
}

fn blockers(queue: &Queue, waiter: u16) -> Vec<(TransactionId, bool)> {
    let mut found = Vec::new();
    queue.view().blockers(id(waiter), true, &mut found);
    found
}

#[test]
fn a_lock_that_excludes_no_waiter_passes_the_waiters() {
    let mut queue = Queue::default();
    assert!(queue.request(id(1), RowExclusive));
    assert!(!queue.request(id(2), Share));
    let index = queue.enqueue(id(2), Share);
    assert!(queue.request(id(3), AccessShare), "readers mind neither");
    assert!(
        !queue.request(id(4), RowExclusive),
        "that would starve the second"
    );
    let writer = queue.enqueue(id(4), RowExclusive);
    assert_eq!(blockers(&queue, 2), [(id(1), false)]);
    assert_eq!(blockers(&queue, 4), [(id(2), true)]);
    queue.weaken(id(1), TableLockModes::NONE);
    queue.hand_over();
    assert_eq!(index.answer(), Answer::Granted);
    assert_eq!(writer.answer(), Answer::Waiting);
    queue.weaken(id(2), TableLockModes::NONE);
    queue.hand_over();
    assert_eq!(writer.answer(), Answer::Granted);
}

#[test]
fn a_holder_goes_before_the_waiters_for_its_lock() {
    let mut queue = Queue::default();
    assert!(queue.request(id(1), AccessShare));
    assert!(queue.request(id(3), RowExclusive));
    let dropper = queue.enqueue(id(2), AccessExclusive);
    // Behind the dropper, the reader would wait for the dropper, and the dropper for the reader.
    assert!(!queue.request(id(1), Share), "the writer is in the way");
    let share = queue.enqueue(id(1), Share);
    assert_eq!(blockers(&queue, 1), [(id(3), false)]);
    queue.weaken(id(3), TableLockModes::NONE);
    queue.hand_over();
    assert_eq!(share.answer(), Answer::Granted);
    assert_eq!(dropper.answer(), Answer::Waiting);
}

#[test]
fn two_sharers_that_both_want_to_write_wait_for_each_other() {
    let mut queue = Queue::default();
    assert!(queue.request(id(1), Share) && queue.request(id(2), Share));
    assert!(!queue.request(id(1), RowExclusive));
    queue.enqueue(id(1), RowExclusive);
    assert!(!queue.request(id(2), RowExclusive));
    queue.enqueue(id(2), RowExclusive);
    assert_eq!(blockers(&queue, 1)[0], (id(2), false));
    assert_eq!(blockers(&queue, 2)[0], (id(1), false));
}

#[test]
fn one_transaction_does_not_stand_in_its_own_way() {
    let mut queue = Queue::default();
    assert!(queue.request(id(1), AccessExclusive));
    for mode in TableLockMode::ALL {
        assert!(queue.request(id(1), mode), "{mode:?}");
    }
    queue.weaken(id(1), TableLockModes::NONE.with(Share));
    assert!(queue.request(id(2), AccessShare));
    queue.weaken(id(1), TableLockModes::NONE);
    queue.weaken(id(2), TableLockModes::NONE);
    assert!(queue.is_empty());
}

#[test]
fn a_waiter_that_gives_up_lets_those_behind_pass() {
    let mut queue = Queue::default();
    assert!(queue.request(id(1), AccessShare));
    let first = queue.enqueue(id(2), AccessExclusive);
    let second = queue.enqueue(id(3), RowExclusive);
    queue.hand_over();
    assert_eq!(second.answer(), Answer::Waiting);
    assert!(queue.leave(&first) && !queue.leave(&first));
    queue.hand_over();
    assert_eq!(second.answer(), Answer::Granted);
}

#[test]
fn a_waiter_is_put_before_another_and_back() {
    let mut queue = Queue::default();
    assert!(queue.request(id(1), AccessExclusive));
    for (by, mode) in [(2, AccessExclusive), (3, Share), (4, AccessShare)] {
        queue.enqueue(id(by), mode);
    }
    let order = |queue: &Queue| -> Vec<_> { queue.waiters.iter().map(|w| w.by).collect() };
    assert!(queue.let_pass(id(2), id(3)).is_none(), "it stands before");
    assert!(
        queue.let_pass(id(4), id(3)).is_none(),
        "it does not wait for it"
    );
    let pass = queue.let_pass(id(4), id(2)).unwrap();
    assert_eq!(order(&queue), [4, 2, 3].map(id));
    queue.take_back(pass);
    assert_eq!(order(&queue), [2, 3, 4].map(id));
}
