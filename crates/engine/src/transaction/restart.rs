//! Running a transaction again, so that it cannot lose in the same place twice.
//!
//! Under [`OnConflict::Wait`](crate::OnConflict) a transaction on a snapshot waits for the writer
//! of a record, is handed the record, and finds that its snapshot has become too old. If the
//! transaction began anew like any other, the next one in the queue would write the record
//! meanwhile, and so on: with enough writers the transaction would never get through. Instead the
//! retry *begins* with the record's lock. Mostly the aborted attempt has the lock already and hands
//! it on; otherwise (the attempt found the record changed without having waited) the retry waits
//! for the lock. Only then does the retry take its snapshot. No other transaction can change that
//! record before the retry has ended, so the retry cannot be aborted for it again.
//!
//! # Tables that are dropped meanwhile
//! A lock on a record is the address of a slot, and the memory of a dropped table's slots waits for
//! the anchors of transactions alone (`catalog/graveyard.rs`). The aborted attempt has released its
//! locks on tables, so the table can be dropped, and the clock moved to `beyond`, before the retry
//! takes its anchor, which is the present: such an anchor does not keep the slots. The retry does
//! not take over the older anchor, because a row of attempts that fail would then hold back the
//! horizon all the while. Instead the retry takes its anchor first, and looks at the life of the
//! table after that, while the aborted attempt still keeps everything in place:
//! - If the table is there at the anchor, the anchor is below `beyond`: a transaction that loads
//!   `beyond` or more from the clock sees the drop. The slots, the index, and the number of the
//!   table then stay until the retry has ended, also while it waits for the lock without a pin.
//! - Otherwise the retry, whose snapshot is not older than the anchor, is refused the table, and
//!   has no use for the lock. The lock ends with the aborted attempt.

use std::sync::Arc;

use interleave::{Point, Policy, leaf};

use super::{
    Transaction,
    conflict::{Seized, let_others_go},
    visibility::Sight,
};
use crate::{
    error::Error,
    indirection::{Head, Rid},
    locks::{IfLocked, Strength, Waiting},
    table::Table,
    timestamp::{Begin, Timestamp},
    version::HEADER_BYTES,
};

impl Transaction {
    /// Begins a transaction like this one, which is over. Its conduct in conflicts, its isolation
    /// and its durability are kept; if [`Transaction::will_be_restarted`] was called, so is the
    /// lock of the record for which it was aborted, unless the record's table was dropped
    /// meanwhile. A transaction at a shared snapshot begins again at that snapshot.
    ///
    /// # Errors
    /// Fails as [`Session::begin`](crate::Session::begin) does.
    ///
    /// # Suspension
    /// Memory waits, and an event wait for other transactions that have locked that record.
    ///
    /// # Cancellation
    /// Dropping the future gives up the lock.
    pub async fn restart<P: Policy>(self) -> Result<Transaction, Error> {
        let next = self.session.open(self.options())?;
        next.context.durability.set(self.context.durability.get());
        next.context.conduct.set(self.context.conduct.get());
        let shared = self.context.shared.borrow().clone();
        if let Some((table, key)) = self.bequeath(&next) {
            drop(self);
            // If the lock cannot be had, the transaction takes its chance without it.
            let _ = next.begin_with_lock::<P>(&table, &key).await;
        }
        match shared {
            Some(snapshot) => next.see_at(&snapshot),
            None => next.see(),
        }
        Ok(next)
    }

    /// Hands the lock of the record for which the transaction was aborted, if it has that lock, to
    /// `next`. Returns the table and the key of that record, if there is one that `next` may use.
    fn bequeath(&self, next: &Transaction) -> Option<(Arc<Table>, Box<[u8]>)> {
        let lost = self.context.lost.borrow().as_ref().map(|lost| lost.table)?;
        let table = self.session.database.table_by_number(lost)?;
        // The anchor comes with the name, before the look at the table: see the module text.
        let heir = next.id();
        if !next.may_use_at_anchor(&table) {
            return None;
        }
        let locks = self.context.locks.take();
        let lock_table = &self.session.database.locks;
        for (place, _) in locks.newest_first() {
            lock_table.bequeath(place, self.name(), heir);
        }
        next.context.locks.replace(locks);
        let lost = self.context.lost.take()?;
        Some((table, lost.key))
    }

    async fn begin_with_lock<P: Policy>(&self, table: &Table, key: &[u8]) -> Result<(), Error> {
        while let Some(waiting) = leaf!(P, self.lock_unseen_body(table, key))? {
            waiting.await?;
        }
        Ok(())
    }

    /// Locks the record under `key`, if there is one, whatever the snapshot would see.
    async fn lock_unseen_body<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
    ) -> Result<Option<Box<Waiting<'_>>>, Error> {
        let pin = self.session.memory.pin();
        let Some(rid) = table.index.get::<P>(&pin, key).await else {
            return Ok(None);
        };
        let slot = table.records.slot(Rid(rid));
        P::touch(Point::new("engine: slot"), slot, size_of_val(slot)).await;
        loop {
            let Head::Version(head) = slot.head() else {
                return Ok(None);
            };
            let point = Point::new("engine: head to lock");
            P::touch(point, head.address(), HEADER_BYTES).await;
            let owner = match (self.sight(head, Timestamp(0)), head.begin()) {
                (Sight::Uncommitted, Begin::InProgress(owner)) => Some(owner),
                _ => None,
            };
            match self.seize(slot, head, owner, Strength::Update, IfLocked::Wait)? {
                Seized::Held if owner.is_none() => return Ok(None),
                Seized::Blocked(waiting) => return Ok(Some(waiting)),
                _ => let_others_go::<P>(point, slot).await,
            }
        }
    }
}
