//! Check of the checkpoint's parts: that they are whole, and the ones that the manifest names.

use std::collections::BTreeMap;

use crate::{
    catalog::view::CatalogView,
    checkpoint::{
        file_name, file_number,
        format::{Chunk, ChunkHeader, Content},
    },
    inspect::{
        Inspection, RESTORE_OR_PUT_BACK, RESTORE_OR_SALVAGE,
        report::{Contents, FileReport, FileState, PartContents},
    },
    manifest::{CheckpointEntry, Manifest, PartEntry},
};

/// Last key so far, by table.
type LastKeys = BTreeMap<u32, Vec<u8>>;

impl Inspection<'_> {
    /// Checks the parts that the manifest names, in its order, then looks at the others.
    pub(super) fn check_parts(&mut self, files: &[(String, u64)], manifest: Option<&Manifest>) {
        let found: BTreeMap<u64, u64> = files
            .iter()
            .filter_map(|(name, bytes)| Some((file_number(name)?, *bytes)))
            .collect();
        let checkpoint = manifest.and_then(|manifest| manifest.checkpoint.as_ref());
        let mut last_keys = LastKeys::new();
        if let Some((manifest, checkpoint)) = manifest.zip(checkpoint) {
            for &part in &checkpoint.parts {
                let name = file_name(part.file);
                match found.get(&part.file) {
                    Some(&bytes) => {
                        self.check_part(
                            &name,
                            bytes,
                            manifest.database,
                            checkpoint,
                            part,
                            &mut last_keys,
                        );
                    }
                    None => {
                        self.damage(&name, 0, "the file is missing", RESTORE_OR_PUT_BACK);
                        self.unreadable(&name, 0, FileState::Missing);
                    }
                }
            }
        }
        for (number, bytes) in found {
            let is_part = |checkpoint: &CheckpointEntry| {
                checkpoint.parts.iter().any(|part| part.file == number)
            };
            if checkpoint.is_some_and(is_part) {
                continue;
            }
            // Without a manifest it is unknown whether the part counts.
            let state = match manifest {
                Some(_) => FileState::Superfluous,
                None => FileState::Stranger,
            };
            self.meter.advance(bytes);
            self.unreadable(&file_name(number), bytes, state);
        }
    }

    fn check_part(
        &mut self,
        name: &str,
        bytes: u64,
        database: u64,
        checkpoint: &CheckpointEntry,
        part: PartEntry,
        last_keys: &mut LastKeys,
    ) {
        let before = self.report.findings.len();
        // A file is extended in large steps, and the bytes behind its end mean nothing.
        if bytes < part.bytes {
            let what = format!("the file has {bytes} bytes in place of {}", part.bytes);
            self.damage(name, bytes, what, RESTORE_OR_SALVAGE);
        }
        let mut contents = PartContents {
            table: part.table,
            ..PartContents::default()
        };
        let mut offset = 0;
        let mut was_last = false;
        let read = self.read(name, bytes).unwrap_or_default();
        let read = &read[..read.len().min(part.bytes as usize)];
        while offset < read.len() {
            let chunk = match Chunk::decode(&read[offset..]) {
                Ok(chunk) => chunk,
                Err(flaw) => {
                    self.flaw(name, offset as u64, flaw);
                    break;
                }
            };
            let header = chunk.header;
            let expected = ChunkHeader {
                database,
                part: part.file,
                chunk: contents.chunks,
                table: part.table,
                ..header
            };
            if header != expected || was_last {
                let what = format!(
                    "this is chunk {} of checkpoint file {}, table {}, database {:016x}, in \
                     place of chunk {} of {}, table {}, database {database:016x}",
                    header.chunk,
                    header.part,
                    header.table,
                    header.database,
                    contents.chunks,
                    part.file,
                    part.table
                );
                self.damage(name, offset as u64, what, RESTORE_OR_SALVAGE);
                break;
            }
            if header.snapshot < checkpoint.begin || header.snapshot > checkpoint.end {
                let what = format!(
                    "the snapshot {} is not between those of the checkpoint, {} and {}",
                    header.snapshot.0, checkpoint.begin.0, checkpoint.end.0
                );
                self.damage(name, offset as u64, what, RESTORE_OR_SALVAGE);
            }
            self.check_records(name, offset as u64, &chunk, last_keys);
            was_last = header.is_last;
            contents.chunks += 1;
            contents.records += u64::from(header.records);
            let first = contents.snapshots.map_or(header.snapshot, |(from, _)| from);
            contents.snapshots = Some((first, header.snapshot));
            offset += chunk.file_bytes();
        }
        let is_sound = self.report.findings.len() == before;
        if is_sound && (!was_last || contents.records != part.records) {
            let what = format!(
                "the file has {} records in place of {}, and {} the last chunk",
                contents.records,
                part.records,
                if was_last { "has" } else { "has not" }
            );
            self.damage(name, offset as u64, what, RESTORE_OR_SALVAGE);
        }
        let is_sound = self.report.findings.len() == before;
        self.report.files.push(FileReport {
            name: name.to_owned(),
            bytes,
            used_bytes: offset.min(read.len()) as u64,
            contents: Contents::Part(contents),
            state: if is_sound {
                FileState::Needed
            } else {
                FileState::Damaged
            },
        });
    }

    /// Checks that the records can be read, are as many as the chunk says, and that their keys
    /// ascend.
    fn check_records(
        &mut self,
        name: &str,
        offset: u64,
        chunk: &Chunk<'_>,
        last_keys: &mut LastKeys,
    ) {
        let mut records = 0;
        for record in chunk.records() {
            let key = match record {
                Ok((key, content)) => {
                    let header = &chunk.header;
                    if CatalogView::is_about(header.table) {
                        self.catalog
                            .note(header.table, key, content.value(), header.snapshot);
                    }
                    if let Content::Cold(address) = content {
                        self.check_cold((header.table, key), address);
                    }
                    key
                }
                Err(flaw) => {
                    self.flaw(name, offset, flaw);
                    break;
                }
            };
            let last = last_keys.get_mut(&chunk.header.table);
            if last.as_ref().is_some_and(|last| key <= last.as_slice()) {
                let what = format!("the key of record {records} is not greater than the last one");
                self.damage(name, offset, what, RESTORE_OR_SALVAGE);
            }
            match last {
                Some(last) => {
                    last.clear();
                    last.extend_from_slice(key);
                }
                None => drop(last_keys.insert(chunk.header.table, key.to_vec())),
            }
            records += 1;
        }
        if records != chunk.header.records {
            let what = format!(
                "the chunk has {records} records in place of {}",
                chunk.header.records
            );
            self.damage(name, offset, what, RESTORE_OR_SALVAGE);
        }
    }
}
