//! Room in memory: demotion keeps it, and writes wait for it.
//!
//! A part of the limit is to be free ([`Stand`](super::stand::Stand)). When less is free, each session's upkeep moves
//! the clock on, one session at a time; the memory that it frees comes back when the pins that were open are gone. A
//! part of the free memory is to be free for any purpose: when less is, the sparsest regions of memory are emptied
//! (`evacuate.rs`). A write that finds no room waits for the session's next housekeeping and tries again: each attempt
//! has had no effect. Reads need no room: a cold record that cannot become hot is read where it is.
//!
//! A transaction that waits holds a snapshot: versions newer than that cannot leave memory, nor can the transaction's
//! own writes. No further transaction begins while [`WAITING_MAX`] wait: otherwise all of a worker's transactions would
//! be open, and their writes fill memory. A transaction that waits for long is aborted, to be run again: all but the
//! first of each session, and the first, too, if others have committed since it began. The operations of a transaction
//! wait side by side and have one place among the waiting transactions: a transaction does not give way to itself. If
//! the first transaction itself has a large part of memory, it would need as much again: it fails with exhausted
//! memory, and does not wait for long.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    future::poll_fn,
    io,
    pin::pin,
    rc::{Rc, Weak},
    task::Poll,
    time::Duration,
};

use interleave::{Nested, sleep};
use memory::Arena;

use super::{ColdTier, block::BLOCK_CAPACITY};
use crate::{
    error::Error,
    log::LaneWriter,
    session::{Context, Session, next_look},
    sync::Ordering,
};

/// Share of the limit whose regions are closed at a time: one part of so many.
const CLOSED_PART: usize = 24;

/// While so many owners of a session wait for room, no further transaction begins.
const WAITING_MAX: usize = 8;

/// Records that the clock passes before it yields to others.
const LOOKS: u64 = 1 << 16;

/// Longest wait of a write for room, in all.
const PATIENCE: Duration = Duration::from_secs(10);

/// Wait after which a write gives way to one that has waited longer: the writes of its transaction can neither leave
/// nor move, and may be in the way.
const GIVE_WAY: Duration = Duration::from_millis(100);

/// Share of the limit from which on a transaction has much memory: one part of so many. An index and its slots can take
/// a third of the limit, and a tenth is to be free (`docs/design/cold-tier.md`): little more than half of the limit is
/// left for versions, and this share is nearly half of that.
const MUCH_PART: usize = 4;

/// Wait after which the first waiting transaction lets go of its snapshot, or of the much memory that it has: a device
/// may stand still for some hundred milliseconds.
const LET_GO: Duration = Duration::from_millis(500);

/// Longest time until a waiting operation looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Time until the clock's hand is looked for again, while another session moves it.
const HAND_AGAIN: Duration = Duration::from_millis(1);

/// Blocks of a session that are written at the same time: one for so much of the limit, and at most `BLOCKS_MAX`. A
/// device that is busy with reads takes tens of milliseconds for one block.
const LIMIT_PER_BLOCK: usize = 32 << 20;
const BLOCKS_MAX: usize = 16;

/// Memory that an allocator keeps for a thread beside the memory in use: one part of so many of the limit, and at most
/// `SPARE_BYTES_MAX` (measured: 4 to 8 MiB).
const SPARE_PART: usize = 40;
const SPARE_BYTES_MAX: usize = 8 << 20;

/// Limit of the memory reserved for sessions: one part of `COUNTED_PART` of the bytes of the limit beyond
/// `COUNTED_BEYOND`. Beyond it, sessions reserve no more: otherwise several could not open (found by simulation: 3 MiB,
/// four workers), or many.
const COUNTED_PART: usize = 8;
const COUNTED_BEYOND: usize = 16 << 20;

/// Returns how many blocks of a session may be on their way, under this limit.
fn blocks_under(limit_bytes: usize) -> usize {
    (limit_bytes / LIMIT_PER_BLOCK).clamp(1, BLOCKS_MAX)
}

/// Returns the bytes of the limit that another session reserves for its demotion and its allocator.
pub(crate) fn session_bytes(arena: &Arena) -> usize {
    let limit_bytes = arena.limit_bytes();
    let spare = (limit_bytes / SPARE_PART).min(SPARE_BYTES_MAX);
    let all = blocks_under(limit_bytes) * BLOCK_CAPACITY + spare;
    let counted = limit_bytes.saturating_sub(COUNTED_BEYOND) / COUNTED_PART;
    let reserved = arena.usage().reserved_bytes as usize;
    all.min(counted.saturating_sub(reserved))
}

