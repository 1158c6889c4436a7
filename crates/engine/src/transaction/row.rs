//! Writes and locks of rows that a statement has found before.
//!
//! A statement of SQL finds rows by its snapshot, and then changes or locks them one by one. Under
//! read committed other transactions may have committed meanwhile. The row to write then is not the
//! one that now lies under the row's key, but *the row found*, as in PostgreSQL's `EvalPlanQual`:
//!
//! ```text
//!   statement, snapshot 5                    others
//!   finds (3), waits for its writer
//!                                            commit 6: the row gets the key 2
//!                                            commit 7: another row gets the key 3
//!   follows the row to 2, not to the new one
//! ```
//! # How a row is followed
//! The row was visible at a snapshot `s` that is still open. Between the head of the record's chain
//! and the version visible at `s` are the commits since. If none of them is a tombstone, and none
//! is known to have put another row there (`moves.rs`), the head is the row. Otherwise the
//! *earliest* of them, at `t`, took the row away: either the row was deleted, or `moves.rs` knows
//! its new key. Under the new key the search is repeated, beginning at `t`.
//!
//! - *Completeness*: a version that was committed after `s` stays in its chain, and a record that
//!   was deleted after `s` stays in its index, until the horizon reaches `t`, which `s` holds back.
//! - *Termination*: `t` grows from step to step, and each `t` is an existing commit.
//! - *Atomicity*: the head that was judged is the one that is replaced or locked; if it is not the
//!   head any more by then, the new head is judged.
//!
//! On a snapshot none of this happens: a row that was changed since aborts its writer.
//!
//! A row that the command under way has written itself is reported as [`RowOutcome::Already`].

use std::{cell::RefCell, ops::ControlFlow};

use index::look_up;
use interleave::{Policy, Sequential, run_inline};

use super::{
    Isolation, Transaction,
    read::INDEX_POINT,
    visibility::Sight,
    write::{Changed, Content, Found, Intent, Written, check},
};
use crate::{
    error::{Abort, Error},
    indirection::{Rid, Slot},
    locks::Strength,
    moves::{Gone, MoveLog},
    table::Table,
    timestamp::Timestamp,
    version::Version,
};

/// Outcome of writing or locking a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOutcome {
    /// The row was written or locked.
    Done,
    /// The row is to stay as it is; or it was skipped, as it is locked.
    Left,
    /// The row is not there any more.
    Absent,
    /// The command under way has written the row before ([`super::Command`]).
    Already,
}

/// Outcome of writing or locking a row, and the row's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFound {
    /// Outcome of the write or lock.
    pub outcome: RowOutcome,
    /// Key of the row, if it differs from the key under which the statement has found the row.
    pub moved_to: Option<Box<[u8]>>,
}

/// New place of a row, and the commit that put it there.
pub(super) struct NewPlace {
    pub(super) key: Box<[u8]>,
    pub(super) since: Timestamp,
}

/// Fate of a row.
pub(super) enum Trace {
    /// The row is what the head says.
    Here,
    Already,
    Absent,
    Moved(Box<NewPlace>),
}

