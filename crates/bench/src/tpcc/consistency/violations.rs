//! Conditions that do not hold, as sentences.

use std::fmt::Display;

/// Sentences at most; beyond, there is only their number.
const LISTED_MAX: usize = 20;

/// What was found. Each sentence begins with its condition.
#[derive(Default)]
pub(super) struct Violations {
    listed: Vec<String>,
    more: u64,
}

impl Violations {
    /// `condition` does not hold: `how`.
    pub(super) fn add(&mut self, condition: &str, how: impl Display) {
        if self.listed.len() < LISTED_MAX {
            self.listed.push(format!("condition {condition}: {how}"));
        } else {
            self.more += 1;
        }
    }

    /// Two numbers, each with what it is, that must be the same at `place`.
    pub(super) fn compare(
        &mut self,
        condition: &str,
        place: impl Display,
        (one, one_number): (&str, i64),
        (other, other_number): (&str, i64),
    ) {
        if one_number != other_number {
            let how =
                format_args!("of {place}, {one} is {one_number}, but {other} is {other_number}");
            self.add(condition, how);
        }
    }

    /// All sentences.
    pub(super) fn sentences(&mut self) -> Vec<String> {
        let mut sentences = std::mem::take(&mut self.listed);
        if self.more > 0 {
            sentences.push(format!("... and {} more", self.more));
        }
        sentences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_twenty_only_the_number_is_said() {
        let mut found = Violations::default();
        for number in 0..25 {
            found.compare("1", "warehouse 1", ("this", number), ("that", 3));
        }
        let sentences = found.sentences();
        assert_eq!(sentences.len(), 21);
        assert_eq!(
            sentences[3],
            "condition 1: of warehouse 1, this is 4, but that is 3"
        );
        assert_eq!(sentences[20], "... and 4 more");
    }
}
