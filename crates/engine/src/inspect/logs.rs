//! Check of the log: each file, each lane's sequence of files, and all lanes together.

use std::collections::BTreeMap;

use io::BLOCK_BYTES;

use crate::{
    catalog::{EVENTS, NUMBERS_END, TableEvent, view::CatalogView},
    inspect::{
        Inspection, LOOK_AT_THE_DEVICE, RESTORE_OR_PUT_BACK, RESTORE_OR_SALVAGE,
        blocks::{Blocks, Ending},
        report::{Contents, FileReport, FileState, LogContents},
    },
    log::{
        format::{Block, Flaw, SegmentHeader},
        segments::{file_name, file_number},
    },
    manifest::{Cut, Manifest},
    recovery::{
        OpenError, RecoveryConfig,
        logs::{Logs, expected},
        scan::{Expected, LogFile},
    },
    timestamp::Timestamp,
};

/// Log files by incarnation and lane.
type Lanes = BTreeMap<(u64, u32), Vec<LogFile>>;

/// Record of the catalog: table, key, value, timestamp.
type CatalogWrite = (u32, Vec<u8>, Option<Vec<u8>>, Timestamp);

/// Content of a file.
#[derive(Default)]
struct Walked {
    contents: LogContents,
    /// End of the last block.
    end: u64,
    /// Number of the lane's transactions before the first block, and after the last.
    transactions: (u64, u64),
    /// Number of transactions that are too new to count.
    newer: u64,
    /// Writes to the catalog in the file, as far as they count.
    catalog: Vec<CatalogWrite>,
    /// Complaints about the blocks: offset, and text.
    complaints: Vec<(u64, String)>,
    ending: Option<Ending>,
}

