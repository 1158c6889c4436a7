//! How fast a database comes back: from its log, and from a checkpoint.
//!
//! Records are inserted into a database in a directory, which is closed and opened
//! again without a checkpoint, then with one, alternating between the two for every
//! repeat. Every record is read and compared after each opening. Beside them stands
//! how fast the same files can merely be read.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use weft::{Database, Durability, Options, StorageOptions, Table, Transaction};

use crate::keys::{InsertOrder, KeyShape};
use crate::loading::in_batches;
use crate::measure::Spread;
use crate::progress::{Progress, Step};
use crate::report::{Format, csv, json, table};
use crate::values::ValueShape;
use crate::{Error, Result};

/// Records per transaction while loading and comparing.
const BATCH: u64 = 64;
const TABLE: &str = "recovery";

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Records in the database, at least 1.
    pub records: u64,
    /// Bytes of each value, as [`ValueShape::new`] wants them.
    pub value_bytes: usize,
    /// Workers that recover, at least 1.
    pub workers: usize,
    /// Repeats, at least 1.
    pub repeats: u32,
}

/// One way to come back, over all repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recovery {
    /// Always `"recovery"`.
    pub benchmark: &'static str,
    /// `"log"` or `"checkpoint"`.
    pub mode: &'static str,
    /// Workers that recovered.
    pub workers: usize,
    /// Records recovered.
    pub records: u64,
    /// Bytes of each value; keys have eight.
    pub value_bytes: usize,
    /// Bytes of the files that were read.
    pub bytes: u64,
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
    key: KeyShape,
    value: ValueShape,
}

/// One opening.
struct Opening {
    seconds: f64,
    verified: bool,
    database: Database,
}

/// Measures both ways in `directory`, which is empty.
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
        key: KeyShape::new(KeyShape::BYTES_MIN, InsertOrder::Hashed)?,
        value: ValueShape::new(settings.value_bytes)?,
    };
    let step = progress.step("loading", settings.records);
    bench.load(&step)?;
    step.finish();
    let total = u64::from(settings.repeats) * 2;
    let step = progress.step("recovering", total);
    let from_log = bench.repeat("log", &step)?;
    bench
        .open()?
        .database
        .checkpoint_blocking()
        .map_err(Error::database)?;
    let from_checkpoint = bench.repeat("checkpoint", &step)?;
    step.finish();
    Ok(vec![from_log, from_checkpoint])
}

impl Bench<'_> {
    fn options(&self) -> Options {
        Options {
            workers: self.settings.workers,
            data_dir: Some(self.directory.to_owned()),
            durability: Durability::Relaxed,
            storage: StorageOptions {
                checkpoint_log_bytes: 0,
                checkpoint_interval: Duration::ZERO,
                ..StorageOptions::default()
            },
            ..Options::default()
        }
    }

    fn load(&self, step: &Step) -> Result<()> {
        let database = Database::open(self.options()).map_err(Error::database)?;
        let table: Table<Vec<u8>, Vec<u8>> =
            database.create_table(TABLE).map_err(Error::database)?;
        let (key_shape, value_shape) = (self.key, self.value);
        let all = 0..self.settings.records;
        in_batches(&database, all, BATCH, Some(step), |records| {
            let table = table.clone();
            async move |txn: &Transaction| {
                let (mut key, mut value) =
                    (vec![0; key_shape.bytes()], vec![0; value_shape.bytes()]);
                for record in records.clone() {
                    let word = key_shape.write(record, &mut key);
                    value_shape.write(word, 0, &mut value);
                    txn.insert(&table, &*key, &*value).await?;
                }
                Ok(())
            }
        })?;
        // Writes what is relaxed.
        database.close();
        Ok(())
    }

    /// Opens the database and compares all records.
    fn open(&self) -> Result<Opening> {
        let start = Instant::now();
        let database = Database::open(self.options()).map_err(Error::database)?;
        let seconds = start.elapsed().as_secs_f64();
        let table: Table<Vec<u8>, Vec<u8>> = database.open_table(TABLE).map_err(Error::database)?;
        let (key_shape, value_shape) = (self.key, self.value);
        let verified = Arc::new(AtomicBool::new(true));
        let all = 0..self.settings.records;
        in_batches(&database, all, BATCH, None, |records| {
            let (table, verified) = (table.clone(), Arc::clone(&verified));
            async move |txn: &Transaction| {
                let mut key = vec![0; key_shape.bytes()];
                let mut expected = vec![0; value_shape.bytes()];
                for record in records.clone() {
                    let word = key_shape.write(record, &mut key);
                    value_shape.write(word, 0, &mut expected);
                    let same = |value: &[u8]| value == expected;
                    if txn.get_with(&table, &*key, same).await? != Some(true) {
                        // Relaxed: it is looked at when all batches have ended.
                        verified.store(false, Ordering::Relaxed);
                    }
                }
                Ok(())
            }
        })?;
        Ok(Opening {
            seconds,
            verified: verified.load(Ordering::Relaxed),
            database,
        })
    }

    fn repeat(&self, mode: &'static str, step: &Step) -> Result<Recovery> {
        let (mut seconds, mut limits) = (Vec::new(), Vec::new());
        let mut verified = true;
        let mut bytes = 0;
        for repeat in 0..self.settings.repeats {
            step.say(format!("from the {mode}, repeat {}", repeat + 1));
            let (read, limit) = self.read_files(mode)?;
            bytes = read;
            limits.push(limit);
            let opening = self.open()?;
            seconds.push(opening.seconds);
            verified &= opening.verified;
            opening.database.close();
            step.advance(1);
        }
        let records = self.settings.records;
        let rates: Vec<f64> = seconds.iter().map(|s| records as f64 / s).collect();
        let records_per_second = Spread::of(&rates);
        Ok(Recovery {
            benchmark: "recovery",
            mode,
            workers: self.settings.workers,
            records,
            value_bytes: self.settings.value_bytes,
            bytes,
            seconds: Spread::of(&seconds).median,
            records_per_second,
            records_per_second_per_worker: records_per_second.median / self.settings.workers as f64,
            limit_bytes_per_second: Spread::of(&limits).median,
            verified,
        })
    }

    /// Reads the files of a mode; their bytes, and bytes per second.
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
Medians over the repeats. per worker: records per second of each. ±: half the range of Mrec/s. read:
how fast the same files can merely be read. ok: every record was read and compared.
";

/// The results in this form, with a newline at the end.
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
    value_bytes: usize,
    bytes: u64,
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
            value_bytes: recovery.value_bytes,
            bytes: recovery.bytes,
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
        "MB",
        "MB/s",
        "read",
        "ok",
    ]);
    for result in results {
        let megabytes = result.bytes as f64 / 1e6;
        rows.add_row([
            result.mode.to_owned(),
            format!("{:.2}", result.seconds),
            format!("{:.3}", result.records_per_second.median / 1e6),
            table::spread(&result.records_per_second),
            format!("{:.3}", result.records_per_second_per_worker / 1e6),
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
            repeats: 2,
        };
        let results = measure(&settings, place.path(), &Progress::hidden()).unwrap();
        let modes: Vec<_> = results.iter().map(|result| result.mode).collect();
        assert_eq!(modes, ["log", "checkpoint"]);
        for result in &results {
            assert!(result.verified && result.bytes > 300_000, "{result:?}");
        }
        for format in [Format::Table, Format::Csv, Format::Json] {
            assert!(report(format, &results).unwrap().contains("checkpoint"));
        }
    }
}
