//! Time in which a database comes back: from its log, and from a checkpoint.
//!
//! Records are inserted into a database in a directory, which is closed and opened again several
//! times without a checkpoint, then several times with one. All records are read and compared after
//! each opening. The results show beside that the speed at which the same files can merely be read.
//!
//! Alternatively most records leave memory before the checkpoint, which then refers to them:
//! opening the database again takes only the time of the records in memory.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use weft::{Database, Durability, Options, StorageOptions};

use crate::cold::device::Files;
use crate::cooling::cool;
use crate::counted::Counted;
use crate::databases;
use crate::measure::Spread;
use crate::report::{Format, csv, json, table};
use crate::values::ValueShape;
use commands::number::with_commas;
use commands::progress::{Progress, Step};
use commands::{Error, Result};

const TABLE: &str = "recovery";

/// Settings of the measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Number of records in the database, at least 1.
    pub records: u64,
    /// Bytes of each value, as [`ValueShape::new`] accepts them.
    pub value_bytes: usize,
    /// Number of workers that recover, at least 1.
    pub workers: usize,
    /// Records that leave memory before the database is closed. `None` for a database without a
    /// cold tier.
    pub cold: Option<Cold>,
    /// Number of repeats, at least 1.
    pub repeats: u32,
}

/// Settings of a database that is cold for the most part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cold {
    /// Share of the records that leave memory, 0 to 100.
    pub percent: f64,
    /// Ceiling on memory, in bytes; `None` is the engine's own.
    pub memory_bytes: Option<u64>,
}

impl Settings {
    fn cold_records(&self) -> u64 {
        let share = self.cold.map_or(0.0, |cold| cold.percent / 100.0);
        (share * self.records as f64) as u64
    }
}

/// Results of one way to come back, over all repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recovery {
    /// Always `"recovery"`.
    pub benchmark: &'static str,
    /// `"log"` or `"checkpoint"`.
    pub mode: &'static str,
    /// Number of workers that recovered.
    pub workers: usize,
    /// Number of records recovered.
    pub records: u64,
    /// Number of records that were read from cold files when all were compared, in the last repeat.
    pub cold_records: u64,
    /// Bytes of each value; keys have eight.
    pub value_bytes: usize,
    /// Bytes of the files that were read.
    pub bytes: u64,
    /// Bytes of cold files.
    pub cold_file_bytes: u64,
    /// Seconds from the call to the open database.
    pub seconds: f64,
    /// Records per second of all workers: median, least and greatest.
    #[serde(flatten)]
    pub records_per_second: Spread,
    /// Records per second of one of the workers.
    pub records_per_second_per_worker: f64,
    /// Bytes per second at which the same files could merely be read.
    pub limit_bytes_per_second: f64,
    /// Whether every record was there, with the right value.
    pub verified: bool,
}

/// A database to be recovered.
struct Bench<'a> {
    settings: &'a Settings,
    directory: &'a Path,
    value: ValueShape,
}

/// Results of one opening.
struct Opening {
    seconds: f64,
    verified: bool,
    cold_records: u64,
}

/// Measures both ways in `directory`, which is empty; for a database with cold records, only the
/// way from a checkpoint.
///
/// # Errors
/// [`Error::Input`] for a length that no value can have; [`Error::Run`] when the
/// database or the device refuses.
pub fn measure(
    settings: &Settings,
    directory: &Path,
    progress: &Progress,
) -> Result<Vec<Recovery>> {
    let bench = Bench {
        settings,
        directory,
        value: ValueShape::new(settings.value_bytes)?,
    };
    let step = progress.step("loading", settings.records);
    let (database, table) = bench.load(&step)?;
    step.finish();
    let mut results = Vec::new();
    let database = if settings.cold.is_some() {
        bench.cool(&database, &table, progress)?;
        database
    } else {
        // Closing writes relaxed commits.
        database.close();
        let step = progress.step("recovering from the log", settings.repeats.into());
        results.push(bench.repeat("log", &step)?);
        step.finish();
        Database::open(bench.options()).map_err(databases::failure)?
    };
    let step = progress.step("taking a checkpoint", 1);
    database.checkpoint_blocking().map_err(databases::failure)?;
    database.close();
    step.finish();
    let step = progress.step("recovering from a checkpoint", settings.repeats.into());
    results.push(bench.repeat("checkpoint", &step)?);
    step.finish();
    Ok(results)
}

