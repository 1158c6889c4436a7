//! Answers, as texts of values, and what makes two of them equal.

use postgres::SimpleQueryMessage;

/// PostgreSQL's answers at a scale that tests use; `answers/regenerate.sh` writes the file.
const KNOWN: &str = include_str!("../answers/scale-0.01.txt");
/// Scale of these answers.
const KNOWN_SCALE: f64 = 0.01;
/// Begin of the line before an answer in the file, which ends with the number of the query.
const HEADING: &str = "query ";
/// NULL in the file.
const NULL: &str = "\\N";

/// Difference up to which numbers are equal: servers give quotients with more decimal places or fewer.
const TOLERANCE: f64 = 0.01;

/// Returns PostgreSQL's answer to a query at a scale; `None` if the scale has no file.
pub(crate) fn known(scale: f64, query: u8) -> Option<Answer> {
    let heading = format!("{HEADING}{query}");
    let mut lines = KNOWN.lines().skip_while(|line| *line != heading);
    lines.next().filter(|_| scale == KNOWN_SCALE)?;
    let lines = lines.take_while(|line| !line.starts_with(HEADING));
    let value = |value: &str| (value != NULL).then(|| compared(value));
    let rows = lines.map(|line| line.split('|').map(value).collect());
    Some(Answer {
        rows: rows.collect(),
    })
}

/// The rows of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    rows: Vec<Row>,
}

type Row = Vec<Option<String>>;

impl Answer {
    pub(crate) fn of(messages: &[SimpleQueryMessage]) -> Answer {
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                let values = (0..row.len()).map(|at| row.get(at).map(compared));
                Some(values.collect())
            }
            _ => None,
        });
        Answer {
            rows: rows.collect(),
        }
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns what another answer has different; `None` if it is equal. Rows that are equal in the columns by which
    /// the query sorts may come in any order, so rows are compared in an order of their own.
    pub(crate) fn difference(&self, other: &Answer) -> Option<String> {
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
        let rows = rows
            .iter()
            .map(|row| row.iter().map(|value| Some(compared(value))));
        Answer {
            rows: rows.map(Iterator::collect).collect(),
        }
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
