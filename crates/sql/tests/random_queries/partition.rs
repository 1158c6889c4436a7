//! A test that needs no other database: the rows of a FROM clause for which a condition is true,
//! those for which it is false and those for which it is unknown are together all rows.

use super::choices::Choices;
use super::expression::{Scope, condition};
use super::outcome::{Outcome, Weft};
use super::query::source;

/// Returns a statement for all rows, and one for the same rows in three parts.
pub(crate) fn statements(choices: &mut Choices) -> (String, String) {
    let (from, scope) = source(choices, &Scope::default(), 1, 'p');
    let condition = condition(choices, &scope, 3);
    let all = format!("select * from {from}");
    let parts = ["", "not ", "null is not distinct from "];
    let parts = parts.map(|is| match is {
        "" => format!("{all} where {condition}"),
        "not " => format!("{all} where not {condition}"),
        _ => format!("{all} where {condition} is null"),
    });
    (all, parts.join(" union all "))
}

/// Returns whether both have the same rows. Errors are left to the other test.
pub(crate) fn holds(choices: &mut Choices, weft: &mut Weft) -> bool {
    let (all, parts) = statements(choices);
    match (weft.run(&all), weft.run(&parts)) {
        (Outcome::Rows(mut all), Outcome::Rows(mut parts)) => {
            all.sort();
            parts.sort();
            all == parts
        }
        _ => true,
    }
}
