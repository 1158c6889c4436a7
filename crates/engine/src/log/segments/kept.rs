//! Segments that are written: segments that recovery needs, segments kept for change streams, and
//! the search for a block in them.
//!
//! *Complete history:* no segment with a transaction newer than [`Pool::oldest`] is missing.
//! `oldest` rises, under the latch, before a segment with newer transactions is given up. If a
//! stream looks for a block and does not find it, while `oldest` is not newer than the stream's
//! position, the block never existed.

use std::collections::BTreeSet;

use super::{Full, Pool, Segment, Segments, file_name};
use crate::{
    device_room::LogRoom,
    manifest::{History, HistoryFile, Start},
    timestamp::Timestamp,
};

/// Minimum number of free files that are kept. Beyond it, as many are kept as a checkpoint freed:
/// the log will need them until the next checkpoint.
const FREE_MIN: usize = 4;

/// Decision about the segments that a checkpoint makes superfluous.
#[derive(Debug)]
pub(crate) struct Retention {
    /// History for the manifest; the catalog adds the events.
    pub(crate) history: History,
    /// Files to be used again.
    free: Vec<u64>,
}

/// Error: no segment has the transactions that were looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotKept {
    /// Timestamp after which the history is complete.
    pub(crate) oldest: Timestamp,
}

impl Segments {
    /// Notes that the lane goes on from `full`, which stays as it is, to `next`.
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

    /// Returns the room that the log takes up.
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

    /// Returns the timestamp after which all transactions can be read.
    pub(crate) fn oldest(&self) -> Timestamp {
        self.pool().oldest
    }

    /// Returns the lanes of the earliest incarnation, from `incarnation` on, that has anything
    /// newer than `after`.
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

    /// Returns the first segment of a lane that has anything newer than `after`.
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

    /// Returns the segment that has a block of a lane, or will have it.
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

    /// Returns the timestamp up to which the log of an earlier incarnation counts.
    pub(crate) fn cut(&self, incarnation: u64) -> Option<Timestamp> {
        self.pool().cuts.get(&incarnation).copied()
    }

    /// Returns the numbers of the segments that recovery does not need, provided that the current
    /// checkpoint is of `incarnation` and needs the log from `starts` on.
    pub(crate) fn superfluous(&self, incarnation: u64, starts: &[Start]) -> BTreeSet<u64> {
        let pool = self.pool();
        let superfluous = pool.superfluous(incarnation, starts);
        superfluous.map(|full| full.number).collect()
    }

    /// Chooses the segments to keep, at most `bytes_max` in all, among those that recovery does not
    /// need once the current checkpoint is of `incarnation` and needs the log from `starts` on: the
    /// newest ones. Changes nothing yet.
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

    /// Frees the files of `retention`, once the manifest with its history is in place; returns how
    /// many were freed.
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
    /// Notes that a lane has begun to use a segment that was prepared.
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
