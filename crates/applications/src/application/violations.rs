//! Violations that a check of an application's conditions has found.

use std::collections::BTreeMap;
use std::fmt::{Arguments, Display};

/// Number of sentences kept of each condition.
const KEPT: usize = 5;

/// Violations of conditions. The first few violations of each condition are kept, and their number.
#[derive(Debug, Default)]
pub(crate) struct Violations {
    by_condition: BTreeMap<&'static str, (u64, Vec<String>)>,
}

impl Violations {
    /// Notes `what` as a violation of `condition`.
    pub(crate) fn add(&mut self, condition: &'static str, what: Arguments) {
        let (count, kept) = self.by_condition.entry(condition).or_default();
        *count += 1;
        if kept.len() < KEPT {
            kept.push(format!("condition {condition}: {what}"));
        }
    }

    /// Notes `what` as a violation of `condition`, unless it `holds`.
    pub(crate) fn unless(&mut self, holds: bool, condition: &'static str, what: Arguments) {
        if !holds {
            self.add(condition, what);
        }
    }

    /// Notes a violation of `condition` if two numbers, each with its name, differ at `place`.
    pub(crate) fn compare(
        &mut self,
        condition: &'static str,
        place: impl Display,
        (one, one_number): (&str, i64),
        (other, other_number): (&str, i64),
    ) {
        self.unless(
            one_number == other_number,
            condition,
            format_args!("of {place}, {one} is {one_number}, but {other} is {other_number}"),
        );
    }

    /// Returns a sentence for each violation, with the condition's name first.
    pub(crate) fn sentences(self) -> Vec<String> {
        let conditions = self.by_condition.into_iter();
        let sentences = conditions.flat_map(|(condition, (count, mut kept))| {
            let more = count - kept.len() as u64;
            if more > 0 {
                kept.push(format!("condition {condition}: and {more} more"));
            }
            kept
        });
        sentences.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_counted_and_the_first_are_told() {
        let mut violations = Violations::default();
        for row in 0..12 {
            violations.unless(row < 3, "order", format_args!("row {row} is out of place"));
        }
        for number in 0..4 {
            violations.compare("sum", "warehouse 1", ("this", number), ("that", 2));
        }
        let sentences = violations.sentences();
        assert_eq!(sentences.len(), KEPT + 1 + 3);
        assert_eq!(sentences[0], "condition order: row 3 is out of place");
        assert_eq!(sentences[KEPT], "condition order: and 4 more");
        let last = "condition sum: of warehouse 1, this is 3, but that is 2";
        assert_eq!(sentences[KEPT + 3], last);
    }
}
