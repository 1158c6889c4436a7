//! Row locks and table locks, and waiting for another transaction's end.
//!
//! A record is *owned* by the transaction whose uncommitted version is its head; this costs nothing
//! and is in no table. The lock table knows only records with more than that: explicit locks, or
//! waiting transactions. The slots of these records carry a mark (`indirection.rs`) that readers
//! mask and writers heed. The first transaction that has to wait for an owner enters the owner as
//! the holder, on the owner's behalf, and marks the slot.
//!
//! A write that keeps a record's key owns the record less strongly (`Strength::NoKeyUpdate`) than
//! other writes do; the version says which (`version.rs`), as long as it is in the chain.
//! `transaction/lock.rs` argues how a key share goes on beside such writes.
//!
//! | part | file |
//! | --- | --- |
//! | the table: acquire, release, hand over | this file |
//! | one record: holders, queue, order of grants | `record.rs` |
//! | tables: their modes; weak locks; all others | `mode.rs`, `weak.rs`, `tables.rs`, `tables/queue.rs` |
//! | waits between transactions, and deadlocks | `graph.rs`, `view.rs` |
//! | the future that waits | `waiting.rs` |
//!
//! # Invariants
//! - *Mark*: a slot is marked exactly while the table has a record for it. Both change under the
//!   latch of the record's shard. An unmarked head is replaced by a compare-and-swap that fails on
//!   a mark; a marked head only by a holder that may write.
//! - *Owner*: if the head of a marked slot is uncommitted, its maker is a holder, at least as
//!   strong as that version says, until the maker's end has taken it out. (If the maker wrote
//!   before the mark, the transaction that marked the slot entered the maker. If it wrote after the
//!   mark, it was the holder.) A version of the maker is therefore not changed into a stronger one,
//!   but replaced by it, as if it were another transaction's.
//! - *Order*: first come, first served among transactions that exclude each other, except for two
//!   kinds of newcomers. A holder of the record that wants a stronger lock comes before the
//!   transactions that wait for the lock it has. A newcomer that has locks elsewhere comes before
//!   waiters that have none at all, each of which this may happen to a few times only: other
//!   transactions wait for the newcomer, and at the end of a long queue it would close a cycle
//!   nearly every time (Tian, Huang, Mozafari, Schoenebeck: "Contention-aware lock scheduling for
//!   transactional databases", VLDB 2018, go farther and serve the transactions first for which
//!   most others wait). A lock is handed over under the latch: no other transaction can slip in.
//! - No latch is held across a suspension. Latches are taken in the order graph, tables, shard; no
//!   two shards at once. Wakers are called without any latch.
//!
//! # No lost hand-over
//! A holder that is in its own list of locks takes itself out at its end. A holder that was entered
//! on its behalf does not know, and its end has to find out.
//!
//! *Undo* replaces the head by a compare-and-swap, and sees the mark in the word it replaces: if
//! the slot was marked before, the record is released; otherwise the marking fails, because the
//! head has changed.
//!
//! *Commit* does not touch slots. The waiter leaves a flag on the owner's status (`status.rs`), and
//! looks whether the owner had begun to commit:
//!
//! ```text
//!   waiter (graph and shard latched)    owner
//!   marks the slot, enters the owner    phase = Committing      (SeqCst)
//!   watched = true         (SeqCst)     takes the timestamp, stamps
//!   phase Active?          (SeqCst)     watched?                (SeqCst)
//! ```
//! Store before load on both sides, all sequentially consistent: if the waiter sees `Active`, the
//! owner sees the flag; the owner then looks for marks among the slots that it has written and
//! releases those, waiting for the latch. Otherwise the waiter takes everything back and looks
//! again in a moment: an owner that has begun to commit does not suspend before its status says
//! that it has committed, and then it owns nothing. An owner that no transaction waits for pays for
//! the load of a flag that lies beside the word it has just stored. `loom_tests.rs` checks both.
//!
//! # No lost wake
//! A ticket's state and the waker beside it change under the shard's latch; a poll leaves its waker
//! under the same latch, after it has looked at the state there.

mod graph;
#[cfg(all(test, loom))]
mod loom_tests;
mod mode;
mod record;
mod tables;
mod view;
mod waiting;
mod weak;

use std::{collections::HashMap, sync::Arc, task::Waker};

use memory::Reservation;

pub use self::mode::TableLockMode;
use self::tables::{LatchedTables, TableLocks};
use self::{
    graph::Graph,
    record::{Record, Stake},
    view::View,
};
pub(crate) use self::{
    mode::TableLockModes,
    record::Ticket,
    tables::TableRequest,
    waiting::{Waited, Waiting, Wanted},
    weak::{Gate, Taken, WeakLocks},
};
use crate::{
    horizon::Alone,
    indirection::{Head, Slot},
    status::Status,
    sync::{Mutex, MutexGuard},
    timestamp::TransactionId,
    version::Version,
};