/// Maximum blocks that are demoted before some more records are loaded: a block is far larger than the records loaded
/// then.
const BLOCKS_TO_LOAD: u32 = 4;

/// Time that is waited until moved versions are freed.
const GRACE: Duration = Duration::from_millis(2);

/// Pause after an error of the device, and after a clock that found nothing to demote.
const REST: Duration = Duration::from_millis(100);

/// Patience that an operation has left. The owner of the operation has a place among those that wait from the
/// operation's first wait for room on, until the patience is dropped.
#[derive(Default)]
pub(crate) struct Patience(Option<Waiting>);

struct Waiting {
    since: Duration,
    place: Rc<PlaceInLine>,
}

/// A transaction, or other work, in its role of waiting for room: all of its operations that wait share a place.
#[derive(Default)]
pub(crate) struct RoomOwner(RefCell<Weak<PlaceInLine>>);

/// The place of an owner, for as long as any of its operations waits.
struct PlaceInLine {
    /// Number by the order in which the owners came.
    number: u64,
    all: Rc<WaitingForRoom>,
}

/// The owners of a session whose operations wait for room.
#[derive(Default)]
pub(crate) struct WaitingForRoom {
    count: Cell<usize>,
    /// Numbers of the owners: at most as many as transactions are open, indexes are built, and batches of records are
    /// loaded at the opening.
    numbers: RefCell<BTreeSet<u64>>,
    next: Cell<u64>,
}

impl WaitingForRoom {
    fn join(self: &Rc<Self>, owner: &RoomOwner) -> Rc<PlaceInLine> {
        let mut place = owner.0.borrow_mut();
        if let Some(place) = place.upgrade() {
            return place;
        }
        let number = self.next.get();
        self.next.set(number + 1);
        self.numbers.borrow_mut().insert(number);
        self.count.set(self.count.get() + 1);
        let all = self.clone();
        let joined = Rc::new(PlaceInLine { number, all });
        *place = Rc::downgrade(&joined);
        joined
    }
}

impl PlaceInLine {
    fn is_first(&self) -> bool {
        self.all.numbers.borrow().first() == Some(&self.number)
    }
}

impl Drop for PlaceInLine {
    fn drop(&mut self) {
        self.all.numbers.borrow_mut().remove(&self.number);
        self.all.count.set(self.all.count.get() - 1);
    }
}

impl Patience {
    /// Whether the operation has waited so long that its transaction had better end: to make room for an operation that
    /// has waited longer; if it `has_much` memory itself, since nothing else makes room; or, if it `holds_back`
    /// versions that were committed since it began, to let these leave memory.
    pub(crate) fn is_over(&self, now: Duration, has_much: bool, holds_back: bool) -> bool {
        self.0.as_ref().is_some_and(|one| {
            let waited = now - one.since;
            waited >= GIVE_WAY && !one.place.is_first()
                || waited >= LET_GO && (has_much || holds_back)
        })
    }

    /// Whether no other owner of the session has waited longer.
    pub(crate) fn is_first(&self) -> bool {
        self.0.as_ref().is_none_or(|one| one.place.is_first())
    }
}

