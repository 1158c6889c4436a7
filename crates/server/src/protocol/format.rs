//! The two forms in which values travel.

use types::{Result, SqlError, SqlState};

use super::body::Body;

/// Form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Format {
    /// Text, in the form of a literal.
    #[default]
    Text,
    /// The type's binary form.
    Binary,
}

impl Format {
    /// Returns the number by which the protocol names the form.
    pub fn code(self) -> i16 {
        self as i16
    }

    fn of(code: i16) -> Result<Format> {
        match code {
            0 => Ok(Format::Text),
            1 => Ok(Format::Binary),
            _ => Err(SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("unsupported format code: {code}"),
            )),
        }
    }
}

/// The forms of a list of values, as a Bind message gives them: none (all text), one for all, or
/// one each. Borrowed from the message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FormatList<'a>(&'a [u8]);

impl<'a> FormatList<'a> {
    /// Reads a list.
    ///
    /// # Errors
    /// Fails if there are fewer forms than the list says, or if a code is unknown.
    pub(crate) fn read(body: &mut Body<'a>) -> Result<FormatList<'a>> {
        let count = body.count()?;
        let list = FormatList(body.take(2 * count)?);
        for index in 0..count {
            Format::of(list.code(index))?;
        }
        Ok(list)
    }

    fn code(self, index: usize) -> i16 {
        i16::from_be_bytes([self.0[2 * index], self.0[2 * index + 1]])
    }

    pub(crate) fn len(self) -> usize {
        self.0.len() / 2
    }

    /// Returns whether the list can belong to `values` values.
    pub(crate) fn fits(self, values: usize) -> bool {
        self.len() <= 1 || self.len() == values
    }

    /// Returns the form of a value. The list must [fit](FormatList::fits).
    pub(crate) fn get(self, index: usize) -> Format {
        let index = match self.len() {
            0 => return Format::Text,
            1 => 0,
            _ => index,
        };
        Format::of(self.code(index)).expect("codes were looked at when they were read")
    }

    /// Copies the list, to be kept.
    pub(crate) fn to_formats(self) -> Formats {
        match self.len() {
            0 | 1 => Formats::All(self.get(0)),
            count => Formats::Each((0..count).map(|index| self.get(index)).collect()),
        }
    }
}

/// The forms of the columns of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Formats {
    /// One form for all columns.
    All(Format),
    /// A form for each column.
    Each(Box<[Format]>),
}

impl Formats {
    /// Returns the form of a column, counted from 0.
    pub fn of(&self, column: usize) -> Format {
        match self {
            Formats::All(format) => *format,
            Formats::Each(formats) => formats.get(column).copied().unwrap_or_default(),
        }
    }
}
