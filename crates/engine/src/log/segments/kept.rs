//! Segments that are written: which of them recovery needs, which are kept for change
//! streams, and where in them a block is.
//!
//! *Complete history:* of what is newer than [`Pool::oldest`], no segment is missing.
//! It rises, under the latch, before a segment is given up that has anything newer. So
//! whoever looks for a block and does not find it, while `oldest` is not newer than
//! where he is, looks for one that was never there.

use std::collections::BTreeSet;

use super::{Full, Pool, Segment, Segments, file_name};
use crate::{
    device_room::LogRoom,
    manifest::{History, HistoryFile, Start},
    timestamp::Timestamp,
};

/// Free files that are kept at least. Beyond that, as many as a checkpoint freed: the
/// log will need them until the next one.
const FREE_MIN: usize = 4;

/// What becomes of the segments that a checkpoint makes superfluous.
#[derive(Debug)]
pub(crate) struct Retention {
    /// For the manifest; the events in it are the catalog's to add.
    pub(crate) history: History,
    /// Files to be used again.
    free: Vec<u64>,
}

/// No segment has what was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotKept {
    /// What is newer is complete.
    pub(crate) oldest: Timestamp,
}

impl Segments {
    /// The lane goes on from `full`, which stays as it is, to `next`.
    pub(crate) fn turn(&self, full: Option<&Segment>, next: &Segment) {
        let mut pool = self.pool();
        if let Some(full) = full {
            pool.close(full);
        }
        pool.begin(next, u64::MAX);
    }

    /// Keeps a segment that nothing was written to, until the next checkpoint.
    pub(crate) fn keep_unused(&self, segment: &Segment) {
        self.pool().begin(segment, 0);
    }

    /// What the log takes up.
    pub(crate) fn room(&self) -> LogRoom {
        let pool = self.pool();
        let bytes = |files: &[(u64, u64)]| files.iter().map(|&(_, bytes)| bytes).sum::<u64>();
        let used = |full: &&Full| full.blocks_end < u64::MAX;
        let closed = pool.used.iter().filter(used).map(|full| full.bytes).sum();
        let used: u64 = pool.used.iter().map(|full| full.bytes).sum();
        LogRoom {
            taken: used + bytes(&pool.prepared),
            closed,
            free: bytes(&pool.free),
        }
    }

    /// What is newer can be read, nothing is missing of it.
    pub(crate) fn oldest(&self) -> Timestamp {
        self.pool().oldest
    }

    /// The lanes of the earliest incarnation, of those from `incarnation` on, that has
    /// anything newer than `after`.
    pub(crate) fn lanes_after(
        &self,
        incarnation: u64,
        after: Timestamp,
    ) -> Result<Option<(u64, Vec<u32>)>, NotKept> {
        let pool = self.pool();
        pool.check(after)?;
        let newer = || {
            let newer = pool.used.iter().filter(|full| full.newest > after);
            newer.map(|full| (full.header.incarnation, full.header.lane))
        };
        let found = newer().map(|(found, _)| found);
        let Some(earliest) = found.filter(|&found| found >= incarnation).min() else {
            return Ok(None);
        };
        let lanes = newer().filter(|&(found, _)| found == earliest);
        let mut lanes: Vec<u32> = lanes.map(|(_, lane)| lane).collect();
        lanes.sort_unstable();
        lanes.dedup();
        Ok(Some((earliest, lanes)))
    }

    /// The first segment of a lane that has anything newer than `after`.
    pub(crate) fn first_after(
        &self,
        (incarnation, lane): (u64, u32),
        after: Timestamp,
    ) -> Result<Option<Full>, NotKept> {
        let pool = self.pool();
        pool.check(after)?;
        let of_lane = pool.of_lane(incarnation, lane);
        let newer = of_lane.filter(|full| full.newest > after);
        Ok(newer.min_by_key(|full| full.first_block).copied())
    }

    /// The segment that has a block of a lane, or will.
    pub(crate) fn with_block(
        &self,
        (incarnation, lane): (u64, u32),
        block: u64,
    ) -> Result<Full, NotKept> {
        let pool = self.pool();
        let mut of_lane = pool.of_lane(incarnation, lane);
        let found = of_lane.find(|full| (full.first_block..full.blocks_end).contains(&block));
        found.copied().ok_or(NotKept {
            oldest: pool.oldest,
        })
    }

    /// How far the log of an earlier incarnation counts.
    pub(crate) fn cut(&self, incarnation: u64) -> Option<Timestamp> {
        self.pool().cuts.get(&incarnation).copied()
    }

