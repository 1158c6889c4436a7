//! Type modifiers: the brackets of `varchar(10)`, and their effect on values.

mod interval;

use crate::{
    Array, Result, Scalar, Scratch, SqlError, SqlState, Type, Value, datetime::round_microseconds,
};

pub use interval::IntervalFields;

/// A modifier of a column's type: `varchar(10)`, `numeric(8, 2)`, `timestamp(3)`.
///
/// PostgreSQL's `atttypmod`: -1 for none; length + 4 of `varchar` and `char`; `(precision << 16
/// | scale) + 4` of `numeric`, the scale in eleven bits with its sign; the digits of times, for
/// `interval` in the lower half of the bits, its fields in the upper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeModifier(pub i32);

/// Bytes of PostgreSQL's header, which the modifier includes.
const HEADER: i32 = 4;
/// Bits of an `interval` with all fields.
const ALL_FIELDS: i32 = 0x7fff << 16;
const LENGTH_MAX: i32 = 10_485_760;
const PRECISION_MAX: i32 = 1000;
const SECOND_DIGITS_MAX: i32 = 6;

/// The kind of a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coercion {
    /// A value is put into a column: a value that does not fit is an error.
    Assignment,
    /// `CAST` or `::`: text that does not fit is cut off.
    Explicit,
}

impl TypeModifier {
    /// No modifier.
    pub const NONE: Self = Self(-1);

