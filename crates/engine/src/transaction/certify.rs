//! Certification: whether a serializable transaction may commit.
//!
//! A serializable transaction ran on a snapshot, where the only possible anomaly is an
//! *anti-dependency*: before the transaction committed, another one, its *successor*, overwrote a
//! version that the transaction read. Notation: `c(T)` commit timestamp, `s(T)` snapshot,
//! `pi(T)` the earliest `pi(U)` of a successor `U` that committed before `T`, or `c(T)` itself;
//! `eta(T)` the latest commit of a *predecessor*: a transaction that made what `T` read or
//! overwrote, or that read what `T` overwrote.
//!
//! Everything that committed before `T` began counts as a predecessor: `eta(T)` is at least `s(T)`.
//! Serial orders therefore respect real time (*strict* serializability): without this rule, `T`
//! could come before a transaction whose client has told `T`'s client of its success. The rule also
//! makes it irrelevant which deletions, collected by now, `T` may have seen.
//!
//! - Validation: `T` aborts if it has a successor, `pi(T) < c(T)`. Then timestamps are a serial
//!   order. A transaction that wrote nothing is serial at its snapshot.
//! - Serial safety net (paper 000 section 4.5 and its reference 61): `T` aborts if
//!   `pi(T) <= eta(T)`.
//!
//! # Readers leave marks when they commit
//! The original keeps bits for readers in every version, set while reading, so that the overwriter
//! of a version finds the readers that commit at the same time. Here a transaction writes nothing
//! until it commits, and then settles the order with the overwriters of what it read:
//!
//! ```text
//!   T, which has read V                   U, which overwrites V
//!   c(T) = clock.fetch_add(1) + 1         phase = Committing          (SeqCst)
//!   mark V with c(T)                      c(U) = clock.fetch_add(1) + 1 (SeqCst)
//!   fence(SeqCst)                         fence(SeqCst)
//!   overwriter of V: in which phase?      eta(U) = max(eta(U), mark of V)
//! ```
//! - `U` is active (or has not written yet): by the fences `U` sees the mark, and `c(U) > c(T)`.
//!   `T` has nothing to do.
//! - `U` has committed, or is committing, with `c(U) < c(T)`: `U` is a successor of `T`. If `U` is
//!   committing, `T` waits for the outcome; such waits are only ever for an earlier timestamp.
//! - `U` has a later timestamp than `T`, and so was certified while `T` marked: `U` may have missed
//!   the mark. `T` aborts. The window is that of a few loads.
//!
//! (`certify/loom_tests.rs` checks this in all interleavings.)
//!
//! A mark stays if `T` aborts, or is rounded up (`version/stamps.rs`): an excess mark can only
//! abort a transaction that also has a successor.
//!
//! # Absent records
//! A record that was absent, from the index or for the snapshot, is noted as the node of the index
//! that says so. A transaction whose noted nodes were changed by other transactions aborts if there
//! is a new record in a range that it has read (`phantoms.rs`). (An entry without a visible version
//! is noted as a record as well.) A later inserter has no version that could carry a mark: if the
//! inserter has a successor, all sessions' *range stamps* of the tables where it inserted count as
//! its predecessors (`certifier.rs`). Range stamps are raised, and read, on the same sides of the
//! fences as marks.
//!
//! # Writes that are undone
//! A write that is undone alone, by a return to a savepoint or by an operation on several indexes
//! that fails, leaves what it has told (there was such a record, or none) among the reads:
//! `savepoint.rs`.
//!
//! # Tables that are dropped
//! A transaction that drops or truncates a table is a successor of all that have used the table.
//! The dropper knows nothing of its predecessors and passes only without a successor
//! (`catalog/life.rs`).
//!
//! # Transactions that wrote nothing
//! Such a transaction `R` takes no timestamp. `R` commits, in the serial order, just after its
//! snapshot, and marks what it read with that. Its predecessors are not later; its successors `U`
//! all have `c(U) > s(R)`; so `R` is safe as long as no successor commits with `pi(U) <= s(R)`. A
//! successor that has committed already may have missed the mark, so `R` looks at its `pi(U)`; a
//! successor that has not committed yet sees the mark.
//!
//! *Declared* read-only transactions note nothing. Instead no transaction at all commits with
//! `pi(U) <= s(R) < c(U)` (`Announcements::read_only_snapshot`), whether or not `R` reads what `U`
//! wrote.

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

/// Present state of a record that was read.
enum Place {
    /// The version that was seen is the newest, or (`None`) the transaction itself has replaced it.
    Newest(Option<Version>),
    /// The version that was seen is the newest, and is on the device.
    Cold,
    /// The version that was seen was replaced; or no version was seen, and there is one now.
    Under {
        newer: Version,
        seen: Option<Version>,
    },
    /// The record's slot serves another record.
    Gone,
}

/// Transaction that overwrote what was read.
pub(super) enum Overwriter {
    /// None, or a transaction that commits later and sees the mark.
    None,
    Committed {
        at: Timestamp,
        successor: Timestamp,
    },
    /// A transaction that is committing, at a later timestamp.
    Later,
}

