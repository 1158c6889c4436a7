//! Evaluation of the log files: which files count, up to where, and which files are kept or free.
//!
//! Blocks that a checkpoint superseded are not loaded; they are kept for change streams, if they
//! are complete. The manifest lists files of such blocks, which need not be read; files that were
//! being written when the checkpoint was taken are read like others.

mod history;

use std::{collections::BTreeMap, sync::Arc};

use io::Directory;

use crate::{
    log::segments::{FoundSegments, Full},
    manifest::{Cut, Manifest},
    recovery::{
        Item, OpenError, RecoveryConfig, analysis,
        scan::{self, Expected, FileBlocks, Found, LaneLog, LogFile, Look},
    },
    timestamp::Timestamp,
};

/// Result of reading the log files.
pub(crate) struct Logs {
    pub(crate) items: Vec<Item>,
    /// Timestamp up to which all transactions count.
    pub(crate) reached: Timestamp,
    pub(crate) cuts: Vec<Cut>,
    pub(super) segments: FoundSegments,
    /// Files that are of no use any more.
    pub(super) blank: Vec<u64>,
}

impl Logs {
    /// Reads all log files that count.
    pub(crate) fn read(
        directory: &Arc<dyn Directory>,
        manifest: &Manifest,
        config: RecoveryConfig,
    ) -> Result<Logs, OpenError> {
        Logs::look(directory, manifest, config, Look::Through)
    }

    /// Reads as little of the log files as is needed to load them. Loading finds destroyed data in
    /// the rest; but to salvage, and to report the damage, takes all.
    pub(super) fn read_ahead(
        directory: &Arc<dyn Directory>,
        manifest: &Manifest,
        config: RecoveryConfig,
    ) -> Result<Logs, OpenError> {
        if !config.salvage
            && let Ok(logs) = Logs::look(directory, manifest, config, Look::Ahead)
        {
            return Ok(logs);
        }
        Logs::read(directory, manifest, config)
    }

    fn look(
        directory: &Arc<dyn Directory>,
        manifest: &Manifest,
        config: RecoveryConfig,
        look: Look,
    ) -> Result<Logs, OpenError> {
        let Found {
            lanes,
            blank,
            next_number,
        } = scan::find(directory, manifest, config.salvage)?;
        let checkpoint = manifest.checkpoint.clone().unwrap_or_default();
        let newer_than = checkpoint.begin;
        let mut logs = Logs {
            items: Vec::new(),
            // A database without commits begins with timestamp 1.
            reached: newer_than.max(Timestamp(1)),
            cuts: Vec::new(),
            segments: FoundSegments {
                next_number,
                oldest: manifest.history.oldest,
                ..FoundSegments::default()
            },
            blank,
        };
        let mut incarnations: BTreeMap<u64, BTreeMap<u32, Vec<LogFile>>> = BTreeMap::new();
        for ((incarnation, lane), mut files) in lanes {
            logs.take_listed(manifest, &mut files);
            incarnations
                .entry(incarnation)
                .or_default()
                .insert(lane, files);
        }
        logs.check_listed(manifest);
        for cut in &manifest.cuts {
            logs.reached = logs.reached.max(cut.up_to);
            // All files of an incarnation may be gone.
            incarnations.entry(cut.incarnation).or_default();
        }
        // An incarnation that began and wrote nothing has nothing to cut off.
        incarnations.entry(manifest.incarnation).or_default();
        for (incarnation, lanes) in incarnations {
            let cut = manifest.cut(incarnation);
            if incarnation != manifest.incarnation && cut.is_none() {
                // A checkpoint supersedes the incarnation.
                let files = lanes.values().flatten();
                logs.segments
                    .free
                    .extend(files.map(|file| (file.number, file.bytes)));
                continue;
            }
            let mut read = BTreeMap::new();
            for (lane, files) in lanes {
                let expected = expected(manifest, cut, incarnation, lane);
                let log = scan::scan_lane(directory, &files, expected, look, config.salvage)?;
                read.insert(lane, log);
            }
            let up_to = match cut {
                Some(cut) => {
                    all_lanes_are_there(manifest, cut, &read, config.salvage)?;
                    cut.up_to
                }
                None => {
                    let (reached, loss) = analysis::frontier(&read, logs.reached);
                    if let Some(loss) = loss
                        && !config.salvage
                    {
                        return Err(OpenError::Lost {
                            lane: loss.lane,
                            durable: loss.durable,
                            found: loss.found,
                        });
                    }
                    reached
                }
            };
            logs.reached = logs.reached.max(up_to);
            logs.check_superseded(manifest, incarnation, &read);
            logs.take(incarnation, read, newer_than, up_to);
        }
        // The frontier had reached the checkpoint's end, by blocks that came after its beginning.
        // Without them the checkpoint's chunks are of different moments.
        if logs.reached < checkpoint.end && !config.salvage {
            return Err(OpenError::EndsEarly {
                log: logs.reached,
                checkpoint: checkpoint.end,
            });
        }
        logs.reached = logs.reached.max(checkpoint.end);
        logs.end_history(manifest, config.salvage);
        Ok(logs)
    }

