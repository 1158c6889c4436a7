//! Certification: whether a serializable transaction may commit.
//!
//! It ran on a snapshot, where the only thing that can go wrong is an
//! *anti-dependency*: it read a version that another transaction, its *successor*,
//! overwrote before it committed. Notation: `c(T)` commit timestamp, `s(T)` snapshot,
//! `pi(T)` the earliest `pi(U)` of a successor `U` that committed before `T`, or `c(T)`
//! itself; `eta(T)` the latest commit of a *predecessor*: who made what `T` read or
//! overwrote, or read what `T` overwrote.
//!
//! Everything that committed before `T` began counts as a predecessor: `eta(T)` is at
//! least `s(T)`. So serial orders respect real time (*strict* serializability): without
//! this, `T` could come before a transaction whose client has told `T`'s of its success.
//! It also spares the question which deletions, collected by now, `T` may have seen.
//!
//! - Validation: `T` aborts if it has a successor, `pi(T) < c(T)`. Then timestamps are a
//!   serial order. Who wrote nothing is serial at its snapshot.
//! - Serial safety net (paper 000 section 4.5 and its reference 61): `T` aborts if
//!   `pi(T) <= eta(T)`.
//!
//! # Readers leave marks when they commit
//! The original keeps bits for readers in every version, set while reading, so that who
//! overwrites it finds the readers that commit at the same time. Here a transaction
//! writes nothing until it commits, and then settles it with whoever overwrites what it
//! read:
//!
//! ```text
//!   T, which has read V                   U, which overwrites V
//!   c(T) = clock.fetch_add(1) + 1         phase = Committing          (SeqCst)
//!   mark V with c(T)                      c(U) = clock.fetch_add(1) + 1 (SeqCst)
//!   fence(SeqCst)                         fence(SeqCst)
//!   who overwrites V, in which phase?     eta(U) = max(eta(U), mark of V)
//! ```
//! - `U` is active (or has not written yet): by the fences it sees the mark, and
//!   `c(U) > c(T)`. Nothing to do for `T`.
//! - `U` has committed, or is committing, with `c(U) < c(T)`: a successor of `T`. If it
//!   is committing `T` waits for the outcome: only ever for an earlier timestamp.
//! - `U` has a later timestamp than `T`, and so was certified while `T` marked: it may
//!   have missed the mark. `T` aborts. The window is that of a few loads.
//!
//! (`certify/loom_tests.rs` checks this in all interleavings.)
//!
//! A mark stays if `T` aborts, or is rounded up (`version/stamps.rs`): it can only
//! abort a transaction too many, one that also has a successor.
//!
//! # Absent records
//! What was not there, in the index or for the snapshot, is noted as the node of the
//! index that says so; a transaction whose nodes have changed, by other hands than its
//! own, aborts if there is something new where it has looked (`phantoms.rs`). (An entry that is there without a visible version is noted as a record
//! as well.) Who inserts later has no version where a mark could be: if it has a
//! successor, all sessions' *range stamps* of the tables where it inserted count as its
//! predecessors (`certifier.rs`). They are raised, and read, on the same sides of the fences as
//! marks.
//!
//! # Writes that are taken back
//! alone, by a return to a savepoint or by an operation on several indexes that fails, leave
//! what they have told (there was such a record, or none) among the reads: `savepoint.rs`.
//!
//! # Tables that are dropped
//! or truncated have a successor in whoever does that, for all who have used them. The
//! dropper knows nothing of its predecessors and passes only without a successor
//! (`catalog/life.rs`).
//!
//! # Transactions that wrote nothing
//! take no timestamp. `R` commits, in the serial order, just after its snapshot, and marks
//! what it read with that. Its predecessors are not later, its successors `U` all have
//! `c(U) > s(R)`; so it is safe as long as none of them commits with `pi(U) <= s(R)`. Who
//! has committed already may have missed the mark, so `R` looks at its `pi(U)`; who has
//! not sees the mark.
//!
//! *Declared* read-only transactions note nothing. Instead nobody at all commits with
//! `pi(U) <= s(R) < c(U)` (`Announcements::read_only_snapshot`), whether or not `R` reads
//! what `U` wrote.

#[cfg(all(test, loom))]
mod loom_tests;

use std::ops::ControlFlow;

use super::{Transaction, visibility::Sight};
use crate::{
    certifier::Certifier,
    error::Abort,
    indirection::Head,
    session::RecordRead,
    status::Outcome,
    sync::{Ordering, fence},
    table_set::TableSet,
    timestamp::{Begin, Timestamp},
    version::Version,
};

/// What has become of a record since it was read.
enum Place {
    /// The version that was seen is the newest, or (`None`) the transaction itself has
    /// replaced it.
    Newest(Option<Version>),
    /// The same, and it is on the device.
    Cold,
    /// It was replaced (or, if none was seen, there is one now).
    Under {
        newer: Version,
        seen: Option<Version>,
    },
    /// The record's slot serves another record.
    Gone,
}

