//! Kinds of values that storage parameters have, with PostgreSQL's bounds.

use std::fmt::Display;

use types::{Result, SqlError, SqlState};

/// Kind of a parameter's value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Boolean,
    /// A whole number from the first to the second.
    Integer(i32, i32),
    /// A number from the first to the second.
    Real(f64, f64),
    /// A Boolean or `auto`.
    Switch,
}

/// Parameters of tables.
pub(super) const OF_TABLES: &[(&str, Kind)] = &[
    ("autovacuum_analyze_scale_factor", Kind::Real(0.0, 100.0)),
    ("autovacuum_analyze_threshold", Kind::Integer(0, i32::MAX)),
    ("autovacuum_enabled", Kind::Boolean),
    (
        "autovacuum_freeze_max_age",
        Kind::Integer(100_000, 2_000_000_000),
    ),
    ("autovacuum_freeze_min_age", Kind::Integer(0, 1_000_000_000)),
    (
        "autovacuum_freeze_table_age",
        Kind::Integer(0, 2_000_000_000),
    ),
    (
        "autovacuum_multixact_freeze_max_age",
        Kind::Integer(10_000, 2_000_000_000),
    ),
    (
        "autovacuum_multixact_freeze_min_age",
        Kind::Integer(0, 1_000_000_000),
    ),
    (
        "autovacuum_multixact_freeze_table_age",
        Kind::Integer(0, 2_000_000_000),
    ),
    ("autovacuum_vacuum_cost_delay", Kind::Real(0.0, 100.0)),
    ("autovacuum_vacuum_cost_limit", Kind::Integer(1, 10_000)),
    (
        "autovacuum_vacuum_insert_scale_factor",
        Kind::Real(0.0, 100.0),
    ),
    (
        "autovacuum_vacuum_insert_threshold",
        Kind::Integer(-1, i32::MAX),
    ),
    ("autovacuum_vacuum_scale_factor", Kind::Real(0.0, 100.0)),
    ("autovacuum_vacuum_threshold", Kind::Integer(0, i32::MAX)),
    ("fillfactor", Kind::Integer(10, 100)),
    ("log_autovacuum_min_duration", Kind::Integer(-1, i32::MAX)),
    ("parallel_workers", Kind::Integer(0, 1024)),
    ("toast_tuple_target", Kind::Integer(128, 8160)),
    ("user_catalog_table", Kind::Boolean),
    ("vacuum_index_cleanup", Kind::Switch),
    ("vacuum_truncate", Kind::Boolean),
];

/// Parameters of columns.
pub(super) const OF_COLUMNS: &[(&str, Kind)] = &[
    ("n_distinct", Kind::Real(-1.0, f64::MAX)),
    ("n_distinct_inherited", Kind::Real(-1.0, f64::MAX)),
];

/// Parameters of indexes.
pub(super) const OF_INDEXES: &[(&str, Kind)] = &[
    ("deduplicate_items", Kind::Boolean),
    ("fillfactor", Kind::Integer(10, 100)),
];

impl Kind {
    /// Accepts `value` for the parameter `name`.
    ///
    /// # Errors
    /// 22023 if the value is not of the kind, or out of its bounds.
    pub(super) fn accept(self, name: &str, value: &str) -> Result<()> {
        let refused = |kind: &str| {
            let message = format!("invalid value for {kind} option \"{name}\": {value}");
            SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
        };
        match self {
            Self::Boolean if is_boolean(value) => Ok(()),
            Self::Boolean => Err(refused("boolean")),
            Self::Integer(min, max) => {
                let number = number(value).map(f64::round_ties_even);
                let whole =
                    number.filter(|n| (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(n));
                let number = whole.ok_or_else(|| refused("integer"))?;
                let is_within = (f64::from(min)..=f64::from(max)).contains(&number);
                within(is_within, name, value, min, max)
            }
            Self::Real(min, max) => {
                let number = number(value).ok_or_else(|| refused("floating point"))?;
                let is_within = (min..=max).contains(&number);
                within(
                    is_within,
                    name,
                    value,
                    format_args!("{min:.6}"),
                    format_args!("{max:.6}"),
                )
            }
            Self::Switch => match value.to_ascii_lowercase().as_str() {
                "auto" | "on" | "off" | "true" | "false" | "yes" | "no" | "1" | "0" => Ok(()),
                _ => Err(refused("enum").detail("Valid values are \"on\", \"off\", and \"auto\".")),
            },
        }
    }
}

/// Checks that a value is within its bounds, which the error names.
///
/// # Errors
/// 22023 if it is not.
fn within(
    is_within: bool,
    name: &str,
    value: &str,
    min: impl Display,
    max: impl Display,
) -> Result<()> {
    if is_within {
        return Ok(());
    }
    let message = format!("value {value} out of bounds for option \"{name}\"");
    let error = SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message);
    Err(error.detail(format!("Valid values are between \"{min}\" and \"{max}\".")))
}

/// Reads a number in decimal or hexadecimal digits, with spaces around it.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    if let Some(digits) = digits {
        return u32::from_str_radix(digits, 16).ok().map(f64::from);
    }
    let number: f64 = text.parse().ok()?;
    // A number with digits is infinite if it is too large.
    let is_too_large = number.is_infinite() && text.bytes().any(|byte| byte.is_ascii_digit());
    (!number.is_nan() && !is_too_large).then_some(number)
}

/// Returns whether a text is one of the words of Booleans, or begins one of them as no other word.
fn is_boolean(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let is_begun = |word: &&str| word.starts_with(&text);
    let words = ["true", "false", "yes", "no", "on", "off", "1", "0"];
    !text.is_empty() && text != "o" && words.iter().any(is_begun)
}