impl Inspection<'_> {
    /// Checks all log files.
    pub(super) fn check_logs(&mut self, files: &[(String, u64)], manifest: Option<&Manifest>) {
        let refusal = manifest.and_then(|manifest| self.ask_recovery(manifest));
        let lanes = self.find_lanes(files, manifest);
        for ((incarnation, lane), files) in &lanes {
            self.check_lane(*incarnation, *lane, files, manifest);
        }
        for cut in manifest.iter().flat_map(|manifest| &manifest.cuts) {
            self.check_cut(cut, &lanes, manifest);
        }
        let is_sound = self.report.is_sound();
        if let Some(error) = refusal
            && is_sound
        {
            let (file, offset) = match &error {
                OpenError::Corrupt { file, offset, .. } => (file.clone(), *offset),
                OpenError::UnknownVersion { file, .. } => (file.clone(), 0),
                _ => ("the log".to_owned(), 0),
            };
            self.damage(&file, offset, error.to_string(), RESTORE_OR_SALVAGE);
        }
        self.check_catalog(manifest);
        if !self.report.is_sound()
            && let Some(up_to) = self.report.recovers_to.take()
        {
            self.report.salvages_to = Some(up_to);
        }
    }

    /// Asks recovery up to where it would get; returns its error if it refuses.
    fn ask_recovery(&mut self, manifest: &Manifest) -> Option<OpenError> {
        let ask = |salvage| Logs::read(self.directory, manifest, RecoveryConfig { salvage });
        match ask(false) {
            Ok(logs) => {
                self.report.recovers_to = Some(logs.reached);
                None
            }
            Err(error) => {
                let salvaged = ask(true).ok();
                self.report.salvages_to = salvaged.map(|logs| logs.reached);
                Some(error)
            }
        }
    }

    /// Looks at the headers of all log files.
    fn find_lanes(&mut self, files: &[(String, u64)], manifest: Option<&Manifest>) -> Lanes {
        let mut lanes = Lanes::new();
        for (name, bytes) in files {
            let Some(number) = file_number(name) else {
                continue;
            };
            let start = (2 * BLOCK_BYTES as u64).min(*bytes);
            let start = match crate::recovery::pieces::read_file(self.directory, name, start) {
                Ok(start) => start,
                Err(error) => {
                    let what = format!("the device refused: {error}");
                    self.damage(name, 0, what, LOOK_AT_THE_DEVICE);
                    self.unreadable(name, *bytes, FileState::Damaged);
                    self.meter.advance(*bytes);
                    continue;
                }
            };
            let second = start.get(BLOCK_BYTES..).unwrap_or_default();
            match SegmentHeader::decode(&start) {
                Ok(header) if manifest.is_none_or(|m| m.database == header.database) => {
                    let lane = (header.incarnation, header.lane);
                    lanes.entry(lane).or_default().push(LogFile {
                        number,
                        bytes: *bytes,
                        header,
                    });
                    continue;
                }
                Ok(header) => {
                    let what = format!("the file belongs to database {:016x}", header.database);
                    self.damage(name, 0, what, "move it to where it came from");
                    self.unreadable(name, *bytes, FileState::Stranger);
                }
                Err(Flaw::Absent) if Block::decode(second).is_err() => {
                    self.unreadable(name, *bytes, FileState::Blank);
                }
                Err(flaw) => {
                    self.flaw(name, 0, flaw);
                    self.unreadable(name, *bytes, FileState::Damaged);
                }
            }
            self.meter.advance(*bytes);
        }
        for files in lanes.values_mut() {
            files.sort_by_key(|file| file.header.ordinal);
        }
        lanes
    }

    fn check_lane(
        &mut self,
        incarnation: u64,
        lane: u32,
        files: &[LogFile],
        manifest: Option<&Manifest>,
    ) {
        let cut = manifest.and_then(|manifest| manifest.cut(incarnation));
        let is_current = manifest.is_some_and(|m| m.incarnation == incarnation);
        let counts = is_current || cut.is_some() || manifest.is_none();
        let expected = manifest.map_or_else(Expected::default, |manifest| {
            expected(manifest, cut, incarnation, lane)
        });
        let up_to = self.report.recovers_to.or(self.report.salvages_to);
        let begin = manifest.and_then(|manifest| manifest.checkpoint.as_ref());
        let begin = begin.map_or(Timestamp(0), |checkpoint| checkpoint.begin);
        let counted = (
            begin,
            cut.map(|cut| cut.up_to).or(up_to).unwrap_or_default(),
        );
        let up_to = up_to.filter(|_| is_current);
        let mut next: Option<(u64, u64)> = None;
        // The number of the first block of the next file.
        let mut knows_start = manifest.is_some();
        for file in files {
            let name = file_name(file.number);
            let before = self.report.findings.len();
            let Some(bytes) = self.read(&name, file.bytes) else {
                self.unreadable(&name, file.bytes, FileState::Damaged);
                continue;
            };
            let next_number = next.map_or(expected.first_block, |(block, _)| block);
            let walked = walk(&bytes, file, up_to, counted, next_number);
            let blocks = walked.contents.blocks.clone();
            let is_needed = counts && blocks.end > expected.first_block;
            if is_needed {
                self.check_sequence(&name, &walked, next, expected, knows_start);
                next = Some((blocks.end, walked.transactions.1));
                knows_start = true;
                self.report.cut_off += walked.newer;
                for (table, key, value, timestamp) in &walked.catalog {
                    self.catalog.note(*table, key, value.as_deref(), *timestamp);
                }
                for (offset, what) in &walked.complaints {
                    self.damage(&name, *offset, what.clone(), RESTORE_OR_SALVAGE);
                }
            }
            match walked.ending {
                Some(Ending::Destroyed(flaw)) if counts => {
                    self.flaw(&name, walked.end, flaw);
                    // Later files lack the destroyed blocks, which are reported already.
                    (next, knows_start) = (None, false);
                }
                Some(Ending::Torn(flaw)) if is_current => self.note(
                    &name,
                    Some(walked.end),
                    format!("the last block is torn or damaged: {flaw}"),
                    "nothing, if the program or the machine was interrupted: it was not \
                     acknowledged",
                ),
                _ => {}
            }
            let is_damaged = self.report.findings[before..]
                .iter()
                .any(|finding| finding.severity == super::Severity::Damage);
            self.report.files.push(FileReport {
                name,
                bytes: file.bytes,
                used_bytes: walked.end,
                contents: Contents::Log(walked.contents),
                state: match (is_damaged, is_needed) {
                    (true, _) => FileState::Damaged,
                    (false, true) => FileState::Needed,
                    (false, false) => FileState::Superfluous,
                },
            });
        }
        let (found, last) = (
            next.map_or(expected.first_block, |(block, _)| block),
            files.last().map_or(0, |file| file.number),
        );
        if knows_start && let Some(blocks) = expected.blocks.filter(|&blocks| blocks > found) {
            let what = format!(
                "lane {lane} of incarnation {incarnation} ends after {found} blocks in place of \
                 {blocks}"
            );
            self.damage(&file_name(last), 0, what, RESTORE_OR_PUT_BACK);
        }
    }

    /// Checks that a file follows the one before it.
    fn check_sequence(
        &mut self,
        name: &str,
        walked: &Walked,
        next: Option<(u64, u64)>,
        expected: Expected,
        knows_start: bool,
    ) {
        let (first, transactions) = (walked.contents.blocks.start, walked.transactions.0);
        let (missing_from, is_gap) = match next {
            Some((block, _)) => (block, first != block),
            None => (
                expected.first_block,
                knows_start && first > expected.first_block,
            ),
        };
        if is_gap {
            let what = format!(
                "the file begins with block {first}, the one before it ends before block {missing_from}"
            );
            self.damage(name, BLOCK_BYTES as u64, what, RESTORE_OR_PUT_BACK);
        } else if next.is_some_and(|(_, before)| before != transactions) {
            let what = format!("{transactions} transactions were counted before this file");
            self.damage(name, BLOCK_BYTES as u64, what, RESTORE_OR_SALVAGE);
        }
    }

    /// Checks that no lane of an earlier incarnation is missing as a whole.
    fn check_cut(&mut self, cut: &Cut, lanes: &Lanes, manifest: Option<&Manifest>) {
        for &(lane, blocks) in &cut.ends {
            let first = manifest.map_or(0, |manifest| {
                expected(manifest, Some(cut), cut.incarnation, lane).first_block
            });
            if blocks > first && !lanes.contains_key(&(cut.incarnation, lane)) {
                let what = format!(
                    "all files of lane {lane} of incarnation {} are missing",
                    cut.incarnation
                );
                self.damage("the log", 0, what, RESTORE_OR_PUT_BACK);
            }
        }
    }
}

