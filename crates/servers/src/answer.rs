//! Answers, as texts of values, and what makes two of them equal.

use postgres::SimpleQueryMessage;

/// Difference up to which numbers are equal: servers give quotients with more decimal places or fewer.
const TOLERANCE: f64 = 0.01;

/// The rows of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    rows: Vec<Row>,
}

type Row = Vec<Option<String>>;

impl Answer {
    /// Returns the answer whose rows have these texts; NULL is `None`.
    pub fn of_texts<'t, Values>(rows: impl IntoIterator<Item = Values>) -> Answer
    where
        Values: IntoIterator<Item = Option<&'t str>>,
    {
        let values = |row: Values| row.into_iter().map(|value| value.map(compared));
        let rows = rows.into_iter().map(|row| values(row).collect());
        Answer {
            rows: rows.collect(),
        }
    }

    /// Returns the answer of a server to a statement of the simple protocol.
    pub fn of(messages: &[SimpleQueryMessage]) -> Answer {
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some((0..row.len()).map(|at| row.get(at))),
            _ => None,
        });
        Answer::of_texts(rows)
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns what another answer has different; `None` if it is equal. Rows that are equal in the columns by which
    /// the query sorts may come in any order, so rows are compared in an order of their own.
    pub fn difference(&self, other: &Answer) -> Option<String> {
        if self.rows.len() != other.rows.len() {
            return Some(format!(
                "{} rows, not {}",
                other.rows.len(),
                self.rows.len()
            ));
        }
        let (own, others) = (self.sorted(), other.sorted());
        let mut pairs = own.iter().zip(&others);
        let (own, other) = pairs.find(|(own, other)| !are_equal(own, other))?;
        Some(format!("{other:?}, not {own:?}"))
    }

    fn sorted(&self) -> Vec<Row> {
        let rounded = |value: &str| match number(value) {
            Some(number) => format!("{number:.1}"),
            None => value.to_owned(),
        };
        let mut rows = self.rows.clone();
        rows.sort_by_cached_key(|row| {
            let values = row.iter().map(|value| value.as_deref().map(rounded));
            values.collect::<Vec<_>>()
        });
        rows
    }
}

fn are_equal(one: &Row, two: &Row) -> bool {
    let is_near = |one: &str, two: &str| {
        let numbers = number(one).zip(number(two));
        numbers.is_some_and(|(one, two)| (one - two).abs() <= TOLERANCE)
    };
    let are_equal = |values: (&Option<String>, &Option<String>)| match values {
        (Some(one), Some(two)) => one == two || is_near(one, two),
        (one, two) => one == two,
    };
    one.len() == two.len() && one.iter().zip(two).all(are_equal)
}

/// Returns the number that a value is, if it is one.
fn number(value: &str) -> Option<f64> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let is_number = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    value.parse().ok().filter(|_| is_number)
}

/// Returns a value as it is compared: without the blanks that fill up a text.
fn compared(value: &str) -> String {
    value.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rows: &[&[&str]]) -> Answer {
        Answer::of_texts(rows.iter().map(|row| row.iter().map(|value| Some(*value))))
    }

    #[test]
    fn numbers_may_be_a_little_different_and_texts_may_not() {
        let one = answer(&[&["1.005000001", "a.5"], &["2", "x   "]]);
        assert_eq!(
            one.difference(&answer(&[&["2", "x"], &["1.00500", "a.5"]])),
            None
        );
        for other in [
            answer(&[&["1.02", "a.5"], &["2", "x"]]),
            answer(&[&["1.00500", "a.50"], &["2", "x"]]),
            answer(&[&["2", "x"]]),
        ] {
            assert!(one.difference(&other).is_some());
        }
    }
}
