//! YCSB's workload files: Java properties, one `key=value` a line.
//!
//! Three kinds of key: those that shape the workload here, those YCSB knows that cannot matter here
//! (accepted, with a note unless the value asks for the actual behaviour), and unknown ones, which
//! are refused: a misspelt proportion must not silently become YCSB's default.

use java_properties::{LineContent, PropertiesIter};

use super::{Proportions, ScanLaw, ScanLength, Selection, Workload};
use crate::distribution::Distribution;
use crate::keys::InsertOrder;
use commands::number::{parse_count, parse_count_within};
use commands::{Error, Result};

/// Keys that have an effect here.
pub const KEYS: [&str; 15] = [
    "fieldcount",
    "fieldlength",
    "insertorder",
    "insertproportion",
    "maxscanlength",
    "minscanlength",
    "operationspertransaction",
    "readmodifywriteproportion",
    "readproportion",
    "recordcount",
    "requestdistribution",
    "scanlengthdistribution",
    "scanproportion",
    "updateproportion",
    "zipfianconstant",
];

/// Keys of YCSB without effect here: the key, the value that asks for the actual behaviour (`""`
/// for none), and the reason why the key has no effect.
const WITHOUT_EFFECT: [(&str, &str, &str); 36] = [
    ("workload", "", "only the core workload is built in"),
    ("core_workload_insertion_retry_interval", "", RETRIED),
    ("core_workload_insertion_retry_limit", "", RETRIED),
    ("dataintegrity", "true", "every answer is verified anyway"),
    ("db", "", "the engine is Weft"),
    (
        "dotransactions",
        "true",
        "the table is always loaded and then measured",
    ),
    (
        "exponential.frac",
        "",
        "only the exponential distribution has it",
    ),
    (
        "exponential.percentile",
        "",
        "only the exponential distribution has it",
    ),
    ("exporter", "", "choose the form of results with --format"),
    ("exportfile", "", "results go to standard output"),
    (
        "fieldlengthdistribution",
        "constant",
        "values all have one length",
    ),
    ("fieldlengthhistogram", "", "values all have one length"),
    ("fieldnameprefix", "", ONE_VALUE),
    ("hdrhistogram.fileoutput", "", REPORTED),
    ("hdrhistogram.output.path", "", REPORTED),
    ("hdrhistogram.percentiles", "", REPORTED),
    ("histogram.buckets", "", REPORTED),
    (
        "hotspotdatafraction",
        "",
        "only the hotspot distribution has it",
    ),
    (
        "hotspotopnfraction",
        "",
        "only the hotspot distribution has it",
    ),
    ("insertcount", "", "all records are loaded"),
    ("insertstart", "0", "loading starts with record 0"),
    ("keyprefix", "", "keys are binary"),
    ("maxexecutiontime", "", "set the time with --seconds"),
    ("measurement.histogram.verbose", "", REPORTED),
    ("measurement.interval", "", REPORTED),
    ("measurement.raw.output_file", "", REPORTED),
    ("measurement.trackjvm", "", "there is no such machine"),
    ("measurementtype", "", REPORTED),
    (
        "operationcount",
        "",
        "runs end by time; set it with --seconds",
    ),
    ("readallfields", "true", ONE_VALUE),
    ("table", "", "there is one table"),
    ("target", "", "runs are not throttled"),
    ("threadcount", "", "set the workers with --workers"),
    ("timeseries.granularity", "", REPORTED),
    ("writeallfields", "true", ONE_VALUE),
    ("zeropadding", "", "keys are binary"),
];
const RETRIED: &str = "aborted transactions are retried until they commit";
const ONE_VALUE: &str = "a record's fields are one value, read and written whole";
const REPORTED: &str = "latencies are always reported at the same percentiles";

/// Reads a workload file.
///
/// Missing keys have YCSB's defaults, except for the length of values, which is only known when
/// `fieldcount` or `fieldlength` is given.
///
/// # Errors
/// [`Error::Input`] that names the line and key.
pub fn parse(name: &str, source: &[u8]) -> Result<Workload> {
    let mut file = File::default();
    for line in PropertiesIter::new(source) {
        let line =
            line.map_err(|error| Error::input(format!("is not a property file: {error}")))?;
        let number = line.line_number();
        if let LineContent::KVPair(key, value) = line.consume_content() {
            file.set(&key, value.trim())
                .map_err(|error| Error::input(format!("line {number}: {key}: {error}")))?;
        }
    }
    file.workload(name)
}

/// Settings of the lines so far.
struct File {
    proportions: Proportions,
    distribution: &'static str,
    theta: f64,
    operations: u32,
    scan: ScanLength,
    order: InsertOrder,
    records: Option<u64>,
    field_count: Option<u64>,
    field_length: Option<u64>,
    notes: Vec<String>,
}

impl Default for File {
    fn default() -> Self {
        Self {
            proportions: Proportions {
                read: 0.95,
                update: 0.05,
                ..Default::default()
            },
            distribution: "uniform",
            theta: Distribution::THETA_DEFAULT,
            operations: 1,
            scan: ScanLength {
                law: ScanLaw::Uniform,
                min: 1,
                max: 1000,
            },
            order: InsertOrder::Hashed,
            records: None,
            field_count: None,
            field_length: None,
            notes: Vec::new(),
        }
    }
}

