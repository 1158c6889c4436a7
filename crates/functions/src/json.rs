//! Functions and operators of `json` and `jsonb`.
//!
//! `jsonb` is navigated in its stored form. `json` is text that is known to be well formed, and
//! values taken out of it are parts of that text (`scan.rs`).

mod aggregates;
mod build;
mod change;
mod contain;
mod extract;
mod pretty;
mod scan;
mod sets;
mod write;

use crate::Function;

pub(crate) static FUNCTIONS: &[&[Function]] = &[
    aggregates::FUNCTIONS,
    build::FUNCTIONS,
    change::FUNCTIONS,
    extract::FUNCTIONS,
    pretty::FUNCTIONS,
    sets::FUNCTIONS,
];
pub(crate) static OPERATORS: &[&[Function]] =
    &[change::OPERATORS, contain::OPERATORS, extract::OPERATORS];
