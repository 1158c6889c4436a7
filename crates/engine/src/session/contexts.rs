//! Contexts: the private side of open transactions, reused from one to the next so that a
//! transaction allocates nothing once the worker is warm.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    rc::Rc,
    task::{Poll, Waker},
    time::Duration,
};

use io::Priority;
use memory::Parts;

use crate::{
    catalog::Effect,
    cold::RoomOwner,
    error::Abort,
    indirection::{Rid, Slot},
    locks::{OnConflict, Place},
    log::Durability,
    moves::MoveLog,
    session::{
        Account, CommandWrites, Dependencies, Found, HeldLocks, KeptKey, KeptKeys, Purpose, Saved,
        Savepoints, WritePlaces,
    },
    table_set::TableSet,
    timestamp::{CONTEXTS_MAX, Timestamp, TransactionId},
    transaction::{HeldTable, Isolation, SharedSnapshot, TransactionOptions},
    ttl::WallTime,
    version::Version,
};

const NO_SNAPSHOT: u64 = u64::MAX;

/// Bytes of a context's lists below which no memory is given back.
const KEPT_BYTES: usize = 256 << 10;

/// State of a transaction: whether it can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    /// The transaction is open, and returns to a savepoint in turns with others: no operation may
    /// begin.
    Returning,
    /// The transaction is aborted, and has yet to undo its writes, which are many.
    Doomed(Abort),
    Aborted(Abort),
    Ended,
}

/// Private side of an open transaction.
pub(crate) struct Context {
    pub(crate) number: u16,
    pub(crate) isolation: Cell<Isolation>,
    /// Whether the transaction was declared read-only and cannot write.
    pub(crate) read_only: Cell<bool>,
    pub(crate) state: Cell<State>,
    pub(crate) durability: Cell<Durability>,
    /// Priority of its cold reads.
    pub(crate) priority: Cell<Priority>,
    snapshot: Cell<u64>,
    /// Snapshot of the first write: the versions visible there stay in place until the transaction
    /// ends, also where it has no snapshot between two operations.
    anchor: Cell<u64>,
    /// Tables that the transaction has used.
    used: Cell<TableSet>,
    /// Time of the wall clock, once it was asked (`ttl.rs`).
    pub(crate) present: Cell<WallTime>,
    /// Whether the transaction reads values as they are stored.
    pub(crate) reads_stored: Cell<bool>,
    /// Whether the transaction, which can wait for nothing, passes over cold records as if they
    /// were absent.
    pub(crate) passes_over_cold: Cell<bool>,
    /// Whether operations that find no room in memory fail at once.
    pub(crate) fails_without_room: Cell<bool>,
    /// Largest timestamp among the versions that the transaction saw.
    pub(crate) seen: Cell<Timestamp>,
    /// Name that marks its versions; none before the first.
    pub(crate) id: Cell<Option<TransactionId>>,
    pub(crate) reads: Cell<u64>,
    pub(crate) scanned: Cell<u64>,
    /// Records among these that were in blocks of columns.
    pub(crate) scanned_in_blocks: Cell<u64>,
    /// Number of times that scans have stopped to wait for cold records.
    pub(crate) cold_stops: Cell<u64>,
    pub(crate) written: Cell<u64>,
    /// Number of operations under way.
    statements: Cell<u32>,
    pub(crate) writes: RefCell<Parts<Write>>,
    /// Places of written records in `writes`.
    pub(crate) places: RefCell<WritePlaces>,
    /// Keys that commit or undo will need.
    pub(crate) keys: RefCell<KeptKeys>,
    pub(crate) savepoints: RefCell<Savepoints>,
    /// Writes of the command under way (`transaction/command.rs`).
    pub(crate) command: CommandWrites,
    /// Place of the row that the transaction has found last, to write it next.
    pub(crate) found: Found,
    /// Changes to rows that other transactions may be waiting for (`moves.rs`).
    pub(crate) moves: RefCell<MoveLog>,
    /// Further effects of the commit.
    pub(crate) effects: RefCell<Vec<Effect>>,
    /// Number of writes when the last operation on the catalog ended: all later writes are of other
    /// operations.
    pub(crate) writes_at_effects: Cell<usize>,
    /// Tables, without indexes, that the transaction has written to, and the last of them; a write
    /// that was undone counts.
    pub(crate) written_tables: RefCell<Vec<u32>>,
    last_table: Cell<Option<u32>>,
    /// Steps of the operation under way on an indexed table.
    pub(crate) journal: RefCell<Vec<Step>>,
    pub(crate) turn: Turn,
    pub(crate) conduct: Cell<Conduct>,
    /// Locks in the lock table, in the order in which they were taken.
    pub(crate) locks: RefCell<HeldLocks>,
    /// Locks on tables, in the order in which they were taken.
    pub(crate) table_locks: RefCell<Vec<HeldTable>>,
    /// Operations that wait for locks.
    pub(crate) waits: Cell<u32>,
    /// Record for which the transaction was aborted, if a retry is to begin with that record.
    pub(crate) lost: RefCell<Option<Lost>>,
    /// Reads of the transaction, if it may write.
    pub(crate) dependencies: Dependencies,
    /// Context of the transaction whose writes count as this one's (`transaction/present.rs`).
    pub(crate) beside: RefCell<Option<Rc<Context>>>,
    /// Snapshot that the transaction shares with others and reads at, if it was begun so.
    pub(crate) shared: RefCell<Option<SharedSnapshot>>,
    /// The transaction as a waiter for room in memory.
    pub(crate) room_owner: RoomOwner,
    /// Bytes of its versions, including those that savepoints keep and excluding those that were
    /// undone.
    version_bytes: Cell<usize>,
    /// Bytes of the lists here that were charged ([`super::Account`]).
    pub(super) charged_bytes: Cell<usize>,
}

