//! Room in memory: kept by demotion, and waited for.
//!
//! A part of the limit is to be free ([`Stand`]). When less is, each session's upkeep moves
//! the clock on, one at a time; what it frees comes back when the pins are gone that were
//! open. And a part of what is free is to be free for any purpose: when less is, the sparsest
//! regions of memory are emptied (`evacuate.rs`). A write that finds no room waits for the session's next housekeeping and tries again:
//! each attempt has had no effect. Reads need no room: a cold record that cannot become hot is
//! read where it is.
//!
//! Who waits holds a snapshot, and what is newer than that cannot leave: if all wait for each
//! other, patience ends, and their rollbacks make room.

use std::{future::poll_fn, io, pin::pin, rc::Rc, task::Poll, time::Duration};

use interleave::{Nested, sleep};
use memory::Arena;

use super::ColdTier;
use crate::{
    error::Error,
    log::LaneWriter,
    session::{Session, next_look},
    sync::{AtomicUsize, Ordering},
};

/// What is free of the limit, at least, in holes or not: one of so many parts.
const FREE_PART: usize = 10;

/// What is free for any purpose: the same.
const ROOM_PART: usize = 48;

/// Regions that are closed at a time: the same.
const CLOSED_PART: usize = 24;

/// Records that the clock comes by before others have a look.
const LOOKS: u64 = 1 << 16;

/// How long a write waits for room, in all.
const PATIENCE: Duration = Duration::from_secs(10);

/// When it looks again, at the latest.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Blocks that are demoted before some more records are loaded, at most: they are far larger
/// than what is loaded then.
const BLOCKS_TO_LOAD: u32 = 4;

/// How long what was moved is waited for to be free.
const GRACE: Duration = Duration::from_millis(2);

/// After a device that refused, and after a clock that found nothing to demote.
const REST: Duration = Duration::from_millis(100);

/// What a write has left of its patience.
#[derive(Default)]
pub(crate) struct Patience(Option<Duration>);

impl Patience {
    fn check(&mut self, now: Duration) -> Result<(), Error> {
        let until = *self.0.get_or_insert(now + PATIENCE);
        match now < until {
            true => Ok(()),
            false => Err(Error::MemoryExhausted),
        }
    }
}

/// How much room is wanted.
#[derive(Default)]
pub(super) struct Wish(AtomicUsize);

/// What there is.
struct Stand {
    /// More is in use than is to be.
    is_full: bool,
    /// What is free is free in holes.
    has_holes: bool,
}

impl ColdTier {
    fn stand(&self, arena: &Arena) -> Stand {
        let usage = arena.usage();
        let (limit, room) = (arena.limit_bytes(), arena.room());
        // What indexes have claimed and not used is for them alone.
        let holes = usage
            .version_claimed_bytes
            .saturating_sub(usage.version_bytes);
        // Relaxed, here and elsewhere: nothing depends on it.
        let wish = self.wish.0.load(Ordering::Relaxed);
        let wanted = wish.max(limit / ROOM_PART);
        let free = (limit / FREE_PART).max(wanted + limit / (2 * FREE_PART));
        if wish > 0 && room >= wish {
            self.wish.0.store(0, Ordering::Relaxed);
        }
        Stand {
            is_full: room as u64 + holes < free as u64,
            has_holes: room < wanted,
        }
    }

    /// Somebody had too little room: there has to be more, and more each time, since nobody
    /// knows how much it takes.
    fn want_room(&self, arena: &Arena) {
        let limit = arena.limit_bytes();
        let more = arena.room() + limit / ROOM_PART;
        self.wish
            .0
            .fetch_max(more.min(limit / 2), Ordering::Relaxed);
    }
}

