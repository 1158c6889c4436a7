//! Selectivities of patterns.
//!
//! Texts with one beginning lie close to each other, often between two neighbours of a histogram, where the distance of
//! two texts as numbers says little about the rows between them. A pattern that is known is therefore tried on the
//! values that statistics keep, as PostgreSQL does: on the common ones, whose parts of the rows are known, and on those
//! of the histogram, which are a sample of the others.

use functions::Comparison;
use types::{Value, row::RowLayout};

use super::{
    histogram::prefix_range,
    knowledge::Estimator,
    known::value_of,
    selectivity::{LEAST, OTHER, for_each_common, nulls_of},
};
use catalog::ColumnStatistics;
use logical::expression::{ColumnId, Expression, Kind};

/// Selectivity of a pattern of which nothing is known.
const MATCH: f64 = 0.005;
/// Selectivity of a pattern's rest behind its literal beginning.
const REST_OF_PATTERN: f64 = 0.2;
/// Values of a histogram that are trusted without any other thought.
const SAMPLE_ENOUGH: f64 = 100.0;
/// Values of a histogram that say nothing yet.
const SAMPLE_TOO_FEW: usize = 10;
/// Least and greatest part of the rows that a sample is believed to tell.
const SAMPLE_TELLS: (f64, f64) = (0.0001, 0.9999);
/// Bytes of the longest pattern that is tried on values: matching takes their product with a value's bytes at worst.
const PATTERN_MAX: usize = 256;

/// Findings of a pattern tried on the values of a column's statistics.
struct Tried {
    /// Part of all rows that common values have, and part of all rows whose common value matches.
    common: f64,
    common_matching: f64,
    /// Values of the histogram that were tried, and the part of them that matches.
    sample: usize,
    sample_matching: f64,
}

impl Estimator {
    /// Returns the selectivity of a function, which may be LIKE or similar.
    pub(super) fn pattern(&self, name: &str, arguments: &[Expression]) -> f64 {
        let [text, pattern] = arguments else {
            return OTHER;
        };
        match name {
            "~~" | "like" => self.like(text, pattern),
            "!~~" | "notlike" => (1.0 - self.nulls_in(text) - self.like(text, pattern)).max(0.0),
            "~~*" | "~" | "~*" => MATCH,
            "!~~*" | "!~" | "!~*" => 1.0 - MATCH,
            _ => OTHER,
        }
    }

    /// Returns the selectivity of LIKE.
    fn like(&self, text: &Expression, pattern: &Expression) -> f64 {
        let pattern = self.known_or_guessed(pattern);
        let (Kind::Column(id), Some(Value::Text(pattern))) = (&text.kind, value_of(&pattern))
        else {
            return MATCH;
        };
        let beginning = pattern.find(['%', '_', '\\']).unwrap_or(pattern.len());
        let (beginning, rest) = pattern.split_at(beginning);
        let column = self.column(*id);
        if rest.is_empty() {
            return column.map_or(MATCH, |column| {
                self.equal_to(column, Some(Value::Text(pattern)))
            });
        }
        let by_range = self.by_beginning(*id, beginning, rest);
        let tried = column.and_then(|column| Some((column, tried(column.statistics?, pattern)?)));
        let Some((column, tried)) = tried else {
            return by_range.unwrap_or(MATCH);
        };
        let others = (1.0 - nulls_of(column) - tried.common).max(0.0);
        let of_sample = if tried.sample <= SAMPLE_TOO_FEW {
            by_range.unwrap_or(MATCH)
        } else {
            let weight = (tried.sample as f64 / SAMPLE_ENOUGH).min(1.0);
            tried.sample_matching * weight + by_range.unwrap_or(MATCH) * (1.0 - weight)
        };
        let (least, greatest) = SAMPLE_TELLS;
        tried.common_matching + others * of_sample.clamp(least, greatest)
    }

    /// Returns the part of the rows whose text has the literal beginning of a pattern, times a guess for the rest of
    /// it; `None` if nothing is known of the column's order.
    fn by_beginning(&self, id: ColumnId, beginning: &str, rest: &str) -> Option<f64> {
        let of_rest = if rest == "%" { 1.0 } else { REST_OF_PATTERN };
        if beginning.is_empty() {
            return Some(of_rest * REST_OF_PATTERN);
        }
        let (from, to) = prefix_range(beginning);
        let (lower, is_known) =
            self.bounded(id, Comparison::GreaterOrEqual, Some(Value::Text(&from)));
        let upper = match &to {
            Some(to) => self.bounded(id, Comparison::Less, Some(Value::Text(to))).0,
            None => 1.0,
        };
        let nulls = self.nulls(id).unwrap_or(0.0);
        is_known.then(|| (lower + upper + nulls - 1.0).max(LEAST) * of_rest)
    }
}

/// Tries a pattern on the values of statistics; `None` if it is too long for that, or there are no texts.
fn tried(statistics: &ColumnStatistics, pattern: &str) -> Option<Tried> {
    let layout = RowLayout::new(&[statistics.ty]).ok()?;
    if pattern.len() > PATTERN_MAX {
        return None;
    }
    let matches = |value: Value<'_>| match value {
        Value::Text(text) => patterns::like(text, pattern).ok(),
        _ => None,
    };
    let (mut common, mut common_matching) = (0.0, 0.0);
    let mut is_text = true;
    for_each_common(statistics, |value, fraction| {
        let is_match = matches(value);
        is_text &= is_match.is_some();
        common += fraction;
        common_matching += if is_match == Some(true) {
            fraction
        } else {
            0.0
        };
        false
    });
    // The least and the greatest value say nothing about the others.
    let bounds = &statistics.histogram;
    let inner = bounds.get(1..bounds.len().saturating_sub(1)).unwrap_or(&[]);
    let mut sample_matching = 0;
    for bound in inner {
        let is_match = matches(bound.value(&layout).ok()?);
        is_text &= is_match.is_some();
        sample_matching += usize::from(is_match == Some(true));
    }
    let sample = inner.len();
    is_text.then(|| Tried {
        common,
        common_matching,
        sample,
        sample_matching: sample_matching as f64 / sample.max(1) as f64,
    })
}
