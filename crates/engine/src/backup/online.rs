//! Copy of the directory of an open database. The argument is in the parent module.

use std::{collections::BTreeMap, sync::Arc};

use io::{BLOCK_BYTES, Buffer, Directory, OpenMode};

use crate::{
    backup::{BackupError, BackupReport, Watch, Watched, copy_cold, read_part, target::Target},
    checkpoint,
    database::Database,
    inspect::{Blocks, Progress},
    log::{
        format::{Flaw, SegmentHeader},
        segments::{file_name, file_number},
    },
    manifest::{CheckpointEntry, Cut, Manifest, Start},
    recovery::{OpenError, scan::LogFile},
};

/// Log files of each lane, in the order of their ordinals.
type Lanes = BTreeMap<u32, Vec<LogFile>>;

impl Database {
    /// Copies the database to an empty directory as it is now, while other sessions write. The
    /// database must have taken a checkpoint since it was opened ([`crate::Session::checkpoint`]);
    /// the fresher the checkpoint is, the less log is copied. `watch` is called after each file.
    ///
    /// Blocks the calling thread, which should not be a worker's. Checkpoints wait meanwhile, and
    /// no log file is freed; transactions do not.
    ///
    /// # Errors
    /// See [`BackupError`]. [`BackupError::UnderWay`] is temporary: the caller may try again.
    pub fn backup(
        &self,
        to: &Arc<dyn Directory>,
        watch: &mut Watch<'_>,
    ) -> Result<BackupReport, BackupError> {
        let copied = self.copy_to(to, watch);
        // After a close, another process may have opened the directory and changed it.
        if self.is_closed() && copied.is_err() {
            return Err(BackupError::Closed);
        }
        copied
    }

    fn copy_to(
        &self,
        to: &Arc<dyn Directory>,
        watch: &mut Watch<'_>,
    ) -> Result<BackupReport, BackupError> {
        let storage = self.storage().ok_or(BackupError::NoDirectory)?;
        let log = self.log().ok_or(BackupError::NoDirectory)?;
        let mut target = Target::begin(to)?;
        let _guard = storage.begin_checkpoint().ok_or(BackupError::UnderWay)?;
        // In this order: see the parent module.
        let up_to = log.frontier.reached();
        let durable: Vec<u64> = log.frontier.needed().map(|(_, durable)| durable).collect();
        let manifest = storage.manifest_now();
        let checkpoint = match &manifest.checkpoint {
            Some(checkpoint) if checkpoint.incarnation == log.incarnation => checkpoint,
            _ => return Err(BackupError::NoCheckpoint),
        };
        let directory = storage.directory();
        let mut lanes = find_lanes(directory, &manifest, log.incarnation)?;
        // Log files that are kept for change streams are not copied.
        let superfluous = log
            .segments
            .superfluous(log.incarnation, &checkpoint.starts);
        for files in lanes.values_mut() {
            files.retain(|file| !superfluous.contains(&file.number));
        }
        let log_bytes = lanes.values().flatten().map(|file| file.bytes);
        let part_bytes = checkpoint.parts.iter().map(|part| part.bytes);
        let cold_bytes = checkpoint.cold.iter().map(|file| file.bytes);
        let mut watched = Watched {
            progress: Progress {
                bytes_total: part_bytes.chain(cold_bytes).chain(log_bytes).sum(),
                bytes_done: 0,
            },
            watch,
        };
        for &part in &checkpoint.parts {
            let bytes = read_part(directory, manifest.database, part)?;
            target.write(checkpoint::file_name(part.file), &bytes)?;
            watched.advance(part.bytes)?;
        }
        copy_cold(directory, Some(checkpoint), &mut target, &mut watched)?;
        let mut ends = Vec::new();
        for (lane, &durable) in durable.iter().enumerate() {
            let lane = lane as u32;
            let mut copying = Copying {
                directory,
                target: &mut target,
                watched: &mut watched,
                start: start(checkpoint, lane),
                durable,
                next: None,
            };
            let files = lanes.get(&lane).map_or(&[][..], Vec::as_slice);
            if let Some(blocks) = copying.lane(lane, files)? {
                ends.push((lane, blocks));
            }
        }
        if self.is_closed() {
            return Err(BackupError::Closed);
        }
        let cut = Cut {
            incarnation: log.incarnation,
            up_to,
            ends,
        };
        let mut manifest = Manifest {
            incarnation: log.incarnation + 1,
            cuts: vec![cut],
            ..manifest
        };
        manifest.forget_history();
        let report = target.finish(&manifest)?;
        Ok(BackupReport { up_to, ..report })
    }
}

