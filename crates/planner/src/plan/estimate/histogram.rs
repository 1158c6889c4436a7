//! Places of values in a histogram.

use types::{Value, compare::compare_as, row::RowLayout};

use catalog::ColumnStatistics;

/// Returns the part of the histogram's values that are below a value; `None` if there is no
/// histogram.
pub(super) fn below(statistics: &ColumnStatistics, value: Value<'_>) -> Option<f64> {
    let layout = RowLayout::new(&[statistics.ty]).ok()?;
    let bounds = &statistics.histogram;
    let parts = bounds.len().checked_sub(1).filter(|parts| *parts > 0)?;
    let bound = |at: usize| bounds[at].value(&layout).unwrap_or(Value::Null);
    let is_below = |at: usize| compare_as(statistics.ty, bound(at), value).is_lt();
    // The search is for the first bound that is not below the value.
    let (mut from, mut to) = (0, bounds.len());
    while from < to {
        let middle = usize::midpoint(from, to);
        if is_below(middle) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    if from == 0 {
        return Some(0.0);
    }
    if from > parts {
        return Some(1.0);
    }
    let within = between(bound(from - 1), bound(from), value);
    Some((((from - 1) as f64) + within) / parts as f64)
}

/// Returns how far a value is from `from` towards `to`, from 0 to 1.
fn between(from: Value<'_>, to: Value<'_>, value: Value<'_>) -> f64 {
    let ends = match (from, to, value) {
        (Value::Text(from), Value::Text(to), Value::Text(value)) => {
            let same = from
                .bytes()
                .zip(to.bytes())
                .take_while(|(one, two)| one == two)
                .count();
            let tail = |text: &str| fraction(text.as_bytes().get(same..).unwrap_or_default());
            Some((tail(from), tail(to), tail(value)))
        }
        (from, to, value) => number(from)
            .zip(number(to))
            .zip(number(value))
            .map(|((from, to), value)| (from, to, value)),
    };
    match ends {
        Some((from, to, value)) if to > from => ((value - from) / (to - from)).clamp(0.0, 1.0),
        _ => 0.5,
    }
}

/// Returns bytes as the digits of a fraction.
fn fraction(bytes: &[u8]) -> f64 {
    bytes
        .iter()
        .take(8)
        .rev()
        .fold(0.0, |rest, byte| (f64::from(*byte) + rest) / 256.0)
}

/// Returns a value as a number, if differences of the type's values mean something.
fn number(value: Value<'_>) -> Option<f64> {
    Some(match value {
        Value::Int2(value) => f64::from(value),
        Value::Int4(value) => f64::from(value),
        Value::Int8(value) => value as f64,
        Value::Float4(value) => f64::from(value),
        Value::Float8(value) => value,
        Value::Numeric(value) => value.to_f64(),
        Value::Date(value) => f64::from(value),
        Value::Time(value) | Value::Timestamp(value) | Value::TimestampTz(value) => value as f64,
        Value::Oid(value) => f64::from(value),
        _ => return None,
    })
    .filter(|number| number.is_finite())
}

/// Returns the least text that begins with `beginning`, and the least that is greater than all of
/// these.
pub(super) fn prefix_range(beginning: &str) -> (String, Option<String>) {
    let mut end: Vec<char> = beginning.chars().collect();
    while let Some(last) = end.pop() {
        let next = char::from_u32(u32::from(last) + 1);
        if let Some(next) = next {
            end.push(next);
            return (beginning.to_owned(), Some(end.into_iter().collect()));
        }
    }
    (beginning.to_owned(), None)
}
