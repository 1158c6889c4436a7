//! EXPLAIN: plans as trees that people and programs read, and what an execution of them has done.
//!
//! | part | file |
//! | --- | --- |
//! | expressions as SQL | `expression.rs` |
//! | names of columns | `names.rs` |
//! | operators and their properties | `describe.rs` |
//! | distribution of time | `time.rs` |
//! | output as lines; as JSON | `text.rs`; `json.rs` |
//!
//! The estimates of operators are in `planner/plan/explained.rs`. The measurement of an execution
//! is in `executor/execute/measure.rs`.

mod describe;
mod expression;
mod json;
mod names;
mod text;
mod time;

use std::time::Duration;

pub use self::{describe::describe, json::json, names::Names, text::lines};
use executor::execute::{Measurement, Measurements};
use planner::plan::Estimate;

/// A description of one operator.
pub struct Node {
    /// Title, such as `Hash Join` or `Scan on account`.
    pub title: String,
    /// Conditions, keys and similar properties, each with its name.
    properties: Vec<(&'static str, String)>,
    /// Output expressions of the operator, shown only if asked for.
    pub output: Option<String>,
    /// Number of the operator in the plan, and its estimate; `None` for a node that only groups
    /// operators.
    pub operator: Option<(usize, Estimate)>,
    /// Inputs of the operator, each with its role unless it is simply the input.
    pub inputs: Vec<(Option<&'static str>, Node)>,
}

/// Choice of what EXPLAIN shows besides the plan.
pub struct ExplainOptions<'m> {
    /// Measurements, if the statement was carried out.
    pub measurements: Option<&'m Measurements>,
    /// Whether the estimates of the operators are shown.
    pub costs: bool,
    /// Whether the output expressions of the operators are shown.
    pub verbose: bool,
    /// Planning time; `None` leaves it out, as `SUMMARY OFF` does.
    pub planning: Option<Duration>,
    /// Execution time; `None` leaves it out, with the rest of the execution's summary.
    pub execution: Option<Duration>,
}

impl ExplainOptions<'_> {
    fn estimate(&self, node: &Node) -> Option<Estimate> {
        let (_, estimate) = node.operator.filter(|_| self.costs)?;
        Some(estimate)
    }

    fn measurement(&self, node: &Node) -> Option<Measurement> {
        let (number, _) = node.operator?;
        Some(self.measurements?.operator(number))
    }

    /// Returns the most bytes that the execution has held at once; `None` if the execution time is
    /// left out.
    fn peak_bytes(&self) -> Option<usize> {
        self.execution?;
        Some(self.measurements?.peak_bytes)
    }

    /// Returns the measurement of the execution outside its operators, if its time was measured.
    fn outside(&self) -> Option<Measurement> {
        self.measurements?.execution()
    }
}

/// Returns `time` in milliseconds, rounded for people to read.
fn milliseconds(time: Duration) -> f64 {
    // The result is rounded to a microsecond.
    (time.as_secs_f64() * 1e6).round() / 1e3
}
