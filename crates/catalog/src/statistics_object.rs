//! Statistics objects (`CREATE STATISTICS`): groups of columns whose values are looked at together, as parts of their
//! table. Their findings are among the table's other statistics (`statistics.rs`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ObjectId;

/// Maximum number of columns of a statistics object, PostgreSQL's number: findings are kept for each subset of them.
pub const STATISTICS_COLUMNS_MAX: usize = 8;

/// A group of columns whose values are looked at together. Its name is unique among those of the schema's statistics
/// objects; it lies in the schema of its table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatisticsObject {
    /// Number of the object.
    pub id: ObjectId,
    /// Name of the object.
    pub name: Arc<str>,
    /// Columns by position, in ascending order; at least two.
    pub columns: Arc<[u16]>,
    /// Kinds of findings.
    pub kinds: StatisticsKinds,
}

/// The kinds of findings about a group of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatisticsKinds {
    /// Numbers of different combinations of values.
    pub ndistinct: bool,
    /// Dependencies: how often the values of some columns determine that of another.
    pub dependencies: bool,
    /// Most common combinations of values.
    pub mcv: bool,
}

impl StatisticsKinds {
    /// All kinds.
    pub const ALL: Self = Self {
        ndistinct: true,
        dependencies: true,
        mcv: true,
    };
}
