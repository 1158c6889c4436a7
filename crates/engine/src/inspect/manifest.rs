//! Check of the manifest: that it is whole and agrees with itself.

use std::collections::BTreeSet;

use crate::{
    inspect::{
        Inspection, RESTORE_OR_SALVAGE,
        report::{CheckpointSummary, Contents, FileReport, FileState},
    },
    log::format::Flaw,
    manifest::{Manifest, NAME},
};

const NO_MANIFEST: &str = "restore a backup: without the manifest nobody knows which files count";

impl Inspection<'_> {
    /// Returns the manifest, if it can be read.
    pub(super) fn check_manifest(&mut self, files: &[(String, u64)]) -> Option<Manifest> {
        let Some((_, bytes)) = files.iter().find(|(name, _)| name == NAME) else {
            self.damage(NAME, 0, "the file is missing", NO_MANIFEST);
            self.unreadable(NAME, 0, FileState::Missing);
            return None;
        };
        let read = self.read(NAME, *bytes)?;
        let manifest = match Manifest::decode(&read) {
            Ok(manifest) => manifest,
            Err(flaw @ Flaw::Version(_)) => {
                self.flaw(NAME, 0, flaw);
                self.unreadable(NAME, *bytes, FileState::Damaged);
                return None;
            }
            Err(flaw) => {
                self.damage(NAME, 0, flaw.to_string(), NO_MANIFEST);
                self.unreadable(NAME, *bytes, FileState::Damaged);
                return None;
            }
        };
        let before = self.report.findings.len();
        self.check_references(&manifest);
        let is_sound = self.report.findings.len() == before;
        self.report.files.push(FileReport {
            name: NAME.to_owned(),
            bytes: *bytes,
            used_bytes: *bytes,
            contents: Contents::Manifest,
            state: if is_sound {
                FileState::Needed
            } else {
                FileState::Damaged
            },
        });
        self.summarize(&manifest);
        Some(manifest)
    }

    /// Checks that the numbers in the manifest agree.
    fn check_references(&mut self, manifest: &Manifest) {
        let mut complain = |what: String| self.damage(NAME, 0, what, RESTORE_OR_SALVAGE);
        let mut earlier = BTreeSet::new();
        for cut in &manifest.cuts {
            if cut.incarnation >= manifest.incarnation || !earlier.insert(cut.incarnation) {
                complain(format!(
                    "incarnation {} of {} has ended twice or too late",
                    cut.incarnation, manifest.incarnation
                ));
            }
        }
        let Some(checkpoint) = &manifest.checkpoint else {
            return;
        };
        if checkpoint.incarnation > manifest.incarnation || checkpoint.begin > checkpoint.end {
            complain("the checkpoint is newer than the database".to_owned());
        }
        let mut parts = BTreeSet::new();
        for part in &checkpoint.parts {
            if !parts.insert(part.file) {
                complain(format!(
                    "checkpoint file {} is in the checkpoint twice",
                    part.file
                ));
            }
            if part.table >= manifest.next_table {
                complain(format!(
                    "checkpoint file {} is of table {}, which there was never",
                    part.file, part.table
                ));
            }
        }
    }

    fn summarize(&mut self, manifest: &Manifest) {
        let report = &mut self.report;
        report.database = manifest.database;
        report.incarnation = manifest.incarnation;
        let parts = || manifest.checkpoint.iter().flat_map(|c| &c.parts);
        let checkpoint = manifest.checkpoint.as_ref();
        report.checkpoint = checkpoint.map(|checkpoint| CheckpointSummary {
            number: checkpoint.number,
            incarnation: checkpoint.incarnation,
            begin: checkpoint.begin,
            end: checkpoint.end,
            parts: checkpoint.parts.len() as u64,
            records: parts().fold(0, |sum, part| sum.saturating_add(part.records)),
            bytes: parts().fold(0, |sum, part| sum.saturating_add(part.bytes)),
        });
    }
}