impl Transaction {
    /// Modifies a row that a statement has found under `key`, as [`Transaction::modify`] does. `by`
    /// is the transaction that has found the row, with its snapshot still open: this one, or one
    /// that reads beside it. Without `by`, the row is the one that lies under the key now. If the
    /// row is the last that `by` has found by [`Transaction::find_row`], the index is not asked
    /// again.
    ///
    /// `change` returns the strength at which the write locks the row: [`Strength::NoKeyUpdate`] if
    /// the new value has the key of the old one, [`Strength::Update`] otherwise.
    ///
    /// # Errors
    /// Any error of [`Transaction::modify`]; [`Abort::WriteConflict`] if the new place of the row
    /// is not known any more.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::modify`] does.
    pub async fn modify_row<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        by: Option<&Transaction>,
        change: impl FnMut(&[u8], &mut Vec<u8>) -> ControlFlow<(), Strength>,
    ) -> Result<RowFound, Error> {
        let content = Changed::new(self, table, change);
        self.write_row::<P>(table, key, by, &content).await
    }

    /// Deletes a row that a statement has found under `key`, unless `check`, which is given its
    /// value, breaks. `by` is the transaction that has found the row, as for
    /// [`Transaction::modify_row`].
    ///
    /// # Errors
    /// Fails as [`Transaction::modify_row`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::modify_row`] does.
    pub async fn delete_row<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        by: Option<&Transaction>,
        check: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<RowFound, Error> {
        let content = Deleted {
            table,
            check: RefCell::new(check),
        };
        self.write_row::<P>(table, key, by, &content).await
    }

    async fn write_row<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        by: Option<&Transaction>,
        content: impl Content,
    ) -> Result<RowFound, Error> {
        check(key, None)?;
        let mut since = self.found_at(by);
        let mut moved_to: Option<Box<[u8]>> = None;
        loop {
            let key = moved_to.as_deref().unwrap_or(key);
            let statement = self.statement_to_write(table)?;
            let intent = Intent::Row(since);
            let written = self.carry_out::<P>(statement, Found(by), table, key, content, intent);
            let outcome = match written.await? {
                Written::Done => RowOutcome::Done,
                Written::Left => RowOutcome::Left,
                Written::Already => RowOutcome::Already,
                Written::Moved(place) => {
                    since = Some(place.since);
                    moved_to = Some(place.key);
                    continue;
                }
                _ => RowOutcome::Absent,
            };
            return Ok(RowFound { outcome, moved_to });
        }
    }

    /// Returns the place of the record under `key`, if that is the last record that this
    /// transaction has found and the snapshot of the search is still open. The caller must hold a
    /// pin for as long as the place is used.
    #[inline]
    pub(super) fn place_found(&self, table: &Table, key: &[u8]) -> Option<Rid> {
        let context = &self.context;
        let snapshot = context.snapshot();
        let place = context.found.place(table.number(), key, snapshot);
        if place.is_some() {
            (self.session.counters).update(|stats| stats.descents_spared += 1);
        }
        place
    }

    /// Returns the snapshot by which rows were found, if rows can be followed from there.
    pub(super) fn found_at(&self, by: Option<&Transaction>) -> Option<Timestamp> {
        let by = by.filter(|by| by.context.statements() > 0)?;
        (self.isolation() == Isolation::ReadCommitted).then(|| by.context.snapshot())
    }

    /// Returns the fate of a row that was visible at `since` in the record in `slot`, whose newest
    /// version is `head`, which the transaction may replace.
    ///
    /// # Errors
    /// [`Abort::WriteConflict`] if the fate of the row is not known any more.
    #[inline(always)]
    pub(super) fn trace(
        &self,
        slot: &Slot,
        head: Version,
        sight: Sight,
        since: Option<Timestamp>,
    ) -> Result<Trace, Error> {
        if sight == Sight::Own {
            return Ok(match self.context.command.has_written(slot) {
                true => Trace::Already,
                false => Trace::Here,
            });
        }
        match since {
            Some(since) if self.commit_of(head) > since => self.trace_back(slot, head, since),
            _ => Ok(Trace::Here),
        }
    }

    #[cold]
    fn trace_back(&self, slot: &Slot, head: Version, since: Timestamp) -> Result<Trace, Error> {
        let moves = &self.session.database.moves;
        let mut taken_away: Option<(Timestamp, Gone)> = None;
        let mut next = Some(head);
        // Newest first; in the end the earliest commit counts.
        loop {
            let Some(version) = next else {
                // A version that was visible at a snapshot is in the chain; a record that was not
                // visible is no row that a statement has found there.
                return Ok(Trace::Absent);
            };
            let at = self.commit_of(version);
            if at <= since {
                break;
            }
            match moves.of(slot, at) {
                Gone::Unmoved if !version.is_tombstone() => {}
                gone => taken_away = Some((at, gone)),
            }
            next = version.next();
        }
        match taken_away {
            None => Ok(Trace::Here),
            Some((since, Gone::To(key))) => Ok(Trace::Moved(Box::new(NewPlace { key, since }))),
            Some((_, Gone::Forgotten)) => Err(self.doom(Abort::WriteConflict)),
            Some((_, Gone::Replaced | Gone::Unmoved)) => Ok(Trace::Absent),
        }
    }

    /// Notes that the row which this transaction has deleted under the key `from` is the one that
    /// it has inserted under the key `to`. Once this transaction has committed, statements of other
    /// transactions that have found the row under `from` follow it to `to`. Nothing is noted if one
    /// of the keys is unknown.
    ///
    /// # Errors
    /// [`Error::Abort`] and [`Error::Ended`] if the transaction is over.
    pub fn note_move(&self, table: &Table, from: &[u8], to: &[u8]) -> Result<(), Error> {
        self.check_open()?;
        let pin = self.session.memory.pin();
        let slot = |key: &[u8]| {
            let mut lookup = table.index.lookup(&pin, key);
            let rid = run_inline(async { look_up!(Sequential, INDEX_POINT, lookup) });
            rid.map(|rid| table.records.slot(Rid(rid)))
        };
        if let (Some(before), Some(after)) = (slot(from), slot(to)) {
            self.note_of_places(|moves| moves.moved(before, after, to));
        }
        Ok(())
    }

    /// Adds notes of moved rows with `note`, and charges their memory.
    pub(super) fn note_of_places(&self, note: impl FnOnce(&mut MoveLog)) {
        let mut moves = self.context.moves.borrow_mut();
        note(&mut moves);
        let is_charge_due = moves.is_charge_due();
        drop(moves);
        if is_charge_due {
            self.session.account.charge(&self.context);
        }
    }
}

/// Content of a deletion: none, unless `check` objects to the old value.
struct Deleted<'t, F> {
    table: &'t Table,
    check: RefCell<F>,
}

impl<F: FnMut(&[u8]) -> ControlFlow<()>> Content for &Deleted<'_, F> {
    const READS_OLD: bool = true;

    #[inline]
    fn with<R>(
        self,
        old: Option<&[u8]>,
        make: impl FnOnce(Option<&[u8]>, Strength) -> Result<R, Error>,
    ) -> Result<Option<R>, Error> {
        let old = old.expect("only a record that is there is deleted");
        let check = &mut *self.check.borrow_mut();
        match check(self.table.split(old).1) {
            ControlFlow::Break(()) => Ok(None),
            ControlFlow::Continue(()) => make(None, Strength::Update).map(Some),
        }
    }

    fn is_deletion(self) -> bool {
        true
    }
}
