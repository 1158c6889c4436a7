//! The ways to look many keys up.

use std::str::FromStr;

use interleave::Execution;
use serde::Serialize;

use super::choice::named;
use commands::{Error, Result};

/// One way to look many keys up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Technique {
    /// The standard library's binary search.
    Std,
    /// A binary search that selects without branches: the baseline of paper 003.
    BranchFree,
    /// Our body, one lookup after the other.
    Sequential,
    /// Groups that go through the code together (Chen et al.; paper 003, listing 3).
    GroupPrefetching,
    /// Each lookup a step ahead of the next (Chen et al.).
    SoftwarePipelining,
    /// State machines by hand (Kocberber et al.; paper 003, listing 4).
    Amac,
    /// Our body as coroutines that are resumed directly.
    Coroutines,
    /// The same five calls deep, resumed from the outermost.
    CoroutinesFromRoot,
    /// The same, each in an allocation of its own.
    CoroutinesBoxed,
    /// Our body, sequentially or as so many coroutines, as was measured to be best.
    Auto,
}

impl Technique {
    /// Every one.
    pub const ALL: [Self; 10] = [
        Self::Std,
        Self::BranchFree,
        Self::Sequential,
        Self::GroupPrefetching,
        Self::SoftwarePipelining,
        Self::Amac,
        Self::Coroutines,
        Self::CoroutinesFromRoot,
        Self::CoroutinesBoxed,
        Self::Auto,
    ];

    /// The name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Std => "std",
            Self::BranchFree => "branch-free",
            Self::Sequential => "sequential",
            Self::GroupPrefetching => "group-prefetching",
            Self::SoftwarePipelining => "software-pipelining",
            Self::Amac => "amac",
            Self::Coroutines => "coroutines",
            Self::CoroutinesFromRoot => "coroutines-from-root",
            Self::CoroutinesBoxed => "coroutines-boxed",
            Self::Auto => "auto",
        }
    }

    /// Whether the number of lookups under way is a choice.
    pub(super) fn has_groups(self) -> bool {
        match self {
            Self::Std | Self::BranchFree | Self::Sequential | Self::Auto => false,
            Self::GroupPrefetching | Self::SoftwarePipelining | Self::Amac => true,
            Self::Coroutines | Self::CoroutinesFromRoot | Self::CoroutinesBoxed => true,
        }
    }

    /// Those that others are compared with, the first that is there.
    pub(super) const SEQUENTIAL: [Self; 3] = [Self::BranchFree, Self::Sequential, Self::Std];

    /// How our body runs; `group` counts for coroutines.
    pub(super) fn execution(self, group: usize) -> Execution {
        match self {
            Self::Coroutines => Execution::in_flight(group),
            _ => Execution::Sequential,
        }
    }
}

impl FromStr for Technique {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        named("a technique", text, &Self::ALL, Self::name)
    }
}