/// Who overwrote what was read, and when.
pub(super) enum Overwriter {
    /// Nobody, or somebody who commits later and sees the mark.
    None,
    Committed {
        at: Timestamp,
        successor: Timestamp,
    },
    /// Somebody who is committing, later.
    Later,
}

impl Transaction {
    /// Whether a transaction that has written may commit at `at`, which it has taken:
    /// its earliest successor, itself included. `first_drop` is one, if it is earlier:
    /// it dropped a table that the transaction has used (`catalog/life.rs`).
    ///
    /// # Errors
    /// Why it must abort.
    pub(super) fn certify(&self, at: Timestamp, first_drop: Timestamp) -> Result<Timestamp, Abort> {
        if self.context.dependencies.has_nothing_to_certify() {
            return Ok(at);
        }
        let marks = self.session.database.certifier() == Certifier::Ssn;
        let (inserted_in, range_before) = self.insertions();
        if marks {
            self.leave_marks(at);
        }
        let mut successor = first_drop;
        let flow = self.each_overwriter(at, |overwriter| match overwriter {
            Overwriter::None => ControlFlow::Continue(()),
            Overwriter::Committed {
                at: other,
                successor: its,
            } if other < at => {
                successor = successor.min(its);
                ControlFlow::Continue(())
            }
            // It may have missed a mark.
            Overwriter::Committed { .. } | Overwriter::Later if marks => ControlFlow::Break(()),
            Overwriter::Committed { .. } | Overwriter::Later => ControlFlow::Continue(()),
        });
        if flow.is_break() {
            return Err(Abort::NotSerializable);
        }
        self.check_phantoms()?;
        let is_safe = successor == at
            || marks
                && !self.drops_tables()
                && successor > self.latest_predecessor(at, inserted_in, range_before)
                && successor > self.session.database.board.last_read_only();
        is_safe.then_some(successor).ok_or(Abort::NotSerializable)
    }

