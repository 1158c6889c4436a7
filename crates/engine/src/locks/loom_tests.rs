//! Every order in which an owner ends while another transaction begins, or ceases, to wait.

use loom::{sync::Arc, thread};

use super::*;
use crate::{
    locks::record::Answer,
    sync::{AtomicU64, Ordering},
};

/// An owner and one slot with its uncommitted version.
struct World {
    locks: Locks,
    slot: Slot,
    /// A record with a committed version.
    other: Slot,
    status: Status,
    owner: TransactionId,
    clock: AtomicU64,
}

/// Returns a version that is never dereferenced.
fn version(number: u64) -> Version {
    Version::from_word(number << 4).unwrap()
}

fn waiter(number: u16) -> TransactionId {
    TransactionId::new(1, number, 1)
}

impl World {
    fn new() -> Arc<World> {
        let status = Status::new();
        Arc::new(World {
            locks: Locks::new(|| None),
            slot: Slot::holding(version(2)),
            other: Slot::holding(version(4)),
            owner: TransactionId::new(0, 0, status.begin()),
            status,
            clock: AtomicU64::new(1),
        })
    }

    fn place(&self) -> Place {
        Place::of(&self.slot)
    }

    fn acquire(&self, by: TransactionId, owned: bool) -> Acquired {
        let request = Request {
            slot: &self.slot,
            head: version(2),
            owner: owned.then_some((self.owner, &self.status, Strength::Update)),
            by,
            strength: Strength::Update,
            is_free: true,
        };
        self.locks.acquire(&request, true)
    }

    /// Commits as `commit.rs` does.
    fn commit(&self) {
        let sequence = self.owner.sequence();
        let timestamp = self.status.take_timestamp(sequence, &self.clock);
        self.status.commit(sequence, timestamp);
        if self.status.is_watched() && self.slot.is_marked() {
            self.locks.release(self.place(), self.owner, None);
        }
        // The context goes to the next transaction.
        self.status.begin();
    }

    /// Undoes a version as `undo.rs` does.
    fn undo(&self) {
        self.status.abort(self.owner.sequence());
        if self.slot.replace_own(version(2), version(1)) {
            self.locks.release(self.place(), self.owner, None);
        }
        self.status.begin();
    }

    /// Undoes an insert as `undo.rs` does.
    fn remove(&self) {
        self.status.abort(self.owner.sequence());
        while !self.slot.kill(version(2)) && !self.locks.kill(&self.slot, version(2)) {}
        self.status.begin();
    }
}

/// A waiter in the queue hears of the owner's end, however the two meet; a transaction that did not
/// get into the queue is told to look again.
fn the_end_is_heard_of(end: fn(&World), answer: Answer) {
    loom::model(move || {
        let world = World::new();
        let ender = {
            let world = world.clone();
            thread::spawn(move || end(&world))
        };
        let acquired = world.acquire(waiter(1), true);
        ender.join().unwrap();
        match acquired {
            Acquired::Queued(ticket) => {
                assert_eq!(ticket.answer(), answer);
                world.locks.withdraw(world.place(), waiter(1), &ticket);
                world.locks.release(world.place(), waiter(1), None);
            }
            Acquired::Changed => {}
            _ => unreachable!("it is the owner's, or has changed"),
        }
        assert!(!world.slot.is_marked());
        assert_eq!(world.locks.len(), 0);
    });
}

#[test]
fn a_commit_hands_over_to_the_waiter() {
    the_end_is_heard_of(World::commit, Answer::Granted);
}

#[test]
fn an_undo_hands_over_to_the_waiter() {
    the_end_is_heard_of(World::undo, Answer::Granted);
}

#[test]
fn an_undone_insert_sends_the_waiter_away() {
    the_end_is_heard_of(World::remove, Answer::Dissolved);
}