    /// Numbers of the segments that recovery does not need if a checkpoint of
    /// `incarnation` counts that needs the log from `starts` on.
    pub(crate) fn superfluous(&self, incarnation: u64, starts: &[Start]) -> BTreeSet<u64> {
        let pool = self.pool();
        let superfluous = pool.superfluous(incarnation, starts);
        superfluous.map(|full| full.number).collect()
    }

    /// Chooses what to keep, at most `bytes_max`, of the segments that recovery does not
    /// need once a checkpoint of `incarnation` counts that needs the log from `starts`
    /// on: the newest ones. Changes nothing yet.
    pub(crate) fn retention(
        &self,
        incarnation: u64,
        starts: &[Start],
        bytes_max: u64,
    ) -> Retention {
        let pool = self.pool();
        let mut superfluous: Vec<&Full> = pool.superfluous(incarnation, starts).collect();
        superfluous.sort_unstable_by_key(|full| std::cmp::Reverse(full.newest));
        let mut bytes = 0_u64;
        let kept = superfluous.iter().take_while(|full| {
            bytes = bytes.saturating_add(full.bytes);
            bytes <= bytes_max && full.newest > pool.oldest
        });
        let kept = kept.count();
        let (kept, freed) = superfluous.split_at(kept);
        let oldest = freed.first().map_or(Timestamp(0), |full| full.newest);
        let is_kept = |incarnation| kept.iter().any(|f| f.header.incarnation == incarnation);
        let cuts = pool.cuts.iter().map(|(&ended, &up_to)| (ended, up_to));
        Retention {
            history: History {
                oldest: oldest.max(pool.oldest),
                cuts: cuts.filter(|&(ended, _)| is_kept(ended)).collect(),
                files: kept.iter().map(|full| full.entry()).collect(),
                events: Vec::new(),
            },
            free: freed.iter().map(|full| full.number).collect(),
        }
    }

    /// Frees what was chosen, now that a manifest counts that says so. How many.
    ///
    /// # Errors
    /// If surplus files cannot be removed.
    pub(crate) fn free(&self, retention: &Retention) -> std::io::Result<usize> {
        let (freed, surplus) = {
            let mut pool = self.pool();
            pool.oldest = pool.oldest.max(retention.history.oldest);
            pool.cuts = retention.history.cuts.iter().copied().collect();
            let is_chosen = |full: &mut Full| retention.free.contains(&full.number);
            let freed: Vec<_> = pool.used.extract_if(.., is_chosen).collect();
            pool.free
                .extend(freed.iter().map(|full| (full.number, full.bytes)));
            let surplus = pool.free.len().saturating_sub(freed.len().max(FREE_MIN));
            (freed.len(), pool.free.drain(..surplus).collect::<Vec<_>>())
        };
        for (number, _) in surplus {
            self.directory.remove(&file_name(number))?;
        }
        Ok(freed)
    }
}

impl Full {
    fn of(segment: &Segment, blocks_end: u64) -> Full {
        Full {
            number: segment.number,
            bytes: segment.bytes,
            header: segment.header,
            first_block: segment.first_block,
            first_transaction: segment.first_transaction,
            blocks_end,
            newest: if blocks_end == u64::MAX {
                Timestamp(u64::MAX)
            } else {
                segment.newest
            },
        }
    }

    fn entry(&self) -> HistoryFile {
        HistoryFile {
            number: self.number,
            incarnation: self.header.incarnation,
            lane: self.header.lane,
            first_block: self.first_block,
            blocks_end: self.blocks_end,
            newest: self.newest,
        }
    }
}

impl Pool {
    /// A lane has a segment that was prepared.
    fn begin(&mut self, segment: &Segment, blocks_end: u64) {
        self.prepared
            .retain(|&(number, _)| number != segment.number);
        self.used.push(Full::of(segment, blocks_end));
    }

    fn close(&mut self, segment: &Segment) {
        self.used.retain(|full| full.number != segment.number);
        self.used.push(Full::of(segment, segment.blocks_end));
    }

    fn check(&self, after: Timestamp) -> Result<(), NotKept> {
        let oldest = self.oldest;
        (after >= oldest).then_some(()).ok_or(NotKept { oldest })
    }

    fn superfluous(&self, incarnation: u64, starts: &[Start]) -> impl Iterator<Item = &Full> {
        let start = move |lane| {
            let start = starts.iter().find(|start| start.lane == lane);
            start.map_or(0, |start| start.block)
        };
        self.used.iter().filter(move |full| {
            full.header.incarnation < incarnation || full.blocks_end <= start(full.header.lane)
        })
    }

    fn of_lane(&self, incarnation: u64, lane: u32) -> impl Iterator<Item = &Full> {
        let of_lane = (incarnation, lane);
        self.used
            .iter()
            .filter(move |full| (full.header.incarnation, full.header.lane) == of_lane)
    }
}