/// Strength of a lock on a record: PostgreSQL's four row locks, the weakest first. A stronger lock
/// excludes all that a weaker one excludes.
///
/// | strength | excludes |
/// | --- | --- |
/// | `KeyShare` | `Update` |
/// | `Share` | `NoKeyUpdate`, `Update` |
/// | `NoKeyUpdate` | `Share`, `NoKeyUpdate`, `Update` |
/// | `Update` | all |
///
/// A *key* is the part of a record that other records may refer to: the caller of a write says
/// whether the write keeps it ([`crate::Transaction::modify_row`]). A write that keeps the key
/// locks its record as `NoKeyUpdate`, every other write as `Update`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strength {
    /// The record stays, and keeps its key.
    KeyShare,
    /// The record stays as it is.
    Share,
    /// The record is written, and keeps its key.
    NoKeyUpdate,
    /// The record is written, deleted, or given another key.
    Update,
}

impl Strength {
    /// All strengths, from the weakest to the strongest.
    pub(crate) const ALL: [Strength; 4] = [
        Strength::KeyShare,
        Strength::Share,
        Strength::NoKeyUpdate,
        Strength::Update,
    ];

    /// Whether two transactions can have these locks on one record.
    #[inline]
    pub(crate) fn goes_with(self, other: Strength) -> bool {
        use Strength::{KeyShare, NoKeyUpdate, Share};
        match self.max(other) {
            KeyShare | Share => true,
            NoKeyUpdate => self.min(other) == KeyShare,
            Strength::Update => false,
        }
    }
}

/// Reaction to a record that another transaction has written or locked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IfLocked {
    /// Wait until it is this transaction's turn.
    #[default]
    Wait,
    /// Fail with [`crate::Error::Locked`].
    Fail,
    /// Pass the record over, as if there were none.
    Skip,
}

/// Reaction of a write to a record that another open transaction has written or locked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnConflict {
    /// Aborts with [`crate::Abort::WriteConflict`].
    #[default]
    Abort,
    /// Waits for the end of the other transaction, behind earlier waiters. Under read committed the
    /// write then goes on with the newest version. On a snapshot the write goes on as well if
    /// nothing that the transaction has read has changed; otherwise, if the other transaction has
    /// committed a change, the transaction aborts with [`crate::Abort::SnapshotTooOld`].
    Wait,
}

/// Name of a record or table that can be locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// A record: the address of its slot, which never moves.
    Record(*const Slot),
    /// A table, by the number of its [`Gate`].
    Table(u32),
}

// SAFETY: slots are shared between threads, and stay as long as a transaction that has or wants
// locks on them, whose anchor keeps them.
unsafe impl Send for Place {}

impl Place {
    pub(crate) fn of(slot: *const Slot) -> Place {
        Place::Record(slot)
    }

    /// Unmarks the slot of a record that is, or was, in the lock table.
    fn unmark(&self) {
        if let Place::Record(slot) = *self {
            // SAFETY: as for `Send`: the transaction that leaves the record has not ended yet, and its
            // anchor keeps the slot.
            unsafe { &*slot }.unmark();
        }
    }

