//! Tables and indexes of a directory: a check of the catalog's consistency, and names for the
//! numbers in reports.

use std::{sync::Arc, time::Duration};

use io::Directory;

use crate::{
    catalog::{definition::Kind, view::CatalogView},
    checkpoint::{self, format::Chunk},
    inspect::{
        Blocks, Inspection, RESTORE_OR_SALVAGE,
        report::{IndexSummary, TableSummary},
    },
    log::{format::SegmentHeader, segments},
    manifest::Manifest,
    recovery::{pieces::read_file, scan::LogFile},
};

impl Inspection<'_> {
    /// Lists the tables, once parts and logs were gone through, and reports damage of the catalog,
    /// if all of them were sound.
    pub(super) fn check_catalog(&mut self, manifest: Option<&Manifest>) {
        let parts = || {
            let checkpoint = manifest.and_then(|manifest| manifest.checkpoint.as_ref());
            checkpoint
                .into_iter()
                .flat_map(|checkpoint| &checkpoint.parts)
        };
        let mut tables: Vec<(u32, TableSummary)> = Vec::new();
        for (key, definition) in self.catalog.objects() {
            match definition.kind {
                Kind::Table { storage, ttl } => {
                    let summary = TableSummary {
                        number: storage,
                        name: definition.name,
                        ttl: ttl.map(|ttl| Duration::from_micros(ttl.micros())),
                        checkpoint_records: parts()
                            .filter(|part| part.table == storage)
                            .fold(0, |sum, part| sum.saturating_add(part.records)),
                        indexes: Vec::new(),
                    };
                    tables.push((key.table, summary));
                }
                // Indexes follow their table; an index without a table is reported below.
                Kind::Index { unique } => {
                    if let Some((table, summary)) = tables.last_mut()
                        && *table == key.table
                    {
                        summary.indexes.push(IndexSummary {
                            number: key.index,
                            name: definition.name,
                            unique,
                        });
                    }
                }
            }
        }
        let mut tables: Vec<TableSummary> =
            tables.into_iter().map(|(_, summary)| summary).collect();
        tables.sort_by_key(|table| table.number);
        self.report.tables = tables;
        if manifest.is_some() && self.report.is_sound() {
            for what in self.catalog.complaints() {
                self.damage("the catalog", 0, what, RESTORE_OR_SALVAGE);
            }
        }
    }
}

/// Reads the names of tables, as far as checkpoint and log have them. Names that cannot be read are
/// left out.
pub(super) fn read_names(
    directory: &Arc<dyn Directory>,
    manifest: Option<&Manifest>,
    files: &[(u64, SegmentHeader)],
) -> CatalogView {
    let mut view = CatalogView::default();
    let checkpoint = manifest.and_then(|manifest| manifest.checkpoint.as_ref());
    let parts = checkpoint.iter().flat_map(|checkpoint| &checkpoint.parts);
    for part in parts.filter(|part| CatalogView::is_about(part.table)) {
        let read = read_file(directory, &checkpoint::file_name(part.file), part.bytes);
        let bytes = read.unwrap_or_default();
        let mut rest = &bytes[..];
        while let Ok(chunk) = Chunk::decode(rest) {
            for (key, content) in chunk.records().flatten() {
                view.note(part.table, key, content.value(), chunk.header.snapshot);
            }
            rest = rest.get(chunk.file_bytes()..).unwrap_or_default();
        }
    }
    for &(number, header) in files {
        let read = read_file(directory, &segments::file_name(number), u64::MAX);
        let bytes = read.unwrap_or_default();
        let file = LogFile {
            number,
            bytes: bytes.len() as u64,
            header,
        };
        for (_, block) in Blocks::new(&bytes, &file) {
            for transaction in block.transactions().flatten() {
                for write in transaction.writes().flatten() {
                    if CatalogView::is_about(write.table) {
                        view.note(write.table, write.key, write.value, transaction.timestamp);
                    }
                }
            }
        }
    }
    view
}
