//! Every order in which a weak lock is taken, released, or replaced by one of the next transaction
//! of its context, while another transaction takes a strong one.

use loom::{sync::Arc, thread};

use super::*;
use crate::locks::{
    Acquired, Locks, Place, TableRequest,
    mode::TableLockMode::{RowExclusive, Share},
    record::Answer,
};

struct World {
    locks: Locks,
    gate: std::sync::Arc<Gate>,
}

fn owner(sequence: u64) -> TransactionId {
    TransactionId::new(0, 0, sequence)
}

fn strong() -> TransactionId {
    TransactionId::new(1, 0, 1)
}

impl World {
    fn new() -> Arc<World> {
        let world = World {
            locks: Locks::new(|| None),
            gate: std::sync::Arc::new(Gate::new(7)),
        };
        // The entries are made before: their creation is not checked here.
        world.entries();
        Arc::new(world)
    }

    fn entries(&self) -> &WeakLocks {
        self.locks.tables.entries(0).get(0)
    }

    /// Locks as `lock_table` does, without waiting. Returns whether the lock is held.
    fn lock_weakly(&self, by: TransactionId) -> bool {
        let modes = TableLockModes::NONE.with(RowExclusive);
        loop {
            if self.entries().take(by, &self.gate, modes) == Taken::Held {
                return true;
            }
            let request = TableRequest {
                gate: &self.gate,
                by,
                mode: RowExclusive,
                is_free: true,
                closes: false,
            };
            match self.locks.acquire_table(&request, false) {
                Acquired::Held(_) => return true,
                Acquired::Changed => thread::yield_now(),
                _ => return false,
            }
        }
    }

    /// Unlocks as the end of a transaction does.
    fn unlock(&self, by: TransactionId) {
        let entries = self.entries();
        if !entries.weaken(7, TableLockModes::NONE) {
            self.locks.tables.weaken(7, by, TableLockModes::NONE);
            entries.forget(7);
        }
    }

    fn lock_strongly(&self, waits: bool) -> Acquired {
        let request = TableRequest {
            gate: &self.gate,
            by: strong(),
            mode: Share,
            is_free: false,
            closes: false,
        };
        self.locks.acquire_table(&request, waits)
    }

    fn check_nothing_left(&self) {
        assert!(!self.gate.is_closed());
        assert_eq!(self.locks.len(), 0);
        assert_eq!(self.entries().entries[0].load(Ordering::SeqCst), 0);
    }
}

/// The weak and the strong transaction never both have their locks.
#[test]
fn a_weak_and_a_strong_lock_are_never_both_held() {
    loom::model(|| {
        let world = World::new();
        let weak = thread::spawn({
            let world = world.clone();
            move || world.lock_weakly(owner(1))
        });
        let strong_has_it = matches!(world.lock_strongly(false), Acquired::Held(_));
        let weak_has_it = weak.join().unwrap();
        assert!(!(strong_has_it && weak_has_it), "both");
        assert!(strong_has_it || weak_has_it, "one of them came first");
        if weak_has_it {
            world.unlock(owner(1));
        }
        if strong_has_it {
            world.locks.tables.weaken(7, strong(), TableLockModes::NONE);
        }
        world.check_nothing_left();
    });
}

/// Two transactions of a context run one after the other, beside a waiter: the waiter hears of the
/// end of either, and never waits for the wrong one.
#[test]
fn a_waiter_hears_of_the_end_also_when_the_context_is_used_again() {
    loom::model(|| {
        let world = World::new();
        let weak = thread::spawn({
            let world = world.clone();
            move || {
                for sequence in [1, 2] {
                    if world.lock_weakly(owner(sequence)) {
                        world.unlock(owner(sequence));
                    }
                }
            }
        });
        let acquired = world.lock_strongly(true);
        weak.join().unwrap();
        match acquired {
            Acquired::Held(_) => {}
            Acquired::Queued(ticket) => {
                assert_eq!(ticket.answer(), Answer::Granted);
                world.locks.withdraw(Place::Table(7), strong(), &ticket);
            }
            _ => panic!("it waits for nobody but the weak ones"),
        }
        world.locks.tables.weaken(7, strong(), TableLockModes::NONE);
        world.check_nothing_left();
    });
}
