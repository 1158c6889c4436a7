//! Demotion: how records leave memory.
//!
//! A *clock* chooses the records: its hand goes through the tables, in the order of their keys, and
//! takes the records that were not requested since it last came by. They are copied into a block,
//! the block is written, and then, record by record, the slot gets the address in the place of the
//! version, if it still holds the same one. Until then no reader notices anything; a block that is
//! written and not used is lost room, and nothing else.
//!
//! A record that came back and was not changed still has its copy on the device: it leaves at once,
//! if the file of the copy is still open (`files.rs`).
//!
//! Log and checkpoint have the demoted records: no cold file needs to be durable before the next
//! checkpoint refers to it.

use std::{io, ops::Bound, rc::Rc, sync::Mutex};

use index::Direction;
use interleave::{Prefetching, run_inline};

use super::{
    ColdTier,
    address::ColdAddress,
    block::{BLOCK_BYTES, Block},
    format::ColdRecord,
};
use crate::{
    catalog::view::CatalogView,
    indirection::{Head, Rid},
    session::Session,
    sync::{Ordering, fence},
    table::Table,
    timestamp::{Begin, Timestamp},
    transaction::{Isolation, fetch_records},
};

/// Border nodes that the hand visits under one pin, without a suspension: a task that suspends
/// among transactions that wait for the device takes as long for each node as for all of these.
const NODES_PER_PIN: usize = 16;

/// Position of the clock's hand. One session moves it at a time; another session finds no hand
/// meanwhile.
pub(super) struct Hand(Mutex<Option<Place>>);

impl Default for Hand {
    fn default() -> Hand {
        Hand(Mutex::new(Some(Place::default())))
    }
}

/// A place behind a key of a table.
#[derive(Debug, Default)]
struct Place {
    table: u32,
    after: Option<Vec<u8>>,
}

/// The hand, while a session moves it.
struct Moving<'h> {
    hand: &'h Hand,
    place: Place,
}

impl Hand {
    fn take(&self) -> Option<Moving<'_>> {
        let place = self.0.lock().unwrap_or_else(|e| e.into_inner()).take()?;
        Some(Moving { hand: self, place })
    }
}

impl Drop for Moving<'_> {
    fn drop(&mut self) {
        let place = std::mem::take(&mut self.place);
        *self.hand.0.lock().unwrap_or_else(|e| e.into_inner()) = Some(place);
    }
}

/// Result of a move of the hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Demoted {
    /// Records that the hand passed.
    pub looked_at: u64,
    /// Records that left memory.
    pub records: u64,
}

/// A record that is to leave.
struct Victim {
    table: u32,
    rid: Rid,
    /// Address of the version, to be compared and not to be followed: the version may be gone.
    version: u64,
    begin: Timestamp,
}

/// Records on their way to the device.
struct Load {
    block: Block,
    /// Records that are in the block.
    victims: Vec<Victim>,
    looked_at: u64,
    /// Records that have left already, without a write, and their bytes.
    gone: u64,
    gone_bytes: usize,
}

impl Load {
    fn new() -> Load {
        Load {
            block: Block::new(),
            victims: Vec::new(),
            looked_at: 0,
            gone: 0,
            gone_bytes: 0,
        }
    }

    fn is_full(&self) -> bool {
        self.block.bytes() + self.gone_bytes >= BLOCK_BYTES
    }

    /// Takes a record into the block, if it can leave and was not requested lately. Returns it
    /// instead, with its address, if the device already has the same version.
    fn consider(
        &mut self,
        tier: &ColdTier,
        table: &Table,
        rid: Rid,
        key: &[u8],
        horizon: Timestamp,
    ) -> Option<(Victim, ColdAddress)> {
        self.looked_at += 1;
        let slot = table.records.slot(rid);
        let Head::Version(version) = slot.head() else {
            return None;
        };
        let Begin::Committed(begin) = version.begin() else {
            return None;
        };
        if begin > horizon || slot.is_marked() || version.take_use() {
            return None;
        }
        let stored = version.payload()?;
        let victim = Victim {
            table: table.number(),
            rid,
            version: version.word(),
            begin,
        };
        let record = ColdRecord {
            table: table.number(),
            begin,
            successor: version.successor_of_maker(begin),
            key,
            stored,
        };
        if let Some(position) = version.position_on_device()
            && let Some(address) = ColdAddress::new(position, record.bytes())
            && tier.is_open_at(address)
        {
            return Some((victim, address));
        }
        self.block.push(&record);
        self.victims.push(victim);
        None
    }
}

impl Session {
    /// Demotes records that were not requested lately: moves the clock's hand on until a block is
    /// full, or it has passed `looks` records. Returns `None` if another session does so.
    ///
    /// # Errors
    /// `Unsupported` without a cold tier; otherwise the device's error. No record has changed.
    ///
    /// # Suspension
    /// Memory and device waits.
    ///
    /// # Cancellation
    /// Records that were not demoted yet stay.
    pub async fn demote(self: &Rc<Self>, looks: u64) -> io::Result<Option<Demoted>> {
        let unsupported = || io::Error::from(io::ErrorKind::Unsupported);
        let tier = self.database.cold().ok_or_else(unsupported)?;
        let Some(mut hand) = tier.hand.take() else {
            return Ok(None);
        };
        let mut load = Load::new();
        self.gather(tier, &mut hand.place, &mut load, looks).await;
        drop(hand);
        let Load {
            looked_at, gone, ..
        } = load;
        let _leaving = tier.leaving.begin(load.block.bytes());
        let records = match load.victims.is_empty() {
            true => 0,
            false => self.write_load(tier, load).await?,
        };
        let records = gone + records;
        self.counters.update(|stats| {
            stats.demoted += records;
            stats.demoted_unchanged += gone;
        });
        Ok(Some(Demoted { looked_at, records }))
    }

