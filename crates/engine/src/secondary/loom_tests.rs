//! Entries and the builder, in all interleavings of two transactions, on real status words. An
//! entry is reduced to the maker of its newest version.

use loom::{sync::Arc, thread};

use super::{
    IndexOptions,
    reach::{Extent, Reach},
};
use crate::{
    status::{Outcome, Status},
    sync::{AtomicBool, AtomicU64, Ordering, fence},
    timestamp::{Timestamp, TransactionId},
};

/// Snapshot of all transactions; older versions are from then.
const SNAPSHOT: Timestamp = Timestamp(1);
const NOBODY: u64 = 0;

/// Two transactions, numbers 1 and 2.
struct World {
    clock: AtomicU64,
    statuses: [Status; 2],
    /// Sequence numbers of the statuses.
    sequences: [u64; 2],
}

impl World {
    fn new() -> World {
        let statuses = [Status::new(), Status::new()];
        World {
            clock: AtomicU64::new(SNAPSHOT.0),
            sequences: [statuses[0].begin(), statuses[1].begin()],
            statuses,
        }
    }

    fn status(&self, number: u64) -> (&Status, TransactionId) {
        let at = number as usize - 1;
        let id = TransactionId::new(0, at as u16, self.sequences[at]);
        (&self.statuses[at], id)
    }

    /// Writes an entry as `write.rs` does. False: a conflict.
    fn write(&self, entry: &AtomicU64, number: u64) -> bool {
        loop {
            let head = entry.load(Ordering::Acquire);
            if head != NOBODY {
                let (status, maker) = self.status(head);
                match status.outcome(maker, SNAPSHOT) {
                    Outcome::Aborted => {
                        // The entry is being undone.
                        thread::yield_now();
                        continue;
                    }
                    Outcome::Active | Outcome::Later | Outcome::Committed { .. } => return false,
                    Outcome::Ended => unreachable!("contexts are not used again here"),
                }
            }
            let swapped =
                entry.compare_exchange(NOBODY, number, Ordering::AcqRel, Ordering::Relaxed);
            if swapped.is_ok() {
                return true;
            }
        }
    }

    fn commit(&self, number: u64) {
        let (status, id) = self.status(number);
        let at = status.take_timestamp(id.sequence(), &self.clock);
        status.commit(id.sequence(), at);
    }

    /// Rolls back as `undo.rs` does: the status first.
    fn roll_back(&self, entry: &AtomicU64, number: u64) {
        let (status, id) = self.status(number);
        status.abort(id.sequence());
        let undone = entry.compare_exchange(number, NOBODY, Ordering::AcqRel, Ordering::Relaxed);
        assert!(undone.is_ok() || entry.load(Ordering::Acquire) != number);
    }
}

/// Two records want one unique key (paper 004, section 2.1: double row). Or a builder claims the
/// entry of a key that it has read, and a writer takes that key away and leaves a tombstone, for
/// which there need be no entry (`build.rs`, step 3).
#[test]
fn one_of_two_claims_of_a_key_wins() {
    loom::model(|| {
        let world = Arc::new((World::new(), AtomicU64::new(NOBODY)));
        let claim = |world: &(World, AtomicU64), number| {
            let (world, entry) = world;
            let won = world.write(entry, number);
            match won {
                true => world.commit(number),
                false => world.roll_back(entry, number),
            }
            won
        };
        let other = {
            let world = world.clone();
            thread::spawn(move || claim(&world, 2))
        };
        let (first, second) = (claim(&world, 1), other.join().unwrap());
        assert!(first != second, "a key for both, or for nobody");
        let winner = if first { 1 } else { 2 };
        assert_eq!(world.1.load(Ordering::Relaxed), winner);
    });
}

