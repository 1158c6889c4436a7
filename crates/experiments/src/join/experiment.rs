//! The experiments by name.

use std::str::FromStr;

use serde::Serialize;

use super::choice::named;
use super::{Join, Settings, array, csb, hash, in_predicate, small};
use commands::progress::Progress;
use commands::{Error, Result};

/// One experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// Sorted arrays of growing size, all techniques (paper 003, figures 3 and 4).
    Sizes,
    /// The largest array, group sizes one by one (figure 7).
    GroupSizes,
    /// CSB+-trees over unsorted values, of growing size.
    Csb,
    /// Hash tables of growing size, probed.
    HashProbe,
    /// Hash tables of growing size, built.
    HashBuild,
    /// Queries with IN-predicates on columns whose dictionaries grow (figure 8).
    InPredicate,
    /// Structures of 1 MiB, where there is nothing to hide: sequential, interleaved and the
    /// automatic choice.
    Small,
    /// Lines of code, counted (table 5).
    Lines,
}

impl Experiment {
    /// Every experiment.
    pub const ALL: [Self; 8] = [
        Self::Sizes,
        Self::GroupSizes,
        Self::Csb,
        Self::HashProbe,
        Self::HashBuild,
        Self::InPredicate,
        Self::Small,
        Self::Lines,
    ];

    /// Returns the name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sizes => "sizes",
            Self::GroupSizes => "group-sizes",
            Self::Csb => "csb",
            Self::HashProbe => "hash-probe",
            Self::HashBuild => "hash-build",
            Self::InPredicate => "in-predicate",
            Self::Small => "small",
            Self::Lines => "lines",
        }
    }

    /// Measures the experiment.
    pub(super) fn measure(self, settings: &Settings, progress: &Progress) -> Result<Vec<Join>> {
        match self {
            Self::Sizes => array::sizes(settings, progress),
            Self::GroupSizes => array::group_sizes(settings, progress),
            Self::Csb => csb::sizes(self, settings, progress),
            Self::HashProbe => hash::probes(self, settings, progress),
            Self::HashBuild => hash::builds(settings, progress),
            Self::InPredicate => in_predicate::queries(self, settings, progress),
            Self::Small => small::measure(settings, progress),
            // Lines are counted by `measure` itself, and never together with measurements.
            Self::Lines => Ok(Vec::new()),
        }
    }
}

impl FromStr for Experiment {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        named("an experiment", text, &Self::ALL, Self::name)
    }
}