/// Returns where the part of a lane's log that is needed begins.
fn start(checkpoint: &CheckpointEntry, lane: u32) -> Start {
    let mut starts = checkpoint.starts.iter();
    let start = starts.find(|start| start.lane == lane);
    start.copied().unwrap_or_default()
}

/// Finds the log files of this incarnation.
fn find_lanes(
    directory: &Arc<dyn Directory>,
    manifest: &Manifest,
    incarnation: u64,
) -> Result<Lanes, BackupError> {
    let source = |error: std::io::Error| BackupError::Source(error.into());
    let mut lanes = Lanes::new();
    for name in directory.list().map_err(source)? {
        let Some(number) = file_number(&name) else {
            continue;
        };
        let file = match directory.open(&name, OpenMode::Read, true) {
            Ok(file) => file,
            // The file was half made, and given up since.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(source(error)),
        };
        let bytes = file.length().map_err(source)?;
        let mut first = Buffer::zeroed(BLOCK_BYTES);
        let read = file.read_at(&mut first, 0).map_err(source)?;
        // A file without a valid header is being made: the files that are needed are complete.
        if let Ok(header) = SegmentHeader::decode(&first[..read])
            && (header.database, header.incarnation) == (manifest.database, incarnation)
        {
            lanes.entry(header.lane).or_default().push(LogFile {
                number,
                bytes,
                header,
            });
        }
    }
    for files in lanes.values_mut() {
        files.sort_by_key(|file| file.header.ordinal);
    }
    Ok(lanes)
}

/// State of the copy of one lane's blocks.
struct Copying<'c, 'w> {
    directory: &'c Arc<dyn Directory>,
    target: &'c mut Target,
    watched: &'c mut Watched<'w>,
    start: Start,
    /// Number of the lane's transactions that were on the device.
    durable: u64,
    /// Number of the block after the last one copied, and of the transactions before it.
    next: Option<(u64, u64)>,
}

impl Copying<'_, '_> {
    /// Copies a lane's blocks; returns their end, if any are needed.
    fn lane(&mut self, lane: u32, files: &[LogFile]) -> Result<Option<u64>, BackupError> {
        for file in files {
            self.file(file)?;
            self.watched.advance(file.bytes)?;
        }
        let needed = self.durable.max(self.start.transactions);
        let copied = self.next.map_or(self.start.transactions, |(_, all)| all);
        if copied < needed {
            return Err(BackupError::Source(OpenError::Lost {
                lane,
                durable: needed,
                found: copied,
            }));
        }
        Ok(self.next.map(|(block, _)| block))
    }

    fn file(&mut self, file: &LogFile) -> Result<(), BackupError> {
        let name = file_name(file.number);
        let bytes = self.read(&name, file.bytes)?;
        // The file was used again since it was found; none of its blocks is needed.
        if SegmentHeader::decode(&bytes) != Ok(file.header) {
            return Ok(());
        }
        let mut blocks = Blocks::new(&bytes, file);
        let (mut first, mut end, mut next) = (None, blocks.offset(), None);
        for (offset, block) in &mut blocks {
            let header = &block.header;
            let transactions = header.first.saturating_add(header.transactions.into());
            if transactions > self.durable {
                break;
            }
            first.get_or_insert(header.number);
            end = offset + block.file_bytes() as u64;
            next = Some((header.number + 1, transactions));
        }
        let Some((first, (block, _))) = first.zip(next) else {
            return Ok(());
        };
        if block <= self.start.block {
            return Ok(());
        }
        let follows = match self.next {
            Some((block, _)) => first == block,
            None => first <= self.start.block,
        };
        if !follows {
            return Err(BackupError::Source(OpenError::corrupt(
                name,
                BLOCK_BYTES as u64,
                Flaw::Nonsense,
            )));
        }
        self.next = next;
        self.target.write(name, &bytes[..end as usize])
    }

    /// Reads a file past the system's cache.
    fn read(&self, name: &str, length: u64) -> Result<Buffer, BackupError> {
        let source = |error: std::io::Error| BackupError::Source(error.into());
        let file = self
            .directory
            .open(name, OpenMode::Read, true)
            .map_err(source)?;
        let mut bytes = Buffer::zeroed(io::round_up(length as usize));
        let read = file.read_at(&mut bytes, 0).map_err(source)?;
        bytes.set_len(read);
        Ok(bytes)
    }
}