/// Effect of one write of an operation on an indexed table.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    /// Place of the write in the list of writes.
    pub(crate) write: usize,
    /// Previous state of that write, if the transaction had written the record before.
    pub(crate) before: Option<Saved>,
}

/// Turn by which operations on indexed tables, and those on the catalog, run one after the other
/// within a transaction.
#[derive(Default)]
pub(crate) struct Turn {
    taken: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
}

impl Turn {
    /// Waits for the turn and takes it.
    pub(crate) async fn take(&self) {
        poll_fn(|context| {
            if !self.taken.get() {
                return Poll::Ready(());
            }
            let mut waiting = self.waiting.borrow_mut();
            if !waiting.iter().any(|w| w.will_wake(context.waker())) {
                waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
        self.taken.set(true);
    }

    pub(crate) fn give_back(&self) {
        self.taken.set(false);
        // Wakers are foreign code, which must not find anything borrowed.
        let waiting = self.waiting.take();
        waiting.into_iter().for_each(Waker::wake);
    }
}

/// Conduct of a transaction in conflicts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Conduct {
    pub(crate) on_conflict: OnConflict,
    pub(crate) lock_timeout: Option<Duration>,
    /// Whether the transaction will be run again if it is aborted.
    pub(crate) is_restarted: bool,
    /// Whether the owner undoes the transaction's writes if it is aborted.
    pub(crate) is_undone_in_turns: bool,
}

/// Record for which a transaction was aborted.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) place: Place,
    pub(crate) table: u32,
    pub(crate) key: Box<[u8]>,
}

/// Kind of a write, which determines its undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteKind {
    /// A version in front of an older one.
    Version,
    /// The first version of a new record, with an index entry.
    Record,
}

/// One record written by the transaction.
pub(crate) struct Write {
    pub(crate) kind: WriteKind,
    /// The record's slot, which the anchor of the transaction keeps.
    pub(crate) slot: *const Slot,
    pub(crate) version: Version,
    /// The committed version that the write replaces, and the bytes of its block.
    pub(crate) old: Option<(Version, u32)>,
    pub(crate) table: u32,
    pub(crate) rid: Rid,
    /// Place of the key among `keys`; none until the key is needed.
    pub(crate) key: KeptKey,
    /// Newest savepoint when `version` was made; 0 before the first.
    pub(crate) savepoint: u32,
}