impl Session {
    /// Waits until there may be room in memory.
    ///
    /// # Errors
    /// [`Error::MemoryExhausted`]: no session makes room, or not soon enough.
    ///
    /// # Suspension
    /// An event wait.
    ///
    /// # Cancellation
    /// Dropping the future is harmless.
    pub(crate) fn wait_for_room<'s>(
        &'s self,
        owner: &'s RoomOwner,
        patience: &'s mut Patience,
    ) -> Nested<'s, Result<(), Error>> {
        Nested::new(async move {
            if self.database.cold().is_none() || self.lane().is_none() || self.winds_up() {
                return Err(Error::MemoryExhausted);
            }
            self.check_patience(owner, patience)?;
            self.call_for_room();
            self.room_changes().await;
            Ok(())
        })
    }

    /// Says that there is too little room.
    pub(super) fn call_for_room(&self) {
        if let (Some(tier), Some(lane)) = (self.database.cold(), self.lane()) {
            tier.want_room(&self.database.arena);
            lane.call_upkeep();
        }
    }

    fn check_patience(&self, owner: &RoomOwner, patience: &mut Patience) -> Result<(), Error> {
        let now = self.clock().now();
        let waiting = patience.0.get_or_insert_with(|| Waiting {
            since: now,
            place: self.waiting_for_room.join(owner),
        });
        match now - waiting.since < PATIENCE {
            true => Ok(()),
            false => Err(Error::MemoryExhausted),
        }
    }

    /// Whether a transaction itself has so much memory that it would find no more room if it were run again.
    pub(crate) fn has_much(&self, context: &Context) -> bool {
        context.bytes() >= self.database.arena.limit_bytes() / MUCH_PART
    }

    /// Whether transactions had better not begin.
    #[inline]
    pub(crate) fn is_short_of_memory(&self) -> bool {
        self.waiting_for_room.count.get() >= WAITING_MAX
    }

    /// Waits until so few transactions wait for room that another one may begin.
    ///
    /// # Suspension
    /// An event wait.
    pub(crate) async fn memory_admission(&self) {
        while self.is_short_of_memory() {
            self.room_changes().await;
        }
    }

    /// Waits until the free memory changes, or for a while.
    async fn room_changes(&self) {
        let mut ring = pin!(self.room.next());
        let mut look = pin!(sleep(LOOK_AGAIN));
        poll_fn(|context| {
            if ring.as_mut().poll(context).is_ready() || look.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
            Poll::Pending
        })
        .await;
    }

    /// Sees to it that there is room, and that operations waiting for it look again: part of the housekeeping.
    pub(crate) fn look_after_room(&self) {
        let (Some(tier), Some(lane)) = (self.database.cold(), self.lane()) else {
            return;
        };
        let stand = tier.stand(&self.database.arena);
        self.memory_is_full.set(stand.is_full);
        if stand.is_full || stand.has_holes {
            lane.call_upkeep();
        }
        // Waiting operations look again by themselves now and then.
        if self.room_before.replace(stand.available) != stand.available {
            self.room.ring();
        }
    }

    /// Returns the approximate number of records that the clock passes in one round.
    fn records_to_look_at(&self) -> u64 {
        let tables = self.database.catalog.live_tables().into_iter();
        tables.map(|table| table.records.taken()).sum()
    }

    /// Demotes records whenever too much memory is in use: a part of the upkeep.
    pub(crate) async fn keep_free(self: &Rc<Self>, lane: &LaneWriter) {
        let Some(tier) = self.database.cold() else {
            return;
        };
        let limit = self.database.arena.limit_bytes();
        let hands = blocks_under(limit);
        let in_vain = Cell::new(0);
        let hands = (0..hands).map(|_| Box::pin(self.demote_when_full(tier, lane, &in_vain)));
        let mut hands: Vec<_> = hands.collect();
        poll_fn(|context| {
            hands.retain_mut(|hand| hand.as_mut().poll(context).is_pending());
            match hands.is_empty() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    async fn demote_when_full(
        self: &Rc<Self>,
        tier: &ColdTier,
        lane: &LaneWriter,
        in_vain: &Cell<u64>,
    ) {
        while self.goes_on(lane) {
            let ring = lane.upkeep_is_due();
            if tier.stand(&self.database.arena).is_full {
                self.demote_some(in_vain).await;
            } else {
                in_vain.set(0);
                next_look(ring).await;
            }
        }
    }

    /// Demotes some records, or rests if demotion is of no use now. `in_vain` counts the records that the clock has
    /// passed without finding any to demote.
    async fn demote_some(self: &Rc<Self>, in_vain: &Cell<u64>) {
        match self.demote(LOOKS).await {
            Ok(Some(demoted)) if demoted.records > 0 => in_vain.set(0),
            Ok(Some(demoted)) => in_vain.set(in_vain.get() + demoted.looked_at.max(1)),
            // Another session moves the hand.
            Ok(None) => sleep(HAND_AGAIN).await,
            Err(_) => {
                self.counters.update(|stats| stats.demotions_failed += 1);
                sleep(REST).await;
            }
        }
        // Twice around: the first time clears the mark of a record that was requested.
        if in_vain.get() > 2 * self.records_to_look_at() {
            in_vain.set(0);
            sleep(REST).await;
        }
    }

    /// Makes room if there is little, while records are loaded and there is no upkeep.
    ///
    /// # Suspension
    /// Memory, device and event waits.
    pub(crate) async fn keep_room_to_load(self: &Rc<Self>) {
        let Some(tier) = self.database.cold() else {
            return;
        };
        let in_vain = Cell::new(0);
        let stand = || tier.stand(&self.database.arena);
        for _ in 0..BLOCKS_TO_LOAD {
            if !stand().is_full {
                break;
            }
            self.demote_some(&in_vain).await;
        }
        if stand().has_holes {
            self.move_together(tier).await;
        }
    }

    /// Makes room for an `owner` that has found none while records are loaded.
    ///
    /// # Errors
    /// [`Error::MemoryExhausted`]: the owner's `patience` is over, or there is no cold tier.
    pub(crate) async fn make_room_to_load(
        self: &Rc<Self>,
        owner: &RoomOwner,
        patience: &mut Patience,
    ) -> Result<(), Error> {
        let tier = self.database.cold().ok_or(Error::MemoryExhausted)?;
        self.check_patience(owner, patience)?;
        tier.want_room(&self.database.arena);
        self.keep_room_to_load().await;
        sleep(GRACE).await;
        Ok(())
    }

    /// Moves versions together whenever free memory is free in holes: a part of the upkeep.
    pub(crate) async fn keep_together(self: &Rc<Self>, lane: &LaneWriter) {
        let Some(tier) = self.database.cold() else {
            return;
        };
        while self.goes_on(lane) {
            let ring = lane.upkeep_is_due();
            match tier.stand(&self.database.arena).has_holes {
                true => self.move_together(tier).await,
                false => next_look(ring).await,
            }
        }
    }

    /// Empties the sparsest regions, if no other session does.
    async fn move_together(self: &Rc<Self>, tier: &ColdTier) {
        let arena = &self.database.arena;
        let before = arena.room();
        let wish = arena.limit_bytes() / CLOSED_PART;
        if self.empty_regions(tier, wish).await.is_none() {
            return sleep(LOOK_AGAIN).await;
        }
        // An operation that finds too little room then says so again.
        tier.wish.forget();
        // Waits until no reader reads the moved versions.
        sleep(GRACE).await;
        if arena.room() <= before {
            sleep(REST).await;
        }
    }

    /// Moves versions out of the sparsest regions of memory. The regions have up to `bytes` bytes, as far as the
    /// versions left in them fit into other regions; once they are reclaimed, their room is there for any purpose.
    /// Returns the bytes of these regions, or `None` if another session does so. The upkeep calls this function when it
    /// is needed.
    ///
    /// # Errors
    /// `Unsupported` without a cold tier.
    ///
    /// # Suspension
    /// Yields to other tasks now and then.
    pub async fn gather_room(self: &Rc<Self>, bytes: usize) -> io::Result<Option<usize>> {
        let unsupported = || io::Error::from(io::ErrorKind::Unsupported);
        let tier = self.database.cold().ok_or_else(unsupported)?;
        Ok(self.empty_regions(tier, bytes).await)
    }

    async fn empty_regions(self: &Rc<Self>, tier: &ColdTier, bytes: usize) -> Option<usize> {
        if tier.is_evacuating.swap(true, Ordering::Acquire) {
            return None;
        }
        let _evacuating = Evacuating(tier);
        let arena = &self.database.arena;
        // Regions that were not emptied last time are reopened: other regions may be sparser now.
        arena.reopen();
        let closed = arena.close_sparsest(bytes);
        if closed > 0 {
            self.evacuate().await;
        }
        Some(closed)
    }
}

/// The right to empty regions, until dropped: one session has it at a time.
struct Evacuating<'t>(&'t ColdTier);

impl Drop for Evacuating<'_> {
    fn drop(&mut self) {
        self.0.is_evacuating.store(false, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn operations_of_an_owner_have_one_place_while_any_waits() {
        let all = Rc::<WaitingForRoom>::default();
        let (a, b) = (RoomOwner::default(), RoomOwner::default());
        let (of_a, another_of_a, of_b) = (all.join(&a), all.join(&a), all.join(&b));
        assert_eq!(all.count.get(), 2);
        assert!(of_a.is_first() && another_of_a.is_first() && !of_b.is_first());
        drop(of_a);
        let last_of_a = all.join(&a);
        drop(another_of_a);
        assert!(last_of_a.is_first() && !of_b.is_first());
        drop(last_of_a);
        assert!(of_b.is_first());
        assert!(!all.join(&a).is_first(), "it has come anew");
        assert_eq!(all.count.get(), 1);
    }
}