impl Bench<'_> {
    fn options(&self) -> Options {
        let memory = self.settings.cold.and_then(|cold| cold.memory_bytes);
        Options {
            workers: self.settings.workers,
            data_dir: Some(self.directory.to_owned()),
            durability: Durability::Relaxed,
            memory_bytes_max: memory.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
            storage: StorageOptions {
                checkpoint_log_bytes: 0,
                checkpoint_interval: Duration::ZERO,
                cold_tier: self.settings.cold.is_some(),
                ..StorageOptions::default()
            },
            ..Options::default()
        }
    }

    fn load(&self, step: &Step) -> Result<(Database, Counted)> {
        let database = Database::open(self.options()).map_err(databases::failure)?;
        let table = Counted::create(&database, TABLE, self.value)?;
        table.load(&database, self.settings.records, step)?;
        Ok((database, table))
    }

    /// Makes the cold share of the records leave memory.
    fn cool(&self, database: &Database, table: &Counted, progress: &Progress) -> Result<()> {
        let cold = self.settings.cold_records();
        let hot = self.settings.records - cold;
        let step = progress.step("having records leave memory", 1);
        let out = cool(database, table, hot, cold)?;
        step.finish();
        progress.note(&format!(
            "{} of {} records have left memory ({:.1} %)",
            with_commas(out),
            with_commas(self.settings.records),
            100.0 * out as f64 / self.settings.records as f64
        ));
        Ok(())
    }

    /// Opens the database, compares all records and closes it.
    fn open(&self) -> Result<Opening> {
        let start = Instant::now();
        let database = Database::open(self.options()).map_err(databases::failure)?;
        let seconds = start.elapsed().as_secs_f64();
        let content = Counted::open(&database, TABLE, self.value)?.content(&database)?;
        let cold_records = database.stats().cold_reads;
        database.close();
        Ok(Opening {
            seconds,
            verified: content.is_right(self.settings.records, 0),
            cold_records,
        })
    }

    fn repeat(&self, mode: &'static str, step: &Step) -> Result<Recovery> {
        let (mut seconds, mut limits) = (Vec::new(), Vec::new());
        let mut verified = true;
        let (mut bytes, mut cold_records) = (0, 0);
        for repeat in 0..self.settings.repeats {
            step.say(format!("repeat {}", repeat + 1));
            let (read, limit) = self.read_files(mode)?;
            bytes = read;
            limits.push(limit);
            let opening = self.open()?;
            seconds.push(opening.seconds);
            verified &= opening.verified;
            cold_records = opening.cold_records;
            step.advance(1);
        }
        let records = self.settings.records;
        let rates: Vec<f64> = seconds.iter().map(|s| records as f64 / s).collect();
        let records_per_second = Spread::of(&rates);
        let files = Files::open(self.directory)?;
        Ok(Recovery {
            benchmark: "recovery",
            mode,
            workers: self.settings.workers,
            records,
            cold_records,
            value_bytes: self.settings.value_bytes,
            bytes,
            cold_file_bytes: files.as_ref().map_or(0, Files::bytes),
            seconds: Spread::of(&seconds).median,
            records_per_second,
            records_per_second_per_worker: records_per_second.median / self.settings.workers as f64,
            limit_bytes_per_second: Spread::of(&limits).median,
            verified,
        })
    }

    /// Reads the files of a mode; returns their bytes, and bytes per second.
    fn read_files(&self, mode: &str) -> Result<(u64, f64)> {
        let refused = |error: std::io::Error| {
            Error::run(format!("cannot read {}: {error}", self.directory.display()))
        };
        let start = Instant::now();
        let mut bytes = 0;
        for entry in std::fs::read_dir(self.directory).map_err(refused)? {
            let entry = entry.map_err(refused)?;
            let name = entry.file_name();
            if name.to_string_lossy().starts_with(mode) {
                bytes += std::fs::read(entry.path()).map_err(refused)?.len() as u64;
            }
        }
        Ok((bytes, bytes as f64 / start.elapsed().as_secs_f64()))
    }
}

const LEGEND: &str = "\
Medians over the repeats. per worker: records per second of each. ±: half the range of Mrec/s. cold:
records that were still out of memory. MB: of the files that opening reads; cold files are not among
them. read: how fast the same files can merely be read. ok: every record was read and compared.
";

