//! Types as statements name them; whether there is such a type is the binder's question.

use std::fmt;

use sqlparser::ast::{ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, TimezoneInfo};

use crate::name::DottedName;

/// The name of a type, with what is attached to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeName {
    written: String,
    form: TypeForm,
}

/// The form of a type's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeForm {
    /// `element[]`, with any number of dimensions, and any bounds, which mean nothing.
    Array(Box<TypeName>),
    /// `char` and `character`, with a number of characters.
    Character(Option<u64>),
    /// `varchar` and `character varying`, with a number of characters.
    CharacterVarying(Option<u64>),
    /// `varchar(max)`, of other systems.
    Unbounded,
    /// `numeric`, `decimal` and `dec`.
    Numeric {
        /// The number of digits.
        precision: Option<u64>,
        /// The number of digits behind the point.
        scale: Option<i64>,
    },
    /// `float`, with a number of binary digits; a number that no type has stands for a scale.
    Float(Option<u64>),
    /// `double precision`.
    DoublePrecision,
    /// `timestamp` and `timestamptz`.
    Timestamp {
        /// The number of digits of the seconds.
        precision: Option<u64>,
        /// Whether the type is `WITH TIME ZONE`.
        has_zone: bool,
    },
    /// `time` and `timetz`.
    Time {
        /// The number of digits of the seconds.
        precision: Option<u64>,
        /// Whether the type is `WITH TIME ZONE`.
        has_zone: bool,
    },
    /// `interval`.
    Interval {
        /// The fields, as `DAY TO SECOND`.
        fields: Option<String>,
        /// The number of digits of the seconds.
        precision: Option<u64>,
    },
    /// A name that is no keyword, with what stands in its parentheses.
    Named {
        /// The name, with or without a schema.
        name: DottedName,
        /// The words in the parentheses.
        arguments: Vec<String>,
    },
    /// Any other keyword, with whatever is attached to it: the whole text is the name.
    Word,
}

/// A number of binary digits that no type has.
const NO_FLOAT: u64 = 0;

impl TypeName {
    /// Takes a type from the parser.
    pub(crate) fn of(data_type: &DataType) -> Self {
        let mut element = data_type;
        // Dimensions are as many as a text has brackets: neither a level of the stack nor a text for each.
        while let DataType::Array(
            ArrayElemTypeDef::SquareBracket(within, _) | ArrayElemTypeDef::AngleBracket(within),
        ) = element
        {
            element = within;
        }
        let name = Self {
            written: element.to_string(),
            form: form(element),
        };
        match std::ptr::eq(element, data_type) {
            true => name,
            false => Self {
                written: format!("{name}[]"),
                form: TypeForm::Array(Box::new(name)),
            },
        }
    }

    /// Returns the form of the name.
    pub fn form(&self) -> &TypeForm {
        &self.form
    }
}

impl fmt::Display for TypeName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.written)
    }
}

fn form(data_type: &DataType) -> TypeForm {
    match data_type {
        DataType::Char(length) | DataType::Character(length) => {
            of_length(length, TypeForm::Character)
        }
        DataType::CharVarying(length)
        | DataType::CharacterVarying(length)
        | DataType::Varchar(length) => of_length(length, TypeForm::CharacterVarying),
        DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => {
            let (precision, scale) = match info {
                ExactNumberInfo::None => (None, None),
                ExactNumberInfo::Precision(precision) => (Some(*precision), None),
                ExactNumberInfo::PrecisionAndScale(precision, scale) => {
                    (Some(*precision), Some(*scale))
                }
            };
            TypeForm::Numeric { precision, scale }
        }
        DataType::Float(info) => TypeForm::Float(match info {
            ExactNumberInfo::None => None,
            ExactNumberInfo::Precision(precision) => Some(*precision),
            ExactNumberInfo::PrecisionAndScale(..) => Some(NO_FLOAT),
        }),
        DataType::DoublePrecision => TypeForm::DoublePrecision,
        DataType::Timestamp(precision, zone) => TypeForm::Timestamp {
            precision: *precision,
            has_zone: has_zone(*zone),
        },
        DataType::Time(precision, zone) => TypeForm::Time {
            precision: *precision,
            has_zone: has_zone(*zone),
        },
        DataType::Interval { fields, precision } => TypeForm::Interval {
            fields: fields.as_ref().map(ToString::to_string),
            precision: *precision,
        },
        DataType::Custom(name, arguments) => TypeForm::Named {
            name: DottedName::of(name),
            arguments: arguments.clone(),
        },
        _ => TypeForm::Word,
    }
}

fn has_zone(zone: TimezoneInfo) -> bool {
    match zone {
        TimezoneInfo::WithTimeZone | TimezoneInfo::Tz => true,
        TimezoneInfo::None | TimezoneInfo::WithoutTimeZone => false,
    }
}

fn of_length(
    length: &Option<CharacterLength>,
    with: impl FnOnce(Option<u64>) -> TypeForm,
) -> TypeForm {
    match length {
        None => with(None),
        Some(CharacterLength::IntegerLength { length, .. }) => with(Some(*length)),
        Some(CharacterLength::Max) => TypeForm::Unbounded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each dimension once kept the text of all within it: 20,000 of them took half a gigabyte.
    #[test]
    fn dimensions_keep_no_texts_of_their_own() {
        let mut data_type = DataType::Int(None);
        for _ in 0..100_000 {
            let within = Box::new(data_type);
            data_type = DataType::Array(ArrayElemTypeDef::SquareBracket(within, None));
        }
        let name = TypeName::of(&data_type);
        assert_eq!(name.to_string(), "INT[]");
        assert!(
            matches!(name.form(), TypeForm::Array(element) if *element.form() == TypeForm::Word)
        );
        // Drops the levels one by one: the tests' stack is short.
        while let DataType::Array(ArrayElemTypeDef::SquareBracket(within, _)) = data_type {
            data_type = *within;
        }
    }
}
