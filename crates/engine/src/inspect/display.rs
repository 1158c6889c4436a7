//! A check's report as a page for people.

use std::fmt;

use crate::inspect::report::{CheckReport, Contents, FileReport, Finding};

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: database {:016x}, opened {} times, {} bytes in {} files",
            self.location,
            self.database,
            self.incarnation,
            self.bytes(),
            self.files.len()
        )?;
        for table in &self.tables {
            writeln!(
                f,
                "table {}: {}, {} records in the checkpoint{}",
                table.number,
                table.name,
                table.checkpoint_records,
                table.ttl.map_or_else(String::new, |ttl| format!(
                    ", which live for {} s",
                    ttl.as_secs_f64()
                ))
            )?;
            for index in &table.indexes {
                let kind = if index.unique {
                    "unique index"
                } else {
                    "index"
                };
                writeln!(f, "  {kind} {}: {}", index.number, index.name)?;
            }
        }
        match &self.checkpoint {
            Some(checkpoint) => writeln!(
                f,
                "checkpoint {} of incarnation {}: {} records in {} files, complete up to \
                 timestamp {}, nothing newer than {}",
                checkpoint.number,
                checkpoint.incarnation,
                checkpoint.records,
                checkpoint.parts,
                checkpoint.begin.0,
                checkpoint.end.0
            )?,
            None => writeln!(f, "no checkpoint")?,
        }
        match (self.recovers_to, self.salvages_to) {
            (Some(up_to), _) => writeln!(
                f,
                "opening it brings back everything up to timestamp {}, and cuts off {} newer \
                 transactions that nobody was promised",
                up_to.0, self.cut_off
            )?,
            (None, Some(up_to)) => writeln!(
                f,
                "opening it would be refused; salvage would bring back what is left of \
                 everything up to timestamp {}, and give up {} newer transactions that are whole",
                up_to.0, self.cut_off
            )?,
            (None, None) => writeln!(f, "opening it would be refused")?,
        }
        writeln!(f)?;
        write_files(f, &self.files)?;
        writeln!(f)?;
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        let damages = self.damages().count();
        match damages {
            0 => writeln!(f, "sound"),
            1 => writeln!(f, "damaged: 1 finding"),
            more => writeln!(f, "damaged: {more} findings"),
        }
    }
}

fn write_files(f: &mut fmt::Formatter<'_>, files: &[FileReport]) -> fmt::Result {
    let longest = files.iter().map(|file| file.name.len()).max();
    let width = longest.unwrap_or(0).max(4);
    writeln!(
        f,
        "{:width$}  {:>12}  {:>12}  {:11}  contents",
        "file", "bytes", "used", "state"
    )?;
    for file in files {
        writeln!(
            f,
            "{:width$}  {:>12}  {:>12}  {:11}  {}",
            file.name,
            file.bytes,
            file.used_bytes,
            file.state.name(),
            file.contents
        )?;
    }
    Ok(())
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Contents::Manifest => f.write_str("the manifest"),
            Contents::Unknown => f.write_str("-"),
            Contents::Cold(cold) => {
                write!(f, "cold records: {} of the checkpoint", cold.records)
            }
            Contents::Log(log) => {
                write!(
                    f,
                    "log of incarnation {}, lane {}, file {}: ",
                    log.incarnation, log.lane, log.ordinal
                )?;
                match log.timestamps {
                    Some((from, to)) => write!(
                        f,
                        "blocks {} to {}, {} transactions, {} writes, timestamps {} to {}",
                        log.blocks.start,
                        log.blocks.end - 1,
                        log.transactions,
                        log.writes,
                        from.0,
                        to.0
                    ),
                    None => f.write_str("no blocks"),
                }
            }
            Contents::Part(part) => {
                write!(
                    f,
                    "checkpoint of table {}: {} chunks, {} records",
                    part.table, part.chunks, part.records
                )?;
                if let Some((from, to)) = part.snapshots {
                    write!(f, ", timestamps {} to {}", from.0, to.0)?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity.name(), self.file)?;
        if let Some(offset) = self.offset {
            write!(f, " at byte {offset}")?;
        }
        write!(f, ": {}; {}", self.what, self.advice)
    }
}