    fn hash(&self) -> u64 {
        let word = match *self {
            Place::Record(slot) => slot.addr() as u64,
            Place::Table(number) => number.into(),
        };
        word.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// Request of a transaction for a lock on a record.
pub(crate) struct Request<'a> {
    pub(crate) slot: &'a Slot,
    /// Head that was found in the slot.
    pub(crate) head: Version,
    /// Owner of the head, if it is uncommitted, and the owner's strength, as the version says.
    pub(crate) owner: Option<(TransactionId, &'a Status, Strength)>,
    pub(crate) by: TransactionId,
    pub(crate) strength: Strength,
    /// Whether no transaction can be waiting for the requester: it has written and locked nothing
    /// and waits nowhere else.
    pub(crate) is_free: bool,
}

/// Outcome of a request.
pub(crate) enum Acquired {
    /// The lock is held now. The strength held before is given.
    Held(Option<Strength>),
    /// The head has changed, or its owner is about to end: look again.
    Changed,
    /// Another transaction has the lock.
    Busy,
    /// The request is in the queue.
    Queued(Arc<Ticket>),
    /// The wait would close a cycle of waits.
    Deadlock,
    /// There is no memory for another record in the table.
    Exhausted,
}

/// Approximate bytes of a record in the table, with a few holders and waiters.
const RECORD_BYTES: usize = 320;
const SHARDS: usize = if cfg!(loom) { 1 } else { 64 };

/// The lock table of a database.
pub(crate) struct Locks {
    shards: Box<[Alone<Mutex<Shard>>]>,
    pub(crate) tables: TableLocks,
    graph: Alone<Mutex<Graph>>,
}

struct Shard {
    records: HashMap<Place, Record>,
    /// Part of the memory limit for the records. (The model checker has no limit.)
    memory: Option<Reservation>,
}

impl Shard {
    /// Enters a record, unless there is no memory.
    fn add(&mut self, place: Place) -> Option<&mut Record> {
        if let Some(memory) = &mut self.memory {
            memory.grow(RECORD_BYTES).ok()?;
        }
        Some(self.records.entry(place).or_default())
    }

    fn remove(&mut self, place: Place) -> Option<Record> {
        let record = self.records.remove(&place)?;
        if let Some(memory) = &mut self.memory {
            memory.shrink(RECORD_BYTES);
        }
        Some(record)
    }

    /// Hands the record over, or forgets it, after a transaction has left.
    fn settle(&mut self, place: Place) -> Vec<Waker> {
        let Some(record) = self.records.get_mut(&place) else {
            return Vec::new();
        };
        let wakers = record.hand_over();
        if record.is_empty() {
            place.unmark();
            self.remove(place);
        }
        wakers
    }
}

fn wake(wakers: Vec<Waker>) {
    for waker in wakers {
        waker.wake();
    }
}

impl Locks {
    /// Makes an empty table; `reserve` gives each shard its part of the memory limit.
    pub(crate) fn new(mut reserve: impl FnMut() -> Option<Reservation>) -> Locks {
        let shard = |memory| {
            let records = HashMap::new();
            Alone(Mutex::new(Shard { records, memory }))
        };
        let shards: Vec<_> = (0..SHARDS).map(|_| shard(reserve())).collect();
        Locks {
            shards: shards.into(),
            tables: TableLocks::new(reserve()),
            graph: Alone(Mutex::new(Graph::default())),
        }
    }

    fn shard(&self, place: Place) -> MutexGuard<'_, Shard> {
        self.shards[(place.hash() >> 48) as usize % SHARDS]
            .lock()
            .unwrap_or_else(|e| e.into_inner())
    }

    fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Acquires a lock on a record. If the lock is not free and `waits`, enters the queue.
    pub(crate) fn acquire(&self, request: &Request<'_>, waits: bool) -> Acquired {
        let place = Place::of(request.slot);
        let attempt = |queues| self.attempt(request, queues);
        self.acquire_by(place, request.by, request.is_free, waits, attempt)
    }

    /// Acquires a lock on a table. If the lock is not free and `waits`, enters the queue.
    pub(crate) fn acquire_table(&self, request: &TableRequest<'_>, waits: bool) -> Acquired {
        let place = Place::Table(request.gate.number());
        let attempt = |queues| self.tables.attempt(request, queues);
        self.acquire_by(place, request.by, request.is_free, waits, attempt)
    }

    fn acquire_by(
        &self,
        place: Place,
        by: TransactionId,
        is_free: bool,
        waits: bool,
        attempt: impl Fn(bool) -> Acquired,
    ) -> Acquired {
        let acquired = attempt(false);
        if !waits || !matches!(acquired, Acquired::Busy) {
            return acquired;
        }
        let mut graph = self.graph();
        let acquired = attempt(true);
        let Acquired::Queued(ticket) = &acquired else {
            return acquired;
        };
        graph.enter(by, place);
        if is_free {
            return acquired;
        }
        if let Some(wakers) = graph.resolve(self, by, &mut 0) {
            drop(graph);
            wake(wakers);
            return acquired;
        }
        let (left, wakers) = self.leave_queue(place, ticket);
        if left {
            graph.leave(by, place);
        }
        drop(graph);
        wake(wakers);
        // A transaction of the cycle that was aborted, through another of its operations, takes its writes back before
        // its waits, without the graph's latch: a ticket that it has answered since is no deadlock, but a lock.
        match left {
            true => Acquired::Deadlock,
            false => acquired,
        }
    }

    fn attempt(&self, request: &Request<'_>, queues: bool) -> Acquired {
        let place = Place::of(request.slot);
        let mut shard = self.shard(place);
        if !shard.records.contains_key(&place) {
            let is_in_the_way = |(owner, _, strength): (TransactionId, _, Strength)| {
                owner != request.by && !strength.goes_with(request.strength)
            };
            if request.owner.is_some_and(is_in_the_way) && !queues {
                return Acquired::Busy;
            }
            if !request.slot.mark(request.head) {
                return Acquired::Changed;
            }
            if let Some((owner, status, _)) = request.owner
                && !status.watch(owner.sequence())
            {
                request.slot.unmark();
                return Acquired::Changed;
            }
            let Some(record) = shard.add(place) else {
                request.slot.unmark();
                return Acquired::Exhausted;
            };
            if let Some((owner, _, strength)) = request.owner {
                record.hold(owner, strength);
            }
        } else if request.slot.head() != Head::Version(request.head) {
            return Acquired::Changed;
        }
        let record = shard.records.get_mut(&place).expect("it was just there");
        let stake = match request.is_free {
            true => Stake::None,
            false => Stake::Some,
        };
        match record.request(request.by, request.strength, stake) {
            Ok(before) => Acquired::Held(before),
            Err(_) if queues => {
                Acquired::Queued(record.enqueue(request.by, request.strength, stake))
            }
            Err(_) => Acquired::Busy,
        }
    }

    /// Weakens the lock of `by` to the strength `to`, or gives it up, and hands the record over.
    /// Without effect if there is no lock.
    pub(crate) fn release(&self, place: Place, by: TransactionId, to: Option<Strength>) {
        let mut shard = self.shard(place);
        let Some(record) = shard.records.get_mut(&place) else {
            return;
        };
        record.weaken(by, to);
        let wakers = shard.settle(place);
        drop(shard);
        wake(wakers);
    }

    /// Makes the locks of `from` on a record those of `to`, which goes on in its place.
    pub(crate) fn bequeath(&self, place: Place, from: TransactionId, to: TransactionId) {
        if let Some(record) = self.shard(place).records.get_mut(&place) {
            record.bequeath(from, to);
        }
    }

    /// Declares a record gone whose insert is undone, if its slot is marked and `version` is still
    /// its head; waiters look again. Returns whether it did.
    pub(crate) fn kill(&self, slot: &Slot, version: Version) -> bool {
        let place = Place::of(slot);
        let mut shard = self.shard(place);
        if !slot.kill_marked(version) {
            return false;
        }
        let record = shard.remove(place).expect("the slot was marked");
        // Under the latch: a waiter that finds no record to leave its waker with must find the answer.
        let wakers = record.dissolve();
        drop(shard);
        wake(wakers);
        true
    }

    /// Takes a waiter out of the queue, unless its ticket was answered. Returns whether it was
    /// answered.
    pub(crate) fn withdraw(&self, place: Place, by: TransactionId, ticket: &Ticket) -> bool {
        let mut graph = self.graph();
        graph.leave(by, place);
        let (left, wakers) = self.leave_queue(place, ticket);
        drop(graph);
        wake(wakers);
        !left
    }

    fn leave_queue(&self, place: Place, ticket: &Ticket) -> (bool, Vec<Waker>) {
        if let Place::Table(number) = place {
            return self.tables.leave(number, ticket);
        }
        let mut shard = self.shard(place);
        let record = shard.records.get_mut(&place);
        if !record.is_some_and(|record| record.leave(ticket)) {
            return (false, Vec::new());
        }
        (true, shard.settle(place))
    }

    /// Sets the waker to call when the ticket is answered; false if the ticket was answered.
    pub(crate) fn set_waker(&self, place: Place, ticket: &Ticket, waker: &Waker) -> bool {
        if let Place::Table(number) = place {
            return self.tables.set_waker(number, ticket, waker);
        }
        let mut shard = self.shard(place);
        let record = shard.records.get_mut(&place);
        record.is_some_and(|record| record.set_waker(ticket, waker))
    }

    /// Ends all waits of a transaction that is over.
    pub(crate) fn cancel(&self, by: TransactionId) {
        let mut wakers = Vec::new();
        let graph = self.graph();
        for place in graph.waits_of(by) {
            if let Place::Table(number) = place {
                wakers.extend(self.tables.cancel(number, by));
                continue;
            }
            let mut shard = self.shard(place);
            if let Some(record) = shard.records.get_mut(&place) {
                wakers.extend(record.cancel(by));
                wakers.extend(shard.settle(place));
            }
        }
        drop(graph);
        wake(wakers);
    }

    /// Returns the holders and waiters of `place`, for a search. `tables` are those of `self`, if they are
    /// latched.
    fn view(&self, place: Place, tables: Option<&LatchedTables<'_>>) -> View {
        if let Place::Table(number) = place {
            return match tables {
                Some(tables) => tables.view(number),
                None => self.tables.latch().view(number),
            };
        }
        let shard = self.shard(place);
        let record = shard.records.get(&place);
        record.map(Record::view).unwrap_or_default()
    }

    /// Returns the number of records in the table.
    #[cfg(all(test, loom))]
    pub(crate) fn len(&self) -> usize {
        let records = |shard: &Alone<Mutex<Shard>>| shard.lock().unwrap().records.len();
        self.shards.iter().map(records).sum::<usize>() + self.tables.len()
    }
}