impl Transaction {
    /// Certifies a transaction that has written, at the timestamp `at` that it has taken. Returns
    /// its earliest successor, itself included. `first_drop` is a successor if it is earlier than
    /// `at`: the timestamp of a transaction that dropped a table that this one has used
    /// (`catalog/life.rs`).
    ///
    /// # Errors
    /// The reason why the transaction must abort.
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
            // The overwriter may have missed a mark.
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

    /// Certifies a transaction that has written nothing.
    ///
    /// # Errors
    /// The reason why the transaction must abort.
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

    /// Returns the tables where the transaction inserts, and the session's newest range stamp
    /// there.
    fn insertions(&self) -> (TableSet, Timestamp) {
        let writes = self.context.writes.borrow();
        let inserted = writes.iter().filter(|write| write.old.is_none());
        let tables = inserted.map(|write| write.table);
        let tables = tables.fold(TableSet::default(), TableSet::with);
        (tables, self.session.announcements().newest_range(tables))
    }

    /// Marks what was read with `at`, and makes sure that an overwriter that misses a mark is seen.
    fn leave_marks(&self, at: Timestamp) {
        let session = &*self.session;
        let _pin = session.memory.pin();
        let absent_in = self.context.dependencies.absent_in();
        session.announcements().raise_ranges(absent_in, at);
        loop {
            let is_news = self.mark_records(at);
            // Pairs with the fence of a transaction that overwrites what was read, or inserts what
            // was absent, and with that of a demotion of a record: module text, and `cold.rs`.
            fence(Ordering::SeqCst);
            // A record that was demoted or promoted meanwhile was perhaps marked in the wrong
            // place.
            if !is_news || session.database.cold().is_none() {
                return;
            }
        }
    }

    /// Marks the records that were read where they are now. Returns whether any mark was new.
    fn mark_records(&self, at: Timestamp) -> bool {
        let database = &*self.session.database;
        let (now, cold) = (database.now(), database.cold());
        let mut is_news = false;
        for read in self.context.dependencies.records.borrow().iter() {
            // SAFETY: as in `place`.
            let slot = unsafe { &*read.slot };
            // A replaced version stays as long as the snapshot is open, and a tombstone stays as
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

    /// Calls `visit` with the overwriter of each record that was read, until `visit` breaks. Waits
    /// for transactions that are committing not later than `bound`.
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

    /// Looks up a record that was read. A pin must be open.
    #[inline(always)]
    fn place(&self, read: RecordRead) -> Place {
        // SAFETY: slots never move, and the slots of a table stay as long as a snapshot is open
        // that could read the table.
        let slot = unsafe { &*read.slot };
        let seen = read.seen().map(|seen| seen.at);
        match slot.head() {
            Head::Version(head) if seen.is_some_and(|at| head.begin() == Begin::Committed(at)) => {
                Place::Newest(Some(head))
            }
            Head::Version(head) => self.place_below(read, seen, head),
            Head::Cold(_) if read.was_present() => Place::Cold,
            Head::Cold(_) => Place::Gone,
            // The insertion that was not visible has been undone, or a tombstone collected; then
            // the node has changed too.
            Head::Unused | Head::Dead if !read.was_present() => Place::Newest(None),
            Head::Unused | Head::Dead => Place::Gone,
        }
    }

    /// Looks up a record whose head is newer than what was seen, or is not stamped yet.
    #[cold]
    fn place_below(&self, read: RecordRead, seen: Option<Timestamp>, head: Version) -> Place {
        let mut newer = None;
        let mut version = Some(head);
        loop {
            let found = match version {
                Some(version) => match version.begin() {
                    // The version was replaced in the chain before it was stamped so: look again.
                    Begin::Committed(Timestamp(Begin::NEVER)) => return self.place(read),
                    Begin::Committed(at) if Some(at) == seen => true,
                    // No transaction may go below the version that its snapshot sees.
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

    /// Whether the unstamped `version` is another transaction's and visible to the snapshot:
    /// committed, and about to be stamped.
    fn sees_unstamped(&self, version: Version) -> bool {
        let sight = self.sight(version, self.context.snapshot());
        sight == Sight::Visible
    }

    /// Returns the maker of `newer` as an overwriter, as far as it matters up to `bound`.
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
                // A transaction that writes after an undone one is active now, or will be.
                Outcome::Active | Outcome::Aborted => return Overwriter::None,
                Outcome::Later => return Overwriter::Later,
                Outcome::Committed { at, successor } => {
                    return Overwriter::Committed { at, successor };
                }
                // The version is stamped by now: `status.rs`.
                Outcome::Ended => {}
            }
        }
    }

    /// Returns the latest predecessor that committed before `at`, or a later point before `at`.
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
            // A reader later than `at` hides the readers before it.
            latest = latest.max(old.last_reader(at));
            if let Some(cold) = cold {
                // SAFETY: as in `place`.
                latest = latest.max(cold.bounds.latest(unsafe { &*write.slot }));
            }
        }
        latest.min(Timestamp(at.0 - 1))
    }
}
