//! Techniques to look many keys up.

use std::str::FromStr;

use interleave::Execution;
use serde::Serialize;

use super::choice::named;
use commands::{Error, Result};

/// One technique to look many keys up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Technique {
    /// The standard library's binary search.
    Std,
    /// A binary search that selects without branches: the baseline of paper 003.
    BranchFree,
    /// The structure's own body, one lookup after another.
    Sequential,
    /// Groups that go through the code together (Chen et al.; paper 003, listing 3).
    GroupPrefetching,
    /// Each lookup a step ahead of the next (Chen et al.).
    SoftwarePipelining,
    /// State machines by hand (Kocberber et al.; paper 003, listing 4).
    Amac,
    /// The structure's own body as coroutines that are resumed directly.
    Coroutines,
    /// Coroutines five calls deep, resumed from the outermost.
    CoroutinesFromRoot,
    /// Coroutines five calls deep, each in an allocation of its own.
    CoroutinesBoxed,
    /// The structure's own body, sequentially or as the number of coroutines that was measured to
    /// be best.
    Auto,
}

impl Technique {
    /// Every technique.
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

    /// Returns the name used on the command line and in results.
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

    /// Returns whether the number of lookups under way can be chosen.
    pub(super) fn has_groups(self) -> bool {
        match self {
            Self::Std | Self::BranchFree | Self::Sequential | Self::Auto => false,
            Self::GroupPrefetching | Self::SoftwarePipelining | Self::Amac => true,
            Self::Coroutines | Self::CoroutinesFromRoot | Self::CoroutinesBoxed => true,
        }
    }

    /// Techniques that the others are compared with; the first one that was measured counts.
    pub(super) const SEQUENTIAL: [Self; 3] = [Self::BranchFree, Self::Sequential, Self::Std];

    /// Returns the execution of a structure's body by this technique; `group` counts for
    /// coroutines.
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
