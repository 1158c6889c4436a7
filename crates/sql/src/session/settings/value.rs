//! Values of settings: from their written to their shown form.

use types::{Result, SqlError, SqlState};

use super::known::{Definition, Kind, Meaning, Unit};

/// A value that a setting can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Read {
    /// Value as it is shown.
    pub(crate) shown: String,
    /// Value as an integer in the setting's unit.
    pub(crate) number: Option<i64>,
}

/// The units of a kind, largest first: names, and how many of the smallest each is.
type Units = &'static [(&'static str, i64)];

/// Units of time, in microseconds.
const TIMES: Units = &[
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("min", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1000),
    ("us", 1),
];

/// Units of memory, in bytes.
const SIZES: Units = &[
    ("TB", 1 << 40),
    ("GB", 1 << 30),
    ("MB", 1 << 20),
    ("kB", 1 << 10),
    ("B", 1),
];

impl Unit {
    fn units(self) -> Units {
        match self {
            Unit::None => &[],
            Unit::Milliseconds => TIMES,
            Unit::Kilobytes | Unit::Blocks => SIZES,
        }
    }

    /// Returns how many of the smallest units one is.
    fn size(self) -> i64 {
        match self {
            Unit::None => 1,
            Unit::Milliseconds => 1000,
            Unit::Kilobytes => 1 << 10,
            Unit::Blocks => 8 << 10,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::Milliseconds => " ms",
            Unit::Kilobytes => " kB",
            Unit::Blocks => " 8kB",
        }
    }

    fn hint(self) -> Option<&'static str> {
        match self {
            Unit::None => None,
            Unit::Milliseconds => Some(
                "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \
                 \"d\".",
            ),
            Unit::Kilobytes | Unit::Blocks => Some(
                "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".",
            ),
        }
    }

    /// Returns a number in the largest unit of which it is a whole number.
    pub(super) fn show(self, number: i64) -> String {
        if number <= 0 {
            return number.to_string();
        }
        let smallest = number.saturating_mul(self.size());
        let fitting = self.units().iter().find(|(_, size)| smallest % size == 0);
        match fitting {
            Some((name, size)) => format!("{}{name}", smallest / size),
            None => number.to_string(),
        }
    }

    /// Returns a number that need not be whole in the largest unit of which it is a whole number.
    fn show_real(self, number: f64) -> String {
        if number <= 0.0 || self.units().is_empty() {
            return number.to_string();
        }
        let smallest = number * self.size() as f64;
        let mut units = self.units().iter();
        let fitting = units.find(|(_, size)| (smallest / *size as f64).fract() == 0.0);
        let (name, size) = fitting.or(self.units().last()).copied().unwrap_or(("", 1));
        format!("{}{name}", smallest / size as f64)
    }
}

pub(crate) fn invalid(name: &str, text: &str) -> SqlError {
    let message = format!("invalid value for parameter \"{name}\": \"{text}\"");
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// Reads a boolean as settings are read: abbreviated words are accepted if they are unambiguous.
pub(crate) fn read_bool(text: &str) -> Option<bool> {
    let lower = text.to_ascii_lowercase();
    let begins = |word: &str, least: usize| lower.len() >= least && word.starts_with(&lower);
    if begins("true", 1) || begins("yes", 1) || begins("on", 2) || lower == "1" {
        Some(true)
    } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || lower == "0" {
        Some(false)
    } else {
        None
    }
}

impl Definition {
    /// Reads a value as it was written.
    ///
    /// # Errors
    /// 22023 if the setting cannot have it, 0A000 if it can have it in PostgreSQL alone.
    pub(crate) fn read(&self, text: &str) -> Result<Read> {
        let read = self.read_any(text)?;
        match self.meaning {
            Meaning::Only(values) if !values.contains(&read.shown.as_str()) => Err(
                SqlError::unsupported(format_args!("{} = {}", self.name, read.shown)),
            ),
            _ => Ok(read),
        }
    }

    fn read_any(&self, text: &str) -> Result<Read> {
        let plain = |shown: String| Read {
            shown,
            number: None,
        };
        match self.kind {
            Kind::Text => Ok(plain(text.to_owned())),
            Kind::Bool => match read_bool(text) {
                Some(is_on) => Ok(plain(if is_on { "on" } else { "off" }.to_owned())),
                None => Err(SqlError::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!("parameter \"{}\" requires a Boolean value", self.name),
                )),
            },
            Kind::Enum(values) => {
                let found = values
                    .iter()
                    .find(|value| value.eq_ignore_ascii_case(text))
                    .copied();
                // A setting that has `on` and `off` accepts other words for them.
                let switched = || match (values.contains(&"on"), read_bool(text)) {
                    (true, Some(true)) => Some("on"),
                    (true, Some(false)) => Some("off"),
                    _ => None,
                };
                let found = found.or_else(switched).ok_or_else(|| {
                    let available = format!("Available values: {}.", values.join(", "));
                    invalid(self.name, text).hint(available)
                })?;
                Ok(plain(found.to_owned()))
            }
            Kind::Real(least, most, unit) => {
                let number = self.number(text, unit)?;
                if !(least..=most).contains(&number) {
                    return Err(self.out_of_range(&number, unit.name(), &least, &most));
                }
                Ok(plain(unit.show_real(number)))
            }
            Kind::Integer(least, most, unit) => {
                let number = self.integer(text, unit)?;
                if !(least..=most).contains(&number) {
                    return Err(self.out_of_range(&number, unit.name(), &least, &most));
                }
                Ok(Read {
                    shown: unit.show(number),
                    number: Some(number),
                })
            }
        }
    }

    pub(super) fn out_of_range(
        &self,
        number: &dyn std::fmt::Display,
        unit: &str,
        least: &dyn std::fmt::Display,
        most: &dyn std::fmt::Display,
    ) -> SqlError {
        let message = format!(
            "{number}{unit} is outside the valid range for parameter \"{}\" ({least} .. {most})",
            self.name
        );
        SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
    }

    /// Reads a number with or without a unit; returns it in the setting's.
    fn number(&self, text: &str, unit: Unit) -> Result<f64> {
        let trimmed = text.trim();
        let end = trimmed
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+')))
            .unwrap_or(trimmed.len());
        let (digits, name) = trimmed.split_at(end);
        let number: f64 = digits.parse().map_err(|_| invalid(self.name, text))?;
        let name = name.trim();
        if name.is_empty() {
            return Ok(number);
        }
        let found = unit.units().iter().find(|(known, _)| *known == name);
        let Some((_, size)) = found else {
            let error = invalid(self.name, text);
            return Err(match unit.hint() {
                Some(hint) => error.hint(hint),
                None => error,
            });
        };
        Ok(number * (*size as f64 / unit.size() as f64))
    }

    /// Reads a number with or without a unit; returns it rounded, in the setting's.
    fn integer(&self, text: &str, unit: Unit) -> Result<i64> {
        let number = self.number(text, unit)?;
        // A cast of a double saturates.
        let rounded = number.round_ties_even() as i64;
        if i32::try_from(rounded).is_err() {
            return Err(invalid(self.name, text).hint("Value exceeds integer range."));
        }
        Ok(rounded)
    }
}
