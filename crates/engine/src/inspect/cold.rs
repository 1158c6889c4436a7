//! Check that the cold files have the records that the checkpoint refers to, and that these are
//! whole.

use std::{collections::BTreeMap, sync::Arc};

use io::{File, OpenMode};

use crate::{
    cold::{
        ColdAddress, file_name, file_number, file_of,
        format::{ColdRecord, Unread},
        locate,
    },
    inspect::{
        Inspection, RESTORE_OR_PUT_BACK, RESTORE_OR_SALVAGE,
        report::{ColdContents, Contents, FileReport, FileState},
    },
    manifest::Manifest,
};

/// Cold files that were met.
#[derive(Default)]
pub(super) struct ColdFiles(BTreeMap<u32, Met>);

struct Met {
    /// Open file; `None` if it cannot be opened.
    file: Option<Arc<dyn File>>,
    contents: ColdContents,
    is_damaged: bool,
}

impl Inspection<'_> {
    /// Checks the cold record of `key` in `table`, to which a part refers by `address`.
    pub(super) fn check_cold(&mut self, (table, key): (u32, &[u8]), address: ColdAddress) {
        let number = file_of(address);
        let directory = self.directory;
        let met = self.cold.0.entry(number).or_insert_with(|| Met {
            file: directory
                .open(&file_name(number), OpenMode::Read, false)
                .ok(),
            contents: ColdContents::default(),
            is_damaged: false,
        });
        met.contents.records += 1;
        // A missing file is reported once.
        let Some(file) = &met.file else { return };
        let what = match read(&**file, address, |record| {
            (record.table, record.key) == (table, key)
        }) {
            Ok(true) => return,
            Ok(false) => "the record here is not the one that the checkpoint refers to",
            Err(Unread::Longer(_)) => "the file ends in a record that the checkpoint refers to",
            Err(Unread::Flawed(_)) => "a record that the checkpoint refers to is damaged",
        };
        met.is_damaged = true;
        let (name, offset) = (file_name(number), locate(address.position()).1);
        self.damage(&name, offset, what, RESTORE_OR_SALVAGE);
    }

    /// Reports all cold files, once all references to them were checked.
    pub(super) fn note_cold_files(&mut self, files: &[(String, u64)], manifest: Option<&Manifest>) {
        let checkpoint = manifest.and_then(|manifest| manifest.checkpoint.as_ref());
        let named = checkpoint.map_or(&[][..], |checkpoint| &checkpoint.cold);
        for entry in named {
            let name = file_name(entry.number);
            if !files.iter().any(|(found, _)| *found == name) {
                self.damage(&name, 0, "the file is missing", RESTORE_OR_PUT_BACK);
                self.unreadable(&name, 0, FileState::Missing);
            }
        }
        for (name, bytes) in files {
            let Some(number) = file_number(name) else {
                continue;
            };
            self.meter.advance(*bytes);
            let entry = named.iter().find(|entry| entry.number == number);
            let met = self.cold.0.remove(&number);
            let state = match (entry, &met) {
                _ if manifest.is_none() => FileState::Stranger,
                (None, _) => FileState::Superfluous,
                (Some(_), Some(met)) if met.is_damaged => FileState::Damaged,
                (Some(_), _) => FileState::Needed,
            };
            self.report.files.push(FileReport {
                name: name.clone(),
                bytes: *bytes,
                used_bytes: entry.map_or(0, |entry| entry.bytes),
                contents: Contents::Cold(met.map(|met| met.contents).unwrap_or_default()),
                state,
            });
        }
    }
}

/// Reads the cold record at `address`, and checks that it is the expected one.
fn read(
    file: &dyn File,
    address: ColdAddress,
    is_it: impl Fn(ColdRecord<'_>) -> bool,
) -> Result<bool, Unread> {
    let mut extent = address.extent();
    loop {
        let mut bytes = vec![0; extent.bytes];
        let offset = locate(extent.from).1;
        let read = file.read_at(&mut bytes, offset).unwrap_or(0);
        let record = bytes[..read].get(extent.at..).unwrap_or_default();
        match ColdRecord::decode(record, address.position()) {
            Err(Unread::Longer(whole)) if address.extent_of(whole) != extent => {
                extent = address.extent_of(whole);
            }
            decoded => return decoded.map(is_it),
        }
    }
}