/// Reads all blocks of a file, and all of their transactions.
fn walk(
    bytes: &[u8],
    file: &LogFile,
    up_to: Option<Timestamp>,
    counted: (Timestamp, Timestamp),
    next: u64,
) -> Walked {
    let header = &file.header;
    let mut walked = Walked {
        contents: LogContents {
            incarnation: header.incarnation,
            lane: header.lane,
            ordinal: header.ordinal,
            ..LogContents::default()
        },
        ..Walked::default()
    };
    let mut blocks = Blocks::new(bytes, file);
    for (offset, block) in &mut blocks {
        let header = &block.header;
        let is_first = walked.contents.blocks.is_empty();
        if is_first {
            walked.contents.blocks.start = header.number;
            walked.transactions = (header.first, header.first);
        }
        walked.contents.blocks.end = header.number.saturating_add(1);
        if header.first != walked.transactions.1 {
            let what = format!(
                "block {} counts {} transactions before it in place of {}",
                header.number, header.first, walked.transactions.1
            );
            walked.complaints.push((offset, what));
        }
        walked.transactions.1 = header.first.saturating_add(header.transactions.into());
        walked.read_block(offset, &block, up_to, counted);
    }
    walked.end = blocks.offset();
    walked.ending = Some(blocks.ending(next));
    walked
}

impl Walked {
    /// Checks that the transactions of a block can be read, and are as its header says.
    fn read_block(
        &mut self,
        offset: u64,
        block: &Block<'_>,
        up_to: Option<Timestamp>,
        (newer_than, counts_to): (Timestamp, Timestamp),
    ) {
        let header = &block.header;
        let mut complain = |what: String| self.complaints.push((offset, what));
        let (mut transactions, mut newest) = (0, Timestamp(0));
        for transaction in block.transactions() {
            let transaction = match transaction {
                Ok(transaction) => transaction,
                Err(flaw) => {
                    complain(format!("in transaction {transactions}: {flaw}"));
                    break;
                }
            };
            let timestamp = transaction.timestamp;
            let last = self.contents.timestamps.map_or(Timestamp(0), |(_, to)| to);
            if timestamp <= last {
                complain(format!(
                    "the transaction of timestamp {} comes after that of {}",
                    timestamp.0, last.0
                ));
            }
            let mut writes = 0;
            for write in transaction.writes() {
                match write {
                    Ok(write) if write.table < NUMBERS_END => {
                        writes += 1;
                        let counts = timestamp > newer_than && timestamp <= counts_to;
                        if counts && CatalogView::is_about(write.table) {
                            let value = write.value.map(<[u8]>::to_vec);
                            self.catalog
                                .push((write.table, write.key.to_vec(), value, timestamp));
                        }
                    }
                    Ok(write) if write.table == EVENTS => {
                        writes += 1;
                        if let Err(flaw) = TableEvent::decode(write.key, write.value) {
                            let timestamp = timestamp.0;
                            complain(format!("an event of timestamp {timestamp}: {flaw}"));
                        }
                    }
                    Ok(write) => complain(format!("there can be no table {}", write.table)),
                    Err(flaw) => complain(format!("in timestamp {}: {flaw}", timestamp.0)),
                }
            }
            if writes != transaction.count {
                complain(format!(
                    "timestamp {} has {writes} writes in place of {}",
                    timestamp.0, transaction.count
                ));
            }
            transactions += 1;
            newest = newest.max(timestamp);
            let first = self.contents.timestamps.map_or(timestamp, |(from, _)| from);
            self.contents.timestamps = Some((first, timestamp));
            self.contents.transactions += 1;
            self.contents.writes += u64::from(writes);
            self.newer += u64::from(up_to.is_some_and(|up_to| timestamp > up_to));
        }
        if (transactions, newest) != (header.transactions, header.newest) {
            complain(format!(
                "block {} has {transactions} transactions up to timestamp {} in place of {} up \
                 to {}",
                header.number, newest.0, header.transactions, header.newest.0
            ));
        }
        if header.newest > header.as_of {
            complain(format!(
                "block {} of clock {} has the newer timestamp {}",
                header.number, header.as_of.0, header.newest.0
            ));
        }
    }
}
