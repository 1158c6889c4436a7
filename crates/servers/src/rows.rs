//! Rows on their way into a table.
//!
//! Rows are gathered into statements of some hundred rows each. All statements have the same form,
//! so a server that keeps plans by the form of a statement keeps one.

use std::fmt::{self, Write as _};

use crate::failed;
use commands::Result;
use commands::progress::Step;

/// Rows in each statement.
const ROWS: u64 = 250;

/// Rows on their way into one table.
pub struct Rows<'c> {
    connection: &'c mut postgres::Client,
    step: &'c Step,
    head: String,
    text: String,
    rows: u64,
}

impl<'c> Rows<'c> {
    /// Begins to gather rows for all columns of `table`, in their order.
    pub fn into(connection: &'c mut postgres::Client, table: &str, step: &'c Step) -> Rows<'c> {
        Rows {
            connection,
            step,
            head: format!("insert into {table} values "),
            text: String::new(),
            rows: 0,
        }
    }

    /// Adds the next row, `values`: literals, separated by commas. Texts among them contain neither
    /// quotes nor backslashes.
    ///
    /// # Errors
    /// [`Error::Run`](commands::Error::Run) when the server refuses the rows before it.
    pub fn push(&mut self, values: fmt::Arguments<'_>) -> Result<()> {
        self.text
            .push_str(if self.rows == 0 { &self.head } else { "," });
        // Writing to a string cannot fail.
        let _ = write!(self.text, "({values})");
        self.rows += 1;
        match self.rows {
            ROWS => self.send(),
            _ => Ok(()),
        }
    }

    fn send(&mut self) -> Result<()> {
        self.connection.simple_query(&self.text).map_err(failed)?;
        self.step.advance(self.rows);
        self.text.clear();
        self.rows = 0;
        Ok(())
    }

    /// Sends the remaining rows.
    ///
    /// # Errors
    /// [`Error::Run`](commands::Error::Run) when the server refuses them.
    pub fn finish(mut self) -> Result<()> {
        match self.rows {
            0 => Ok(()),
            _ => self.send(),
        }
    }
}