/// Returns the results in `format`, with a newline at the end.
///
/// # Errors
/// [`Error::Run`] when a number cannot be written, which does not happen.
pub fn report(format: Format, results: &[Recovery]) -> Result<String> {
    match format {
        Format::Json => json::array(results),
        Format::Csv => csv::text(&results.iter().map(Line::of).collect::<Vec<_>>()),
        Format::Table => Ok(text(results)),
    }
}

/// A line of CSV: the fields of [`Recovery`], flat.
#[derive(Serialize)]
struct Line {
    benchmark: &'static str,
    mode: &'static str,
    workers: usize,
    records: u64,
    cold_records: u64,
    value_bytes: usize,
    bytes: u64,
    cold_file_bytes: u64,
    seconds: f64,
    median: f64,
    min: f64,
    max: f64,
    records_per_second_per_worker: f64,
    limit_bytes_per_second: f64,
    verified: bool,
}

impl Line {
    fn of(recovery: &Recovery) -> Line {
        let Spread { median, min, max } = recovery.records_per_second;
        Line {
            benchmark: recovery.benchmark,
            mode: recovery.mode,
            workers: recovery.workers,
            records: recovery.records,
            cold_records: recovery.cold_records,
            value_bytes: recovery.value_bytes,
            bytes: recovery.bytes,
            cold_file_bytes: recovery.cold_file_bytes,
            seconds: recovery.seconds,
            median,
            min,
            max,
            records_per_second_per_worker: recovery.records_per_second_per_worker,
            limit_bytes_per_second: recovery.limit_bytes_per_second,
            verified: recovery.verified,
        }
    }
}

fn text(results: &[Recovery]) -> String {
    let mut rows = table::table(&[
        "from",
        "seconds",
        "Mrec/s",
        "±",
        "per worker",
        "cold",
        "MB",
        "MB/s",
        "read",
        "ok",
    ]);
    for result in results {
        let megabytes = result.bytes as f64 / 1e6;
        let cold = 100.0 * result.cold_records as f64 / result.records as f64;
        rows.add_row([
            result.mode.to_owned(),
            format!("{:.2}", result.seconds),
            format!("{:.3}", result.records_per_second.median / 1e6),
            table::spread(&result.records_per_second),
            format!("{:.3}", result.records_per_second_per_worker / 1e6),
            format!("{cold:.1} %"),
            format!("{megabytes:.0}"),
            format!("{:.0}", megabytes / result.seconds),
            format!("{:.0} MB/s", result.limit_bytes_per_second / 1e6),
            if result.verified { "yes" } else { "WRONG" }.to_owned(),
        ]);
    }
    table::align(&mut rows, 1);
    format!("{rows}\n{LEGEND}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_bring_every_record_back() {
        let place = tempfile::tempdir().unwrap();
        let settings = Settings {
            records: 3000,
            value_bytes: 100,
            workers: 2,
            cold: None,
            repeats: 2,
        };
        let results = measure(&settings, place.path(), &Progress::hidden()).unwrap();
        let modes: Vec<_> = results.iter().map(|result| result.mode).collect();
        assert_eq!(modes, ["log", "checkpoint"]);
        for result in &results {
            assert!(result.verified && result.bytes > 300_000, "{result:?}");
            assert_eq!((result.cold_records, result.cold_file_bytes), (0, 0));
        }
        for format in [Format::Table, Format::Csv, Format::Json] {
            assert!(report(format, &results).unwrap().contains("checkpoint"));
        }
    }
    #[test]
    fn what_has_left_memory_is_still_cold_after_opening() {
        let place = tempfile::tempdir().unwrap();
        let settings = Settings {
            records: 20_000,
            value_bytes: 100,
            workers: 2,
            cold: Some(Cold {
                percent: 95.0,
                memory_bytes: Some(64 << 20),
            }),
            repeats: 2,
        };
        let results = measure(&settings, place.path(), &Progress::hidden()).unwrap();
        let [result] = &results[..] else {
            panic!("{results:?}");
        };
        assert!(result.verified && result.mode == "checkpoint", "{result:?}");
        // The clock does not stop exactly at a record.
        assert!(result.cold_records.abs_diff(19_000) < 500, "{result:?}");
        assert!(result.cold_file_bytes > 19_000 * 108, "{result:?}");
    }
}
