//! Of the rows of a FROM clause, those for which a condition is true, those for which it is false
//! and those for which it is unknown are together all: a test that needs no other database.

use super::choices::Choices;
use super::expression::{Scope, condition};
use super::outcome::{Outcome, Weft};
use super::query::source;

/// All rows, and the same in three parts.
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

/// Whether both have the same rows. Errors are the other test's business.
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
