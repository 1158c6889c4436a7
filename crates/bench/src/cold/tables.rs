//! The two tables: their loading, the departure of one from memory, and the check of their contents
//! at the end.

use std::cell::RefCell;

use weft::{Database, Policy, Transaction};

use super::Settings;
use super::nesting::{Access, Nesting};
use super::source::Request;
use crate::cooling::cool;
use crate::counted::Counted;
use crate::values::Verifier;
use commands::Result;
use commands::progress::Step;

/// Both tables.
#[derive(Clone)]
pub(super) struct Tables {
    hot: Counted,
    cold: Counted,
}

impl Tables {
    /// Creates and fills the tables, advancing `step` by records.
    ///
    /// # Errors
    /// [`Error::Run`] when the database refuses.
    pub(super) fn load(settings: &Settings, database: &Database, step: &Step) -> Result<Self> {
        let create = |name| Counted::create(database, name, settings.value);
        let tables = Self {
            hot: create("hot")?,
            cold: create("cold")?,
        };
        tables.hot.load(database, settings.hot_records, step)?;
        tables.cold.load(database, settings.cold_records, step)?;
        Ok(tables)
    }

    /// Accesses the records of a request, and checks every value.
    pub(super) async fn access<P: Policy>(
        &self,
        txn: &Transaction<P>,
        request: Request,
        nesting: Nesting,
        verifier: &RefCell<Verifier>,
    ) -> weft::Result<()> {
        let hot = request.hot().map(|record| (&self.hot, record));
        let cold = request.cold().map(|record| (&self.cold, record));
        for (table, record) in hot.chain(cold) {
            let access = Access {
                table,
                txn,
                record,
                writes: request.writes,
                verifier,
            };
            nesting.access(access).await?;
        }
        Ok(())
    }

    /// Makes all records of the cold table leave memory, and none of the hot one's; returns the
    /// number of records that are out.
    ///
    /// # Errors
    /// [`Error::Run`] when the device refuses.
    pub(super) fn cool(&self, settings: &Settings, database: &Database) -> Result<u64> {
        let (hot, cold) = (settings.hot_records, settings.cold_records);
        cool(database, &self.hot, hot, cold)
    }

    /// Returns whether every record is there, whole, and `changes` have been counted in all of
    /// them.
    ///
    /// # Errors
    /// [`Error::Run`] when the database refuses.
    pub(super) fn are_right(
        &self,
        settings: &Settings,
        database: &Database,
        changes: u64,
    ) -> Result<bool> {
        let content = self.hot.content(database)?;
        let content = content.and(self.cold.content(database)?);
        let all = settings.hot_records + settings.cold_records;
        Ok(content.is_right(all, changes))
    }
}