    fn take(
        &mut self,
        incarnation: u64,
        lanes: BTreeMap<u32, LaneLog>,
        newer_than: Timestamp,
        up_to: Timestamp,
    ) {
        let ends = lanes.iter().map(|(&lane, log)| (lane, log.blocks));
        let cut = Cut {
            incarnation,
            up_to,
            ends: ends.collect(),
        };
        for (file, blocks) in lanes.into_values().flat_map(|log| log.files) {
            if blocks.blocks_end == 0 {
                self.segments.free.push((file.number, file.bytes));
                continue;
            }
            if !blocks.is_superseded {
                self.items.push(Item::Log {
                    file,
                    end: blocks.end,
                    newer_than,
                    up_to,
                });
            }
            self.segments.used.push(used(&file, &blocks, up_to));
        }
        if cut.ends.iter().any(|&(_, blocks)| blocks > 0) {
            self.cuts.push(cut);
        }
    }
}

fn used(file: &LogFile, blocks: &FileBlocks, up_to: Timestamp) -> Full {
    Full {
        number: file.number,
        bytes: file.bytes,
        header: file.header,
        first_block: blocks.first,
        first_transaction: blocks.first_transaction,
        blocks_end: blocks.blocks_end,
        // The next incarnation has used the timestamps that were cut off for other transactions.
        newest: blocks.newest.min(up_to),
    }
}

/// Returns where a lane's log begins and ends, as far as the manifest says.
pub(crate) fn expected(
    manifest: &Manifest,
    cut: Option<&Cut>,
    incarnation: u64,
    lane: u32,
) -> Expected {
    let checkpoint = manifest.checkpoint.as_ref();
    let start = checkpoint
        .filter(|checkpoint| checkpoint.incarnation == incarnation)
        .and_then(|checkpoint| checkpoint.starts.iter().find(|start| start.lane == lane));
    let start = start.copied().unwrap_or_default();
    let end = cut.and_then(|cut| cut.ends.iter().find(|(number, _)| *number == lane));
    Expected {
        first_block: start.block,
        transactions: start.transactions,
        blocks: end.map(|&(_, blocks)| blocks),
    }
}

/// Checks that every lane has files: a lane whose files are all gone is not noticed when its files
/// are read.
fn all_lanes_are_there(
    manifest: &Manifest,
    cut: &Cut,
    read: &BTreeMap<u32, LaneLog>,
    salvage: bool,
) -> Result<(), OpenError> {
    // A checkpoint may have made all files of a lane superfluous.
    let needed = |lane| expected(manifest, Some(cut), cut.incarnation, lane).first_block;
    let gone = |&&(lane, blocks): &&(u32, u64)| blocks > needed(lane) && !read.contains_key(&lane);
    match cut.ends.iter().find(gone) {
        Some(&(lane, blocks)) if !salvage => Err(OpenError::Lost {
            lane,
            durable: blocks,
            found: 0,
        }),
        _ => Ok(()),
    }
}
