//! Rows on their way into a table.
//!
//! They are gathered into statements of some hundred rows each, all of one text's length, so
//! that a server which keeps plans by the form of a statement keeps one.

use std::fmt::{self, Write as _};

use crate::failed;
use commands::Result;
use commands::progress::Step;

/// Rows of a statement.
const ROWS: u64 = 250;

/// Gathers rows for a table.
pub struct Rows<'c> {
    connection: &'c mut postgres::Client,
    step: &'c Step,
    head: String,
    text: String,
    rows: u64,
}

impl<'c> Rows<'c> {
    /// Begins to gather rows for all columns of a table, in their order.
    pub fn into(connection: &'c mut postgres::Client, table: &str, step: &'c Step) -> Rows<'c> {
        Rows {
            connection,
            step,
            head: format!("insert into {table} values "),
            text: String::new(),
            rows: 0,
        }
    }

    /// Adds the next row: literals, separated by commas. Texts in them have neither quotes nor
    /// backslashes.
    ///
    /// # Errors
    /// [`Error::Run`](commands::Error::Run) when the server refuses those before it.
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

    /// Sends what is left: there are no more.
    ///
    /// # Errors
    /// [`Error::Run`](commands::Error::Run) when the server refuses.
    pub fn finish(mut self) -> Result<()> {
        match self.rows {
            0 => Ok(()),
            _ => self.send(),
        }
    }
}