/// The record is handed to the first waiter, which gives up at that moment: the record goes to the
/// second waiter, and is never lost.
#[test]
fn a_waiter_that_gives_up_does_not_take_the_record_along() {
    loom::model(|| {
        let world = World::new();
        let tickets = [waiter(1), waiter(2)].map(|by| match world.acquire(by, true) {
            Acquired::Queued(ticket) => ticket,
            _ => unreachable!("the owner is there"),
        });
        let quitter = {
            let (world, ticket) = (world.clone(), tickets[0].clone());
            thread::spawn(move || {
                if world.locks.withdraw(world.place(), waiter(1), &ticket) {
                    world.locks.release(world.place(), waiter(1), None);
                }
            })
        };
        world.commit();
        quitter.join().unwrap();
        assert_eq!(tickets[1].answer(), Answer::Granted);
    });
}

/// A newcomer does not get between the owner and the first waiter.
#[test]
fn no_newcomer_overtakes_at_the_hand_over() {
    loom::model(|| {
        let world = World::new();
        let Acquired::Queued(first) = world.acquire(waiter(1), true) else {
            unreachable!("the owner is there");
        };
        let ender = {
            let world = world.clone();
            thread::spawn(move || world.commit())
        };
        let newcomer = world.acquire(waiter(2), false);
        ender.join().unwrap();
        assert!(matches!(newcomer, Acquired::Queued(_)));
        assert_eq!(first.answer(), Answer::Granted);
    });
}

