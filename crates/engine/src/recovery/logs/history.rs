//! Log files that are kept for change streams only, and how far back they are complete.
//!
//! A missing or destroyed file among them is no reason to refuse a database: the history begins
//! later then, and a stream that wants to go on from before gets an error.

use std::collections::{BTreeMap, BTreeSet};

use super::{Item, Logs, expected};
use crate::{
    log::segments::Full,
    manifest::{HistoryFile, Manifest},
    recovery::scan::{LaneLog, LogFile},
};

impl Logs {
    /// Takes the files of a lane that the manifest lists out of `files`: nothing else need be known
    /// of them.
    pub(super) fn take_listed(&mut self, manifest: &Manifest, files: &mut Vec<LogFile>) {
        files.retain(|file| {
            let mut listed = manifest.history.files.iter();
            match listed.find(|listed| is_superseded(manifest, listed, file)) {
                Some(listed) => {
                    self.segments.used.push(Full {
                        number: file.number,
                        bytes: file.bytes,
                        header: file.header,
                        first_block: listed.first_block,
                        first_transaction: 0,
                        blocks_end: listed.blocks_end,
                        newest: listed.newest,
                    });
                    false
                }
                None => true,
            }
        });
    }

    /// Checks that the listed files are there: if one is not, its newest transactions are missing
    /// from the history.
    pub(super) fn check_listed(&mut self, manifest: &Manifest) {
        let found: BTreeSet<u64> = self.segments.used.iter().map(|full| full.number).collect();
        let listed = manifest.history.files.iter();
        let missing = listed.filter(|listed| !found.contains(&listed.number));
        let newest = missing.map(|listed| listed.newest).max();
        self.segments.oldest = self.segments.oldest.max(newest.unwrap_or_default());
    }

    /// Checks the blocks of a lane that a checkpoint superseded and that are newer than the
    /// beginning of the history: they reach up to the blocks that recovery needs, or some of them
    /// are destroyed.
    pub(super) fn check_superseded(
        &mut self,
        manifest: &Manifest,
        incarnation: u64,
        lanes: &BTreeMap<u32, LaneLog>,
    ) {
        let Some(checkpoint) = &manifest.checkpoint else {
            return;
        };
        if checkpoint.incarnation != incarnation {
            return;
        }
        for start in &checkpoint.starts {
            let oldest = self.segments.oldest;
            if start.newest <= oldest {
                continue;
            }
            let of_lane = |full: &&Full| {
                (full.header.incarnation, full.header.lane) == (incarnation, start.lane)
            };
            let listed = self.segments.used.iter().filter(of_lane);
            let listed = listed.map(|full| (full.first_block, full.blocks_end, full.newest));
            let read = lanes.get(&start.lane).into_iter();
            let read = read.flat_map(|log| &log.files).map(|(_, blocks)| blocks);
            let read = read.map(|blocks| (blocks.first, blocks.blocks_end, blocks.newest));
            let newer = listed.chain(read).filter(|&(.., newest)| newest > oldest);
            let mut blocks: Vec<_> = newer.map(|(first, end, _)| (first, end)).collect();
            blocks.sort_unstable();
            let follow = blocks.windows(2).all(|pair| pair[0].1 == pair[1].0);
            let is_complete = match (blocks.first(), blocks.last()) {
                (Some(&(first, _)), Some(&(_, end))) => first < start.block && end >= start.block,
                _ => false,
            };
            if !follow || !is_complete {
                self.segments.oldest = oldest.max(start.newest);
            }
        }
    }

    /// Frees files that do not reach back far enough to be of use.
    pub(super) fn end_history(&mut self, manifest: &Manifest, salvage: bool) {
        let segments = &mut self.segments;
        let earlier = manifest.history.cuts.iter().copied();
        let ended = self.cuts.iter().map(|cut| (cut.incarnation, cut.up_to));
        segments.cuts = earlier.chain(ended).collect();
        if salvage {
            // Lanes that ended early may miss something.
            segments.oldest = self.reached;
        }
        // If it is unknown how far an incarnation counts, none of its files do.
        let unknown = segments.used.iter().filter(|full| {
            let incarnation = full.header.incarnation;
            !segments.cuts.contains_key(&incarnation)
        });
        let unknown = unknown.map(|full| full.newest).max();
        segments.oldest = segments.oldest.max(unknown.unwrap_or_default());
        let needed: BTreeSet<u64> = self
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Log { file, .. } => Some(file.number),
                Item::Part(_) => None,
            })
            .collect();
        let oldest = segments.oldest;
        let useless = |full: &mut Full| full.newest <= oldest && !needed.contains(&full.number);
        let freed = segments.used.extract_if(.., useless);
        let freed = freed.map(|full| (full.number, full.bytes));
        segments.free.extend(freed);
    }
}

/// Whether a file is the listed one, and has nothing that recovery needs.
fn is_superseded(manifest: &Manifest, listed: &HistoryFile, file: &LogFile) -> bool {
    let header = &file.header;
    let of_file = (file.number, header.incarnation, header.lane);
    let start = expected(manifest, None, header.incarnation, header.lane).first_block;
    let is_earlier =
        header.incarnation != manifest.incarnation && manifest.cut(header.incarnation).is_none();
    (listed.number, listed.incarnation, listed.lane) == of_file
        && (is_earlier || listed.blocks_end <= start)
        && listed.first_block < listed.blocks_end
}