impl Write {
    /// Returns the key that was kept, among the `keys` of the context.
    pub(crate) fn key<'k>(&self, keys: &'k KeptKeys) -> &'k [u8] {
        keys.get(self.key)
    }
}

impl Context {
    fn new(number: u16) -> Context {
        Context {
            number,
            isolation: Cell::default(),
            read_only: Cell::default(),
            state: Cell::new(State::Ended),
            durability: Cell::default(),
            priority: Cell::default(),
            snapshot: Cell::new(NO_SNAPSHOT),
            anchor: Cell::new(NO_SNAPSHOT),
            used: Cell::default(),
            present: Cell::new(WallTime::UNKNOWN),
            reads_stored: Cell::default(),
            passes_over_cold: Cell::default(),
            fails_without_room: Cell::default(),
            seen: Cell::default(),
            id: Cell::default(),
            reads: Cell::default(),
            scanned: Cell::default(),
            scanned_in_blocks: Cell::default(),
            cold_stops: Cell::default(),
            written: Cell::default(),
            statements: Cell::default(),
            writes: RefCell::default(),
            keys: RefCell::default(),
            savepoints: RefCell::default(),
            command: CommandWrites::default(),
            found: Found::default(),
            moves: RefCell::default(),
            journal: RefCell::default(),
            turn: Turn::default(),
            conduct: Cell::default(),
            locks: RefCell::default(),
            table_locks: RefCell::default(),
            waits: Cell::default(),
            lost: RefCell::default(),
            dependencies: Dependencies::default(),
            beside: RefCell::default(),
            shared: RefCell::default(),
            room_owner: RoomOwner::default(),
            version_bytes: Cell::default(),
            charged_bytes: Cell::default(),
            effects: RefCell::default(),
            places: RefCell::default(),
            writes_at_effects: Cell::default(),
            written_tables: RefCell::default(),
            last_table: Cell::default(),
        }
    }

    /// Makes the context a new transaction's.
    #[inline(always)]
    pub(crate) fn open(&self, options: TransactionOptions, durability: Durability) {
        let TransactionOptions {
            isolation,
            read_only,
        } = options;
        self.isolation.set(isolation);
        self.read_only.set(read_only);
        self.dependencies.begin(match isolation {
            _ if read_only => Purpose::None,
            Isolation::ReadCommitted => Purpose::None,
            Isolation::Snapshot => Purpose::Move,
            Isolation::Serializable => Purpose::Certification,
        });
        self.state.set(State::Open);
        self.durability.set(durability);
        self.priority.set(Priority::default());
        self.seen.set(Timestamp(0));
        self.present.set(WallTime::UNKNOWN);
        self.reads_stored.set(false);
        self.passes_over_cold.set(false);
        self.fails_without_room.set(false);
        self.id.set(None);
        self.writes_at_effects.set(0);
        self.used.take();
        self.reads.set(0);
        self.scanned.set(0);
        self.scanned_in_blocks.set(0);
        self.cold_stops.set(0);
        self.written.set(0);
        self.conduct.set(Conduct::default());
        self.found.forget();
    }

    pub(crate) fn count_write(&self) {
        self.written.set(self.written.get() + 1);
    }

    /// Returns the amount of work done, for finding the schedule that gets most work done. A
    /// scanned record costs a fraction of a point operation.
    #[inline(always)]
    pub(crate) fn work(&self) -> u64 {
        self.reads.get() + self.written.get() + self.scanned.get() / 8
    }

    pub(crate) fn snapshot(&self) -> Timestamp {
        Timestamp(self.snapshot.get())
    }

    pub(crate) fn set_snapshot(&self, snapshot: Timestamp) {
        self.snapshot.set(snapshot.0);
    }

    /// Keeps the versions that the transaction sees now in place until it ends; without a snapshot,
    /// those of the `present`.
    pub(crate) fn drop_anchor(&self, present: impl FnOnce() -> Timestamp) {
        let snapshot = self.snapshot.get();
        let anchor = match snapshot {
            NO_SNAPSHOT => present().0,
            _ => snapshot,
        };
        self.anchor.set(anchor);
    }

    /// Returns the snapshot of the first write.
    pub(crate) fn anchor(&self) -> Timestamp {
        Timestamp(self.anchor.get())
    }