/// A poll leaves its waker while the owner ends: the waker is called, or the poll finds the ticket answered.
fn no_wake_is_lost(end: fn(&World), answer: Answer) {
    struct Woken(std::sync::atomic::AtomicBool);
    impl std::task::Wake for Woken {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    loom::model(move || {
        let world = World::new();
        let Acquired::Queued(ticket) = world.acquire(waiter(1), true) else {
            unreachable!("the owner is there");
        };
        let ender = {
            let world = world.clone();
            thread::spawn(move || end(&world))
        };
        let woken = std::sync::Arc::new(Woken(false.into()));
        let waker = woken.clone().into();
        let waits = world.locks.set_waker(world.place(), &ticket, &waker);
        if !waits {
            assert_eq!(ticket.answer(), answer);
        }
        ender.join().unwrap();
        assert_eq!(waits, woken.0.load(Ordering::SeqCst));
    });
}

#[test]
fn no_wake_is_lost_at_a_commit() {
    no_wake_is_lost(World::commit, Answer::Granted);
}

#[test]
fn no_wake_is_lost_at_an_undo() {
    no_wake_is_lost(World::undo, Answer::Granted);
}

/// An undone insert took the record out of the table, and answered its waiters after the latch: a poll between the
/// two found neither the record nor an answer, left its waker nowhere, and waited for ever.
#[test]
fn no_wake_is_lost_at_an_undone_insert() {
    no_wake_is_lost(World::remove, Answer::Dissolved);
}

/// A wait closes a cycle whose other transaction is aborted meanwhile, by another of its operations, and takes its
/// write back: the lock came, was called a deadlock, and stayed, unknown to its holder, for ever.
#[test]
fn a_lock_that_comes_before_its_wait_is_given_up_is_no_deadlock() {
    loom::model(|| {
        let world = World::new();
        let other = Place::of(&world.other);
        let ask = |by| {
            let request = Request {
                slot: &world.other,
                head: version(4),
                owner: None,
                by,
                strength: Strength::Update,
                is_free: true,
            };
            world.locks.acquire(&request, true)
        };
        assert!(matches!(ask(waiter(1)), Acquired::Held(None)));
        let Acquired::Queued(wait_of_owner) = ask(world.owner) else {
            unreachable!("the waiter has it");
        };
        let ender = {
            let world = world.clone();
            thread::spawn(move || world.undo())
        };
        let request = Request {
            slot: &world.slot,
            head: version(2),
            owner: Some((world.owner, &world.status, Strength::Update)),
            by: waiter(1),
            strength: Strength::Update,
            is_free: false,
        };
        let acquired = world.locks.acquire(&request, true);
        ender.join().unwrap();
        match acquired {
            Acquired::Queued(ticket) => {
                assert_eq!(ticket.answer(), Answer::Granted);
                world.locks.withdraw(world.place(), waiter(1), &ticket);
                world.locks.release(world.place(), waiter(1), None);
            }
            Acquired::Deadlock | Acquired::Changed => {}
            _ => unreachable!("it is the owner's, or has changed"),
        }
        assert!(
            !world.slot.is_marked(),
            "a lock that its holder does not know of"
        );
        world.locks.withdraw(other, world.owner, &wait_of_owner);
        world.locks.release(other, waiter(1), None);
        assert_eq!(world.locks.len(), 0);
    });
}

/// Returns the ticket of a request that another transaction is in the way of.
fn queued(acquired: Acquired) -> std::sync::Arc<Ticket> {
    match acquired {
        Acquired::Queued(ticket) => ticket,
        _ => unreachable!("another transaction has the lock"),
    }
}

/// A holder gives up a table while a wait of `newcomer` closes a cycle through two waiters for that table: `writer`
/// stands first there, `locker` behind it. No order dissolves the cycle, but the search for one puts `locker` first for
/// a moment. Without the holder, no transaction is in the way of `writer`.
///
/// - With a `reader` that holds the table, `writer` was stopped by `locker`, and `locker` by `reader`, when the holder
///   went. `writer` stood first again afterwards, had not been given the table, and waited for no transaction that the
///   graph knew of.
/// - Without it, `locker` was given the table, although it waited for `writer` elsewhere as well: both waited for ever,
///   and only `newcomer` was told of a deadlock.
fn a_table_given_up_during_a_search_goes_to_its_first_waiter(has_reader: bool) {
    loom::model(move || {
        let [holder, reader, writer, locker, newcomer] = [1, 2, 3, 4, 5].map(waiter);
        let locks = Arc::new(Locks::new(|| None));
        let gate = std::sync::Arc::new(Gate::new(7));
        let slots = [2, 4, 6].map(|number| Slot::holding(version(number)));
        let ask_for_table = |by, mode| {
            let request = TableRequest {
                gate: &gate,
                by,
                mode,
                is_free: true,
                closes: true,
            };
            locks.acquire_table(&request, true)
        };
        let ask = |at: usize, by| {
            let request = Request {
                slot: &slots[at],
                head: version(2 + 2 * at as u64),
                owner: None,
                by,
                strength: Strength::Update,
                // Only the last wait looks for a cycle.
                is_free: (by, at) != (newcomer, 1),
            };
            locks.acquire(&request, true)
        };
        let is_held = |acquired| assert!(matches!(acquired, Acquired::Held(None)));
        is_held(ask(0, newcomer));
        is_held(ask(1, locker));
        is_held(ask_for_table(holder, TableLockMode::Share));
        if has_reader {
            is_held(ask_for_table(reader, TableLockMode::RowShare));
            queued(ask(0, reader));
        }
        let first = queued(ask_for_table(writer, TableLockMode::RowExclusive));
        let second = queued(ask_for_table(locker, TableLockMode::Exclusive));
        if !has_reader {
            is_held(ask(2, writer));
            queued(ask(2, locker));
        }
        queued(ask(0, writer));
        let releaser = {
            let locks = locks.clone();
            thread::spawn(move || locks.tables.weaken(7, holder, TableLockModes::NONE))
        };
        let acquired = ask(1, newcomer);
        releaser.join().unwrap();
        assert!(matches!(acquired, Acquired::Deadlock));
        assert_eq!(first.answer(), Answer::Granted);
        assert_eq!(second.answer(), Answer::Waiting);
    });
}

#[test]
fn a_table_given_up_during_a_search_is_not_lost() {
    a_table_given_up_during_a_search_goes_to_its_first_waiter(true);
}

#[test]
fn a_table_given_up_during_a_search_is_not_granted_by_an_order_that_is_only_tried() {
    a_table_given_up_during_a_search_goes_to_its_first_waiter(false);
}
