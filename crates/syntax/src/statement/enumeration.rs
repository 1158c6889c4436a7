//! `CREATE TYPE` and `ALTER TYPE` of enum types.

use sqlparser::ast::{
    self, AlterTypeAddValuePosition, AlterTypeOperation, Ident, UserDefinedTypeRepresentation,
};
use types::{Result, SqlError, SqlState};

use crate::{
    name::{DottedName, Name},
    refusal::Misplaced,
};

/// An enum type that is created.
#[derive(Debug, Clone)]
pub struct CreateType {
    /// The name of the type, with or without a schema.
    pub name: DottedName,
    /// The labels, in order.
    pub labels: Vec<String>,
    /// 0A000 for a type that is no enum.
    pub supported: Result<()>,
}

/// An enum type that is changed.
#[derive(Debug, Clone)]
pub struct AlterType {
    /// The name of the type, with or without a schema.
    pub name: DottedName,
    /// The change to make.
    pub change: TypeChange,
}

/// A change of an enum type.
#[derive(Debug, Clone)]
pub enum TypeChange {
    /// `RENAME TO`.
    Name(Name),
    /// `ADD VALUE`.
    AddLabel {
        /// The new label.
        label: String,
        /// The place of the new label among the others.
        place: LabelPlace,
        /// Whether `IF NOT EXISTS` is written: a label of this name makes the statement do nothing.
        if_not_exists: bool,
    },
    /// `RENAME VALUE`.
    RenameLabel {
        /// The label as it is.
        from: String,
        /// The label as it is to be.
        to: String,
    },
}

/// The place of a new label among those of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabelPlace {
    /// The label comes behind all others.
    Last,
    /// `BEFORE label`.
    Before(String),
    /// `AFTER label`.
    After(String),
}

impl CreateType {
    /// Takes a definition from the parser.
    ///
    /// # Errors
    /// Labels that are no strings.
    pub(super) fn of(
        name: &ast::ObjectName,
        representation: Option<&UserDefinedTypeRepresentation>,
    ) -> std::result::Result<Self, Misplaced> {
        let (labels, supported) = match representation {
            Some(UserDefinedTypeRepresentation::Enum { labels }) => (labels.as_slice(), Ok(())),
            Some(UserDefinedTypeRepresentation::Composite { .. }) => {
                (&[][..], Err(SqlError::unsupported("a composite type")))
            }
            Some(UserDefinedTypeRepresentation::Range { .. }) => {
                (&[][..], Err(SqlError::unsupported("a range type")))
            }
            Some(UserDefinedTypeRepresentation::SqlDefinition { .. }) | None => {
                (&[][..], Err(SqlError::unsupported("a base type")))
            }
        };
        Ok(Self {
            name: DottedName::of(name),
            labels: labels
                .iter()
                .map(label)
                .collect::<std::result::Result<_, _>>()?,
            supported,
        })
    }
}

impl AlterType {
    /// Takes a change from the parser.
    ///
    /// # Errors
    /// Labels that are no strings.
    pub(super) fn of(written: &ast::AlterType) -> std::result::Result<Self, Misplaced> {
        let change = match &written.operation {
            AlterTypeOperation::Rename(rename) => TypeChange::Name(Name::of(&rename.new_name)),
            AlterTypeOperation::AddValue(add) => TypeChange::AddLabel {
                label: label(&add.value)?,
                place: match &add.position {
                    None => LabelPlace::Last,
                    Some(AlterTypeAddValuePosition::Before(other)) => {
                        LabelPlace::Before(label(other)?)
                    }
                    Some(AlterTypeAddValuePosition::After(other)) => {
                        LabelPlace::After(label(other)?)
                    }
                },
                if_not_exists: add.if_not_exists,
            },
            AlterTypeOperation::RenameValue(rename) => TypeChange::RenameLabel {
                from: label(&rename.from)?,
                to: label(&rename.to)?,
            },
        };
        Ok(Self {
            name: DottedName::of(&written.name),
            change,
        })
    }
}

/// Takes a label, a string that the parser gives as a name in its quotes.
fn label(ident: &Ident) -> std::result::Result<String, Misplaced> {
    match ident.quote_style {
        Some('\'') => Ok(ident.value.clone()),
        _ => {
            let message = format!("syntax error at or near \"{ident}\"");
            let error = SqlError::new(SqlState::SYNTAX_ERROR, message);
            Err(Misplaced::Told(
                error.detail("A label is written as a string."),
            ))
        }
    }
}