    /// Notes that the transaction uses `table`.
    #[inline(always)]
    pub(crate) fn note_use(&self, table: u32) {
        self.used.set(self.used.get().with(table));
    }

    /// Notes that the transaction writes to `table`.
    #[inline(always)]
    pub(crate) fn note_written(&self, table: u32) {
        if self.last_table.get() != Some(table) {
            self.note_other_written(table);
        }
    }

    #[cold]
    fn note_other_written(&self, table: u32) {
        self.last_table.set(Some(table));
        let mut tables = self.written_tables.borrow_mut();
        if !tables.contains(&table) {
            tables.push(table);
        }
    }

    /// Whether the transaction may have used `table`.
    pub(crate) fn has_used(&self, table: u32) -> bool {
        self.used.get().has(table)
    }

    pub(crate) fn drop_snapshot(&self) {
        self.snapshot.set(NO_SNAPSHOT);
    }

    fn forget_writes(&self) {
        // A huge transaction should not keep its memory for ever.
        debug_assert!(self.effects.borrow().is_empty(), "its end has used them up");
        self.keys.borrow_mut().clear();
        self.writes.borrow_mut().clear();
        self.version_bytes.set(0);
        self.places.borrow_mut().forget();
        self.locks.borrow_mut().clear();
        self.written_tables.borrow_mut().clear();
        self.last_table.set(None);
        self.savepoints.borrow_mut().forget();
        self.moves.borrow_mut().forget();
    }

    /// Counts an operation in. Returns whether it is the only one.
    pub(crate) fn open_statement(&self) -> bool {
        let open = self.statements.get();
        self.statements.set(open + 1);
        open == 0
    }

    /// Returns the number of operations under way.
    pub(crate) fn statements(&self) -> u32 {
        self.statements.get()
    }

    /// Counts an operation out. Returns whether it was the last one.
    pub(crate) fn close_statement(&self) -> bool {
        let open = self.statements.get() - 1;
        self.statements.set(open);
        open == 0
    }

    /// Returns the bytes that the transaction has in memory: its versions and its lists.
    pub(crate) fn bytes(&self) -> usize {
        self.version_bytes.get() + self.list_bytes()
    }

    /// Counts a version in.
    #[inline(always)]
    pub(crate) fn add_version(&self, version: Version) {
        let bytes = &self.version_bytes;
        bytes.set(bytes.get() + version.block_bytes());
    }

    /// Counts a version out.
    pub(crate) fn remove_version(&self, version: Version) {
        let bytes = &self.version_bytes;
        debug_assert!(bytes.get() >= version.block_bytes(), "it was counted in");
        bytes.set(bytes.get().saturating_sub(version.block_bytes()));
    }

    /// Returns the bytes of the lists.
    pub(super) fn list_bytes(&self) -> usize {
        self.writes.borrow().capacity_bytes()
            + self.places.borrow().bytes()
            + self.locks.borrow().list_bytes()
            + self.keys.borrow().capacity_bytes()
            + self.dependencies.list_bytes()
            + self.savepoints.borrow().list_bytes()
            + self.command.list_bytes()
            + self.moves.borrow().list_bytes()
    }

    /// Whether the next write, with a key of `key_bytes`, will make a list grow.
    #[inline(always)]
    pub(crate) fn will_grow(&self, key_bytes: usize) -> bool {
        self.writes.borrow().will_grow() || self.keys.borrow().will_grow(key_bytes)
    }

    /// Whether the lists have grown so much that some memory is given back at the end.
    #[inline(always)]
    pub(super) fn is_large(&self) -> bool {
        self.charged_bytes.get() > KEPT_BYTES
    }

    /// Stores a key.
    pub(crate) fn keep_key(&self, key: &[u8]) -> KeptKey {
        self.keys.borrow_mut().keep(key)
    }
}

/// All contexts of a session.
pub(crate) struct Contexts {
    all: RefCell<Vec<Rc<Context>>>,
    free: RefCell<Vec<Rc<Context>>>,
    /// A bit for each context: whether it is in use. Few of the many contexts that were once open
    /// at the same time may be in use now, and the housekeeping visits them often.
    in_use: RefCell<Vec<u64>>,
}

