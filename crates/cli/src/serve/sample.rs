//! `--sample`: a shop's database to run queries on.
//!
//! One transaction makes the sample, in a schema of its own: a kill meanwhile leaves nothing. If
//! the schema exists already, the first statement fails and nothing is changed.

use commands::progress::Progress;
use pgserver::Sql;
use types::{Result, SqlState};

use crate::directory::Showing;

const SHOP: &str = include_str!("sample/shop.sql");

/// Queries worth trying on the sample.
pub(super) const QUERIES: &str = include_str!("sample/queries.sql");

/// Makes the sample database, unless it is there.
pub(super) fn make(sql: &Sql) -> commands::Result<()> {
    let loading = Loading {
        showing: Showing::new("making the sample database"),
        done: 0,
        // Each statement ends a line.
        total: SHOP.matches(";\n").count() as u64,
    };
    match sql.execute_into(SHOP, loading) {
        Ok(_) => Progress::stderr().note("the sample database is in the schema shop"),
        Err(error) if error.state() == SqlState::DUPLICATE_SCHEMA => Progress::stderr()
            .note("there is a schema shop already: no sample database is made, nothing is changed"),
        Err(error) => {
            let message = format!("the sample database was not made: {error}");
            return Err(commands::Error::run(message));
        }
    }
    Ok(())
}

/// Shows the number of statements that are done.
struct Loading {
    showing: Showing,
    done: u64,
    total: u64,
}

impl sql::Sink for Loading {
    fn fields(&mut self, _: &[sql::Field]) -> Result<()> {
        Ok(())
    }

    fn row(&mut self, _: &sql::ResultRow<'_>) -> Result<()> {
        Ok(())
    }

    fn complete(&mut self, _: sql::CommandTag) -> Result<()> {
        self.done += 1;
        self.showing.show(self.done, self.total);
        Ok(())
    }
}