impl Session {
    /// Waits until there may be room in memory.
    ///
    /// # Errors
    /// [`Error::MemoryExhausted`]: nobody makes room, or not soon enough.
    ///
    /// # Suspension
    /// An event wait.
    ///
    /// # Cancellation
    /// Dropping the future is harmless.
    pub(crate) fn wait_for_room<'s>(
        &'s self,
        patience: &'s mut Patience,
    ) -> Nested<'s, Result<(), Error>> {
        Nested::new(async move {
            let (Some(tier), Some(lane)) = (self.database.cold(), self.lane()) else {
                return Err(Error::MemoryExhausted);
            };
            patience.check(self.clock().now())?;
            if self.winds_up() {
                return Err(Error::MemoryExhausted);
            }
            let mut ring = pin!(self.room.next());
            let mut look = pin!(sleep(LOOK_AGAIN));
            tier.want_room(&self.database.arena);
            lane.call_upkeep();
            poll_fn(|context| {
                if ring.as_mut().poll(context).is_ready() || look.as_mut().poll(context).is_ready()
                {
                    return Poll::Ready(());
                }
                Poll::Pending
            })
            .await;
            Ok(())
        })
    }

    /// Sees to it that there is room, and that those who wait for it look again: part of the
    /// housekeeping.
    pub(crate) fn look_after_room(&self) {
        let (Some(tier), Some(lane)) = (self.database.cold(), self.lane()) else {
            return;
        };
        let stand = tier.stand(&self.database.arena);
        if stand.is_full || stand.has_holes {
            lane.call_upkeep();
        }
        self.room.ring();
    }

    /// How many records the clock comes by, about.
    fn records_to_look_at(&self) -> u64 {
        let tables = self.database.catalog.live_tables().into_iter();
        tables.map(|table| table.records.taken()).sum()
    }

    /// Demotes records whenever more is in use than is to be: a part of the upkeep.
    pub(crate) async fn keep_free(self: &Rc<Self>, lane: &LaneWriter) {
        let Some(tier) = self.database.cold() else {
            return;
        };
        let mut in_vain = 0;
        while self.goes_on(lane) {
            let ring = lane.upkeep_is_due();
            if tier.stand(&self.database.arena).is_full {
                self.demote_some(&mut in_vain).await;
            } else {
                in_vain = 0;
                next_look(ring).await;
            }
        }
    }

    /// Demotes some records, or rests, if that is of no use now. `in_vain` is how far the clock
    /// has come without finding anything.
    async fn demote_some(self: &Rc<Self>, in_vain: &mut u64) {
        match self.demote(LOOKS).await {
            Ok(Some(demoted)) if demoted.records > 0 => *in_vain = 0,
            Ok(Some(demoted)) => *in_vain += demoted.looked_at.max(1),
            // Another session is at it.
            Ok(None) => sleep(LOOK_AGAIN).await,
            Err(_) => {
                self.counters.update(|stats| stats.demotions_failed += 1);
                sleep(REST).await;
            }
        }
        // Twice around: whoever was asked for is noted the first time.
        if *in_vain > 2 * self.records_to_look_at() {
            *in_vain = 0;
            sleep(REST).await;
        }
    }

    /// While records are loaded, and there is no upkeep: makes room if there is little.
    ///
    /// # Suspension
    /// Memory, device and event waits.
    pub(crate) async fn keep_room_to_load(self: &Rc<Self>) {
        let Some(tier) = self.database.cold() else {
            return;
        };
        let mut in_vain = 0;
        let stand = || tier.stand(&self.database.arena);
        for _ in 0..BLOCKS_TO_LOAD {
            if !stand().is_full {
                break;
            }
            self.demote_some(&mut in_vain).await;
        }
        if stand().has_holes {
            self.move_together(tier).await;
        }
    }

    /// The same for who has found no room.
    ///
    /// # Errors
    /// [`Error::MemoryExhausted`]: it has waited long enough, or there is no cold tier.
    pub(crate) async fn make_room_to_load(
        self: &Rc<Self>,
        patience: &mut Patience,
    ) -> Result<(), Error> {
        let tier = self.database.cold().ok_or(Error::MemoryExhausted)?;
        patience.check(self.clock().now())?;
        tier.want_room(&self.database.arena);
        self.keep_room_to_load().await;
        sleep(GRACE).await;
        Ok(())
    }

    /// Moves versions together whenever what is free is free in holes: a part of the upkeep.
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

    /// Empties the sparsest regions, if nobody else does.
    async fn move_together(self: &Rc<Self>, tier: &ColdTier) {
        let arena = &self.database.arena;
        let before = arena.room();
        let wish = arena.limit_bytes() / CLOSED_PART;
        if self.empty_regions(tier, wish).await.is_none() {
            return sleep(LOOK_AGAIN).await;
        }
        // Until nobody reads what was moved.
        sleep(GRACE).await;
        if arena.room() <= before {
            sleep(REST).await;
        }
    }

    /// Moves versions out of the sparsest regions of memory, of so many bytes if there are as
    /// many whose rest fits into others: once that is reclaimed, the room is there for any
    /// purpose. Returns how many bytes they have; `None` if another session does so. The upkeep
    /// calls this when it is needed.
    ///
    /// # Errors
    /// `Unsupported` without a cold tier.
    ///
    /// # Suspension
    /// Others have their turn now and then.
    pub async fn compact(self: &Rc<Self>, bytes: usize) -> io::Result<Option<usize>> {
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
        // What was not emptied last time: others are sparser now, perhaps.
        arena.reopen();
        let closed = arena.close_sparsest(bytes);
        if closed > 0 {
            self.evacuate().await;
        }
        Some(closed)
    }
}

/// Being the one who empties regions, until dropped.
struct Evacuating<'t>(&'t ColdTier);

impl Drop for Evacuating<'_> {
    fn drop(&mut self) {
        self.0.is_evacuating.store(false, Ordering::Release);
    }
}
