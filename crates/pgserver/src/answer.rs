//! Results of statements for the program that asked, as texts.

use sql::{CommandTag, Field, ResultRow, Sink};
use types::{Result, SqlError, SqlState};

/// Bytes of a row beside its values: its list, twice while the list of rows grows, and the
/// allocator's overhead.
const ROW_BYTES: usize = 64;

/// Bytes of a value beside its text.
const VALUE_BYTES: usize = size_of::<Option<String>>() + 16;

/// Maximum bytes of an answer. A larger one fails:
/// [`Sql::execute_into`](crate::Sql::execute_into) hands rows over as they come.
const BYTES_MAX: usize = 256 << 20;

/// The whole result of the last query of a text.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows of values in PostgreSQL's text form; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

/// Collects an answer from a session.
#[derive(Default)]
pub(crate) struct Gathered {
    pub(crate) answer: Answer,
    bytes: usize,
}

impl Sink for Gathered {
    fn fields(&mut self, fields: &[Field]) -> Result<()> {
        let columns = fields.iter().map(|field| field.name.to_string());
        self.answer = Answer {
            columns: columns.collect(),
            rows: Vec::new(),
        };
        self.bytes = 0;
        Ok(())
    }

    fn row(&mut self, row: &ResultRow<'_>) -> Result<()> {
        let mut values = Vec::with_capacity(row.values.len());
        for (value, field) in row.values.iter().zip(row.fields) {
            if value.is_null() {
                values.push(None);
                continue;
            }
            let mut bytes = Vec::new();
            types::text::write(*value, field.ty, &row.context, &mut bytes)?;
            self.bytes += bytes.len();
            let text = String::from_utf8(bytes);
            values.push(Some(text.map_err(|_| {
                SqlError::new(SqlState::INTERNAL_ERROR, "a value's text is no UTF-8")
            })?));
        }
        self.bytes += ROW_BYTES + values.len() * VALUE_BYTES;
        if self.bytes > BYTES_MAX {
            let message = format!("the answer is larger than {} MiB", BYTES_MAX >> 20);
            return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
                .hint("Ask for fewer rows, or take them one by one with Sql::execute_into."));
        }
        self.answer.rows.push(values);
        Ok(())
    }

    fn complete(&mut self, _: CommandTag) -> Result<()> {
        Ok(())
    }
}