impl Contexts {
    pub(crate) fn new() -> Contexts {
        Contexts {
            all: RefCell::default(),
            free: RefCell::default(),
            in_use: RefCell::default(),
        }
    }

    /// Takes a context for a new transaction; `None` when 65,536 are open.
    #[inline]
    pub(crate) fn take(&self) -> Option<Rc<Context>> {
        let free = self.free.borrow_mut().pop();
        let context = free.or_else(|| self.another())?;
        self.flip_use(&context);
        Some(context)
    }

    #[inline(always)]
    fn flip_use(&self, context: &Context) {
        let number = usize::from(context.number);
        self.in_use.borrow_mut()[number / 64] ^= 1 << (number % 64);
    }

    /// Calls `visit` with each context in use.
    fn each_in_use(&self, mut visit: impl FnMut(&Context)) {
        let all = self.all.borrow();
        for (word, &bits) in self.in_use.borrow().iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                visit(&all[word * 64 + bits.trailing_zeros() as usize]);
                bits &= bits - 1;
            }
        }
    }

    #[cold]
    fn another(&self) -> Option<Rc<Context>> {
        let mut all = self.all.borrow_mut();
        if all.len() == CONTEXTS_MAX {
            return None;
        }
        if all.len().is_multiple_of(64) {
            self.in_use.borrow_mut().push(0);
        }
        let context = Rc::new(Context::new(all.len() as u16));
        all.push(context.clone());
        Some(context)
    }

    #[inline]
    pub(crate) fn give_back(&self, context: Rc<Context>, account: &Account) {
        context.drop_snapshot();
        context.statements.set(0);
        debug_assert!(context.locks.borrow().is_empty(), "locks end first");
        debug_assert!(context.table_locks.borrow().is_empty(), "so do tables'");
        context.dependencies.clear();
        if context.id.get().is_some() {
            context.anchor.set(NO_SNAPSHOT);
            context.forget_writes();
        }
        if context.is_large() {
            account.charge(&context);
        }
        // Last: everything that the transaction has read stays in place until here.
        if context.shared.borrow().is_some() {
            context.shared.take();
        }
        self.flip_use(&context);
        self.free.borrow_mut().push(context);
    }

    pub(crate) fn open(&self) -> usize {
        self.all.borrow().len() - self.free.borrow().len()
    }

    /// Returns the work of the open transactions.
    pub(crate) fn work(&self) -> u64 {
        let mut work = 0;
        self.each_in_use(|context| {
            if context.state.get() == State::Open {
                work += context.work();
            }
        });
        work
    }

    /// Returns the oldest snapshot that is open, or under which a transaction has written.
    pub(crate) fn oldest_snapshot(&self) -> Option<Timestamp> {
        let mut oldest = NO_SNAPSHOT;
        self.each_in_use(|context| {
            let own = context.snapshot.get().min(context.anchor.get());
            oldest = oldest.min(own);
        });
        (oldest != NO_SNAPSHOT).then_some(Timestamp(oldest))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::session::Account;

    #[test]
    fn those_in_use_are_found_among_many_that_are_not() {
        let arena = memory::Arena::new(1 << 20).unwrap();
        let (contexts, account) = (Contexts::new(), Account::new(&arena));
        let mut taken: Vec<_> = (0..200).map(|_| contexts.take().unwrap()).collect();
        assert_eq!(contexts.oldest_snapshot(), None);
        for (at, context) in taken.iter().enumerate() {
            context.snapshot.set(1000 + at as u64);
        }
        assert_eq!(contexts.oldest_snapshot(), Some(Timestamp(1000)));
        for context in taken.drain(..70) {
            contexts.give_back(context, &account);
        }
        assert_eq!(contexts.oldest_snapshot(), Some(Timestamp(1070)));
        assert_eq!(contexts.open(), 130);
        let again = contexts.take().unwrap();
        assert_eq!(contexts.oldest_snapshot(), Some(Timestamp(1070)));
        again.anchor.set(5);
        assert_eq!(contexts.oldest_snapshot(), Some(Timestamp(5)));
    }
}
