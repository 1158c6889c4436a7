//! Description of a result for the client: its columns, and the end of a
//! statement.

use std::fmt;

use super::format::Format;

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Name, without zeros in it.
    pub name: Box<str>,
    /// Table of the column, by object identifier, or 0.
    pub table: u32,
    /// Number of the column in that table, counted from 1, or 0.
    pub column: i16,
    /// Object identifier of the type.
    pub type_oid: u32,
    /// Length of the type's values in bytes, or -1 if it varies.
    pub type_size: i16,
    /// Modifier of the type, or -1.
    pub type_modifier: i32,
}

impl Field {
    /// Writes the field as a part of a RowDescription.
    pub(crate) fn write(&self, format: Format, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.name.as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(&self.table.to_be_bytes());
        bytes.extend_from_slice(&self.column.to_be_bytes());
        bytes.extend_from_slice(&self.type_oid.to_be_bytes());
        bytes.extend_from_slice(&self.type_size.to_be_bytes());
        bytes.extend_from_slice(&self.type_modifier.to_be_bytes());
        bytes.extend_from_slice(&format.code().to_be_bytes());
    }
}

/// Tag for the end of a statement, as in `INSERT 0 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandTag {
    /// The command alone: `BEGIN`, `CREATE TABLE`.
    Word(&'static str),
    /// The command and a number of rows: `SELECT 3`, `UPDATE 1`.
    Rows(&'static str, u64),
    /// `INSERT 0` and the number of rows.
    Insert(u64),
}

impl fmt::Display for CommandTag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandTag::Word(word) => formatter.write_str(word),
            CommandTag::Rows(word, rows) => write!(formatter, "{word} {rows}"),
            CommandTag::Insert(rows) => write!(formatter, "INSERT 0 {rows}"),
        }
    }
}
