//! EXPLAIN: plans as trees that people and programs read, and what an execution of them has done.
//!
//! | what | file |
//! | --- | --- |
//! | expressions as SQL | `expression.rs` |
//! | what columns are called | `names.rs` |
//! | what operators do, and with what | `describe.rs` |
//! | as lines; as JSON | `text.rs`; `json.rs` |
//!
//! How an execution is measured is in `execute/measure.rs`.

mod describe;
mod expression;
mod json;
mod names;
mod text;

use std::time::Duration;

pub(crate) use self::{describe::describe, json::json, names::Names, text::lines};
use crate::execute::Measurement;

/// An operator, described.
pub(crate) struct Node {
    /// What it is: `Hash Join`, `Scan on account`.
    pub(crate) title: String,
    /// Conditions, keys and the like, by what they are.
    pub(crate) properties: Vec<(&'static str, String)>,
    /// The expressions that it gives, told only if asked for.
    pub(crate) output: Option<String>,
    /// Its number among those that are measured.
    pub(crate) number: Option<usize>,
    /// Where its rows come from, and what that is if it is not simply the input.
    pub(crate) inputs: Vec<(Option<&'static str>, Node)>,
}

/// What is told besides the plan.
pub(crate) struct Told<'m> {
    /// Of each operator by number, if the statement was carried out.
    pub(crate) measurements: Option<&'m [Measurement]>,
    /// What the operators give.
    pub(crate) verbose: bool,
    pub(crate) planning: Option<Duration>,
    pub(crate) execution: Option<Duration>,
}

impl Told<'_> {
    fn measurement(&self, node: &Node) -> Option<&Measurement> {
        self.measurements?.get(node.number?)
    }
}

/// As people read it.
fn milliseconds(time: Duration) -> f64 {
    // A microsecond is as exact as it gets.
    (time.as_secs_f64() * 1e6).round() / 1e3
}