    /// Whether a transaction that has written nothing may commit.
    ///
    /// # Errors
    /// Why it must abort.
    pub(super) fn certify_reads(&self) -> Result<(), Abort> {
        let validates = self.session.database.certifier() == Certifier::Validation;
        if validates || self.context.dependencies.has_nothing_to_certify() {
            return Ok(());
        }
        let at = self.context.snapshot();
        self.leave_marks(at);
        let flow = self.each_overwriter(Timestamp(u64::MAX), |overwriter| match overwriter {
            Overwriter::Committed { successor, .. } if successor <= at => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        if flow.is_break() {
            return Err(Abort::NotSerializable);
        }
        self.check_phantoms()
    }

    /// Where the transaction inserts, and the session's newest range stamp there.
    fn insertions(&self) -> (TableSet, Timestamp) {
        let writes = self.context.writes.borrow();
        let inserted = writes.iter().filter(|write| write.old.is_none());
        let tables = inserted.map(|write| write.table);
        let tables = tables.fold(TableSet::default(), TableSet::with);
        (tables, self.session.announcements().newest_range(tables))
    }

    /// Marks what was read with `at`, and makes sure that whoever misses a mark is seen.
    fn leave_marks(&self, at: Timestamp) {
        let session = &*self.session;
        let _pin = session.memory.pin();
        let absent_in = self.context.dependencies.absent_in();
        session.announcements().raise_ranges(absent_in, at);
        loop {
            let is_news = self.mark_records(at);
            // Pairs with the fence of whoever overwrites what was read, or inserts what was
            // not there, or has it leave memory: module text, and `cold.rs`.
            fence(Ordering::SeqCst);
            // What came or went meanwhile was perhaps marked in the wrong place.
            if !is_news || session.database.cold().is_none() {
                return;
            }
        }
    }

    /// Marks what was read where it is now; whether it was not marked there.
    fn mark_records(&self, at: Timestamp) -> bool {
        let database = &*self.session.database;
        let (now, cold) = (database.now(), database.cold());
        let mut is_news = false;
        for read in self.context.dependencies.records.borrow().iter() {
            // SAFETY: as in `place`.
            let slot = unsafe { &*read.slot };
            // What was replaced stays as long as the snapshot is open, and a tombstone as
            // long as it is linked, which it just was.
            let (seen, leaves) = match self.place(*read) {
                Place::Newest(seen) => (seen, slot.is_frozen()),
                Place::Under { seen, .. } => (seen, false),
                Place::Cold => (None, true),
                Place::Gone => (None, false),
            };
            if let Some(seen) = seen {
                is_news |= seen.mark_read(at, now);
            }
            if let (true, Some(cold)) = (leaves, cold) {
                is_news |= cold.bounds.raise(slot, at);
            }
        }
        is_news
    }

    /// Calls `visit` with the overwriter of each record that was read, until it breaks.
    /// Transactions that are committing not later than `bound` are waited for.
    pub(super) fn each_overwriter(
        &self,
        bound: Timestamp,
        mut visit: impl FnMut(Overwriter) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let _pin = self.session.memory.pin();
        for read in self.context.dependencies.records.borrow().iter() {
            match self.place(*read) {
                Place::Newest(_) | Place::Cold => {}
                Place::Under { newer, .. } => visit(self.overwriter(newer, bound))?,
                Place::Gone => return ControlFlow::Break(()),
            }
        }
        ControlFlow::Continue(())
    }

    /// Looks a record up that was read. A pin must be open.
    #[inline(always)]
    fn place(&self, read: RecordRead) -> Place {
        // SAFETY: slots never move, and a table's stay as long as a snapshot is open
        // that could read it.
        let slot = unsafe { &*read.slot };
        let seen = read.seen().map(|seen| seen.at);
        match slot.head() {
            Head::Version(head) if seen.is_some_and(|at| head.begin() == Begin::Committed(at)) => {
                Place::Newest(Some(head))
            }
            Head::Version(head) => self.place_below(read, seen, head),
            Head::Cold(_) if read.was_present() => Place::Cold,
            Head::Cold(_) => Place::Gone,
            // The insertion that was not visible has been undone, or a tombstone
            // collected; then the node has changed too.
            Head::Unused | Head::Dead if !read.was_present() => Place::Newest(None),
            Head::Unused | Head::Dead => Place::Gone,
        }
    }

    /// The same, where there is something newer, or what was seen is not stamped yet.
    #[cold]
    fn place_below(&self, read: RecordRead, seen: Option<Timestamp>, head: Version) -> Place {
        let mut newer = None;
        let mut version = Some(head);
        loop {
            let found = match version {
                Some(version) => match version.begin() {
                    // Replaced in the chain before it was stamped so: look again.
                    Begin::Committed(Timestamp(Begin::NEVER)) => return self.place(read),
                    Begin::Committed(at) if Some(at) == seen => true,
                    // Nobody may go below what his snapshot sees.
                    Begin::Committed(at) if at <= self.context.snapshot() => return Place::Gone,
                    Begin::Committed(_) => false,
                    Begin::InProgress(_) => seen.is_some() && self.sees_unstamped(version),
                },
                None if seen.is_some() => return Place::Gone,
                None => true,
            };
            if found {
                return match newer {
                    Some(newer) if self.is_own(newer) => Place::Newest(None),
                    Some(newer) => {
                        let seen = version;
                        Place::Under { newer, seen }
                    }
                    None => Place::Newest(version),
                };
            }
            newer = version;
            version = newer.and_then(Version::next);
        }
    }

    /// Whether a version in progress is another's that the snapshot sees: committed, and
    /// about to be stamped.
    fn sees_unstamped(&self, version: Version) -> bool {
        let sight = self.sight(version, self.context.snapshot());
        sight == Sight::Visible
    }

    /// Who made `newer`, as far as it matters up to `bound`.
    fn overwriter(&self, newer: Version, bound: Timestamp) -> Overwriter {
        loop {
            let maker = match newer.begin() {
                Begin::Committed(Timestamp(Begin::NEVER)) => return Overwriter::None,
                Begin::Committed(at) => {
                    let successor = newer.successor_of_maker(at);
                    return Overwriter::Committed { at, successor };
                }
                Begin::InProgress(maker) => maker,
            };
            match self
                .session
                .database
                .statuses
                .of(maker)
                .outcome(maker, bound)
            {
                // Whoever writes after one that was undone is active now, or will be.
                Outcome::Active | Outcome::Aborted => return Overwriter::None,
                Outcome::Later => return Overwriter::Later,
                Outcome::Committed { at, successor } => {
                    return Overwriter::Committed { at, successor };
                }
                // Stamped by now: `status.rs`.
                Outcome::Ended => {}
            }
        }
    }

    /// The latest predecessor that committed before `at`, or a later point before `at`.
    fn latest_predecessor(
        &self,
        at: Timestamp,
        inserted_in: TableSet,
        range_before: Timestamp,
    ) -> Timestamp {
        let session = &*self.session;
        let board = &session.database.board;
        let readers = board.last_range_reader(session.number, inserted_in, range_before);
        let mut latest = self.context.snapshot().max(readers);
        let cold = session.database.cold();
        for write in self.context.writes.borrow().iter() {
            let Some((old, _)) = write.old else { continue };
            // What is later than `at` hides what came before it.
            latest = latest.max(old.last_reader(at));
            if let Some(cold) = cold {
                // SAFETY: as in `place`.
                latest = latest.max(cold.bounds.latest(unsafe { &*write.slot }));
            }
        }
        latest.min(Timestamp(at.0 - 1))
    }
}
