//! One snapshot that several sessions share: the parts of a statement, or of a job, can run on any
//! worker and see the same commits.
//!
//! A session and its transactions stay on their thread, and a snapshot is a number in the context
//! of a transaction. A [`SharedSnapshot`] is that number as a value that goes to other threads,
//! together with what the number needs to stay good: a hold on the horizon (`horizon.rs`), which
//! keeps in place what the snapshot sees, also after the transaction that it was made from has
//! ended. [`Session::begin_at`] opens a read-only transaction at the snapshot, which owns the hold as
//! long as it is open. The last owner gives the hold back, on whichever thread it is.
//!
//! # What transactions at the snapshot see
//! - *Commits*: exactly those that the maker's snapshot includes. Visibility follows from the number
//!   alone (`status.rs`), which asks that the reader has loaded its snapshot from the clock. Here
//!   the maker has, before the handle reached the reader's thread, and the passing of the handle
//!   orders the two. The same holds for the stages of tables (`catalog/life.rs`).
//! - *Writes of the maker*: none. A snapshot of a transaction that has written, or has changed the
//!   catalog, is refused ([`Error::WritesNotShared`]): parts of a statement that did not see the
//!   transaction's own writes would give wrong answers. Later writes of the maker, and its commit,
//!   are as invisible as those of others. A reader beside a transaction (`present.rs`) is refused for
//!   the same reason.
//! - *The wall clock*: the maker's. The handle carries the present of the maker's statement, so
//!   records expire for all readers at once (`ttl.rs`).
//!
//! # Isolation
//! The readers note nothing, and their snapshot does not move; nor does the maker's from then on.
//!
//! | level of the maker | a snapshot that is shared | level of the readers |
//! | --- | --- | --- |
//! | read committed | that of the statement under way | snapshot |
//! | snapshot | the transaction's | snapshot |
//! | serializable, declared read-only | the transaction's | serializable, read-only |
//! | serializable, otherwise | refused ([`Error::ReadsNotCertified`]) | |
//!
//! A serializable transaction that was declared read-only has announced its snapshot, and an
//! announcement is never taken back (`certifier.rs`): no transaction commits that would be in the way
//! of any reader at this snapshot, now or later. Other serializable transactions are certified by
//! what they have noted themselves. Reads of other sessions would have to be brought together at the
//! commit, and the snapshot could not have been announced in time.
//!
//! # What the hold keeps
//! The horizon is at most the snapshot, so everything that an open transaction with this snapshot
//! would keep stays: superseded versions and tombstones (`session/collect.rs`), RIDs and the moves
//! of rows (`moves.rs`), storages of dropped tables (`catalog/graveyard.rs`), cold files that were
//! emptied (`checkpoint.rs`). A cold record is read like any other, by the reader's own session.
//!
//! A handle has no time limit. As an open transaction does, it makes old versions pile up: callers
//! drop it when the parts are done. Nothing takes a hold away when memory is short: a transaction
//! that waits for room, or that is aborted for it, does not end the handles that were made from it.
//!
//! # The end of the database
//! A handle keeps the list of holds alive, and no record. After the database was closed no reader
//! begins ([`Error::Ended`]); a handle that is left over can be dropped at any time.

use std::{fmt, rc::Rc, sync::Arc};

use super::{Isolation, StatementSnapshot, Transaction, TransactionOptions};
use crate::{error::Error, horizon::Hold, session::Session, timestamp::Timestamp, ttl::WallTime};

/// Snapshot that transactions of several sessions read at: made by [`StatementSnapshot::share`],
/// used by [`Session::begin_at`]. Cheap to clone; all clones are the same snapshot.
///
/// Versions that the snapshot sees stay in memory, or on the device, until the last clone, and the
/// last transaction at the snapshot, are gone. Records that were written after the snapshot stay in
/// memory as long, the cold tier or not: enough of them end in [`Error::MemoryExhausted`].
#[derive(Clone)]
pub struct SharedSnapshot(Arc<Shared>);

struct Shared {
    hold: Hold,
    /// Isolation level of the transactions at the snapshot.
    isolation: Isolation,
    /// Present of the maker's statement, by which records expire.
    present: WallTime,
}

impl StatementSnapshot<'_> {
    /// Makes a handle on this snapshot, at which transactions of other sessions can read. The
    /// handle outlives the statement and its transaction. The transaction's snapshot does not move
    /// from now on, as after [`Transaction::snapshot`].
    ///
    /// # Errors
    /// [`Error::WritesNotShared`] if the transaction has written, or has changed the catalog;
    /// [`Error::ReadsNotCertified`] if it is serializable and was not declared read-only;
    /// [`Error::MemoryExhausted`] if 65,536 snapshots are held. The transaction can go on.
    /// [`Error::Abort`] and [`Error::Ended`] if it is over.
    pub fn share(&self) -> Result<SharedSnapshot, Error> {
        let transaction = self.transaction();
        let context = transaction.context();
        transaction.check_open()?;
        if let Some(shared) = &*context.shared.borrow() {
            return Ok(shared.clone());
        }
        let has_written = transaction.write_count() > 0 || !context.effects.borrow().is_empty();
        if has_written || context.beside.borrow().is_some() {
            return Err(Error::WritesNotShared);
        }
        let isolation = match transaction.isolation() {
            Isolation::ReadCommitted | Isolation::Snapshot => Isolation::Snapshot,
            Isolation::Serializable if transaction.is_read_only() => Isolation::Serializable,
            Isolation::Serializable => return Err(Error::ReadsNotCertified),
        };
        context.dependencies.settle();
        let horizon = &transaction.session().database().horizon;
        let hold = horizon.hold(context.snapshot());
        Ok(SharedSnapshot(Arc::new(Shared {
            hold: hold.ok_or(Error::MemoryExhausted)?,
            isolation,
            present: transaction.present(),
        })))
    }
}

impl SharedSnapshot {
    /// Returns the newest commit that the snapshot includes.
    pub fn timestamp(&self) -> Timestamp {
        self.0.hold.at()
    }
}

impl Session {
    /// Begins a read-only transaction at `snapshot`, which sees exactly the commits that the
    /// snapshot includes, whichever session has shared it. The transaction keeps the snapshot until
    /// it ends.
    ///
    /// # Errors
    /// [`Error::ForeignSnapshot`] if another database shares the snapshot; any error of
    /// [`Session::begin`].
    pub fn begin_at(self: &Rc<Session>, snapshot: &SharedSnapshot) -> Result<Transaction, Error> {
        let shared = &*snapshot.0;
        if !shared.hold.is_of(&self.database.horizon) {
            return Err(Error::ForeignSnapshot);
        }
        let transaction = self.open(TransactionOptions {
            isolation: shared.isolation,
            read_only: true,
        })?;
        transaction.see_at(snapshot);
        Ok(transaction)
    }
}

impl Transaction {
    /// Takes a snapshot that is shared.
    pub(super) fn see_at(&self, snapshot: &SharedSnapshot) {
        // The session is not idle while it has a transaction. The value, which is newer than the
        // shared snapshot, is of no use.
        self.session.take_snapshot();
        let Shared { hold, present, .. } = &*snapshot.0;
        self.context.set_snapshot(hold.at());
        self.context.present.set(*present);
        self.context.shared.replace(Some(snapshot.clone()));
    }
}

impl fmt::Debug for SharedSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSnapshot")
            .field("timestamp", &self.timestamp())
            .field("isolation", &self.0.isolation)
            .finish_non_exhaustive()
    }
}