    /// Moves the hand on, through one table after the other, once around at most.
    async fn gather(
        self: &Rc<Self>,
        tier: &ColdTier,
        place: &mut Place,
        load: &mut Load,
        looks: u64,
    ) {
        let mut tables = self.database.catalog.live_tables();
        tables.retain(|table| !CatalogView::is_about(table.number()));
        tables.sort_by_key(|table| table.number());
        let at = tables.partition_point(|table| table.number() < place.table);
        if at < tables.len() {
            tables.rotate_left(at);
        }
        for table in tables {
            if table.number() != place.table {
                *place = Place {
                    table: table.number(),
                    after: None,
                };
            }
            loop {
                // A pin alone does not keep a head that is overwritten meanwhile: it is freed
                // once the horizon has passed, which an idle session does not hold back.
                let Ok(snapshot) = self.begin(Isolation::Snapshot) else {
                    return;
                };
                let is_end = run_inline(self.stride(tier, &table, place, load));
                snapshot.release();
                if is_end {
                    break;
                }
                if load.is_full() || load.looked_at >= looks {
                    return;
                }
                // A worker that does not suspend runs other tasks, too.
                interleave::yield_now().await;
            }
            place.table += 1;
            place.after = None;
        }
    }

    /// Moves the hand on in one table; returns whether it reached the end. Never suspends.
    async fn stride(
        &self,
        tier: &ColdTier,
        table: &Table,
        place: &mut Place,
        load: &mut Load,
    ) -> bool {
        let mut batch = self.batches.lend();
        // While records are loaded, there is no snapshot, and no log yet.
        let horizon = match self.database.log() {
            Some(_) => self.database.horizon(),
            None => Timestamp(u64::MAX),
        };
        let after = place.after.take();
        let from = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut scan = table
            .index
            .scan((from, Bound::Unbounded), Direction::Forward);
        let pin = self.memory.pin();
        for _ in 0..NODES_PER_PIN {
            if !scan.next::<Prefetching>(&pin, &mut batch).await {
                return true;
            }
            fetch_records::<Prefetching>(table, batch.iter().map(|(_, rid)| Rid(rid))).await;
            for (key, rid) in batch.iter() {
                if let Some((victim, address)) = load.consider(tier, table, Rid(rid), key, horizon)
                    && let Some(bytes) = self.chill(tier, table, &victim, address)
                {
                    load.gone += 1;
                    load.gone_bytes += bytes;
                }
            }
            if load.is_full() {
                break;
            }
        }
        place.after = batch.iter().last().map(|(key, _)| key.to_vec());
        place.after.is_none()
    }

    /// Writes a block, and removes the versions of its records from memory; returns how many were
    /// removed.
    async fn write_load(self: &Rc<Self>, tier: &ColdTier, load: Load) -> io::Result<u64> {
        let Load { block, victims, .. } = load;
        let addresses = self.write_block(tier, block).await?;
        // While the transaction is open, no version that is superseded from now on is freed: a head
        // that is found at a victim's address, with its timestamp, is the victim.
        let Ok(transaction) = self.begin(Isolation::Snapshot) else {
            return Ok(0);
        };
        let mut demoted = 0;
        for (victim, address) in victims.iter().zip(addresses) {
            // While the transaction is open, a table that is found stays.
            if let Some(table) = self.database.table_by_number(victim.table)
                && let Some(to) = address
                && self.chill(tier, &table, victim, to).is_some()
            {
                demoted += 1;
            }
        }
        transaction.release();
        Ok(demoted)
    }

    /// Puts an address in the place of a version, if the version is still there; returns the bytes
    /// of memory that it had.
    fn chill(
        &self,
        tier: &ColdTier,
        table: &Table,
        victim: &Victim,
        to: ColdAddress,
    ) -> Option<usize> {
        let _pin = self.memory.pin();
        let slot = table.records.slot(victim.rid);
        let Head::Version(version) = slot.head() else {
            return None;
        };
        let is_it =
            version.word() == victim.version && version.begin() == Begin::Committed(victim.begin);
        if !is_it || !slot.freeze(version) {
            return None;
        }
        // Pairs with the fence of a reader that has marked the version: `cold.rs`.
        fence(Ordering::SeqCst);
        // The fence pairs with that of a session that closes a file, too.
        if !tier.is_open_at(to) {
            slot.unfreeze(version);
            return None;
        }
        tier.bounds
            .raise(slot, version.last_reader(self.database.now()));
        slot.chill(to);
        if let Some(expiry) = version.payload().and_then(|stored| table.split(stored).0) {
            tier.note_expiry(to, table.number(), expiry);
        }
        let bytes = version.block_bytes();
        // SAFETY: unlinked, by us alone.
        unsafe { version.retire(&self.memory) };
        Some(bytes)
    }
}