impl File {
    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        match key {
            "readproportion" => self.proportions.read = share(value)?,
            "updateproportion" => self.proportions.update = share(value)?,
            "insertproportion" => self.proportions.insert = share(value)?,
            "scanproportion" => self.proportions.scan = share(value)?,
            "readmodifywriteproportion" => self.proportions.read_modify_write = share(value)?,
            "requestdistribution" => self.distribution = distribution(value)?,
            "zipfianconstant" => {
                self.theta = number(value)?;
                Distribution::named("zipfian", self.theta)?;
            }
            "operationspertransaction" => {
                self.operations =
                    parse_count_within(value, 1, Workload::OPERATIONS_MAX.into())? as u32;
            }
            "minscanlength" => self.scan.min = scan_length(value)?,
            "maxscanlength" => self.scan.max = scan_length(value)?,
            "scanlengthdistribution" => self.scan.law = scan_law(value)?,
            "insertorder" => self.order = order(value)?,
            "recordcount" => self.records = Some(parse_count_within(value, 1, u64::MAX)?),
            "fieldcount" => self.field_count = Some(parse_count_within(value, 1, 1 << 20)?),
            "fieldlength" => self.field_length = Some(parse_count_within(value, 1, 1 << 20)?),
            "workload" if !value.ends_with("CoreWorkload") => {
                return Err(Error::input(format!(
                    "`{value}` is not built in; only site.ycsb.workloads.CoreWorkload is"
                )));
            }
            "workload" => {}
            _ => self.ignore(key, value)?,
        }
        Ok(())
    }

    fn ignore(&mut self, key: &str, value: &str) -> Result<()> {
        match WITHOUT_EFFECT.iter().find(|(known, ..)| *known == key) {
            Some((_, harmless, _)) if *harmless == value => {}
            Some((_, _, reason)) => {
                self.notes
                    .push(format!("{key}={value} has no effect: {reason}"));
            }
            None => {
                return Err(Error::input(format!(
                    "is not a property of the core workload; those with an effect here are {}",
                    KEYS.join(", ")
                )));
            }
        }
        Ok(())
    }

    fn workload(mut self, name: &str) -> Result<Workload> {
        let sum = self.proportions.sum();
        if sum <= 0.0 {
            return Err(Error::input(
                "all proportions are 0; give one of the operations a share above 0",
            ));
        }
        if (sum - 1.0).abs() > 1e-6 {
            self.notes.push(format!(
                "the proportions sum to {sum}, so each is divided by that (those not given are \
                 readproportion=0.95 and updateproportion=0.05)"
            ));
        }
        if self.scan.min > self.scan.max {
            return Err(Error::input(format!(
                "minscanlength {} is above maxscanlength {}; lower the one or raise the other",
                self.scan.min, self.scan.max
            )));
        }
        // YCSB's defaults are 10 fields of 100 bytes, meant for networked
        // stores; a file that gives neither leaves the choice to the command.
        let value_bytes = (self.field_count.is_some() || self.field_length.is_some())
            .then(|| self.field_count.unwrap_or(10) * self.field_length.unwrap_or(100));
        Ok(Workload {
            name: name.to_owned(),
            proportions: self.proportions.normalised(),
            selection: Selection::Drawn,
            distribution: Distribution::named(self.distribution, self.theta)?,
            operations_per_transaction: self.operations,
            scan_length: self.scan,
            insert_order: self.order,
            records: self.records,
            value_bytes,
            notes: self.notes,
        })
    }
}

fn number(text: &str) -> Result<f64> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| Error::input(format!("`{text}` is not a number; write it like 0.95")))
}

fn share(text: &str) -> Result<f64> {
    let share = number(text)?;
    if (0.0..=1.0).contains(&share) {
        Ok(share)
    } else {
        Err(Error::input(format!(
            "{text} is not a proportion; give a number from 0 to 1"
        )))
    }
}

fn scan_length(text: &str) -> Result<u32> {
    Ok(parse_count(text).and_then(|_| parse_count_within(text, 1, ScanLength::MAX.into()))? as u32)
}

/// Returns the distribution that YCSB calls `text`: its core workload takes `zipfian` to mean ranks
/// scattered over the records. `scrambled` is accepted as the clearer name.
fn distribution(text: &str) -> Result<&'static str> {
    match text {
        "uniform" => Ok("uniform"),
        "zipfian" | "scrambled" => Ok("scrambled"),
        "latest" => Ok("latest"),
        _ => Err(Error::input(format!(
            "`{text}` is not supported; choose from uniform, zipfian, latest"
        ))),
    }
}

fn scan_law(text: &str) -> Result<ScanLaw> {
    match text {
        "constant" => Ok(ScanLaw::Constant),
        "uniform" => Ok(ScanLaw::Uniform),
        "zipfian" => Ok(ScanLaw::Zipfian),
        _ => Err(Error::input(format!(
            "`{text}` is not supported; choose from constant, uniform, zipfian"
        ))),
    }
}

fn order(text: &str) -> Result<InsertOrder> {
    match text {
        "hashed" => Ok(InsertOrder::Hashed),
        "ordered" => Ok(InsertOrder::Ordered),
        _ => Err(Error::input(format!(
            "`{text}` is not supported; choose from hashed, ordered"
        ))),
    }
}
