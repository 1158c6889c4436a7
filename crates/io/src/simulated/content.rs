//! One file: its live contents, its durable contents, and the writes between.
//!
//! # Invariants
//! - `live` holds the contents that reads see. After a crash it equals what `durable` has become.
//! - `unsynced` holds the writes since the last sync, oldest first, without what a
//!   durable write has superseded. A crash keeps any of their sectors.
//! - A failed sync forgets the writes that it did not make durable, as Linux does, which takes the
//!   pages for clean: the bytes are live, not durable, and no later sync writes them.

use std::sync::Arc;

use super::image::{Data, Image, OwnedData};
use crate::dice::{Dice, Survival};

/// Bytes that a disk writes as a whole.
const SECTOR_BYTES: u64 = 512;

/// Maximum parts that a torn write is divided into; larger parts consist of several sectors.
const PARTS_MAX: u64 = 128;

#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    /// Token shared with the open handles, to be counted.
    pub(super) handles: Arc<()>,
    live: Image,
    durable: Image,
    unsynced: Vec<Unsynced>,
}

#[derive(Clone, Debug)]
struct Unsynced {
    offset: u64,
    data: OwnedData,
}

impl Content {
    pub(super) fn is_open(&self) -> bool {
        Arc::strong_count(&self.handles) > 1
    }

    pub(super) fn length(&self) -> u64 {
        self.live.length
    }

    pub(super) fn read(&self, bytes: &mut [u8], offset: u64) -> usize {
        self.live.read(bytes, offset)
    }

    pub(super) fn write(&mut self, offset: u64, data: Data<'_>) {
        if data.len() == 0 {
            return;
        }
        let kept = OwnedData::new(data);
        self.live.write(offset, kept.borrow());
        self.unsynced.push(Unsynced { offset, data: kept });
    }

    pub(super) fn write_durable(&mut self, offset: u64, data: Data<'_>) {
        if data.len() == 0 {
            return;
        }
        self.live.write(offset, data);
        self.durable.write(offset, data);
        if !self.unsynced.is_empty() {
            self.supersede(offset, offset + data.len());
        }
    }

    /// Drops older unsynced data, which must not come back in place of durable bytes from `start`
    /// to `end`.
    fn supersede(&mut self, start: u64, end: u64) {
        for old in std::mem::take(&mut self.unsynced) {
            let old_end = old.offset + old.data.borrow().len();
            if old_end <= start || end <= old.offset {
                self.unsynced.push(old);
                continue;
            }
            for (from, to) in [
                (old.offset, start.min(old_end)),
                (end.max(old.offset), old_end),
            ] {
                if from < to {
                    let part = old.data.borrow().part(from - old.offset, to - from);
                    self.unsynced.push(Unsynced {
                        offset: from,
                        data: OwnedData::new(part),
                    });
                }
            }
        }
    }

    /// Makes a write that fails halfway: any of its sectors may have been written.
    pub(super) fn write_failing(&mut self, offset: u64, data: Data<'_>, dice: &mut Dice) {
        let mut written = Vec::new();
        tear(offset, data, dice, |offset, part| {
            written.push((offset, part))
        });
        let durable = dice.chance(500);
        for (offset, part) in written {
            if durable {
                self.write_durable(offset, part);
            } else {
                self.write(offset, part);
            }
        }
    }

    pub(super) fn sync(&mut self) {
        for Unsynced { offset, data } in self.unsynced.drain(..) {
            self.durable.write(offset, data.borrow());
        }
    }

    pub(super) fn sync_failing(&mut self, dice: &mut Dice) {
        for Unsynced { offset, data } in self.unsynced.drain(..) {
            tear(offset, data.borrow(), dice, |offset, part| {
                self.durable.write(offset, part);
            });
        }
    }

    /// Lets the power fail while `under_way` is being written.
    pub(super) fn crash(&mut self, under_way: &[(u64, Data<'_>)], dice: &mut Dice) {
        for Unsynced { offset, data } in self.unsynced.drain(..) {
            crash_write(&mut self.durable, offset, data.borrow(), dice);
        }
        for &(offset, data) in under_way {
            crash_write(&mut self.durable, offset, data, dice);
        }
        self.live = self.durable.clone();
        self.handles = Arc::default();
    }

    /// Flips a bit on the disk, which programs see.
    pub(super) fn rot(&mut self, offset: u64, bit: u32) {
        for image in [&mut self.durable, &mut self.live] {
            if offset < image.length {
                image.flip(offset, bit);
            }
        }
    }
}

/// Keeps the remains of a write after a crash: some sectors, or just the length.
fn crash_write(durable: &mut Image, offset: u64, data: Data<'_>, dice: &mut Dice) {
    tear(offset, data, dice, |offset, part| {
        durable.write(offset, part)
    });
    let end = offset + data.len();
    if end > durable.length && dice.chance(250) {
        durable.length = end;
    }
}

/// Calls `keep` with any sectors of a write.
fn tear<'a>(offset: u64, data: Data<'a>, dice: &mut Dice, mut keep: impl FnMut(u64, Data<'a>)) {
    match dice.survival() {
        Survival::None => return,
        Survival::All => return keep(offset, data),
        Survival::Some => {}
    }
    let end = offset + data.len();
    let part_bytes = SECTOR_BYTES * (data.len() / SECTOR_BYTES).div_ceil(PARTS_MAX).max(1);
    let mut start = offset;
    while start < end {
        // Parts end where sectors do.
        let next = ((start + part_bytes) / SECTOR_BYTES * SECTOR_BYTES).min(end);
        if dice.chance(500) {
            keep(start, data.part(start - offset, next - start));
        }
        start = next;
    }
}
