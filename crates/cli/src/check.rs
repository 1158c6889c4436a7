//! `weft check`: checks whether a data directory is sound, and lists its contents.

use std::path::PathBuf;

use clap::ValueEnum;
use engine::inspect::{self, CheckReport, Contents, FileReport, Finding};
use serde_json::{Value, json};

use crate::directory::{self, Showing};

const EXAMPLES: &str = "\
Exit code:
  0  the directory is sound
  1  something in it is damaged; every damage is listed, with advice
  2  it cannot be looked at: it is open elsewhere, or holds no database

Files, and their states:
  needed       it counts, and every byte of it is as it was written
  damaged      it counts, and something is wrong
  missing      it counts, and is not there
  superfluous  a checkpoint has made it so; it is used again or removed
  blank        left half made by an interruption; opening the database removes it
  stranger     no file of this database

Examples:
  weft check /var/lib/weft
  weft check backup && weft restore backup /var/lib/weft
  weft check /var/lib/weft --format json | jq '.findings'";

/// Verifies every checksum and cross reference of a data directory.
///
/// Reads all files of a database that is not open anywhere, changes nothing, and reports the
/// contents of the files, the state that opening the database would bring back, and every fault.
/// Needs little memory: one file at a time.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The data directory.
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Form of the report: table for people, json for programs.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
}

/// Form of the report on standard output.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Table,
    Json,
}

impl Arguments {
    pub(crate) fn run(self) -> commands::Result<()> {
        let directory = directory::existing(&self.directory)?;
        let mut showing = Showing::new("checking");
        let report = inspect::check(&directory, &mut |progress| {
            showing.show(progress.bytes_done, progress.bytes_total);
        });
        drop(showing);
        let report = report.map_err(|error| directory::refused(&self.directory, &error))?;
        commands::write_results(&match self.format {
            Format::Table => report.to_string(),
            Format::Json => format!("{:#}\n", as_json(&report)),
        })?;
        let places = match report.damages().count() {
            0 => return Ok(()),
            1 => "one place".to_owned(),
            more => format!("{more} places"),
        };
        Err(commands::Error::run(format!(
            "{} is damaged in {places}; the report has advice",
            self.directory.display()
        )))
    }
}

fn as_json(report: &CheckReport) -> Value {
    json!({
        "directory": report.location,
        "sound": report.is_sound(),
        "database": format!("{:016x}", report.database),
        "incarnation": report.incarnation,
        "recovers_to": report.recovers_to.map(|timestamp| timestamp.0),
        "salvages_to": report.salvages_to.map(|timestamp| timestamp.0),
        "cut_off_transactions": report.cut_off,
        "bytes": report.bytes(),
        "tables": report.tables.iter().map(|table| json!({
            "number": table.number,
            "name": table.name,
            "ttl_seconds": table.ttl.map(|ttl| ttl.as_secs_f64()),
            "checkpoint_records": table.checkpoint_records,
            "indexes": table.indexes.iter().map(|index| json!({
                "number": index.number,
                "name": index.name,
                "unique": index.unique,
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "checkpoint": report.checkpoint.map(|checkpoint| json!({
            "number": checkpoint.number,
            "incarnation": checkpoint.incarnation,
            "begin": checkpoint.begin.0,
            "end": checkpoint.end.0,
            "files": checkpoint.parts,
            "records": checkpoint.records,
            "bytes": checkpoint.bytes,
        })),
        "files": report.files.iter().map(file_as_json).collect::<Vec<_>>(),
        "findings": report.findings.iter().map(finding_as_json).collect::<Vec<_>>(),
    })
}

fn file_as_json(file: &FileReport) -> Value {
    let timestamps = |range: Option<(engine::Timestamp, engine::Timestamp)>| {
        range.map(|(from, to)| [from.0, to.0])
    };
    let contents = match &file.contents {
        Contents::Manifest => json!({ "kind": "manifest" }),
        Contents::Log(log) => json!({
            "kind": "log",
            "incarnation": log.incarnation,
            "lane": log.lane,
            "ordinal": log.ordinal,
            "blocks": [log.blocks.start, log.blocks.end],
            "transactions": log.transactions,
            "writes": log.writes,
            "timestamps": timestamps(log.timestamps),
        }),
        Contents::Cold(cold) => json!({ "kind": "cold", "records": cold.records }),
        Contents::Part(part) => json!({
            "kind": "checkpoint",
            "table": part.table,
            "chunks": part.chunks,
            "records": part.records,
            "timestamps": timestamps(part.snapshots),
        }),
        _ => json!({ "kind": "unknown" }),
    };
    json!({
        "name": file.name,
        "bytes": file.bytes,
        "used_bytes": file.used_bytes,
        "state": file.state.name(),
        "contents": contents,
    })
}

fn finding_as_json(finding: &Finding) -> Value {
    json!({
        "severity": finding.severity.name(),
        "file": finding.file,
        "offset": finding.offset,
        "what": finding.what,
        "advice": finding.advice,
    })
}