/// A transaction that takes its claim back leaves no entry, or that of another transaction which
/// has claimed the key meanwhile (clean-up after abort).
#[test]
fn a_claim_taken_back_leaves_the_key_to_others() {
    loom::model(|| {
        let world = Arc::new((World::new(), AtomicU64::new(NOBODY)));
        let other = {
            let world = world.clone();
            thread::spawn(move || {
                let (world, entry) = &*world;
                let won = world.write(entry, 2);
                match won {
                    true => world.commit(2),
                    false => world.roll_back(entry, 2),
                }
                won
            })
        };
        let (here, entry) = &*world;
        here.write(entry, 1);
        here.roll_back(entry, 1);
        let left = match other.join().unwrap() {
            true => 2,
            false => NOBODY,
        };
        assert_eq!(entry.load(Ordering::Relaxed), left);
    });
}

/// Step 2 of `build.rs`: a writer that goes by the list without the index has ended when the
/// builder takes its snapshot, and all others maintain the index themselves. The pin is reduced to
/// the guarantee of `memory::epoch`.
#[test]
fn no_record_is_overlooked_by_the_builder_and_its_writer() {
    loom::model(|| {
        struct Table {
            world: World,
            pinned: AtomicBool,
            has_index: AtomicBool,
            record: AtomicU64,
            entry: AtomicBool,
        }
        let table = Arc::new(Table {
            world: World::new(),
            pinned: AtomicBool::new(false),
            has_index: AtomicBool::new(false),
            record: AtomicU64::new(NOBODY),
            entry: AtomicBool::new(false),
        });
        // The writer's context is used by a transaction that has ended.
        table.world.commit(2);
        let writer = {
            let table = table.clone();
            thread::spawn(move || {
                table.pinned.store(true, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                let status = &table.world.statuses[1];
                let sequence = status.begin();
                let maintains = table.has_index.load(Ordering::Acquire);
                table.pinned.store(false, Ordering::Release);
                table.record.store(2, Ordering::Release);
                if maintains {
                    table.entry.store(true, Ordering::Release);
                }
                let at = status.take_timestamp(sequence, &table.world.clock);
                status.commit(sequence, at);
            })
        };
        table.has_index.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        while table.pinned.load(Ordering::Acquire) {
            thread::yield_now();
        }
        let (status, id) = (&table.world.statuses[1], table.world.sequences[1]);
        let open = TransactionId::new(0, 1, id + 1);
        // If the writer has not begun, the previous transaction is found: `Ended`.
        loop {
            let bound = Timestamp(u64::MAX);
            match status.outcome(open, bound) {
                Outcome::Active => thread::yield_now(),
                _ => break,
            }
        }
        // The snapshot of the builder.
        if table.record.load(Ordering::Acquire) == 2 {
            table.entry.store(true, Ordering::Release);
        }
        writer.join().unwrap();
        assert!(
            table.entry.load(Ordering::Relaxed),
            "a record without an entry"
        );
    });
}

/// `reach.rs`: a record is left to the builder only by a writer that the builder waits for or whose
/// version it finds.
#[test]
fn no_record_is_left_to_a_builder_that_has_come_by() {
    loom::model(|| {
        struct Table {
            world: World,
            reach: Reach,
            record: AtomicU64,
            entry: AtomicBool,
        }
        let table = Arc::new(Table {
            world: World::new(),
            reach: Reach::new(IndexOptions::default()),
            record: AtomicU64::new(NOBODY),
            entry: AtomicBool::new(false),
        });
        let writer = {
            let table = table.clone();
            thread::spawn(move || {
                table.record.store(2, Ordering::Release);
                if table.reach.has(b"record") {
                    table.entry.store(true, Ordering::Release);
                }
                table.world.commit(2);
            })
        };
        table.reach.extend(Extent::All);
        if table.record.load(Ordering::Acquire) == 2 {
            let (status, maker) = table.world.status(2);
            while status.outcome(maker, Timestamp(u64::MAX)) == Outcome::Active {
                thread::yield_now();
            }
        }
        // The snapshot of the builder.
        if table.record.load(Ordering::Acquire) == 2 {
            let (status, maker) = table.world.status(2);
            if let Outcome::Committed { .. } = status.outcome(maker, Timestamp(u64::MAX)) {
                table.entry.store(true, Ordering::Release);
            }
        }
        writer.join().unwrap();
        assert!(
            table.entry.load(Ordering::Relaxed),
            "a record without an entry"
        );
    });
}
