//! The conflict branch that writes and explicit locks share: whether a record may be changed or
//! locked, and which transaction holds it meanwhile.

use interleave::{Interleaved, Point, Policy};

use super::{Isolation, Statement, Transaction, visibility::Sight};
use crate::{
    catalog::view::CatalogView,
    cold::ColdAddress,
    error::{Abort, Error},
    indirection::{Head, Slot},
    locks::{Acquired, IfLocked, OnConflict, Place, Request, Strength, Waiting, Wanted},
    table::Table,
    timestamp::{Begin, TransactionId},
    version::Version,
};

/// Obstacle to a change, if any.
pub(super) enum Standing {
    /// The slot holds no version.
    Gone,
    /// The record is on the device, and has to be fetched first.
    Cold,
    /// The snapshot, which cannot move, sees no record there; hence there is no conflict.
    Unseen,
    /// Another open transaction has made the head.
    Owned(Version, TransactionId),
    /// The head may be changed: it is the transaction's own, or committed and not too new. Other
    /// transactions may have locks there.
    Free(Version, Sight),
}

/// Outcome of an attempt to lock a record.
pub(super) enum Seized<'t> {
    Held,
    /// The record has changed: look again.
    Changed,
    /// Another transaction has the lock, and there is to be no waiting.
    Busy,
    Blocked(Box<Waiting<'t>>),
}

/// Lets other tasks and threads finish what they are about to do with `slot`.
pub(super) async fn let_others_go<P: Policy>(point: Point, slot: &Slot) {
    if P::MAY_SUSPEND {
        Interleaved::touch(point, slot, 8).await;
    }
    std::thread::yield_now();
}

impl<'t> Statement<'t> {
    /// Looks at the head of `slot`, which must have been touched, and of which so many `bytes` are
    /// wanted. `absent` is whether a record that the snapshot does not see counts as absent.
    ///
    /// # Errors
    /// [`Abort::SnapshotTooOld`] if the record has a newer commit; the error of a transaction that
    /// is over.
    #[inline(always)]
    pub(super) async fn examine<P: Policy>(
        &self,
        table: &Table,
        slot: &Slot,
        key: &[u8],
        bytes: usize,
        absent: bool,
    ) -> Result<Standing, Error> {
        let transaction = self.transaction;
        loop {
            let head = match slot.head() {
                Head::Version(head) => head,
                Head::Cold(_) => return Ok(Standing::Cold),
                Head::Unused | Head::Dead => return Ok(Standing::Gone),
            };
            P::touch(Point::new("engine: head to replace"), head.address(), bytes).await;
            // The operation may have been suspended while a sibling under the same `join` aborted
            // the transaction.
            transaction.check_open()?;
            // The chain may have changed during the last wait. A version that was undone meanwhile
            // must not be mistaken for a conflict.
            if slot.head() != Head::Version(head) {
                continue;
            }
            let sight = transaction.sight(head, transaction.context.snapshot());
            // For the catalog, what was read decides what is written.
            let takes_newer = transaction.isolation() == Isolation::ReadCommitted
                && !CatalogView::is_about(table.number());
            let is_free = match sight {
                Sight::Own | Sight::Visible => true,
                // A version that its maker replaced before it committed still names the maker.
                Sight::Newer => {
                    takes_newer
                        && transaction.committed_at(head).is_some()
                        && slot.head() == Head::Version(head)
                }
                Sight::Uncommitted => false,
            };
            if is_free {
                return Ok(Standing::Free(head, sight));
            }
            // The maker is just ending: its version will be taken back. (Or has been by now: then
            // read committed takes what is there, the next time round.)
            let is_ending = || takes_newer || transaction.committed_at(head).is_none();
            if sight == Sight::Newer && is_ending() {
                let_others_go::<P>(Point::new("engine: ending maker"), slot).await;
                continue;
            }
            if sight == Sight::Newer && transaction.move_snapshot(table) {
                if slot.head() != Head::Version(head) {
                    continue;
                }
                // The version was committed before the present.
                let sight = transaction.sight(head, transaction.context.snapshot());
                return Ok(Standing::Free(head, sight));
            }
            if absent {
                // A version that has become cold meanwhile is the head: looked at next time round.
                let Ok(visible) = transaction.find_visible::<P>(slot, head).await else {
                    continue;
                };
                if visible.is_none_or(|version| transaction.is_absent(table, version)) {
                    transaction.note(slot, visible);
                    return Ok(Standing::Unseen);
                }
            }
            if sight == Sight::Newer {
                transaction.note_lost(table, slot, key);
                return Err(transaction.doom(Abort::SnapshotTooOld));
            }
            // The search for a visible version may have taken a while.
            if let Begin::InProgress(owner) = head.begin()
                && slot.head() == Head::Version(head)
            {
                return Ok(Standing::Owned(head, owner));
            }
        }
    }

    /// Seizes a record for a write (see [`Transaction::seize`]): the transaction's own choice
    /// decides whether a conflict waits or aborts.
    #[cold]
    pub(super) fn seize_to_write(
        &self,
        slot: &Slot,
        head: Version,
        owner: Option<TransactionId>,
        strength: Strength,
    ) -> Result<Seized<'t>, Error> {
        let transaction = self.transaction;
        let if_locked = match transaction.on_conflict() {
            OnConflict::Wait => IfLocked::Wait,
            OnConflict::Abort => IfLocked::Fail,
        };
        match transaction.seize(slot, head, owner, strength, if_locked)? {
            Seized::Busy => Err(transaction.doom(Abort::WriteConflict)),
            seized => Ok(seized),
        }
    }
}

impl Transaction {
    /// Locks the record in `slot`, whose head was found to be `head`, uncommitted if it has an
    /// `owner`, which may be the transaction itself.
    #[cold]
    pub(super) fn seize<'t>(
        &'t self,
        slot: &Slot,
        head: Version,
        owner: Option<TransactionId>,
        strength: Strength,
        if_locked: IfLocked,
    ) -> Result<Seized<'t>, Error> {
        self.check_open()?;
        let database = &self.session.database;
        let request = Request {
            slot,
            head,
            owner: owner.map(|owner| (owner, database.statuses.of(owner), head.strength())),
            by: self.id(),
            strength,
            is_free: self.is_nobodys_concern(),
        };
        let place = Place::of(slot);
        match database
            .locks
            .acquire(&request, if_locked == IfLocked::Wait)
        {
            Acquired::Held(before) => {
                if before < Some(strength) {
                    self.note_lock(place, strength, before.is_none());
                }
                Ok(Seized::Held)
            }
            Acquired::Changed => Ok(Seized::Changed),
            Acquired::Busy => Ok(Seized::Busy),
            Acquired::Queued(ticket) => {
                let wanted = Wanted::Record(strength);
                Ok(Seized::Blocked(Waiting::new(self, place, wanted, ticket)))
            }
            Acquired::Deadlock => Err(self.doom(Abort::Deadlock)),
            Acquired::Exhausted => Err(Error::MemoryExhausted),
        }
    }

    /// Returns the version in the chain that the snapshot sees; `Err` if that version is cold.
    async fn find_visible<P: Policy>(
        &self,
        slot: &Slot,
        head: Version,
    ) -> Result<Option<Version>, ColdAddress> {
        let snapshot = self.context.snapshot();
        let look = self.look(slot, head, snapshot);
        self.look_further::<P>(slot, look, snapshot).await
    }
}
