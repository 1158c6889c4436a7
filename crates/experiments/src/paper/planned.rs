//! Runs of an experiment at one value of its axis: transactions of the key-value workload or of
//! TPC-C, as asked for ([`Asks`]) and checked ([`Planned`]).

use std::time::Duration;

use super::RECORDS;
use super::settings::scaled;
use applications::application::Application;
use applications::{application, tpcc};
use bench::comparison::{Asked, Comparison};
use bench::measure::Durability;
use bench::plan;
use commands::Result;

/// Approximate number of records loaded in a second, for the expected duration.
const LOADED_PER_SECOND: f64 = 600_000.0;
/// Approximate number of TPC-C's loading steps in a second, for the expected duration.
const TPCC_LOADED_PER_SECOND: f64 = 400_000.0;

/// Request to the engine at a value of the axis, at scale 1, except for the series.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asks {
    /// Key-value transactions.
    Ycsb(fn(f64) -> Result<plan::Options>),
    /// Groups of lookups in the index alone, of the keys that key-value transactions would read.
    Probes(fn(f64) -> Result<plan::Options>),
    /// Transactions of TPC-C, or of its relatives.
    Tpcc(fn(f64) -> Tpcc),
}

/// Request of a TPC-C run.
pub(super) struct Tpcc {
    pub(super) settings: tpcc::Settings,
    pub(super) options: application::plan::Options,
}

impl Asks {
    /// Returns the checked plan at the value `x` of the axis named `axis`. `asked` adds the series
    /// to the experiment's own settings of the comparison.
    ///
    /// # Errors
    /// [`Error::Input`](commands::Error::Input) for settings out of range, and where the machine
    /// is too small.
    pub(super) fn plan(
        self,
        axis: &str,
        x: f64,
        scale: f64,
        asked: impl FnOnce(Asked) -> Asked,
    ) -> Result<Planned> {
        match self {
            Self::Ycsb(options) => {
                let options = scaled_ycsb(options(x)?, axis, scale, asked);
                Ok(Planned::Ycsb(options.plan()?))
            }
            Self::Probes(options) => {
                let options = scaled_ycsb(options(x)?, axis, scale, asked);
                Ok(Planned::Probes(options.plan()?))
            }
            Self::Tpcc(options) => {
                let Tpcc { settings, options } = options(x);
                let settings = scaled_tpcc(settings, scale);
                settings.check()?;
                let options = application::plan::Options {
                    asked: asked(options.asked),
                    ..options
                };
                let plan = options.plan(settings.mix_name())?;
                Ok(Planned::Tpcc { settings, plan })
            }
        }
    }
}

/// Scales the number of records, unless it is the quantity that is varied.
fn scaled_ycsb(
    options: plan::Options,
    axis: &str,
    scale: f64,
    asked: impl FnOnce(Asked) -> Asked,
) -> plan::Options {
    let records = match axis {
        // The axis is scaled already.
        RECORDS => options.records,
        _ => options.records.map(|records| scaled(records, scale)),
    };
    plan::Options {
        records,
        asked: asked(options.asked),
        ..options
    }
}

/// Scales the number of warehouses; where the result would be less than one, returns one warehouse
/// with fewer records in it.
fn scaled_tpcc(settings: tpcc::Settings, scale: f64) -> tpcc::Settings {
    let warehouses = f64::from(settings.warehouses) * scale;
    let part = warehouses.min(1.0);
    let standard = settings.scale;
    tpcc::Settings {
        // The conversion saturates: an excessive number becomes the greatest one.
        warehouses: (warehouses.round() as u16).max(1),
        scale: tpcc::Scale {
            items: ((f64::from(standard.items) * part) as u32).max(tpcc::Scale::ITEMS_MIN),
            customers: ((f64::from(standard.customers) * part) as u16)
                .max(tpcc::Scale::CUSTOMERS_MIN),
            ..standard
        },
        ..settings
    }
}

/// A checked run at one value of an axis.
#[derive(Clone, Debug)]
pub enum Planned {
    /// Key-value transactions.
    Ycsb(plan::Plan),
    /// Groups of lookups in the index alone.
    Probes(plan::Plan),
    /// Transactions of TPC-C, or of its relatives.
    Tpcc {
        /// Settings of the database and its terminals.
        settings: tpcc::Settings,
        /// Execution of the transactions.
        plan: application::plan::Plan,
    },
}

impl Planned {
    /// Returns the settings of the comparison.
    pub fn comparison(&self) -> &Comparison {
        match self {
            Self::Ycsb(plan) | Self::Probes(plan) => &plan.comparison,
            Self::Tpcc { plan, .. } => &plan.comparison,
        }
    }

    /// Returns notes on the request for the reader, a sentence each.
    pub fn notes(&self) -> &[String] {
        match self {
            Self::Ycsb(plan) | Self::Probes(plan) => &plan.notes,
            Self::Tpcc { plan, .. } => &plan.notes,
        }
    }

    /// Returns a line that describes the run.
    pub fn description(&self) -> String {
        match self {
            Self::Ycsb(plan) => plan.description(),
            Self::Probes(plan) => format!("index alone, {}", plan.description()),
            Self::Tpcc { settings, plan } => format!(
                "{}, {}",
                settings.description(),
                plan.comparison.description()
            ),
        }
    }

    /// Returns whether the run needs a database in a directory.
    pub fn has_log(&self) -> bool {
        self.comparison().durabilities != [Durability::Memory]
    }

    /// Returns whether the tables that were loaded for `other` serve this run too.
    pub(super) fn same_tables(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Ycsb(own), Self::Ycsb(other)) | (Self::Probes(own), Self::Probes(other)) => {
                own.same_tables(other)
            }
            (
                Self::Tpcc { settings, plan },
                Self::Tpcc {
                    settings: others,
                    plan: other,
                },
            ) => settings == others && plan.same_databases(other),
            _ => false,
        }
    }

    /// Returns the approximate time of loading the tables.
    pub(super) fn loading(&self) -> Duration {
        let databases = self.comparison().databases().len() as f64;
        let seconds = match self {
            Self::Ycsb(plan) | Self::Probes(plan) => plan.records as f64 / LOADED_PER_SECOND,
            Self::Tpcc { settings, .. } => {
                let steps = <tpcc::Tpcc as Application>::load_steps;
                steps(settings) as f64 / TPCC_LOADED_PER_SECOND
            }
        };
        Duration::from_secs_f64(seconds * databases)
    }
}
