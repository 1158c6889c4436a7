//! EXPLAIN: plans as trees that people and programs read, and what an execution of them has done.
//!
//! | what | file |
//! | --- | --- |
//! | expressions as SQL | `expression.rs` |
//! | what columns are called | `names.rs` |
//! | what operators do, and with what | `describe.rs` |
//! | where time went | `time.rs` |
//! | as lines; as JSON | `text.rs`; `json.rs` |
//!
//! The estimates of operators are in `planner/plan/explained.rs`.
//! How an execution is measured is in `execute/measure.rs`.

mod describe;
mod expression;
mod json;
mod names;
mod text;
mod time;

use std::time::Duration;

pub use self::{describe::describe, json::json, names::Names, text::lines};
use crate::execute::{Measurement, Measurements};
use planner::plan::Estimate;

/// An operator, described.
pub struct Node {
    /// What it is: `Hash Join`, `Scan on account`.
    pub title: String,
    /// Conditions, keys and the like, by what they are.
    pub(crate) properties: Vec<(&'static str, String)>,
    /// The expressions that it gives, told only if asked for.
    pub output: Option<String>,
    /// Its number among the plan's operators, and what is expected of it; of what only groups
    /// operators, nothing.
    pub operator: Option<(usize, Estimate)>,
    /// Where its rows come from, and what that is if it is not simply the input.
    pub inputs: Vec<(Option<&'static str>, Node)>,
}

/// What is told besides the plan.
pub struct Told<'m> {
    /// If the statement was carried out.
    pub measurements: Option<&'m Measurements>,
    /// What is expected of the operators.
    pub costs: bool,
    /// What the operators give.
    pub verbose: bool,
    /// Planning time; `None` leaves it out, as `SUMMARY OFF` does.
    pub planning: Option<Duration>,
    /// Execution time; `None` leaves it out, with the rest of the execution's summary.
    pub execution: Option<Duration>,
}

impl Told<'_> {
    fn estimate(&self, node: &Node) -> Option<Estimate> {
        let (_, estimate) = node.operator.filter(|_| self.costs)?;
        Some(estimate)
    }

    fn measurement(&self, node: &Node) -> Option<Measurement> {
        let (number, _) = node.operator?;
        Some(self.measurements?.operator(number))
    }

    /// The most bytes that the execution has held at once; told with its time.
    fn peak_bytes(&self) -> Option<usize> {
        self.execution?;
        Some(self.measurements?.peak_bytes)
    }

    /// Of the execution outside its operators, if its time was measured.
    fn outside(&self) -> Option<Measurement> {
        self.measurements?.execution()
    }
}

impl Measurement {
    /// Rows of a loop, on average.
    fn rows_per_loop(&self) -> f64 {
        self.rows as f64 / self.loops.max(1) as f64
    }

    /// A time of all loops as that of one, in milliseconds.
    fn per_loop(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e3 / self.loops.max(1) as f64
    }
}

/// As people read it.
fn milliseconds(time: Duration) -> f64 {
    // A microsecond is as exact as it gets.
    (time.as_secs_f64() * 1e6).round() / 1e3
}
