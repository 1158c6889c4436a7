//! What an experiment runs at one value of its axis: transactions of the key-value workload
//! or of TPC-C, as asked for ([`Asks`]) and checked ([`Planned`]).

use std::time::Duration;

use super::RECORDS;
use super::settings::scaled;
use applications::application::Application;
use applications::{application, tpcc};
use bench::comparison::{Asked, Comparison};
use bench::measure::Durability;
use bench::plan;
use commands::Result;

/// Records loaded in a second, roughly, for the expected duration.
const LOADED_PER_SECOND: f64 = 600_000.0;
/// The same for the steps in which TPC-C is loaded.
const TPCC_LOADED_PER_SECOND: f64 = 400_000.0;

/// What is asked of the engine at a value of the axis, at scale 1, but for the series.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asks {
    /// Key-value transactions.
    Ycsb(fn(f64) -> Result<plan::Options>),
    /// Groups of lookups in the index alone, of the keys that such transactions would read.
    Probes(fn(f64) -> Result<plan::Options>),
    /// Those of TPC-C, or of its relatives.
    Tpcc(fn(f64) -> Tpcc),
}

/// A TPC-C run, as asked for.
pub(super) struct Tpcc {
    pub(super) settings: tpcc::Settings,
    pub(super) options: application::plan::Options,
}

impl Asks {
    /// The same, checked, at the value `x` of the axis of this name. What is compared is as
    /// `asked` makes it of what the experiment asks for itself.
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

/// More or fewer records, where their number is not what is varied.
fn scaled_ycsb(
    options: plan::Options,
    axis: &str,
    scale: f64,
    asked: impl FnOnce(Asked) -> Asked,
) -> plan::Options {
    let records = match axis {
        // Scaled already.
        RECORDS => options.records,
        _ => options.records.map(|records| scaled(records, scale)),
    };
    plan::Options {
        records,
        asked: asked(options.asked),
        ..options
    }
}

/// More or fewer warehouses; and where that would be less than one, one that has less in it.
fn scaled_tpcc(settings: tpcc::Settings, scale: f64) -> tpcc::Settings {
    let warehouses = f64::from(settings.warehouses) * scale;
    let part = warehouses.min(1.0);
    let standard = settings.scale;
    tpcc::Settings {
        // Saturates: more than there can be are as many as there can be.
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

/// What is run at one value of an axis.
#[derive(Clone, Debug)]
pub enum Planned {
    /// Key-value transactions.
    Ycsb(plan::Plan),
    /// Groups of lookups in the index alone.
    Probes(plan::Plan),
    /// Those of TPC-C, or of its relatives.
    Tpcc {
        /// The database, and what its terminals do.
        settings: tpcc::Settings,
        /// How they do it.
        plan: application::plan::Plan,
    },
}

impl Planned {
    /// What is compared, and how often.
    pub fn comparison(&self) -> &Comparison {
        match self {
            Self::Ycsb(plan) | Self::Probes(plan) => &plan.comparison,
            Self::Tpcc { plan, .. } => &plan.comparison,
        }
    }

    /// What the reader should know about the request; a sentence each.
    pub fn notes(&self) -> &[String] {
        match self {
            Self::Ycsb(plan) | Self::Probes(plan) => &plan.notes,
            Self::Tpcc { plan, .. } => &plan.notes,
        }
    }

    /// One line that says what is run.
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

    /// Whether it takes a database in a directory.
    pub fn has_log(&self) -> bool {
        self.comparison().durabilities != [Durability::Memory]
    }

    /// Whether what was loaded for `other` serves this too.
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

    /// How long it takes to load it, roughly.
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
