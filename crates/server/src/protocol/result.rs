//! What a client is told of a result: its columns, and how a statement ended.

use std::fmt;

use super::format::Format;

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name, without zeros in it.
    pub name: Box<str>,
    /// The table that it is a column of, by object identifier, or 0.
    pub table: u32,
    /// Which column of that table, counted from 1, or 0.
    pub column: i16,
    /// Its type's object identifier.
    pub type_oid: u32,
    /// The bytes of its type's values, or -1 where they vary.
    pub type_size: i16,
    /// What is attached to the type, or -1.
    pub type_modifier: i32,
}

impl Field {
    /// As a part of a RowDescription.
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

/// How a statement ended, as `INSERT 0 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandTag {
    /// Its name says all: `BEGIN`, `CREATE TABLE`.
    Word(&'static str),
    /// With a number of rows: `SELECT 3`, `UPDATE 1`.
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