    /// Returns the modifier for the numbers in brackets behind a type's name.
    ///
    /// # Errors
    /// `22023` if they are out of range, `42601` if the type takes no modifier.
    pub fn new(scalar: Scalar, arguments: &[i32]) -> Result<Self> {
        let invalid =
            |message: String| Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
        match (scalar, arguments) {
            (_, []) => Ok(Self::NONE),
            (Scalar::Varchar | Scalar::Bpchar, [length]) => {
                let name = if scalar == Scalar::Varchar {
                    "varchar"
                } else {
                    "char"
                };
                match *length {
                    ..1 => invalid(format!("length for type {name} must be at least 1")),
                    1..=LENGTH_MAX => Ok(Self(length + HEADER)),
                    _ => invalid(format!("length for type {name} cannot exceed {LENGTH_MAX}")),
                }
            }
            (Scalar::Numeric, [precision, rest @ ..]) if rest.len() <= 1 => {
                let scale = rest.first().copied().unwrap_or(0);
                if !(1..=PRECISION_MAX).contains(precision) {
                    return invalid(format!(
                        "NUMERIC precision {precision} must be between 1 and {PRECISION_MAX}"
                    ));
                }
                if !(-PRECISION_MAX..=PRECISION_MAX).contains(&scale) {
                    return invalid(format!(
                        "NUMERIC scale {scale} must be between -{PRECISION_MAX} and {PRECISION_MAX}"
                    ));
                }
                Ok(Self((precision << 16 | scale & 0x7ff) + HEADER))
            }
            (
                Scalar::Time
                | Scalar::TimeTz
                | Scalar::Timestamp
                | Scalar::TimestampTz
                | Scalar::Interval,
                [digits],
            ) => {
                if *digits < 0 {
                    let name = scalar.internal_name().trim_end_matches("tz").to_uppercase();
                    let zone = match scalar {
                        Scalar::TimeTz | Scalar::TimestampTz => " WITH TIME ZONE",
                        _ => "",
                    };
                    return invalid(format!(
                        "{name}({digits}){zone} precision must not be negative"
                    ));
                }
                let digits = (*digits).min(SECOND_DIGITS_MAX);
                Ok(Self(match scalar {
                    Scalar::Interval => ALL_FIELDS | digits,
                    _ => digits,
                }))
            }
            (Scalar::Numeric, _) => invalid("invalid NUMERIC type modifier".to_owned()),
            (Scalar::Varchar | Scalar::Bpchar, _) => invalid("invalid type modifier".to_owned()),
            _ => Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                format!(
                    "type modifier is not allowed for type \"{}\"",
                    scalar.internal_name()
                ),
            )),
        }
    }

    /// Returns the number of characters of `varchar(n)` and `char(n)`.
    pub fn characters(self) -> Option<usize> {
        usize::try_from(self.0 - HEADER).ok()
    }

    /// Returns precision and scale of `numeric(p, s)`.
    pub fn precision_and_scale(self) -> Option<(i32, i32)> {
        let bits = self.0.checked_sub(HEADER).filter(|bits| *bits >= 0)?;
        // The scale has eleven bits with a sign.
        Some((bits >> 16 & 0xffff, ((bits & 0x7ff) ^ 1024) - 1024))
    }

    /// Returns the digits of the second of a time.
    fn second_digits(self, scalar: Scalar) -> Option<i32> {
        let digits = match scalar {
            Scalar::Interval => self.0 & 0xffff,
            _ => self.0,
        };
        (self.0 >= 0 && digits <= SECOND_DIGITS_MAX).then_some(digits)
    }

    /// Returns the brackets of the type's name.
    pub(crate) fn suffix(self, scalar: Scalar) -> Option<String> {
        match scalar {
            Scalar::Varchar | Scalar::Bpchar => {
                self.characters().map(|length| format!("({length})"))
            }
            Scalar::Numeric => self
                .precision_and_scale()
                .map(|(precision, scale)| format!("({precision},{scale})")),
            Scalar::Time | Scalar::TimeTz | Scalar::Timestamp | Scalar::TimestampTz => self
                .second_digits(scalar)
                .map(|digits| format!("({digits})")),
            Scalar::Interval => {
                let fields = self.interval_fields();
                let digits = self.second_digits(scalar);
                let shown = [
                    fields.map(|fields| format!(" {}", fields.name())),
                    digits.map(|digits| format!("({digits})")),
                ];
                let shown: String = shown.into_iter().flatten().collect();
                (!shown.is_empty()).then_some(shown)
            }
            _ => None,
        }
    }

    /// Adapts a value of the type to the modifier: rounded, padded, cut off.
    ///
    /// # Errors
    /// `22001` if text is too long and the conversion an assignment, `22003` if a number has too
    /// many digits.
    pub fn apply<'a>(
        self,
        value: Value<'a>,
        ty: Type,
        coercion: Coercion,
        scratch: &'a Scratch,
    ) -> Result<Value<'a>> {
        match (ty, value) {
            _ if self.0 < 0 => Ok(value),
            (Type::Scalar(scalar), value) => self.apply_scalar(value, scalar, coercion, scratch),
            (Type::Array(element), Value::Array(array)) => {
                let mut values = bumpalo::collections::Vec::new_in(scratch);
                for value in array.iter() {
                    values.push(self.apply_scalar(value?, element, coercion, scratch)?);
                }
                let mut dimensions = bumpalo::collections::Vec::new_in(scratch);
                dimensions.extend(array.dimensions());
                Array::build(element, &dimensions, &values, scratch).map(Value::Array)
            }
            _ => Ok(value),
        }
    }

    fn apply_scalar<'a>(
        self,
        value: Value<'a>,
        scalar: Scalar,
        coercion: Coercion,
        scratch: &'a Scratch,
    ) -> Result<Value<'a>> {
        Ok(match value {
            Value::Text(text) => match (scalar, self.characters()) {
                (Scalar::Varchar, Some(length)) => {
                    Value::Text(limit(text, length, "character varying", coercion)?)
                }
                (Scalar::Bpchar, Some(length)) => {
                    let text = limit(text, length, "character", coercion)?;
                    Value::Text(pad(text, length, scratch))
                }
                _ => value,
            },
            Value::Numeric(number) => match self.precision_and_scale() {
                Some((precision, scale)) => {
                    Value::Numeric(number.limit(precision, scale, scratch)?)
                }
                None => value,
            },
            Value::Time(time) => Value::Time(self.round(time, scalar)),
            Value::TimeTz(time, zone) => Value::TimeTz(self.round(time, scalar), zone),
            Value::Timestamp(time) => Value::Timestamp(self.round(time, scalar)),
            Value::TimestampTz(time) => Value::TimestampTz(self.round(time, scalar)),
            Value::Interval(mut interval) => {
                if let Some(fields) = self.interval_fields() {
                    interval = fields.cut(interval);
                }
                interval.microseconds = self.round(interval.microseconds, scalar);
                Value::Interval(interval)
            }
            _ => value,
        })
    }

    fn round(self, microseconds: i64, scalar: Scalar) -> i64 {
        match self.second_digits(scalar) {
            Some(digits) if crate::datetime::is_finite_timestamp(microseconds) => {
                round_microseconds(microseconds, digits)
            }
            _ => microseconds,
        }
    }
}

/// Limits text to `length` characters. Blanks beyond them are cut off in any case, as SQL
/// requires.
fn limit<'a>(text: &'a str, length: usize, name: &str, coercion: Coercion) -> Result<&'a str> {
    // There are no more characters than bytes.
    if text.len() <= length {
        return Ok(text);
    }
    let Some((end, _)) = text.char_indices().nth(length) else {
        return Ok(text);
    };
    let (kept, rest) = text.split_at(end);
    if coercion == Coercion::Assignment && rest.bytes().any(|byte| byte != b' ') {
        return Err(SqlError::new(
            SqlState::STRING_DATA_RIGHT_TRUNCATION,
            format!("value too long for type {name}({length})"),
        ));
    }
    Ok(kept)
}

fn pad<'a>(text: &'a str, length: usize, scratch: &'a Scratch) -> &'a str {
    let characters = text.chars().count();
    if characters >= length {
        return text;
    }
    let blanks = length - characters;
    let mut padded = bumpalo::collections::String::with_capacity_in(text.len() + blanks, scratch);
    padded.push_str(text);
    padded.extend(std::iter::repeat_n(' ', blanks));
    padded.into_bump_str()
}

#[cfg(test)]
mod tests;
